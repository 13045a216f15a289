import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.text.json_loose import LooseScanner, scan_loose
from rig.text.json_scanner import MAX_DEPTH, scan_json

COMPLETE = {
    "strict": ('{"a":[1,{"b":null}]}', '{"a":[1,{"b":null}]}', ()),
    "trailing comma": ('{"a":1,}', '{"a":1}', ("trailing_comma",)),
    "trailing commas": ('{"a":[1,2,],"b":{},}', '{"a":[1,2],"b":{}}', ("trailing_comma",)),
    "trailing comma and a comment": (
        '{"a":1, // one\n}',
        '{"a":1 \n}',
        ("comment", "trailing_comma"),
    ),
    "doubled comma": ('{"a":1,,"b":2}', '{"a":1,"b":2}', ("doubled_comma",)),
    "doubled, then trailing": ('{"a":1,,}', '{"a":1}', ("doubled_comma", "trailing_comma")),
    "single quotes": ("{'a':'b'}", '{"a":"b"}', ("single_quotes",)),
    "smart quotes": ("{\u201ca\u201d:\u201cb\u201d}", '{"a":"b"}', ("smart_quotes",)),
    "bare key": ("{a:1, $b_2 : 2}", '{"a":1, "$b_2" : 2}', ("bare_key",)),
    "bare key, not ascii": ("{gr\u00f6\u00dfe:1}", '{"gr\u00f6\u00dfe":1}', ("bare_key",)),
    "bare key with hyphens": ("{Content-Type:1}", '{"Content-Type":1}', ("bare_key",)),
    "whole number as key": ("{1:2, 0:1}", '{"1":2, "0":1}', ("bare_key",)),
    "a key that begins like a literal": ("{nullable:1}", '{"nullable":1}', ("bare_key",)),
    "python literals": ("[True,False,None]", "[true,false,null]", ("python_literal",)),
    "half a number": ("[.5,-.5,5.,1.e3]", "[0.5,-0.5,5.0,1.0e3]", ("number",)),
    "line comments": ('{"a":1 # one\n,"b":2 // two\n}', '{"a":1 \n,"b":2 \n}', ("comment",)),
    "comment, carriage return": ('{"a":1 // x\r}', '{"a":1 \r}', ("comment",)),
    "block comments": ('{/*a*/"b"/*c*/:/*d*/1/*e*/}', '{"b":1}', ("comment",)),
    "block comment over lines": ('{/*\n * }\n */"b":1}', '{"b":1}', ("comment",)),
    "comment with balanced brackets": ("[1 // see {x} and [y]\n]", "[1 \n]", ("comment",)),
    "comment with quotes": ('{"a":"b", // "q"\n"c":1}', '{"a":"b", \n"c":1}', ("comment",)),
    "member commented out": ('{"a":"b",\n//"c":"d",\n"e":1}', '{"a":"b",\n\n"e":1}', ("comment",)),
    "comment signs in strings": ('{"a":"http://x/#y /*z*/",}', '{"a":"http://x/#y /*z*/"}', ("trailing_comma",)),
    "hash behind a value": ("[1#one\n]", "[1\n]", ("comment",)),
    "blanks": ('{\u00a0"a"\u200b:\ufeff1\u3000}', '{"a":1}', ("blank",)),
    "blanks in strings": ('{"\u00a0a\u200b":1,}', '{"\u00a0a\u200b":1}', ("trailing_comma",)),
    "raw newline": ('{"a":"b\nc"}', '{"a":"b\\nc"}', ("control_character",)),
    "backslashes": (r'{"a":"C:\Users\foo"}', r'{"a":"C:\\Users\\foo"}', ("backslash",)),
    "names once and in order": (
        "{a:1,b:True,'c':None,}",
        '{"a":1,"b":true,"c":null}',
        ("bare_key", "python_literal", "single_quotes", "trailing_comma"),
    ),
    "code in a string": (
        '{"a":"class A {\\n  int[] x = {1, 2,};\\n  String s = \\"don\'t\\";\\n}",}',
        '{"a":"class A {\\n  int[] x = {1, 2,};\\n  String s = \\"don\'t\\";\\n}"}',
        ("trailing_comma",),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "strict", "repairs"), COMPLETE.values(), ids=COMPLETE.keys())
