import json
import tracemalloc
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.text.json_scanner import MAX_DEPTH, MAX_NUMBER_CHARS, JSONScanner, ScanKind, scan_json

COMPLETE = [
    "{}", "[]", '""', "0", "-0", "1.5e+10", "true", "false", "null", '{"a":[1,{"b":null}]}',
    ' \t\r\n{ "a" : [ 1 , 2 ] } ', '"\\u00e9\\n\\/\\\\\\""', '"\\ud83d\\ude00"', '"\x7f\u2028\U0001f600"',
    "[[[]]]", '{"a":1,"a":2}', "9" * MAX_NUMBER_CHARS, "-" + "9" * MAX_NUMBER_CHARS,
]  # fmt: skip
TRUNCATED = [
    "", " ", "{", "[", '{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a":1, ', '{"a":{"b":2}', '{"a":tru',
    '{"a":nul', '{"a":f', '{"a":-', '{"a":1.', '{"a":1e', '{"a":1e+', '{"a":1.5E-', '{"a":0',
    '{"a":"x', '{"a":"x\\', '{"a":"\\u', '{"a":"\\u12', '{"a":"\\u123', '{"a":"\\ud83d', '{"a":"\\ud83d\\',
    '{"a":"\\ud83d\\u', '{"a":"\\ud83d\\ud', '{"a":"\\ud83d\\ude0', '{"a', '{"a":[1,2,', "[1", "-", "tr",
    '{"path":"a.java","content":"public class Big {', '{"a":"unterminated',
]  # fmt: skip

MALFORMED = {
    "word": ("hello", 0),
    "missing colon": ('{"a" "b"}', 5),
    "missing value": ('{"a": }', 6),
    "trailing comma": ('{"a":1,}', 7),
    "trailing comma in a list": ("[1,]", 3),
    "leading comma": ("{,}", 1),
    "two commas": ('{"a":1,,"b":2}', 7),
    "bare key": ("{a:1}", 1),
    "number as key": ("{1:2}", 1),
    "single quotes": ("{'a':1}", 1),
    "python literal": ('{"a":True}', 5),
    "nan": ('{"a":NaN}', 5),
    "infinity": ('{"a":Infinity}', 5),
    "minus infinity": ('{"a":-Infinity}', 5),
    "leading zero": ('{"a":01}', 5),
    "leading dot": ('{"a":.5}', 5),
    "leading plus": ('{"a":+5}', 5),
    "dot without digits": ('{"a":1.}', 5),
    "cut word inside": ('{"a":tru}', 5),
    "not a number any more": ('{"a":1-', 5),
    "comment": ('{/*c*/"a":1}', 1),
    "raw newline in a string": ('{"a":"x\ny"}', 7),
    "raw tab in a string": ('{"a":"x\ty"}', 7),
    "bad escape": ('{"a":"\\x"}', 6),
    "bad unicode escape": ('{"a":"\\u12x', 6),
    "unpaired high surrogate": ('{"a":"\\ud800"}', 6),
    "unpaired low surrogate": ('{"a":"\\udc00"}', 6),
    "high surrogate and a letter": ('{"a":"\\ud800\\u0041"}', 6),
    "raw surrogate": ('{"a":"\ud800"}', 6),
    "wrong closer": ('{"a":1]', 6),
    "wrong closer of a list": ("[1}", 2),
    "byte order mark": ("\ufeff{}", 0),
    "no-break space": ("{\u00a0}", 1),
    "overflow": ('{"a":1e999}', 5),
    "too many digits": ('{"a":' + "9" * (MAX_NUMBER_CHARS + 1) + "}", 5),
    "fullwidth digit": ('{"a":\uff11}', 5),
    "function": ('{"path": <function>}', 9),
}


@pytest.mark.parametrize("text", COMPLETE)
def test_a_value_is_complete(text: str) -> None:
    assert scan_json(text).kind == "complete"
    assert scan_json(text).end == len(text.rstrip(" "))


@pytest.mark.parametrize("text", TRUNCATED)
def test_the_beginning_of_a_value_is_truncated(text: str) -> None:
    scan = scan_json(text)
    assert (scan.kind, scan.end) == ("truncated", len(text))


