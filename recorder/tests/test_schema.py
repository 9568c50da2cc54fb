"""The recorder's fields, required fields, words and limits are those of the committed JSON Schema."""

from __future__ import annotations

import json
import re
import unittest

from accumulation_receipt import contract, events, limits, values
from accumulation_receipt.refusal import Refused

from .support import CONTRACT, REPOSITORY

SCHEMA = json.loads((REPOSITORY / "schemas" / "microbatch-manifest-line.schema.json").read_text())["$defs"]
#: Fields that the format has and this recorder does not write.
NOT_WRITTEN = {("carry", "gradient_sum")}


def event_definitions() -> dict[str, dict]:
    """Event -> its definition; an event without fields has an empty one."""
    found: dict[str, dict] = {}
    for choice in SCHEMA["Event"]["oneOf"]:
        if choice.get("type") == "object":
            name, reference = next(iter(choice["properties"].items()))
            found[name] = SCHEMA[reference["$ref"].rsplit("/", 1)[1]] if "$ref" in reference else reference
        else:
            for name in choice.get("enum", [choice.get("const")]):
                found.setdefault(name, {"properties": {}, "required": []})
    return found


class Schema(unittest.TestCase):
    def test_events_have_the_fields_of_the_format(self) -> None:
        definitions = event_definitions()
        self.assertEqual(set(events._CHECKS), set(definitions))
        for name, definition in definitions.items():
            with self.subTest(name):
                theirs = set(definition["properties"]) - {field for event, field in NOT_WRITTEN if event == name}
                self.assertEqual(set(events._CHECKS[name]), theirs)
                # What an event needs besides: one of two fields, which seal() sees to; an epoch end needs nothing.
                required = set() if name == "epoch_end" else set(definition.get("required", []))
                self.assertEqual(set(events._REQUIRED[name]), required)

    def test_the_contract_has_the_fields_of_the_format(self) -> None:
        definition = SCHEMA["Contract"]
        self.assertEqual(set(contract._FIELDS), set(definition["properties"]))
        self.assertEqual(set(contract._REQUIRED), set(definition["required"]))

    def test_every_word_of_the_format_is_taken(self) -> None:
        def words(name: str) -> list[str]:
            return [choice["const"] for choice in SCHEMA[name]["oneOf"]]

        for field, name in [("formula", "Formula"), ("precision", "Arithmetic"), ("tail", "Tail")]:
            for word in words(name):
                contract.check_contract({**CONTRACT, field: word})
        for field, name in [("unobserved", "Unobserved"), ("require", "Evidence")]:
            contract.check_contract({**CONTRACT, field: words(name)})
        for field, name in [
            ("gradient_reduction", "Reduction"),
            ("synchronize", "Synchronize"),
            ("numerator_source", "NumeratorSource"),
            ("random_state", "RandomState"),
            ("loss_precision", "Arithmetic"),
        ]:
            for word in words(name):
                contract.check_contract({**CONTRACT, field: word})
        with self.assertRaises(Refused):
            contract.check_contract({**CONTRACT, "tail": "flushed"})

    def test_limits_are_those_of_the_format(self) -> None:
        self.assertEqual(SCHEMA["Backward"]["properties"]["valid_targets"]["maximum"], limits.COUNT)
        self.assertEqual(SCHEMA["Backward"]["properties"]["accumulated"]["maxItems"], limits.VECTOR)
        self.assertEqual(SCHEMA["Dropped"]["properties"]["microbatches"]["maxItems"], limits.MICROBATCHES_OF_A_WINDOW)
        self.assertEqual(SCHEMA["Opaque"]["maxLength"], limits.NAME)
        identifier = SCHEMA["Identifier"]["pattern"]
        self.assertEqual(re.compile(identifier.replace("$", r"\Z").removeprefix("^")), values._IDENTIFIER)


if __name__ == "__main__":
    unittest.main()
