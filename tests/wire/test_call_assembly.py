"""Which fragment belongs to which call: the shapes servers really send, in one table."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from rig.model import CallDelta
from rig.wire.call_assembly import MAX_CALLS, CallAssembler, finished_calls
from rig.wire.calls import read_calls


def fragment(
    arguments: object = None, *, index: object = None, call_id: object = None, name: object = None
) -> dict[str, Any]:
    """One entry of `tool_calls`; what is None is left out."""
    function = {"name": name, "arguments": arguments}
    entry: dict[str, Any] = {"index": index, "id": call_id}
    entry = {key: value for key, value in entry.items() if value is not None}
    return entry | {
        "function": {key: value for key, value in function.items() if value is not None}
    }


def assemble(deltas: list[Any]) -> tuple[CallAssembler, list[CallDelta]]:
    assembler = CallAssembler()
    return assembler, [news for delta in deltas for news in assembler.add(delta)]


def calls_of(assembler: CallAssembler) -> list[tuple[str, str]]:
    calls = read_calls({"tool_calls": assembler.wire()}, seed=b"").calls
    return [(call.name, call.arguments) for call in calls]


F = fragment
CASES: dict[str, tuple[list[list[Any]], list[tuple[str, str]]]] = {
    "pieces by index": (
        [[F("", index=0, call_id="a", name="get")], [F('{"x":', index=0)], [F("1}", index=0)]],
        [("get", '{"x":1}')],
    ),
    "two calls interleaved": (
        [
            [F('{"p":', index=0, call_id="a", name="get")],
            [F('{"p":', index=1, call_id="b", name="set")],
            [F('"first"}', index=0)],
            [F('"second"}', index=1)],
        ],
        [("get", '{"p":"first"}'), ("set", '{"p":"second"}')],
    ),
    "two calls in one delta": (
        [
            [F("{", index=0, call_id="a", name="get"), F("{", index=1, call_id="b", name="set")],
            [F("}", index=1), F("}", index=0)],
        ],
        [("get", "{}"), ("set", "{}")],
    ),
    "one index for all calls": (
        [[F('{"a":1}', index=0, call_id="a", name="get")], [F("{}", index=0, call_id="b", name="get")]],
        [("get", '{"a":1}'), ("get", "{}")],
    ),
    "one index for all calls, in pieces": (
        [
            [F("{", index=0, call_id="a", name="get")],
            [F("}", index=0)],
            [F("", index=0, call_id="b", name="set")],
            [F('{"b":1', index=0)],
            [F("}", index=0, call_id="b")],
        ],
        [("get", "{}"), ("set", '{"b":1}')],
    ),
    "one index, ids interleaved": (
        [
            [F('{"a"', index=0, call_id="a", name="get")],
            [F('{"b"', index=0, call_id="b", name="set")],
            [F(":1}", index=0, call_id="a")],
            [F(":2}", index=0, call_id="b")],
        ],
        [("get", '{"a":1}'), ("set", '{"b":2}')],
    ),
    "no index, ids open calls": (
        [[F('{"c":', call_id="a", name="get")], [F("1}")], [F('{"t":', call_id="b", name="set")], [F("2}")]],
        [("get", '{"c":1}'), ("set", '{"t":2}')],
    ),
    "no index, the same id goes on": (
        [[F('{"c":', call_id="a", name="get")], [F("1}", call_id="a")]],
        [("get", '{"c":1}')],
    ),
    "no index and no ids, whole calls": (
        [[F('{"a":1}', name="get"), F('{"b":2}', name="set")], [F("{}", name="get")]],
        [("get", '{"a":1}'), ("set", '{"b":2}'), ("get", "{}")],
    ),
    "no index and no ids, the same tool twice": (
        [[F('{"a":1}', name="get")], [F('{"a":2}', name="get")], [F('{"a":2}', name="get")]],
        [("get", '{"a":1}'), ("get", '{"a":2}'), ("get", '{"a":2}')],
    ),
    "no index and no ids, no arguments": ([[F(name="get"), F(name="set")]], [("get", "{}"), ("set", "{}")]),
    "one index and no ids, whole calls": (
        [[F('{"a":1}', index=0, call_id="", name="get")], [F('{"b":2}', index=0, call_id="", name="set")]],
        [("get", '{"a":1}'), ("set", '{"b":2}')],
    ),
    "one index and no ids, the call repeated": (
        [[F('{"a":1}', index=0, name="get")], [F('{"a":1}', index=0, name="get")]],
        [("get", '{"a":1}')],
    ),
    "many pieces that look like a beginning, then another call": (
        [
            [F('{"a":"', index=0, name="get")],
            *[[F("{x", index=0, name="get")]] * 20,
            [F('"}', index=0, name="get")],
            [F("{}", index=0, name="get")],
        ],
        [("get", '{"a":"' + "{x" * 20 + '"}'), ("get", "{}")],
    ),
    "index only on later pieces": (
        [[F('{"a"', call_id="a", name="get")], [F(":1", index=0)], [F("}", index=0)]],
        [("get", '{"a":1}')],
    ),
    "index only on the first piece": (
        [[F('{"a"', index=0, call_id="a", name="get")], [F(":1")], [F("}")]],
        [("get", '{"a":1}')],
    ),
    "an id that comes late": (
        [[F('{"a"', index=0, name="get")], [F(":1}", index=0, call_id="late")]],
        [("get", '{"a":1}')],
    ),
    "a fresh id in every piece": (
        [
            [F("", index=0, call_id="x1", name="get")],
            [F('{"a":', index=0, call_id="x2")],
            [F("1}", index=0, call_id="x3")],
        ],
        [("get", '{"a":1}')],
    ),
    "a fresh id in every piece, no index": (
        [[F("", call_id="x1", name="get")], [F('{"a":', call_id="x2")], [F("1}", call_id="x3")]],
        [("get", '{"a":1}')],
    ),
    "a fresh id in every piece, the index on later ones": (
        [[F("", call_id="x1", name="get")], [F('{"a":', index=0, call_id="x2")], [F("1}", index=0, call_id="x3")]],
        [("get", '{"a":1}')],
    ),
    "a fresh id in every piece of two calls": (
        [
            [F("", index=0, call_id="x1", name="get"), F("", index=1, call_id="x2", name="set")],
            [F('{"b":', index=1, call_id="x3"), F('{"a":', index=0, call_id="x4")],
            [F("1}", index=0, call_id="x5"), F("2}", index=1, call_id="x6")],
        ],
        [("get", '{"a":1}'), ("set", '{"b":2}')],
    ),
    "one id for all calls, an index each": (
        [[F('{"a":1}', index=0, call_id="c", name="get")], [F('{"a":2}', index=1, call_id="c", name="get")]],
        [("get", '{"a":1}'), ("get", '{"a":2}')],
    ),
    "one id for all calls, an index each, in pieces": (
        [
            [F('{"a":', index=0, call_id="c", name="get")],
            [F("1}", index=0, call_id="c")],
            [F('{"b":', index=1, call_id="c", name="set")],
            [F("2}", index=1, call_id="c", name="set")],
        ],
        [("get", '{"a":1}'), ("set", '{"b":2}')],
    ),
    "an index on the first piece, then its id and name": (
        [[F('{"a":', index=0, call_id="c", name="get")], [F("1}", call_id="c", name="get")]],
        [("get", '{"a":1}')],
    ),
    "empty and null ids are none": (
        [
            [F("{", index=0, call_id="a", name="get")],
            [F('"a"', index=0, call_id="")],
            [F(":", index=0, call_id="null")],
            [{"index": 0, "id": None, "function": {"name": None, "arguments": "1}"}}],
        ],
        [("get", '{"a":1}')],
    ),
    "the name in every piece": (
        [[F("{", index=0, call_id="a", name="get")], [F('"a":', index=0, name="get")], [F("1}", index=0, name="get")]],
        [("get", '{"a":1}')],
    ),
    "the name and the id in every piece": (
        [[F("{", index=0, call_id="a", name="get")], [F("}", index=0, call_id="a", name="get")]],
        [("get", "{}")],
    ),
    "the name after the arguments": (
        [[F('{"a":1}', index=0, call_id="a")], [F(index=0, name="get")]],
        [("get", '{"a":1}')],
    ),
    "a name of null, then a name": (
        [[F("{", index=0, call_id="a", name="null")], [F("}", index=0, name="get")]],
        [("get", "{}")],
    ),
    "arguments as an object": ([[F({"a": 1}, index=0, call_id="a", name="get")]], [("get", '{"a":1}')]),
    "arguments as an object, twice": (
        [[F({"a": 1}, index=0, call_id="a", name="get")], [F({"a": 1}, index=0, call_id="a", name="get")]],
        [("get", '{"a":1}')],
    ),
    "arguments as an object that grows": (
        [[F({}, index=0, call_id="a", name="get")], [F({"a": 1}, index=0, call_id="a")]],
        [("get", '{"a":1}')],
    ),
    "an object, then blanks": (
        [[F({"a": 1}, index=0, call_id="a", name="get")], [F(" ", index=0)], [F({"a": 1}, index=0)]],
        [("get", '{"a":1}')],
    ),
    "a last chunk that repeats the whole call": (
        [[F('{"a":1}', index=0, call_id="a", name="get")], [F('{"a":1}', index=0, call_id="a", name="get")]],
        [("get", '{"a":1}')],
    ),
    "arguments under another key": (
        [[{"index": 0, "id": "a", "function": {"name": "get", "parameters": {"a": 1}}}]],
        [("get", '{"a":1}')],
    ),
    "no nested function": (
        [[{"index": 0, "id": "a", "name": "get", "arguments": '{"a":'}], [{"index": 0, "arguments": "1}"}]],
        [("get", '{"a":1}')],
    ),
    "function as a name": ([[{"index": 0, "function": "get", "arguments": "{}"}]], [("get", "{}")]),
    "an index as text": (
        [[F("{", index="0", call_id="a", name="get")], [F("{", index="1", call_id="b", name="set")], [F("}", index="0")]],
        [("get", "{}"), ("set", "{")],
    ),
    "an index that is none": (
        [[F("{", index=True, call_id="a", name="get")], [F("}", index=[0])], [F("", index={})]],
        [("get", "{}")],
    ),
    "indexes from one, and with gaps": (
        [[F("{}", index=1, call_id="a", name="get")], [F("{}", index=7, call_id="b", name="set")]],
        [("get", "{}"), ("set", "{}")],
    ),
    "cut arguments stay cut": ([[F('{"a": "', index=0, call_id="a", name="get")]], [("get", '{"a": "')]),
    "a call without a name": ([[F("{}", index=0, call_id="a")]], []),
    "markup behind the name": ([[F("{}", index=0, call_id="a", name="get<|channel|>json")]], [("get", "{}")]),
    "nothing": ([[], [None], ["x"], [{}]], []),
}  # fmt: skip


def pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def growing(text: str, size: int) -> list[str]:
    return [text[: at + size] for at in range(0, len(text), size)]


AGAIN: dict[str, Callable[[str, int], list[Any]]] = {
    "pieces, then the whole": lambda text, size: [*pieces(text, size), text],
    "pieces, then the whole twice": lambda text, size: [*pieces(text, size), text, text],
    "pieces, then the whole as an object": lambda text, size: [*pieces(text, size), from_json(text)],
    "a placeholder, then pieces": lambda text, size: ["{}", *pieces(text, size)],
    "a placeholder of null, then pieces": lambda text, size: ["null", *pieces(text, size)],
    "a placeholder in pieces, then pieces": lambda text, size: ["{", "}", *pieces(text, size)],
    "a placeholder, then all so far in each": lambda text, size: ["{}", *growing(text, size)],
    "all so far in each": growing,
    "all so far in each, the last one twice": lambda text, size: [*growing(text, size), text],
    "all so far in each, each twice": lambda text, size: [one for one in growing(text, size) for _ in "ab"],
    "all so far in each, then blanks": lambda text, size: [*growing(text, size), "\n", " "],
}  # fmt: skip
NAMES: dict[str, list[dict[str, Any]]] = {
    "index only": [{"index": 0, "call_id": "a", "name": "get"}, {"index": 0}],
    "id and name in each": [{"index": 0, "call_id": "a", "name": "get"}] * 2,
    "id only": [{"call_id": "a", "name": "get"}, {"call_id": "a"}],
    "nothing": [{"name": "get"}, {}],
}
TEXTS = ['{"path": "/tmp/a", "more": {"x": [1, "}"]}}', '{"a":{"a":{"a":1}}}', '{"{}":"{}"}']


@pytest.mark.parametrize("size", [1, 2, 7, 11, 1000], ids="{} characters".format)
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("keys", NAMES.values(), ids=NAMES.keys())
@pytest.mark.parametrize("sent", AGAIN.values(), ids=AGAIN.keys())
def test_arguments_that_are_sent_again_are_the_same_ones(
    sent: Callable[[str, int], list[Any]], keys: list[dict[str, Any]], text: str, size: int
) -> None:
    first, *rest = sent(text, size)
    assembler, _ = assemble([[F(first, **keys[0])], *[[F(one, **keys[1])] for one in rest]])
    assert [(name, from_json(found)) for name, found in calls_of(assembler)] == [
        ("get", from_json(text))
    ]


HONEST = ['{"a":', '{"a":1}', "}"], ['{"a":', '{"a":1}}'], ["{", '"{":1}'], ["{}"], ["{", "}"]


@pytest.mark.parametrize("texts", HONEST, ids=str)
def test_pieces_that_only_look_like_a_new_beginning_go_on(texts: list[str]) -> None:
    deltas = [[F(text, index=0, call_id="a", name="get")] for text in texts]
    assert calls_of(assemble(deltas)[0]) == [("get", "".join(texts))]


def test_arguments_that_grow_count_once_and_are_told_of_once() -> None:
    text = json.dumps({"path": "x" * 2000})
    assembler, news = assemble(
        [[F(one, index=0, call_id="a", name="get")] for one in growing(text, 3)]
    )
    assert assembler.size == len(text) + len("aget")
    assert "".join(one.arguments for one in news) == text


@pytest.mark.parametrize(("deltas", "expected"), CASES.values(), ids=CASES.keys())
def test_fragments_come_together_as_the_calls_they_were(
    deltas: list[list[Any]], expected: list[tuple[str, str]]
) -> None:
    assert calls_of(assemble(deltas)[0]) == expected


SHAPES: dict[str, Any] = {
    "one alone": F("{}", index=0, call_id="a", name="get"),
    "by index": {"0": F("{}", index=0, call_id="a", name="get")},
}


@pytest.mark.parametrize("value", SHAPES.values(), ids=SHAPES.keys())
def test_fragments_that_are_no_list_are_read_too(value: object) -> None:
    assert calls_of(assemble([value])[0]) == [("get", "{}")]


@pytest.mark.parametrize("value", [None, "x", 3, True, [], {}, [[]], [None, 1]])
def test_what_is_no_call_at_all_is_nothing(value: object) -> None:
    assembler, news = assemble([value])
    assert news == []
    assert calls_of(assembler) == []


def test_news_tell_the_name_first_and_then_each_fragment() -> None:
    _, news = assemble(
        [
            [F("", index=0, call_id="a", name="get")],
            [F('{"a"', index=0), F("{}", index=1, call_id="b", name="set")],
            [F(":1}", index=0)],
        ]
    )
    told = [(one.stage, one.index, one.id, one.name, one.arguments) for one in news]
    assert told == [
        ("started", 0, "a", "get", ""),
        ("arguments", 0, "a", "get", '{"a"'),
        ("started", 1, "b", "set", ""),
        ("arguments", 1, "b", "set", "{}"),
        ("arguments", 0, "a", "get", ":1}"),
    ]


def test_a_call_is_not_told_of_before_it_has_a_name() -> None:
    _, news = assemble([[F('{"a"', index=0)], [F(":1", index=0)], [F("}", index=0, name="get")]])
    assert [(one.stage, one.arguments) for one in news] == [
        ("started", ""),
        ("arguments", '{"a":1'),
        ("arguments", "}"),
    ]


def test_a_legacy_function_call_is_one_call() -> None:
    assembler = CallAssembler()
    for function in (
        {"name": "get", "arguments": ""},
        {"arguments": '{"a"'},
        {"arguments": ":1}"},
        7,
    ):
        assembler.add_legacy(function)
    assert calls_of(assembler) == [("get", '{"a":1}')]
    assert [one.stage for one in assembler.started()] == ["started", "arguments"]


def test_whole_calls_are_finished_and_cut_ones_are_not() -> None:
    assembler, _ = assemble(
        [
            [
                F("{}", index=0, call_id="a", name="get"),
                F('{"a": "', index=1, call_id="b", name="get"),
            ],
            [F("no json", index=2, call_id="c", name="get")],
        ]
    )
    calls = read_calls({"tool_calls": assembler.wire()}, seed=b"").calls
    done = list(finished_calls(assembler.named(), calls))
    assert [(one.stage, one.index, one.id, one.arguments) for one in done] == [
        ("finished", 0, "a", "{}"),
        ("finished", 2, "c", "no json"),
    ]
    assert list(finished_calls([0], calls)) == []


def test_the_number_of_calls_is_bounded() -> None:
    assembler = CallAssembler()
    entries = [F("{}", index=index, call_id=f"c{index}", name="get") for index in range(MAX_CALLS)]
    assembler.add(entries)
    assert assembler.overflow is False
    assembler.add([F("{}", index=MAX_CALLS, call_id="more", name="get")])
    assert len(assembler.wire()) == MAX_CALLS
    assert bool(assembler.overflow)


def test_size_counts_ids_names_and_arguments_in_bytes() -> None:
    assembler, _ = assemble(
        [[F('{"\u00e9"', index=0, call_id="abc", name="get")], [F(":1}", index=0)]]
    )
    assert assembler.size == len('{"\u00e9":1}'.encode()) + len("abcget")


@given(st.lists(st.text('{}":,a1 ', min_size=1, max_size=6), max_size=20), st.booleans())
def test_pieces_of_one_call_always_add_up_to_their_text(pieces: list[str], repeat: bool) -> None:
    """Whatever the pieces are, as long as id and index tell whose they are."""
    name = "get" if repeat else None
    deltas = [[F(piece, index=0, call_id="a", name=name)] for piece in pieces]
    assembler, _ = assemble([[F("<", index=0, call_id="a", name="get")], *deltas])
    calls = assembler.wire()
    assert [call["function"] for call in calls] == [
        {"name": "get", "arguments": "<" + "".join(pieces)}
    ]


NAMELESS = [F('{"a": "}', index=0, name="get")]
WORK: dict[str, tuple[list[Any], list[Any]]] = {
    "the name repeated, never an id": (NAMELESS, [F("{}", index=0, name="get")]),
    "pieces that look like the end": ([F("{", index=0, name="get")], [F('{"}', name="get")]),
    "an object, blanks, the object": (
        [F('{"a":1}', index=0, name="get")],
        [F(" ", index=0), F('{"a":1}', index=0)],
    ),
    "the same piece again and again": ([F("{}", index=0, name="get")], [F("{}", index=0)]),
}


@pytest.mark.parametrize(("first", "again"), WORK.values(), ids=WORK.keys())
def test_arguments_are_parsed_a_bounded_number_of_times(
    first: list[Any], again: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[int] = []

    def counting(text: str, *, allow_inf_nan: bool) -> Any:
        parsed.append(len(text))
        return from_json(text, allow_inf_nan=allow_inf_nan)

    monkeypatch.setattr("rig.wire.call_assembly.from_json", counting)
    assembler, _ = assemble([first] + [again] * 1000)
    assert sum(parsed) <= 8 * assembler.size + 100
