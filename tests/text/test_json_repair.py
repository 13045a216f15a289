import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from rig.text import json_repair
from rig.text.json_loose import LooseScanner
from rig.text.json_repair import (
    Repair,
    is_truncation,
    repair_arrays,
    repair_json,
    repair_objects,
)
from rig.text.json_scanner import scan_json

DATA = Path(__file__).parent.parent / "data" / "text"

OUTCOMES = {
    "trailing comma": ('{"a":1,}', "OK"),
    "single quotes": ("{'a':'b'}", "OK"),
    "bare key": ('{a:"b"}', "OK"),
    "python literals": ('{"a":True,"b":None}', "OK"),
    "fence": ('```json\n{"a":1}\n```', "OK"),
    "nothing to repair": ('{"a":1}', "FAILED"),
    "prose": ("hello", "FAILED"),
    "cut in a string": ('{"a":"unterminated', "TRUNC"),
    "cut after a colon": ('{"a":', "TRUNC"),
    "only a brace": ("{", "TRUNC"),
    "cut in a bare-key object": ("{a:'unterminated", "TRUNC"),
    "array": ("[1,2,]", "FAILED"),
    "nested": ('{"a":[1,2,],"b":{"c":True,},}', "OK"),
    "dollar": ("{$x:1}", "OK"),
    "literal as key": ("{True:1}", "FAILED"),
    "leading zero": ('{"a":01}', "FAILED"),
    "nan": ('{"a":NaN}', "FAILED"),
    "no colon": ('{"a" "b"}', "FAILED"),
    "missing value": ('{"a": }', "FAILED"),
    "empty": ("", "TRUNC"),
    "cut word": ("tru", "TRUNC"),
    "fence never closed": ('```json\n{"a":1} ', "OK"),
    "fence and prose behind it": ('```json\n{"a":1}\n```\nDone.', "OK"),
    "two fences": ('```json\n{"a":1}\n```\n```json\n{"b":1}\n```', "FAILED"),
    "two objects": ('{"a":1,}{"b":2,}', "FAILED"),
}
"""What the algorithm this one follows (Go, 2025) gives: a repair, a cut, or nothing it can do."""

MORE_IS_REPAIRED = {
    "hyphenated key": "{a-b:1}",
    "number as key": "{1:2}",
    "doubled comma": '{"a":1,,"b":2}',
    "leading dot": '{"a":.5}',
    "comment": '{/*c*/"a":1}',
    "raw newline": '{"a":"b\nc"}',
    "fence on one line": '```{"a":1}```',
}
"""What that algorithm fails at, though it has one reading."""


def outcome(text: str) -> str:
    repaired = repair_json(text).kind
    return {"repaired": "OK", "truncated": "TRUNC"}.get(repaired, "FAILED")


@pytest.mark.parametrize(("text", "expected"), OUTCOMES.values(), ids=OUTCOMES.keys())
def test_the_outcome_is_the_original_s(text: str, expected: str) -> None:
    assert outcome(text) == expected


@pytest.mark.parametrize("text", MORE_IS_REPAIRED.values(), ids=MORE_IS_REPAIRED.keys())
def test_more_is_repaired_than_by_the_original(text: str) -> None:
    assert outcome(text) == "OK"


@pytest.mark.parametrize("text", ["{'a':'it's'}", "{'a':'it's', 'b':1}", "{'it's':1}"])
def test_an_apostrophe_is_no_cut(text: str) -> None:
    assert repair_json(text).kind == "hopeless"


VALID = [
    "{}", "[]", '""', "0", "-0.5e+1", "true", "null", ' \n{"a" : [1, {"b":null}]}\t', '{"a":"NaN // # \\u0000"}',
    '{"a":1,"a":2}', '"\\ud83d\\ude00"', '["\u2028\x7f\u200b"]', "[" * 500 + "]" * 500, "[[[[1E-2]]],[]]",
]  # fmt: skip


@pytest.mark.parametrize("text", VALID, ids=lambda text: text[:20])
@pytest.mark.parametrize("arrays", [False, True])
def test_valid_json_of_any_type_is_left_alone(text: str, arrays: bool) -> None:
    assert repair_json(text, arrays=arrays) == Repair(kind="valid", text=text)


