"""Counting targets: by hand, and against unpacking."""

from __future__ import annotations

import random
import unittest

from accumulation_receipt import count_targets

IGNORED = -100


class Targets(unittest.TestCase):
    def test_the_first_label_has_no_prediction(self) -> None:
        self.assertEqual(count_targets([[5, 6, 7]]), 2)
        self.assertEqual(count_targets([[IGNORED, 6, 7]]), 2)
        self.assertEqual(count_targets([[5, 6, 7]], shift=False), 3)
        self.assertEqual(count_targets([5, 6, 7]), 2)
        self.assertEqual(count_targets([]), 0)

    def test_ignored_labels_do_not_count(self) -> None:
        self.assertEqual(count_targets([[5, IGNORED, 7], [5, 6, IGNORED]]), 2)
        self.assertEqual(count_targets([[5, 0, 7]], ignore_index=0), 1)
        self.assertEqual(count_targets([[IGNORED] * 3]), 0)

    def test_masked_positions_do_not_count(self) -> None:
        self.assertEqual(count_targets([[5, 6, 7, 0]], attention_mask=[[1, 1, 1, 0]]), 2)
        self.assertEqual(count_targets([[0, 0, 5, 6]], attention_mask=[[0, 0, 1, 1]]), 2)

    def test_a_target_in_another_document_does_not_count(self) -> None:
        self.assertEqual(count_targets([[1, 2, 3, 4, 5]], document_ids=[[0, 0, 1, 1, 1]]), 3)
        # Shifted by the data set: position 1 predicts what begins document 1.
        self.assertEqual(count_targets([[2, 3, 4, 5, 6]], shift=False, document_ids=[[0, 0, 1, 1, 1]]), 4)

    def test_packing_changes_no_count(self) -> None:
        chosen = random.Random(5)
        for _ in range(300):
            rows = [[chosen.choice([IGNORED, 7]) for _ in range(chosen.randint(1, 6))] for _ in range(4)]
            packed = [label for row in rows for label in row]
            documents = [at for at, row in enumerate(rows) for _ in row]
            self.assertEqual(count_targets([packed], document_ids=[documents]), count_targets(rows))

    def test_padding_changes_no_count(self) -> None:
        chosen = random.Random(6)
        for _ in range(300):
            rows = [[chosen.choice([IGNORED, 7]) for _ in range(chosen.randint(1, 6))] for _ in range(4)]
            padded = [row + [9] * (6 - len(row)) for row in rows]
            masks = [[1] * len(row) + [0] * (6 - len(row)) for row in rows]
            self.assertEqual(count_targets(padded, attention_mask=masks), count_targets(rows))

    def test_another_shape_is_refused(self) -> None:
        with self.assertRaises(ValueError):
            count_targets([[1, 2]], attention_mask=[[1]])
        with self.assertRaises(ValueError):
            count_targets([[1, 2]], document_ids=[[1, 1], [1, 1]])


if __name__ == "__main__":
    unittest.main()
