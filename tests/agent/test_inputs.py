from typing import Any

import pytest

from rig.agent.inputs import check_input, mend_input
from rig.agent.results import MAX_PROBLEM_CHARS, MAX_PROBLEMS


def of(kind: Any, **more: Any) -> Any:
    return {"type": "object", "properties": {"a": {"type": kind, **more}}}


FITTING = {
    "nothing asked": ({"type": "object"}, {"any": 1}),
    "string": (of("string"), {"a": "x"}),
    "integer": (of("integer"), {"a": 1}),
    "whole float is an integer": (of("integer"), {"a": 1.0}),
    "integer is a number": (of("number"), {"a": 1}),
    "boolean": (of("boolean"), {"a": False}),
    "null": (of("null"), {"a": None}),
    "one of several types": (of(["integer", "null"]), {"a": None}),
    "enum": (of("string", enum=["x", "y"]), {"a": "y"}),
    "const": ({"type": "object", "properties": {"a": {"const": 1}}}, {"a": 1}),
    "unknown parameter, not forbidden": ({"type": "object"}, {"b": 1}),
    "additional properties by schema": (
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"b": 1},
    ),
    "pattern properties are not judged": (
        {"type": "object", "patternProperties": {"^b": {}}, "additionalProperties": False},
        {"b": 1},
    ),
    "either form": (
        {
            "type": "object",
            "properties": {"a": {"anyOf": [{"type": "integer"}, {"type": "string"}]}},
        },
        {"a": "x"},
    ),
    "pattern is left to the tool": (of("string", pattern="^b$"), {"a": "x"}),
    "unknown keywords and types refuse nothing": (
        of("string", format="date", frobnicate=[1]),
        {"a": "x"},
    ),
    "absent and not required": (of("string"), {}),
    "empty enum refuses nothing": (of("string", enum=[]), {"a": "x"}),
    "tuple": (
        {
            "type": "object",
            "properties": {"a": {"type": "array", "prefixItems": [{"type": "integer"}]}},
        },
        {"a": [1, "x"]},
    ),
}


@pytest.mark.parametrize(("schema", "value"), FITTING.values(), ids=FITTING.keys())
def test_fitting_input_has_no_problems(schema: Any, value: Any) -> None:
    assert check_input(schema, value) == ()


UNFIT = {
    "wrong type": (of("integer"), {"a": "x"}, ["a: must be integer, not string"]),
    "boolean is no integer": (of("integer"), {"a": True}, ["a: must be integer, not boolean"]),
    "fraction is no integer": (of("integer"), {"a": 1.5}, ["a: must be integer, not number"]),
    "one is not true": (of("integer", enum=[True]), {"a": 1}, ["a: must be one of true"]),
    "not in the enum": (of("string", enum=["x", "y"]), {"a": "z"}, ['a: must be one of "x", "y"']),
    "required": (
        {"type": "object", "required": ["a", "b"]},
        {"b": 1},
        ["a: is required, but missing"],
    ),
    "unknown": (
        {"type": "object", "additionalProperties": False},
        {"b": 1},
        ["b: is not a parameter"],
    ),
    "nested": (
        {"type": "object", "properties": {"a": {"type": "array", "items": of("string")}}},
        {"a": [{"a": "x"}, {"a": 1}]},
        ["a[1].a: must be string, not integer"],
    ),
    "too short": (of("string", minLength=2), {"a": "x"}, ["a: must have at least 2 characters"]),
    "too many": (of("array", maxItems=1), {"a": [1, 2]}, ["a: must have at most 1 items"]),
    "too small": (of("number", minimum=0), {"a": -1}, ["a: must be at least 0"]),
    "not below": (of("number", exclusiveMaximum=1), {"a": 1}, ["a: must be less than 1"]),
    "no form": (
        {"type": "object", "properties": {"a": {"oneOf": [{"type": "integer"}, {"type": "null"}]}}},
        {"a": "x"},
        ["a: fits none of the allowed forms"],
    ),
    "all of": (
        {"allOf": [{"type": "object", "required": ["a"]}]},
        {},
        ["a: is required, but missing"],
    ),
    "forbidden property": (
        {"type": "object", "properties": {"a": False}},
        {"a": 1},
        ["a: is not allowed"],
    ),
    "the whole input": ({"type": "object"}, [], ["input: must be object, not array"]),
}


