from typing import Any

import pytest

from rig.text.schema_types import ANYTHING, is_equal, is_type, schema_types

TYPES = {
    "one": ({"type": "integer"}, {"integer"}),
    "several": ({"type": ["integer", "null"]}, {"integer", "null"}),
    "of choices": ({"enum": ["a", 1, None]}, {"string", "integer", "null"}),
    "of a constant": ({"const": True}, {"boolean"}),
    "of forms": ({"anyOf": [{"type": "array"}, {"type": "null"}]}, {"array", "null"}),
    "of one form": ({"oneOf": [{"enum": [1.5]}]}, {"number"}),
    "of parts": ({"allOf": [{"type": ["integer", "null"]}, {"type": "integer"}]}, {"integer"}),
    "of parts that say little": ({"allOf": [{}, {"type": "object"}]}, {"object"}),
    "one form says nothing": ({"anyOf": [{"type": "array"}, {}]}, ANYTHING),
    "nothing": ({}, ANYTHING),
    "no choices": ({"enum": []}, ANYTHING),
    "true": (True, ANYTHING),
    "none": (None, ANYTHING),
    "odd": ({"type": 7}, ANYTHING),
}


@pytest.mark.parametrize(("schema", "types"), TYPES.values(), ids=TYPES.keys())
def test_the_types_a_schema_takes(schema: Any, types: Any) -> None:
    assert schema_types(schema) == frozenset(types)


@pytest.mark.parametrize(
    ("value", "kinds"),
    [
        (1, ["integer", "number"]),
        (1.0, ["integer", "number"]),
        (1.5, ["number"]),
        (True, ["boolean"]),
        ("1", ["string"]),
        (None, ["null"]),
        ([], ["array"]),
        ({}, ["object"]),
    ],
)
def test_the_types_a_value_has(value: object, kinds: list[str]) -> None:
    names = ["string", "integer", "number", "boolean", "null", "array", "object"]
    assert sorted(kind for kind in names if is_type(value, kind)) == sorted(kinds)


def test_one_is_not_true() -> None:
    assert is_equal(1, 1.0)
    assert not is_equal(1, True)