@pytest.mark.parametrize(("text", "end"), MALFORMED.values(), ids=MALFORMED.keys())
def test_what_is_not_json_is_malformed_where_it_stops_being_json(text: str, end: int) -> None:
    scan = scan_json(text)
    assert (scan.kind, scan.end) == ("malformed", end)


def test_a_scan_begins_and_ends_inside_of_a_text() -> None:
    scan = scan_json('ab {"c":[1]} de', 3)
    assert (scan.kind, scan.end, scan.depth) == ("complete", 12, 2)


@pytest.mark.parametrize(
    ("levels", "kind"), [(MAX_DEPTH, "complete"), (MAX_DEPTH + 1, "malformed")]
)
def test_depth_is_bounded(levels: int, kind: ScanKind) -> None:
    scan = scan_json("[" * levels + "]" * levels)
    assert scan.kind == kind
    assert scan.too_deep == (kind == "malformed")


def test_depth_may_be_bounded_lower() -> None:
    assert scan_json("[[]]", max_depth=1).too_deep
    assert scan_json("[[]]", max_depth=2).kind == "complete"


def test_a_failed_scan_knows_the_objects_inside_and_what_was_open() -> None:
    scanner = JSONScanner('{"a":[{"b":{}},{"c":1')
    assert scanner.run().kind == "truncated"
    assert scanner.objects == {11: 13, 6: 14}
    assert scanner.open == [0, 5, 15]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(json_values, st.booleans())
def test_what_python_writes_is_complete_and_every_beginning_is_cut(
    value: object, ascii_only: bool
) -> None:
    text = json.dumps([value], ensure_ascii=ascii_only)
    assert scan_json(text).kind == "complete"
    for end in range(len(text)):
        assert scan_json(text[:end]).kind == "truncated"


def refuse(name: str) -> NoReturn:
    raise ValueError(name)


ALPHABET = '{}[]",:\\u0de1-+.eE truefalsn\n\x01\ud83d'


@given(st.text(ALPHABET, max_size=12))
def test_it_accepts_what_python_accepts_without_python_s_extras(text: str) -> None:
    try:
        value = json.JSONDecoder(parse_constant=refuse).decode(text.strip(" \n"))
        json.dumps(value, ensure_ascii=False).encode()
        accepted = "e" not in text.lower() or "inf" not in repr(value)
    except ValueError:
        accepted = False
    scan = scan_json(text)
    assert (scan.kind == "complete" and not text[scan.end :].strip(" \n")) == accepted


@given(st.text(ALPHABET, max_size=12), st.text(ALPHABET, max_size=6))
def test_more_text_never_mends_what_is_malformed(text: str, more: str) -> None:
    if scan_json(text).kind == "malformed":
        assert scan_json(text + more).kind == "malformed"


FLOODS = {
    "objects": '{"a":' * 80_000,
    "lists": "[" * 400_000,
    "escapes": '"' + "\\n" * 200_000,
    "surrogates": '"' + "\\ud83d\\ude00" * 30_000,
    "characters": '"' + "a" * 400_000,
    "digits": "1" * 400_000,
    "blanks": " " * 400_000,
    "members": "[" + '{"a":1},' * 50_000,
}


@pytest.mark.parametrize("text", FLOODS.values(), ids=FLOODS.keys())
def test_a_flood_is_scanned_without_recursion_and_in_little_memory(text: str) -> None:
    tracemalloc.start()
    try:
        kind = scan_json(text).kind
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert kind != "complete"
    assert peak_bytes <= 30 * len(text)


class CountingText(str):
    """Counts the characters looked up one by one."""

    __slots__ = ("looked_up",)
    looked_up: int

    def __getitem__(self, key: "int | slice") -> str:  # type: ignore[override]  # only what is used
        self.looked_up += 1
        return super().__getitem__(key)


def test_the_work_grows_with_the_text() -> None:
    looked_up: list[int] = []
    for count in (500, 2000):
        text = CountingText("[" + '{"a":[1,"b",true]},' * count)
        text.looked_up = 0
        scan_json(text)
        looked_up.append(text.looked_up)
    assert looked_up[1] <= 4.1 * looked_up[0]