@pytest.mark.parametrize(("schema", "value", "problems"), UNFIT.values(), ids=UNFIT.keys())
def test_every_problem_names_its_place(schema: Any, value: Any, problems: list[str]) -> None:
    assert list(check_input(schema, value)) == problems


def test_problems_are_bounded_in_number_and_length() -> None:
    schema = {"type": "object", "additionalProperties": False}
    problems = check_input(schema, {f"{i}{'x' * 10_000}": 1 for i in range(1_000)})
    assert len(problems) == MAX_PROBLEMS + 1
    assert all(len(problem) <= MAX_PROBLEM_CHARS for problem in problems)


def test_names_of_the_input_are_shown_on_one_printable_line() -> None:
    schema = {"type": "object", "additionalProperties": False}
    (problem,) = check_input(schema, {"a\nb\x1b[31m\ud800": 1})
    assert problem.isprintable()
    assert problem.encode()


MENDED = {
    "an object as text": (of("object"), {"a": '{"b": 1}'}, {"a": {"b": 1}}),
    "a list as text": (of("array"), {"a": "[1, 2]"}, {"a": [1, 2]}),
    "a number as text": (of("integer"), {"a": "5"}, {"a": 5}),
    "true as text": (of("boolean"), {"a": "true"}, {"a": True}),
    "null as text": (of(["integer", "null"]), {"a": "null"}, {"a": None}),
    "a fraction as text": (of("number"), {"a": "0.5"}, {"a": 0.5}),
    "a whole fraction as text": (of("integer"), {"a": "5.0"}, {"a": 5}),
    "python's true as text": (of("boolean"), {"a": "True"}, {"a": True}),
    "a list as text, nearly json": (of("array"), {"a": "['b', None,]"}, {"a": ["b", None]}),
    "all of": (
        {"type": "object", "properties": {"a": {"allOf": [{"type": "integer"}], "title": "A"}}},
        {"a": "5"},
        {"a": 5},
    ),
    "in a list": ({"type": "array", "items": {"type": "integer"}}, ["1", 2], [1, 2]),
    "inside of decoded text": (
        {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}},
        {"a": '["1"]'},
        {"a": [1]},
    ),
    "one of several forms": (
        {"type": "object", "properties": {"a": {"anyOf": [{"type": "array"}, {"type": "null"}]}}},
        {"a": "[]"},
        {"a": []},
    ),
    "null for what may be left out": (of("integer"), {"a": None}, {}),
}


@pytest.mark.parametrize(("schema", "value", "expected"), MENDED.values(), ids=MENDED.keys())
def test_input_is_read_as_the_schema_lets_it(schema: Any, value: Any, expected: Any) -> None:
    mended, repairs = mend_input(schema, value)
    assert mended == expected
    assert repairs


UNTOUCHED = {
    "text where text is asked for": (of("string"), {"a": '{"b": 1}'}),
    "text is one of the types": (of(["string", "object"]), {"a": '{"b": 1}'}),
    "no type is said": ({"type": "object", "properties": {"a": {}}}, {"a": "1"}),
    "of another type": (of("array"), {"a": '{"b": 1}'}),
    "no json": (of("array"), {"a": "1, 2"}),
    "cut": (of("array"), {"a": "[1, 2"}),
    "cut, nearly json": (of("array"), {"a": "['b',"}),
    "a bare word for a list": (of("array"), {"a": "b"}),
    "a unit": (of("integer"), {"a": "5 px"}),
    "leading zero": (of("integer"), {"a": "05"}),
    "yes": (of("boolean"), {"a": "yes"}),
    "a deep list": (of("array"), {"a": "[" * 300 + "]" * 300}),
    "nan": (of("number"), {"a": "NaN"}),
    "a string in the text": (of("integer"), {"a": '"5"'}),
    "null for what is required": ({**of("integer"), "required": ["a"]}, {"a": None}),
    "null where it is a value": (of(["integer", "null"]), {"a": None}),
    "a parameter nobody knows": ({"type": "object", "properties": {}}, {"a": "[]", "b": None}),
    "text members of an enum": (
        {"type": "object", "properties": {"a": {"enum": ["1", "2"]}}},
        {"a": "1"},
    ),
}


@pytest.mark.parametrize(("schema", "value"), UNTOUCHED.values(), ids=UNTOUCHED.keys())
def test_nothing_else_is_touched(schema: Any, value: Any) -> None:
    assert mend_input(schema, value) == (value, ())
