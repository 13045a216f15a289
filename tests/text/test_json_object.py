import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import from_json

from rig.errors import InvalidJSONError, NotJSONError, RigError
from rig.text.json_object import MAX_CANDIDATES, _Search, decode_json_object, find_json_objects
from rig.text.json_scanner import scan_json
from rig.text.reasoning import strip_reasoning

DATA = Path(__file__).parent.parent / "data" / "text"


def rows(name: str) -> list[Any]:
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [pytest.param(row, id=row["id"]) for row in map(from_json, lines)]


def outcome(text: str) -> object:
    """The object, or the code of the error."""
    try:
        return decode_json_object(text)
    except RigError as error:
        return error.code


TITLES = {
    "think block with braces before the reply": (
        '<think>The user wants a card. Maybe {"title": something} - no.</think>\n{"title":"real"}',
        "real",
    ),
    "prose with braces around the reply": (
        'Here is the card (schema: {title, desc}):\n{"title":"real"}\nLet me know!',
        "real",
    ),
    "fenced reply after a think block": (
        '<think>brace test {</think>```json\n{"title":"real"}\n```',
        "real",
    ),
    "consumed opening think tag": (
        'The user wants a split. Sketch: {"title":"sketch"}. Refine it.</think>\n{"title":"real"}',
        "real",
    ),
    "untagged sketch before a longer reply": (
        'The shape is {"title":"sketch"}. Final answer:\n{"title":"real","desc":"the actual card"}',
        "real",
    ),
    "priority behind a thought": (
        '<think>Shape: {"title": ...}.</think>\n{"title":"Add rate limiting","prio":2}',
        "Add rate limiting",
    ),
}


@pytest.mark.parametrize(("text", "title"), TITLES.values(), ids=TITLES.keys())
def test_the_reply_is_found(text: str, title: str) -> None:
    assert decode_json_object(text)["title"] == title


def test_a_sketch_in_an_eaten_thought_does_not_win() -> None:
    stories = decode_json_object(
        'I need up to 6 stories. The shape is {"stories":[{"title":"example"}]}. Now the real '
        'split.</think>\n{"stories":[{"title":"one"},{"title":"two"},{"title":"three"}]}'
    )["stories"]
    assert [story["title"] for story in stories] == ["one", "two", "three"]


NOT_JSON = {
    "a draft inside the think block": '<think>{"title":"draft"}</think>',
    "think block with no reply": "<think>still thinking</think>",
    "list": "[1,2]",
    "string": '"x"',
    "empty": "",
    "null": "null",
    "unclosed thought": '<think>{"a":1}',
    "closer in a string": '{"a":"</think>"}',
    "refusal": "I can't do that.",
}


@pytest.mark.parametrize("text", NOT_JSON.values(), ids=NOT_JSON.keys())
def test_a_reply_without_a_brace_is_not_json(text: str) -> None:
    with pytest.raises(NotJSONError) as caught:
        decode_json_object(text)
    assert caught.value.__context__ is None


INVALID = {
    "braces that never parse": "reasoning { with braces } and no object",
    "escaped json in a string": 'text "{\\"a\\":1}"',
    "opener in a string": '{"a":"<think>x"}',
    "nan": '{"a":NaN}',
    "infinity": '{"score": 1, "limit": -Infinity}',
    "overflow": '{"a":1e400}',
    "too many digits": '{"a":' + "9" * 5000 + ',"ok":true}',
    "too many digits in a float": '{"a":0.' + "9" * 5000 + "}",
    "unpaired surrogate": '{"a":"\\ud800"}',
    "raw surrogate": '{"a":"\ud800"}',
    "surrogate as key": '{"\\udfff":1}',
    "truncated": '{"a":"b',
    "trailing comma": '{"a":1,}',
    "too deep": '{"a": ' + "[" * 50_000,
    "too deep and closed": '{"a":' + "[" * 20_000 + "]" * 20_000 + "}",
    "objects too deep and closed": '{"a":' * 10_050 + "1" + "}" * 10_050,
    "whitespace loop": '{"creates": [ {"text": "x"' + " " * 3000,
}


@pytest.mark.parametrize("text", INVALID.values(), ids=INVALID.keys())
def test_a_reply_whose_braces_do_not_parse_is_invalid(text: str) -> None:
    assert outcome(f"Here: {text}") == "invalid_json"
    with pytest.raises(InvalidJSONError) as caught:
        decode_json_object(text)
    assert caught.value.__context__ is None
    assert caught.value.reason == ""
    assert text[:100] not in str(caught.value)
    assert caught.value.detail


