from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.text.coerce import MAX_VALUE_DEPTH, TypedText, coerce_text, read_typed


def of(*kinds: str) -> dict[str, object]:
    return {"type": list(kinds) if len(kinds) > 1 else kinds[0]}


ARRAY_OR_NULL = {"anyOf": [{"type": "array", "items": {}}, {"type": "null"}]}

VALUES = {
    "text": ("\nx\n", of("string"), "x"),
    "text, carriage returns": ("\r\nx\r\n", of("string"), "x"),
    "one newline is layout, two are not": ("\n\n x \n\n", of("string"), "\n x \n"),
    "only a newline": ("\n", of("string"), ""),
    "nothing": ("", of("string"), ""),
    "entities are text": ("a &lt; b &amp;&amp; c", of("string"), "a &lt; b &amp;&amp; c"),
    "tags are text": ("</parameter>", of("string"), "</parameter>"),
    "a number where text is asked for": ("12345", of("string"), "12345"),
    "json where text is asked for": ('{"a": 1}', of("string"), '{"a": 1}'),
    "null where text is asked for": ("null", of("string", "null"), "null"),
    "true where text is allowed": ("true", of("string", "boolean"), "true"),
    "no schema": ("3", None, "3"),
    "a schema that says nothing": ("3", {}, "3"),
    "integer": ("\n3\n", of("integer"), 3),
    "negative integer": (" -3 ", of("integer"), -3),
    "integer with a fraction of nothing": ("3.0", of("integer"), 3),
    "number": ("3.5", of("number"), 3.5),
    "number that is whole": ("3.0", of("number"), 3.0),
    "integer or null": ("null", of("integer", "null"), None),
    "boolean": ("true", of("boolean"), True),
    "boolean, python's": ("False", of("boolean"), False),
    "object": ('\n{"a": [1, "x"]}\n', of("object"), {"a": [1, "x"]}),
    "array": ("[1, 2]", of("array"), [1, 2]),
    "array or null": ("[1]", ARRAY_OR_NULL, [1]),
    "null or array": ("null", ARRAY_OR_NULL, None),
    "object, nearly json": ("{a: 1,}", of("object"), {"a": 1}),
    "object, python's": ("{'a': True, 'b': None}", of("object"), {"a": True, "b": None}),
    "array, python's": ("['a', False,]", of("array"), ["a", False]),
    "array, on lines": ("\n[\n  1,\n  2,\n]\n", of("array"), [1, 2]),
    "choice": ("celsius", {"enum": ["celsius", "kelvin"]}, "celsius"),
    "choice between blanks": (" celsius\n\n", {"enum": ["celsius", "kelvin"]}, "celsius"),
    "choice that is a number": ("2", {"enum": [1, 2]}, 2),
    "choice that is text": ("2", {"enum": ["2", 2]}, "2"),
    "choice of any type": ("none", {"enum": ["auto", 1]}, "none"),
    "choice, typed": ("2", {"type": "integer", "enum": [1, 2]}, 2),
    "constant": ("true", {"const": True}, True),
    "true is not the choice 1": ("true", {"enum": [1]}, "true"),
}


@pytest.mark.parametrize(("text", "schema", "value"), VALUES.values(), ids=VALUES.keys())
def test_a_text_is_read_as_its_schema_asks(text: str, schema: Any, value: object) -> None:
    found = coerce_text(text, schema)
    assert found == value
    assert type(found) is type(value)


UNREADABLE = {
    "no integer": ("three", of("integer")),
    "integer with a unit": ("3 apples", of("integer")),
    "fraction for an integer": ("3.5", of("integer")),
    "leading zero": ("03", of("integer")),
    "plus": ("+3", of("integer")),
    "nan": ("NaN", of("number")),
    "infinity": ("-Infinity", of("number")),
    "not finite": ("1e999", of("number")),
    "too many digits": ("9" * 5_000, of("integer")),
    "yes": ("yes", of("boolean")),
    "one for true": ("1", of("boolean")),
    "python's none": ("None", of("null")),
    "none for an array": ("None", ARRAY_OR_NULL),
    "bare words for an array": ("a, b", of("array")),
    "one word for an array": ("a", of("array")),
    "array for an object": ("[1]", of("object")),
    "object for an array": ("{'a': 1}", of("array")),
    "cut array": ("[1, 2", of("array")),
    "cut array, python's": ("['a', ", of("array")),
    "text behind it": ("[1] and more", of("array")),
    "string in the text": ('"3"', of("integer")),
    "too deep": ("[" * (MAX_VALUE_DEPTH + 1) + "]" * (MAX_VALUE_DEPTH + 1), of("array")),
    "too deep, python's": ("[" * (MAX_VALUE_DEPTH + 1) + "," + "]" * 9, of("array")),
    "nothing": ("", of("integer")),
}


@pytest.mark.parametrize(("text", "schema"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_text_that_means_no_value_stays_text(text: str, schema: Any) -> None:
    assert coerce_text(text, schema) == text


def test_what_was_repaired_is_told() -> None:
    kinds = frozenset({"array"})
    assert read_typed("[1]", kinds) == TypedText(value=[1])
    assert read_typed("[1,]", kinds) == TypedText(value=[1], repairs=("trailing_comma",))
    assert read_typed("[1", kinds) is None


KINDS = st.sampled_from(["integer", "number", "boolean", "null", "array", "object", "string"])


@given(st.text() | st.text("{}[]\",':1.aTruenl \n"), st.lists(KINDS, max_size=3))
def test_any_text_is_a_value_of_the_schema_or_itself(text: str, kinds: list[str]) -> None:
    value = coerce_text(text, {"type": kinds})
    if isinstance(value, str):
        assert value in text
    else:
        assert "string" not in kinds
