import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from rig.text.arguments import Arguments, ArgumentsKind, read_arguments
from rig.text.json_repair import repair_json

DATA = Path(__file__).parent.parent / "data" / "text"


def rows() -> list[Any]:
    lines = (DATA / "tool-arguments.jsonl").read_text(encoding="utf-8").splitlines()
    return [pytest.param(row, id=row["id"]) for row in map(from_json, lines)]


@pytest.mark.parametrize("row", rows())
def test_reported_arguments_are_read(row: dict[str, Any]) -> None:
    arguments = read_arguments(row["input"])
    assert arguments.kind == row["kind"]
    if "arguments" in row:
        assert json.JSONDecoder().decode(arguments.text) == row["arguments"]
        assert arguments.repairs


UNCHANGED = [
    "{}",
    '{"a":1}',
    ' {\n  "a": [1, 2]\n}\n',
    '{"a":"```json {} </s>"}',
    '{"a":"\\ud83d\\ude00"}',
]


@pytest.mark.parametrize("text", UNCHANGED)
def test_a_whole_object_is_not_touched(text: str) -> None:
    assert read_arguments(text) == Arguments(kind="object", text=text)


@pytest.mark.parametrize("text", ["", " ", "\n\t "])
def test_blank_arguments_are_no_arguments(text: str) -> None:
    assert read_arguments(text) == Arguments(kind="object", text="{}")


REPAIRED = {
    "label": ('json\n{"a":1}', ("label",)),
    "label, upper case": ('JSON {"a":1}', ("label",)),
    "label, colon": ('json: {"a":1}', ("label",)),
    "label, no gap": ('json{"a":1}', ("label",)),
    "fence": ('```\n{"a":1}\n```', ("fence",)),
    "fence and label": ('```json\n{"a":1}\n```\n', ("fence", "label")),
    "opening fence": ('```json\n{"a":1}', ("fence", "label")),
    "closing fence": ('{"a":1}\n```', ("fence",)),
    "closing brace": ('{"a":1}}', ("stray_closer",)),
    "closers": ('{"a":1}}]}', ("stray_closer",)),
    "cut end of sequence": ('{"a":1}</s', ("special_token",)),
    "end of sequence": ('{"a":1}</s>', ("special_token",)),
    "closers and a cut token": ('{"a":1}}</s', ("stray_closer", "special_token")),
    "chat end": ('{"a":1}<|im_end|>', ("special_token",)),
    "cut chat end": ('{"a":1}<|im_e', ("special_token",)),
    "beginning of a token": ('{"a":1}<|', ("special_token",)),
    "harmony call": ('{"a":1}<|call|>', ("special_token",)),
    "two tokens": ('{"a":1}<|call|>\n<|end|>', ("special_token",)),
    "deepseek": ('{"a":1}<\uff5ctool\u2581call\u2581end\uff5c>', ("special_token",)),
    "kimi": ('{"a":1}<|tool_call_end|><|tool_calls_section_end|>', ("special_token",)),
    "gemma": ('{"a":1}<end_of_turn>', ("special_token",)),
    "gemma, a call": ('<start_function_call>{"a":1}<end_function_call>', ("special_token",)),
    "mistral": ('{"a":1}[/TOOL_CALLS]', ("special_token",)),
    "elements": ('<tool_call>\n{"a":1}\n</tool_call>', ("special_token",)),
    "closing element": ('{"a":1}</parameter></function>', ("special_token",)),
    "token before": ('<|message|>{"a":1}', ("special_token",)),
    "byte order mark": ('\ufeff{"a":1}', ("blank",)),
    "no-break space": ('{"a":1}\u00a0', ("blank",)),
    "string": ('"{\\"a\\":1}"', ("unwrapped",)),
    "string with debris inside": ('"json\\n{\\"a\\":1}}"', ("unwrapped", "label", "stray_closer")),
    "trailing comma": ('{"a":1,}', ("trailing_comma",)),
    "bare key in a fence": ("```json\n{a:1}\n```", ("fence", "label", "bare_key")),
    "single quotes and closers": (
        "{'a':1,}}</s>",
        ("single_quotes", "trailing_comma", "stray_closer", "special_token"),
    ),
    "comment before": ('// it is one\n{"a":1}', ("comment",)),
    "comment behind": ('{"a":1} # one', ("comment",)),
    "comment inside": ('{/*b*/"a":1}', ("comment",)),
    "string with near-json inside": (
        "\"{'a':1,}\"",
        ("unwrapped", "single_quotes", "trailing_comma"),
    ),
    "string with debris around": ('"{\\"a\\":1}"</s>', ("special_token", "unwrapped")),
}


@pytest.mark.parametrize(("text", "repairs"), REPAIRED.values(), ids=REPAIRED.keys())
def test_debris_around_one_whole_object_is_dropped_and_named(
    text: str, repairs: tuple[str, ...]
) -> None:
    assert read_arguments(text) == Arguments(kind="object", text='{"a":1}', repairs=repairs)


def test_a_string_of_nothing_is_no_arguments() -> None:
    assert read_arguments('""') == Arguments(kind="object", text="{}", repairs=("unwrapped",))