AROUND = {
    "byte order mark": ('\ufeff{"a":1}', ("blank",)),
    "zero-width space behind": ('{"a":1}\u200b\n', ("blank",)),
    "no-break space": ('\u00a0{"a":1}', ("blank",)),
    "fence": ('```\n{"a":1}\n```\n', ("fence",)),
    "tildes": ('~~~json\n{"a":1}\n~~~', ("fence",)),
    "fence and blanks": (' \n```json5 \n\n{"a":1}\n\n``` ', ("fence",)),
    "only a closing fence": ('{"a":1}\n```', ("fence",)),
    "comment before": ('// the call\n{"a":1}', ("comment",)),
    "comment behind": ('{"a":1} # done', ("comment",)),
    "comments and a fence": ('```\n/* 1 */{"a":1} // 2\n```', ("fence", "comment")),
    "inside and outside": ("```\n{a:1,}\n```", ("fence", "bare_key", "trailing_comma")),
}


@pytest.mark.parametrize(("text", "repairs"), AROUND.values(), ids=AROUND.keys())
def test_what_is_around_the_object_is_named_too(text: str, repairs: tuple[str, ...]) -> None:
    assert repair_json(text) == Repair(kind="repaired", text='{"a":1}', repairs=repairs)


HOPELESS = [
    "hello", '{"a":1} and more', 'so: {"a":1,}', '{"a":1}{"b":2}', '{"a":1},', '{"a":1}}', '{"a":1} // {"b":2}',
    '```json\n{"a":1}\n```\n{"b":2}', "```\nhello\n```", "```json", '"a\nb"', "True", "'a'", ".5", "NaN", "[1,]",
    '{"a":"\\ud800"}', '{"a":1e999}', '{"n":' + "9" * 5_000 + "}", "[" * 20_000, "{a:" * 20_000, "{'a':'it's'}",
    '\ufeff"a"', "/* {} */",
]  # fmt: skip


@pytest.mark.parametrize("text", HOPELESS, ids=lambda text: text[:20])
def test_everything_else_is_hopeless_and_comes_back_as_it_was(text: str) -> None:
    assert repair_json(text) == Repair(kind="hopeless", text=text)


def test_an_array_is_repaired_where_it_is_accepted() -> None:
    assert repair_json("```\n[1,2,]\n```", arrays=True) == Repair(
        kind="repaired", text="[1,2]", repairs=("fence", "trailing_comma")
    )


CUTS = [
    '{"path":"a.java","content":"public class Big {', '{"path":"a.java",', "{", '{"path":"a.java","items":[1,2,',
    "{path:'a.java', content:'public class Big {", '```json\n{"a":', '{"a":1 // and', '{"a":1 /', '{"a":/* ',
    '{"a":.', '{"a":-', '{"a":1,', '{"a":1,,', "{a", "{a-", "{1", '{"a":Tru', '{"a":"\\', "{'a", "{\u201ca",
    '{"a":[{"b":1},', '\ufeff{"a":', '[1, "b', '"abc', "-",
]  # fmt: skip


@pytest.mark.parametrize("text", CUTS)
def test_a_cut_text_is_never_closed(text: str) -> None:
    assert repair_json(text) == Repair(kind="truncated", text=text)


def rows() -> list[Any]:
    lines = (DATA / "json-output.jsonl").read_text(encoding="utf-8").splitlines()
    return [pytest.param(row, id=row["id"]) for row in map(from_json, lines) if "error" in row]


@pytest.mark.parametrize("row", rows())
def test_reported_replies_are_repaired_or_not(row: dict[str, Any]) -> None:
    repaired = repair_json(row["input"])
    if "repaired" in row:
        assert repaired.kind == "repaired"
        assert json.JSONDecoder().decode(repaired.text) == row["repaired"]
    else:
        assert repaired.kind in {"truncated", "hopeless"}


TRUNCATION = [
    ('{"a":', True),
    ('{"a": }', False),
    ('{"a":1}', False),
    ("", True),
    ("tru", True),
    ("{'a", False),
]