FOUND: dict[str, tuple[str, dict[str, Any]]] = {
    "empty object": ("{}", {}),
    "empty object in prose": ("use {} here", {}),
    "elements of a list": ('[{"a":1},{"bb":22}]', {"bb": 22}),
    "equal lengths, no gap": ('{"a":1}{"b":2}', {"a": 1}),
    "equal lengths": ('{"a":1} {"a":2}', {"a": 1}),
    "around a broken one": ('{"x":1} then {"y":2,} and {"zz":3}', {"zz": 3}),
    "inside of a truncated one": ('{"a":{"b":{"c":1}}', {"b": {"c": 1}}),
    "inside of a truncated one, one level": ('{"a":{"b":1}', {"b": 1}),
    "in a string of a broken one": ('{"note {"x":1} foo', {"x": 1}),
    "length counts bytes": ('{"a":"\u3042\u3042"} {"b":"xxxx"}', {"a": "\u3042\u3042"}),
    "paired surrogates": ('{"a":"\\ud83d\\ude00"}', {"a": "\U0001f600"}),
    "equal keys": ('{"a":1,"a":2}', {"a": 2}),
    "before something too deep": ('{"a":1} ' + '{"b":' * 20_000, {"a": 1}),
    "large number": ('{"a":1e308,"b":' + "9" * 4300 + "}", {"a": 1e308, "b": int("9" * 4300)}),
}


@pytest.mark.parametrize(("text", "expected"), FOUND.values(), ids=FOUND.keys())
def test_the_longest_object_wins(text: str, expected: dict[str, Any]) -> None:
    assert decode_json_object(text) == expected
    assert decode_json_object(f"Here: {text}") == expected


@pytest.mark.parametrize("row", rows("json-output.jsonl"))
def test_reported_output_is_decoded_without_repair(row: dict[str, Any]) -> None:
    assert outcome(row["input"]) == row.get("json", row.get("error"))


@pytest.mark.parametrize(
    "row", [row for row in rows("json-output.jsonl") if "chosen" in row.values[0]]
)
def test_a_validator_chooses_between_objects(row: dict[str, Any]) -> None:
    def complete(value: dict[str, Any]) -> bool:
        return set(row["required"]) <= set(value)

    assert decode_json_object(row["input"], validate=complete) == row["chosen"]


def test_objects_are_offered_longest_first_until_one_is_accepted() -> None:
    offered: list[dict[str, Any]] = []

    def second(value: dict[str, Any]) -> bool:
        offered.append(value)
        return len(offered) == 2

    text = '{"a":1} {"b":22} {"c":333}'
    assert decode_json_object(text, validate=second) == {"b": 22}
    assert offered == [{"c": 333}, {"b": 22}]


@pytest.mark.parametrize("text", ['{"a":1}', 'x {"a":1} {"b":2}'])
def test_no_object_accepted_is_an_error_of_its_own_reason(text: str) -> None:
    with pytest.raises(InvalidJSONError) as caught:
        decode_json_object(text, validate=lambda value: False)
    assert caught.value.reason == "rejected"


@pytest.mark.parametrize("levels", [900, 1_100, 5_000, 9_999])
@pytest.mark.parametrize("prefix", ["", "Here: "])
def test_depth_up_to_the_bound_is_decoded(levels: int, prefix: str) -> None:
    value: Any = decode_json_object(prefix + '{"a":' * levels + "1" + "}" * levels)
    for _ in range(levels):
        value = value["a"]
    assert value == 1


def deeper(frames: int, text: str) -> object:
    return decode_json_object(text) if frames == 0 else deeper(frames - 1, text)


def test_a_nearly_full_stack_does_not_change_the_answer() -> None:
    frames = sys.getrecursionlimit() - 200
    assert deeper(frames, '{"a":' * 150 + "1" + "}" * 150)


def test_a_lower_limit_of_digits_is_an_ordinary_failure() -> None:
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        assert outcome('{"a":' + "9" * 700 + "}") == "invalid_json"
        assert outcome('{"b":1} {"a":' + "9" * 700 + "}") == {"b": 1}
    finally:
        sys.set_int_max_str_digits(limit)


def test_a_megabyte_behind_prose_is_decoded() -> None:
    text = "y" * 1_200_000
    assert decode_json_object('Here {it} is: {"x":"' + text + '"}') == {"x": text}
    rows_ = [{"id": index, "tags": ["a", "b"]} for index in range(40_000)]
    assert decode_json_object("Rows: " + json.dumps({"rows": rows_})) == {"rows": rows_}


