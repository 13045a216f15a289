"""Structured calls: whatever the shape, a name, an id of its own and the model's arguments."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.wire.calls import (
    ID_CHARS,
    clean_tool_name,
    read_call_arguments,
    read_calls,
    unique_ids,
)


def call(
    name: object = "f", arguments: object = '{"a": 1}', call_id: object = "c1", **more: object
) -> dict[str, object]:
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function, **more}


def read(message: dict[str, object]) -> list[tuple[str, str]]:
    return [(made.name, made.arguments) for made in read_calls(message, seed=b"seed").calls]


ONE = [("f", '{"a": 1}')]

SHAPES: dict[str, dict[str, object]] = {
    "OpenAI's": {"tool_calls": [call()]},
    "without a type": {"tool_calls": [{"id": "c", "function": call()["function"]}]},
    "with an index": {"tool_calls": [call(index=0)]},
    "one alone": {"tool_calls": call()},
    "by index": {"tool_calls": {"0": call()}},
    "null beside it": {"tool_calls": [None, call(), "x", 7]},
    "as JSON text": {"tool_calls": '[{"function": {"name": "f", "arguments": "{\\"a\\": 1}"}}]'},
    "one as JSON text": {"tool_calls": '{"name": "f", "arguments": "{\\"a\\": 1}"}'},
    "flat": {"tool_calls": [{"name": "f", "arguments": '{"a": 1}'}]},
    "function null, flat": {
        "tool_calls": [{"function": None, "name": "f", "arguments": '{"a": 1}'}]
    },
    "the function is a name": {"tool_calls": [{"function": "f", "arguments": '{"a": 1}'}]},
    "parameters": {"tool_calls": [{"function": {"name": "f", "parameters": '{"a": 1}'}}]},
    "args": {"tool_calls": [{"function": {"name": "f", "args": '{"a": 1}', "arguments": None}}]},
    "function_call alone": {"function_call": {"name": "f", "arguments": '{"a": 1}'}},
    "function_call, no tool_calls": {
        "function_call": {"name": "f", "arguments": '{"a": 1}'},
        "tool_calls": None,
    },
    "function_call, empty tool_calls": {
        "function_call": {"name": "f", "arguments": '{"a": 1}'},
        "tool_calls": [],
    },
    "function_call, nameless tool_calls": {
        "function_call": {"name": "f", "arguments": '{"a": 1}'},
        "tool_calls": [{}],
    },
    "both are one": {
        "function_call": {"name": "f", "arguments": '{"a":1}'},
        "tool_calls": [call()],
    },
    "a nameless neighbour": {"tool_calls": [call(name=""), call(), call(name=None)]},
    "a custom neighbour": {
        "tool_calls": [{"id": "x", "type": "custom", "custom": {"name": "g", "input": "z"}}, call()]
    },
}


@pytest.mark.parametrize("message", SHAPES.values(), ids=SHAPES)
def test_one_call_is_read_from_every_shape(message: dict[str, object]) -> None:
    assert read(message) == ONE


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"tool_calls": None},
        {"tool_calls": []},
        {"tool_calls": {}},
        {"tool_calls": "f"},
        {"tool_calls": "[f"},
        {"tool_calls": "[]"},
        {"tool_calls": 7},
        {"tool_calls": [None, 1, "x", [call()]]},
        {"function_call": None},
        {"function_call": "auto"},
    ],
)
def test_no_call_is_no_call(message: dict[str, object]) -> None:
    found = read_calls(message, seed=b"")
    assert not found.calls
    assert not found.unusable


@pytest.mark.parametrize(
    "entry",
    [
        {},
        call(name=""),
        call(name="null"),
        call(name=None),
        call(name=7),
        call(name="<|x|>"),
        {"type": "custom", "custom": {"name": "f", "input": "x"}},
        {"type": "custom", "name": "f", "input": "x"},
        {"function": []},
    ],
)
def test_what_nobody_can_answer_is_counted(entry: dict[str, object]) -> None:
    found = read_calls({"tool_calls": [entry]}, seed=b"")
    assert (found.calls, found.unusable) == ((), 1)


BLANK: list[dict[str, object]] = [
    {},
    call(name="", arguments=""),
    call(name=None, arguments=None, index=0),
    call(name="null", arguments=" "),
    {"id": "", "type": "function", "function": None},
    {"function": []},
    {"name": "", "arguments": ""},
]
NOT_BLANK: list[dict[str, object]] = [
    call(name=""),
    call(name="", arguments="{}"),
    call(name="", arguments={}),
    {"type": "custom", "custom": {"name": "f", "input": "x"}},
    {"type": "custom"},
    {"function": {"tool_name": "f"}},
    {"query": "x"},
]


@pytest.mark.parametrize(
    ("entry", "blank"), [*((entry, 1) for entry in BLANK), *((entry, 0) for entry in NOT_BLANK)]
)
def test_a_call_that_says_nothing_at_all_is_told_apart(
    entry: dict[str, object], blank: int
) -> None:
    found = read_calls({"tool_calls": [entry]}, seed=b"")
    assert (found.calls, found.unusable, found.blank) == ((), 1, blank)


@pytest.mark.parametrize("key", ["id", "call_id", "tool_call_id"])
def test_an_id_is_found_under_every_name(key: str) -> None:
    found = read_calls({"tool_calls": [{key: "q", "function": {"name": "f"}}]}, seed=b"")
    assert [made.id for made in found.calls] == ["q"]


NAMES: dict[str, tuple[object, str]] = {
    "plain": ("get_weather", "get_weather"),
    "blanks": ("  get_weather\n", "get_weather"),
    "a special token": ("get_weather<|channel|>commentary", "get_weather"),
    "a tag": ("get_weather</tool_call>", "get_weather"),
    "DeepSeek's bars": ("get_weather<\uff5ctool\u2581sep\uff5c>", "get_weather"),
    "Mistral's token": ("get_weather[ARGS]", "get_weather"),
    "arguments behind it": ('get_weather{"city": "Paris"}', "get_weather"),
    "a second line": ("get_weather\njson", "get_weather"),
    "a token before it": ("<|python_tag|>get_weather", "get_weather"),
    "harmony": ("functions.get_weather", "get_weather"),
    "harmony and a channel": ("functions.get_weather<|channel|>json", "get_weather"),
    "Kimi's index": ("functions.get_weather:0", "get_weather"),
    "quotes": ('"get_weather"', "get_weather"),
    "a dotted name stays": ("read.filePath", "read.filePath"),
    "a colon stays": ("a:b", "a:b"),
    "nothing": ("", ""),
    "the word null": ("null", ""),
    "only markup": ("<|a|><|b|>", ""),
    "a number": (7, ""),
    "invisible characters around it": ("\u200bget_weather\ufeff", "get_weather"),
    "invisible characters inside": ("get\u200b_weather", "get_weather"),
    "nothing but invisible characters": ("\u200b\ufeff", ""),
    "long": ("x" * 1000, "x" * 256),
}


@pytest.mark.parametrize(("raw", "name"), NAMES.values(), ids=NAMES)
def test_a_name_is_cleaned(raw: object, name: str) -> None:
    assert clean_tool_name(raw) == name


ARGUMENTS: dict[str, tuple[object, str, bool]] = {
    "an object's text": ('{"a": 1}', '{"a": 1}', False),
    "spacing stays": ('{ "a" :1 }', '{ "a" :1 }', False),
    "an object": ({"a": 1}, '{"a":1}', False),
    "null": (None, "{}", False),
    "blank": (" \n", "{}", False),
    "the word null": ("null", "{}", False),
    "the word None": ("None", "{}", False),
    "null in quotes": ('"null"', "{}", False),
    "nothing in quotes": ('""', "{}", False),
    "encoded twice": ('"{\\"a\\": 1}"', '{"a": 1}', False),
    "a label": ('json\n{"a": 1}', '{"a": 1}', True),
    "a fence": ('```json\n{"a": 1}\n```', '{"a": 1}', True),
    "a closer and half a token": ('{"a": 1}}</s', '{"a": 1}', True),
    "half a surrogate": (r'{"a": "\ud83d"}', r'{"a": "\ufffd"}', True),
    "a comma too many": ('{"a": 1,}', '{"a": 1}', True),
    "half a surrogate and a comma too many": (r'{"a": "\ud83d",}', r'{"a": "\ufffd"}', True),
    "near-json": ("{a: 'b'}", '{"a": "b"}', True),
    "near-json, cut": ("{a: 'b", "{a: 'b", False),
    "cut": ('{"a": ', '{"a":', False),
    "two objects": ('{"a": 1}{"b": 2}', '{"a": 1}{"b": 2}', False),
    "NaN": ('{"a": NaN}', '{"a": NaN}', False),
    "NaN in an object": ({"a": float("nan")}, '{"a":NaN}', False),
    "a list": ([12, 30], "[12,30]", False),
    "a list's text": ("[12, 30]", "[12, 30]", False),
    "a number": (7, "7", False),
    "prose": ("call it with Paris", "call it with Paris", False),
}


@pytest.mark.parametrize(("raw", "text", "mended"), ARGUMENTS.values(), ids=ARGUMENTS)
def test_arguments_are_one_object_or_what_the_model_wrote(
    raw: object, text: str, mended: bool
) -> None:
    found, repairs = read_call_arguments(raw)
    assert found == text
    assert bool(repairs) is mended


IDS: dict[str, tuple[list[str], list[int]]] = {
    "all different": (["a", "b"], []),
    "all missing": (["", "", ""], [0, 1, 2]),
    "one twice": (["a", "a", "b"], [1]),
    "missing and twice": (["", "dup", "dup"], [0, 2]),
}


@pytest.mark.parametrize(("ids", "made"), IDS.values(), ids=IDS)
def test_only_missing_and_repeated_ids_are_made(ids: list[str], made: list[int]) -> None:
    out = unique_ids(ids, seed=b"reply")
    assert [
        index for index, (old, new) in enumerate(zip(ids, out, strict=True)) if old != new
    ] == made
    assert len(set(out)) == len(out)
    assert all(len(out[index]) == ID_CHARS and out[index].isalnum() for index in made)
    assert out == unique_ids(ids, seed=b"reply")


def test_a_made_id_is_never_one_that_comes_later() -> None:
    first = unique_ids([""], seed=b"reply")[0]
    out = unique_ids(["", first], seed=b"reply")
    assert out[1] == first
    assert out[0] != first


def test_other_replies_give_other_ids() -> None:
    assert unique_ids([""], seed=b"one") != unique_ids([""], seed=b"two")


@pytest.mark.parametrize("raw", ["", None, "null", "None", "  ", 7, ["x"]])
def test_what_is_no_id_is_missing(raw: object) -> None:
    made = read_calls({"tool_calls": [call(call_id=raw)]}, seed=b"").calls[0].id
    assert made not in {"", "null", "None"}


def test_thousands_of_calls_are_read() -> None:
    found = read_calls({"tool_calls": [call(call_id="") for _ in range(5000)]}, seed=b"x")
    assert len({made.id for made in found.calls}) == 5000


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "type", "function", "name", "arguments", "custom", "input"]),
            inner,
        )
    ),
    max_leaves=12,
)


@given(JSON, JSON)
def test_any_value_is_read(calls: Any, legacy: Any) -> None:
    found = read_calls({"tool_calls": calls, "function_call": legacy}, seed=b"")
    ids = [made.id for made in found.calls]
    assert len(set(ids)) == len(ids)
    assert all(ids)
    assert all(made.name for made in found.calls)
    assert all(isinstance(made.arguments, str) for made in found.calls)


@given(st.text())
def test_any_name_is_cleaned_and_stays_clean(name: str) -> None:
    once = clean_tool_name(name)
    assert not set(once) & set("<[{\n\r")
