"""Leaves: at each limit, and one past it."""

from __future__ import annotations

import math
import unittest

from accumulation_receipt import limits, values
from accumulation_receipt.refusal import Refused


class Values(unittest.TestCase):
    def refused(self, check: values.Check, *bad: object) -> None:
        for value in bad:
            with self.subTest(value=value if not isinstance(value, list) else len(value)):
                with self.assertRaises(Refused) as raised:
                    check("a.field", value)
                self.assertTrue(str(raised.exception).startswith("a.field"), raised.exception)

    def test_counts(self) -> None:
        self.assertEqual([values.count("c", value) for value in (0, 7, 2**53)], [0, 7, 2**53])
        self.refused(values.count, -1, 2**53 + 1, 1.0, True, "1", None)

    def test_integers(self) -> None:
        self.assertEqual([values.integer("i", value) for value in (-100, 0, 5)], [-100, 0, 5])
        self.refused(values.integer, -(2**53) - 1, -1.0, True)

    def test_reals(self) -> None:
        self.assertEqual(math.copysign(1.0, values.real("r", -0.0)), 1.0)
        self.assertEqual(values.real("r", 3), 3.0)
        self.refused(values.real, math.nan, math.inf, -math.inf, True, "1.5", None, 10**400)

    def test_vectors(self) -> None:
        self.assertEqual(values.vector("v", [1, -0.0]), [1.0, 0.0])
        self.assertEqual(len(values.vector("v", [0.0] * limits.VECTOR)), limits.VECTOR)
        self.refused(values.vector, [0.0] * (limits.VECTOR + 1), [math.nan])

    def test_identifiers(self) -> None:
        for name in ("r0-m17", "a" * 128, "A.b_c:d@e/f-9"):
            self.assertEqual(values.identifier("i", name), name)
        self.refused(values.identifier, "", "-a", "a b", "a" * 129, "a\n", "ü", 3)

    def test_decimals(self) -> None:
        self.assertEqual(values.decimals("d", 17), 17)
        self.refused(values.decimals, 18)

    def test_opaque_text(self) -> None:
        self.assertEqual(values.opaque("o", "x" * 128), "x" * 128)
        self.refused(values.opaque, "x" * 129, 3)


if __name__ == "__main__":
    unittest.main()