TRUNCATED = [
    "{path:'a.java', content:'public class Big {", "{'a':", "json\n{a:1,", '"{a:1,"', '{"a":1,,',
    "{", '{"a":', '{"a":1', '{"a":"b', '{"a":"b\\', '{"a":tru', '{"a":[1,2,', '{"a":{"b":1}', 'json\n{"a":',
    '```json\n{"a":"b', '"{\\"a\\":', '"{\\"a\\":1', '"{\\"a\\":1"', '{"path":"a","content":"class Big {',
]  # fmt: skip

MALFORMED = [
    "null", "true", "1", "[1]", '[{"a":1}]', '"hello"', "hello", "not json at all", '{"a":1}{"b":2}',
    '{"a":1} {"b":2}', '{"a":1}, {"b":2}', '{"a":1}}{"b":2}', '{"a":1} and more', '{"a":1};', '{"a":NaN}',
    '{"a":-Infinity}', '{"a":1e999}', '{"a":01}', "{'a':'it's'}", '{"a" "b"}', '{"a": }', '{"a":"\\ud800",}',
    '{"a":1 "b":2}', "{'a':1}{'b':2}", "{'a':1} // {'b':2}", "'{}'", '{"a":1,} and more',
    '{{"a":1}}', '{"path": <function>}', '"\\"{}\\""', '"[1]"', 'jsonify {"a":1}', '{"a":1}<b>', "```json",
    "</s>", 'call({"a":1})', '{"a":1}```json\n{"b":2}\n```', '{"a":' + "9" * 5000 + "}", "[" * 20_000,
    '{"a":' * 20_000, '{"a":1}<|x y|>', '}{"a":1}',
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "text"),
    [*(("truncated", text) for text in TRUNCATED), *(("malformed", text) for text in MALFORMED)],
    ids=lambda value: value[:30],
)
def test_anything_else_is_told_as_it_came(kind: ArgumentsKind, text: str) -> None:
    assert read_arguments(text) == Arguments(kind=kind, text=text)


TWICE = {
    "flat": ('{"a": 1, "a": 1}', '{"a": 1}'),
    "inside": ('{"a": [{"b": "x", "b": "x"}]}', '{"a": [{"b": "x"}]}'),
    "in a string": ('"{\\"a\\": 1, \\"a\\": 1}"', '{"a": 1}'),
}


@pytest.mark.parametrize(("text", "once"), TWICE.values(), ids=TWICE.keys())
def test_a_key_named_twice_with_equal_values_is_told(text: str, once: str) -> None:
    read = read_arguments(text)
    assert (read.kind, read.text, read.repairs[-1]) == ("object", once, "duplicate_key")
    assert not read.ambiguous


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 2}', '{"a": {"b": 1, "b": 2}}', "{'a': 1, 'a': 2,}"]
)
def test_a_key_named_twice_with_different_values_has_two_readings(text: str) -> None:
    read = read_arguments(text)
    assert (read.kind, read.text, read.ambiguous) == ("malformed", text, True)


APART = {
    "a bracket too many": ('{"a": 1}}', "object", "hopeless"),
    "two brackets too many": ('{"a": 1}]}', "object", "hopeless"),
    "prose behind a closing fence": ('```json\n{"a": 1}\n```\nDone.', "malformed", "repaired"),
    "prose without a fence": ('{"a": 1} done', "malformed", "hopeless"),
    "another object": ('{"a": 1}{"b": 2}', "malformed", "hopeless"),
    "another object behind a closing fence": ('```\n{"a": 1}\n```\n{"b": 2}', "malformed", "hopeless"),
    "a comma too many": ('{"a": 1,}', "object", "repaired"),
    "a fence": ('```json\n{"a": 1}\n```', "object", "repaired"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "repair"), APART.values(), ids=APART.keys())
def test_arguments_and_texts_of_any_origin_differ_in_two_places(
    text: str, kind: ArgumentsKind, repair: str
) -> None:
    """A bracket too many is debris of a call's field only; prose goes on only behind an answer."""
    assert (read_arguments(text).kind, repair_json(text).kind) == (kind, repair)


ANY = st.text() | st.lists(
    st.sampled_from(['{"a":1}', "{a:1,}", "'", "#", "//", ",", ":", "{", "}", '"', "\\", "json", "```", "</s>", "<|", " ", "x", "NaN", "[", "]"]),
    max_size=10,
).map("".join)  # fmt: skip


@given(ANY)
def test_an_object_always_parses_and_reading_it_again_changes_nothing(text: str) -> None:
    arguments = read_arguments(text)
    if arguments.kind == "object":
        assert isinstance(json.JSONDecoder().decode(arguments.text), dict)
        assert read_arguments(arguments.text) == Arguments(kind="object", text=arguments.text)


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.none()), st.integers(0, 200))
def test_a_cut_object_is_never_closed(value: dict[str, Any], end: int) -> None:
    text = json.dumps(value)[:-1]
    assert read_arguments(text[: max(1, end)]).kind == "truncated"


@pytest.mark.parametrize("unit", ["}", "```", " ", "</s>", "<|x|>", "json ", "<", "</"])
def test_a_flood_of_debris_is_read(unit: str) -> None:
    flood = unit * 50_000
    assert read_arguments('{"a":1}' + flood).kind in {"object", "malformed"}
    assert read_arguments(flood + "x").kind == "malformed"