def by_the_book(text: str) -> object:
    """The contract without any economy: every brace is scanned for itself."""
    answer = strip_reasoning(text)
    if "{" not in answer:
        return "not_json"
    best = ""
    start = answer.find("{")
    while start >= 0:
        scan = scan_json(answer, start)
        found = answer[start : scan.end] if scan.kind == "complete" else ""
        if len(found.encode()) > len(best.encode()):
            best = found
        start = answer.find("{", max(start + 1, start + len(found)))
    return json.JSONDecoder().decode(best) if best else "invalid_json"


PARTS = ["{", "}", "[", "]", '"', ":", ",", "\\", " ", "\n", "a", "1", '"a":', '{"a":', '"a"', '{"b":2}',
         "\\u12", "-", "null", "\u3042", "<think>", "</think>", '{"', '"}', "NaN", "\\ud800", "1e999"]  # fmt: skip


@settings(max_examples=500)
@given(st.lists(st.sampled_from(PARTS), max_size=24).map("".join))
def test_saving_work_does_not_change_the_answer(text: str) -> None:
    assert outcome(text) == by_the_book(text)


@given(st.text() | st.lists(st.sampled_from(PARTS), max_size=24).map("".join))
def test_whatever_comes_out_can_be_sent(text: str) -> None:
    value = outcome(text)
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


@settings(max_examples=500)
@given(st.lists(st.sampled_from(PARTS), max_size=6).map("".join), st.integers(20, 60))
def test_the_work_of_a_search_is_linear(unit: str, count: int) -> None:
    text = unit * count
    search = _Search(text)
    search.run()
    assert search.scanned <= 3 * len(text)


BOMBS = ['{"a":', "{", '{"', '{"a":"{"b":"', '{"k":[{"a":1},{"b":"{"c":2,', '{"a":"\\x{', '{"a {', '{"b":"{"},',
         '{"a":{},"b":{', "{ ", '{"a":[', '{"a":1,"b":"']  # fmt: skip


@pytest.mark.parametrize("unit", BOMBS)
def test_a_bomb_of_braces_costs_linear_work(unit: str) -> None:
    scanned: list[int] = []
    for count in (5_000, 20_000):
        text = '{"x":[' + unit * count
        search = _Search(text)
        search.run()
        assert search.scanned <= 3 * len(text)
        scanned.append(search.scanned)
    assert scanned[1] <= 4.1 * scanned[0] + 100


def test_of_a_flood_of_objects_the_longest_ones_are_kept() -> None:
    many = MAX_CANDIDATES + 10
    assert decode_json_object("{}" * many + '{"a":1}' + "{}" * 3 * many) == {"a": 1}
    assert decode_json_object('{"a":1}' + '{"b":2}' * 3 * many) == {"a": 1}
    offered: list[dict[str, Any]] = []

    def refuse(value: dict[str, Any]) -> bool:
        offered.append(value)
        return False

    with pytest.raises(InvalidJSONError):
        decode_json_object("{} " * 3 * many, validate=refuse)
    assert len(offered) <= 2 * MAX_CANDIDATES


PLAIN = [
    '{"a" : "b" , "c":-1.5,"d":[]}', '{"a":true,"b":false,"c":null}', '{"a":truex}', '{"a":01}', '{"a":1.}',
    '{"a":1e5}', '{"a":-}', '{"a":"\\n"}', '{"a":"x\ny"}', '{"a":"\ud800"}', '{"a":123456789012345678901}', "{,}",
    '{"a":1,}', '{"a":1 "b":2}', '{"a"}', '{"a\\"":1}', '{"":""}', "{ }", '{"a":"{","b":"}"}', '{"a\\":1}',
]  # fmt: skip


@pytest.mark.parametrize("text", PLAIN)
@pytest.mark.parametrize("around", ["x {}", "{} {{", '"{}"', "{}{}"])
def test_an_object_of_plain_members_is_told_as_the_scanner_tells_it(text: str, around: str) -> None:
    whole = around.replace("{}", text)
    assert outcome(whole) == by_the_book(whole)


def test_a_megabyte_of_openers_is_refused() -> None:
    assert outcome('{"a":' * 200_000) == "invalid_json"


def test_objects_are_found_longest_first_and_built_when_asked_for() -> None:
    text = '<think>{"no": 1}</think> {"a": 1} and {"bb": 22} or [{"c": {"d": 1}}]'
    found = find_json_objects(text)
    assert next(found) == {"c": {"d": 1}}
    assert list(found) == [{"bb": 22}, {"a": 1}]
    assert list(find_json_objects("none")) == []