def test_what_has_one_reading_is_mended(text: str, strict: str, repairs: tuple[str, ...]) -> None:
    loose = scan_loose(f"x{text}y", 1)
    assert (loose.kind, loose.text, loose.repairs) == ("complete", strict, repairs)
    assert loose.end == 1 + len(text)


@pytest.mark.parametrize("text", [row[0] for row in COMPLETE.values()], ids=COMPLETE.keys())
def test_every_beginning_of_what_can_be_mended_is_cut(text: str) -> None:
    for end in range(1, len(text)):
        assert scan_loose(text[:end]).kind == "truncated", text[:end]


MALFORMED = {
    "no bracket": "x",
    "nothing": "",
    "missing comma": "[1 2]",
    "missing comma between members": '{"a":1 "b":2}',
    "missing colon": '{"a" "b"}',
    "missing value": '{"a":}',
    "missing value, more members": '{"a":,"b":1}',
    "key alone": '{"a"}',
    "key of a set": "{'a', 'b'}",
    "value left out of a list": "[1,,2]",
    "two commas end a list": "[1,,]",
    "leading comma": "[,1]",
    "leading comma in an object": '{,"a":1}',
    "only a comma": "{,}",
    "wrong closer": '{"a":[1}',
    "equals sign": "{a=1}",
    "semicolon": "{a:1;b:2}",
    "bare word": "{a:hello}",
    "cut word inside": "{a:tru}",
    "shouted literal": "{a:TRUE}",
    "undefined": "{a:undefined}",
    "function": '{"path": <function>}',
    "nan": "{a:NaN}",
    "infinity": "[Infinity]",
    "minus infinity": "[-Infinity]",
    "leading zero": "[01]",
    "plus": "[+5]",
    "hexadecimal": "[0x1F]",
    "underscores": "[1_000]",
    "a unit": "[5px]",
    "only a dot": "[.]",
    "only a minus": "[-]",
    "not finite": "[1e999,]",
    "too many digits": "[" + "9" * 5_000 + ",]",
    "literal as key": "{True:1}",
    "null as key": "{null:1}",
    "fraction as key": "{1.5:1}",
    "leading zero as key": "{01:1}",
    "dotted key": "{a.b:1}",
    "key that ends with a hyphen": "{a-:1}",
    "apostrophe": "{'a':'it's'}",
    "apostrophe, more members": "{'a':'it's', 'b':'c'}",
    "inner quotes": '{"a":"to the "dictator", waiting"}',
    "string in three quotes": '{"a":"""b"""}',
    "strings added up": '{"a":"b" + "c"}',
    "backquotes": "{`a`:1}",
    "ellipsis": "[1, ...]",
    "half a surrogate pair": '{"a":"\\ud800",}',
    "half a surrogate pair, raw": '{"a":"\ud800",}',
    "control character outside": "[\x00]",
    "comment that closes the object": '{"a":1 // one}',
    "comment that closes more": '{"a":1 // {x}}\n}',
    "comment that may be text": '{"a":"use "#tag" here"\n}',
    "colour": '{"a":#fff}',
    "colours": '{"a":[#fff,\n#000\n]}',
    "slash": "[1/2]",
}


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED.keys())
def test_what_has_no_reading_or_several_is_malformed(text: str) -> None:
    assert scan_loose(text).kind == "malformed"


def test_a_malformed_object_is_told_apart_from_a_brace_in_prose() -> None:
    assert scan_loose('{"a": what}').keyed
    assert not scan_loose("{curly}").keyed


@pytest.mark.parametrize("unit", ["{a:", "["])
def test_depth_is_bounded(unit: str) -> None:
    assert scan_loose(unit * (MAX_DEPTH + 1)).kind == "malformed"
    assert scan_loose("[[1,],]", max_depth=1).kind == "malformed"
    assert scan_loose("[[1,],]", max_depth=2).text == "[[1]]"


