"""Replaced methods act on one object, leave nothing in it, and are put back."""

from __future__ import annotations

import pickle
import types
import unittest

from accumulation_receipt.watch.patches import Patches


class Base:
    def step(self, by: int = 1) -> int:
        return by


class Derived(Base):
    pass


class Replacing(unittest.TestCase):
    def test_a_method_of_one_object(self) -> None:
        seen, target, other = [], Derived(), Derived()
        patches = Patches()
        patches.method(target, "step", lambda original, *args, **kwargs: (seen.append(args), original(*args, **kwargs))[1])
        self.assertEqual((target.step(3), other.step(4), target.step(by=5)), (3, 4, 5))
        self.assertEqual(seen, [(3,), ()])
        self.assertEqual(vars(target), {})
        pickle.dumps(target)
        patches.undo()
        target.step()
        self.assertEqual(len(seen), 2)
        self.assertFalse(hasattr(Base.step, "__wrapped__"))

    def test_a_wrapper_that_inherits_from_the_targets_class(self) -> None:
        seen, target, wrapper = [], Derived(), Derived()
        wrapper.optimizer = target  # type: ignore[attr-defined]
        patches = Patches()
        patches.method(target, "step", lambda original: seen.append(original()))
        wrapper.step()
        Derived().step()
        patches.undo()
        self.assertEqual(seen, [1])

    def test_two_recorders_end_in_any_order(self) -> None:
        for order in ((0, 1), (1, 0)):
            seen: list[int] = []
            target = Derived()
            both = [Patches(), Patches()]
            for at, patches in enumerate(both):
                patches.method(target, "step", lambda original, at=at: (seen.append(at), original())[1])
            target.step()
            self.assertEqual(seen, [1, 0])
            both[order[0]].undo()
            target.step()
            self.assertEqual(seen, [1, 0, order[1]])
            both[order[1]].undo()
            target.step()
            self.assertEqual(len(seen), 3)

    def test_an_object_with_a_method_of_its_own(self) -> None:
        target = Derived()
        target.step = lambda: 7  # type: ignore[method-assign]
        patches = Patches()
        patches.method(target, "step", lambda original: original() + 1)
        self.assertEqual(target.step(), 8)
        patches.undo()
        self.assertEqual(target.step(), 7)

    def test_a_function_under_every_name(self) -> None:
        import sys

        def clip(norm: float) -> float:
            return norm

        home, importer = types.ModuleType("of_tests_home"), types.ModuleType("of_tests_importer")
        home.clip, importer.renamed = clip, clip  # type: ignore[attr-defined]
        sys.modules["of_tests_home"], sys.modules["of_tests_importer"] = home, importer
        try:
            patches = Patches()
            patches.function(home, "clip", lambda original, norm: original(norm) * 2)
            self.assertEqual((home.clip(1.0), importer.renamed(1.0)), (2.0, 2.0))
            patches.undo()
            self.assertIs(importer.renamed, clip)
            self.assertIs(home.clip, clip)
        finally:
            del sys.modules["of_tests_home"], sys.modules["of_tests_importer"]


if __name__ == "__main__":
    unittest.main()