@pytest.mark.parametrize(("text", "cut"), TRUNCATION)
def test_a_truncation_is_told_from_a_mistake(text: str, cut: bool) -> None:
    assert is_truncation(text) is cut


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(JSON, st.booleans(), st.sampled_from([None, 1]))
def test_what_python_writes_is_valid(value: object, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert repair_json(text) == Repair(kind="valid", text=text)


@given(st.dictionaries(st.text(), JSON, max_size=3))
def test_what_python_prints_is_never_read_as_something_else(value: dict[str, object]) -> None:
    repaired = repair_json(repr(value))
    if repaired.kind == "repaired":
        # Escapes of Python's that JSON does not have are taken as text, all of them.
        assert json.JSONDecoder().decode(repaired.text) == value or "\\" in repr(value)
    assert repaired.kind != "truncated"


ANY = st.text() | st.lists(
    st.sampled_from(
        ["{", "}", "[", "]", ":", ",", '"', "'", "a", "1", ".", "-", "\\", "\\u", "//", "/*", "*/", "#", "\n", " ", "True",
         "null", "NaN", "```", "```json\n", "\u201c", "\u201d", "\ufeff", '{"a":1}', '"b"', "a:1", "\ud800", "\x00"]
    ),
    max_size=14,
).map("".join)  # fmt: skip


@given(ANY, st.booleans())
def test_whatever_the_text_a_repair_is_strict_and_final(text: str, arrays: bool) -> None:
    repaired = repair_json(text, arrays=arrays)
    if repaired.kind == "repaired":
        assert repaired.repairs
        scan = scan_json(repaired.text)
        assert (scan.kind, scan.end) == ("complete", len(repaired.text))
        assert repair_json(repaired.text) == Repair(kind="valid", text=repaired.text)
    else:
        assert repaired == Repair(kind=repaired.kind, text=text)


FOUND = {
    "none": ("no braces", []),
    "strict": ('see {"a":1}.', ['{"a":1}']),
    "repaired": ("see {a:1,}.", ['{"a":1}']),
    "several": ('{"a":1} or {b:2}', ['{"a":1}', '{"b":2}']),
    "prose with braces": ("{curly} and {x, y}: {a:1}", ['{"a":1}']),
    "only the outer one": ('{"a":{"b":1},}', ['{"a":{"b":1}}']),
    "nothing inside of a broken one": ('{"a": what, "b": {"c":1}}', []),
    "nothing behind a broken one": ('{"a": what} {"b":1}', []),
    "nothing inside of a cut one": ('{"a": [{"b":1}, {"c":2}', []),
    "before a cut one": ('{"a":1,} then {"b":', ['{"a":1}']),
}


@pytest.mark.parametrize(("text", "found"), FOUND.values(), ids=FOUND.keys())
def test_the_objects_of_a_text_are_found(text: str, found: list[str]) -> None:
    assert [one.text for one in repair_objects(text).found] == found


@pytest.mark.parametrize(
    "text",
    ["{x " * 3_000, '{"{' * 3_000, "{//" * 3_000 + "\n,", "{" * 9_000, "{/*" * 3_000 + "*/,"],
    ids=lambda text: text[:4],
)
def test_a_search_in_vain_is_bounded(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work: list[int] = []

    class Counting(LooseScanner):
        def run(self) -> Any:
            result = super().run()
            work.append(self.work)
            return result

    monkeypatch.setattr(json_repair, "LooseScanner", Counting)
    assert repair_objects(text).found == ()
    assert sum(work) <= (json_repair.SEARCH_FACTOR + 2) * len(text)


@pytest.mark.parametrize(
    ("text", "is_broken"),
    [("", False), ("{x}", False), ('{"a":1} {b:2}', False), ('{"a":1} {"b":', True), ('{"a": what}', True)],
)  # fmt: skip
def test_a_search_says_whether_it_saw_the_whole_text(text: str, is_broken: bool) -> None:
    assert repair_objects(text).is_broken is is_broken


ARRAYS = {
    "none": ("a {b} c", []),
    "in prose": ("so [1, 2] and [3].", ["[1, 2]", "[3]"]),
    "nearly": ("so ['a', True,].", ['["a", true]']),
    "in an array": ("[[1], [2]]", ["[[1], [2]]"]),
    "in an object": ('{"a": [1]} [2]', ["[2]"]),
    "in a broken object": ('{"a": [1], "b": } [2]', []),
    "cut": ("[1] [2, 3", ["[1]"]),
    "a word in brackets": ("see [note] for [1]", ["[1]"]),
}


@pytest.mark.parametrize(("text", "found"), ARRAYS.values(), ids=ARRAYS.keys())
def test_arrays_are_found_where_they_are_no_part_of_anything(text: str, found: list[str]) -> None:
    assert [one.text for one in repair_arrays(text).found] == found


@pytest.mark.parametrize("unit", ["[1] ", "[note] ", "[", "[{", "{[", "[a, "])
def test_looking_for_arrays_is_linear(monkeypatch: pytest.MonkeyPatch, unit: str) -> None:
    def work(count: int) -> int:
        looked = 0

        class Counting(LooseScanner):
            def run(self) -> Any:
                nonlocal looked
                result = super().run()
                looked += self.work
                return result

        monkeypatch.setattr(json_repair, "LooseScanner", Counting)
        repair_arrays(unit * count)
        return looked

    assert work(4000) < 6 * work(1000) + 1000