class Careless:
    """Writes JSON as models do, in any of the ways that have one reading."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def write(self, value: object) -> str:
        if isinstance(value, dict):
            members = [
                f"{self.key(k)}{self.gap()}:{self.gap()}{self.write(v)}" for k, v in value.items()
            ]
            return self.enclosed("{", members, "}", commas=[",", ",", ",,", ", ,"])
        if isinstance(value, list):
            return self.enclosed("[", [self.write(item) for item in value], "]", commas=[","])
        if isinstance(value, str):
            return self.string(value)
        if value is None or isinstance(value, bool):
            return self.random.choice([repr(value), json.dumps(value)])
        text = json.dumps(value)
        return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text

    def enclosed(self, opener: str, items: list[str], closer: str, *, commas: list[str]) -> str:
        parts = [opener, self.gap()]
        for item in items:
            parts += [item, self.gap(), self.random.choice(commas), self.gap()]
        if items and self.random.random() < 0.5:
            parts[-2] = ""
        return "".join([*parts, closer])

    def gap(self) -> str:
        return self.random.choice(GAPS) if self.random.random() < 0.3 else ""

    def key(self, key: str) -> str:
        if (
            key.isascii()
            and key.isidentifier()
            and key not in NO_KEYS
            and self.random.random() < 0.5
        ):
            return key
        return self.string(key)

    def string(self, value: str) -> str:
        style = self.random.choice(["strict", "raw", "single", "curly"])
        if style == "strict":
            return json.dumps(value, ensure_ascii=self.random.random() < 0.5)
        value = value.replace("\\", "\\\\")
        if style == "raw":
            return '"' + value.replace('"', '\\"') + '"'
        if style == "single":
            return "'" + value.replace("'", "\\'") + "'"
        for quote in "\u201c\u201d\u201e\u201f\uff02":
            value = value.replace(quote, "\\" + quote)
        return "\u201c" + value.replace('"', '\\"') + "\u201d"


GAPS = [
    " ",
    "\n",
    "\t\r\n",
    "\u200b",
    "\ufeff",
    "\u00a0",
    "/* c, d */",
    "// it's {x}\n",
    "# note\n",
]
NO_KEYS = {"true", "false", "null", "True", "False", "None", "NaN", "Infinity", "undefined"}
TEXT = st.text(st.sampled_from("ab0 -:,{}[]#/*\"'\\\n\t\x01\u201c\u201d\u2019\u200b\U0001f600"), max_size=8) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=8
)  # fmt: skip
VALUES = st.dictionaries(
    TEXT,
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)  # fmt: skip


@given(VALUES, st.integers(0, 2**32))
def test_a_careless_object_is_read_as_what_it_is_and_every_beginning_is_cut(
    value: dict[str, object], seed: int
) -> None:
    text = Careless(seed).write(value)
    loose = scan_loose(text)
    assert (loose.kind, loose.end) == ("complete", len(text))
    assert json.JSONDecoder().decode(loose.text) == value
    for end in range(1, len(text)):
        assert scan_loose(text[:end]).kind == "truncated", text[:end]


@given(st.text("{}[]:,\"'ab1.-\\ /*#\n\u201c\u201d", max_size=20))
def test_whatever_comes_out_is_strict_and_stays_as_it_is(text: str) -> None:
    loose = scan_loose("{" + text)
    if loose.kind == "complete":
        assert scan_json(loose.text).end == len(loose.text)
        assert scan_loose(loose.text).repairs == ()
        assert scan_loose(loose.text).text == loose.text


FLOODS = [
    "a:1,", "'a':'b',", "a:True,", "/*x*/", "# x\n", "//x\n", "\u200b ", ",", '"a":"b",/*"x" */', "a:[", '"', "'",
    '"\\d', "a-", "\\", '"a":"b" //"x"\n,',
]  # fmt: skip


@pytest.mark.parametrize("unit", FLOODS)
def test_the_work_grows_with_the_text(unit: str) -> None:
    work: list[int] = []
    for count in (500, 2_000):
        scanner = LooseScanner('{"a":1,' + unit * count)
        scanner.run()
        work.append(scanner.work)
    assert work[1] <= 4.2 * work[0] + 100
