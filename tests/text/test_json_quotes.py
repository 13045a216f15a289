import pytest

from rig.text.json_quotes import CLOSERS, ends_inside, read_quoted

COMPLETE = {
    "plain": ('"abc" tail', '"abc"', ()),
    "empty": ('""', '""', ()),
    "known escapes": (r'"a\n\"\\\/\u00e9"', r'"a\n\"\\\/\u00e9"', ()),
    "curly quotes inside": ('"the \u201cold\u201d map"', '"the \u201cold\u201d map"', ()),
    "zero-width inside": ('"te\u200bst"', '"te\u200bst"', ()),
    "single": ("'abc'", '"abc"', ("single_quotes",)),
    "single, quotes inside": ("'say \"hi\"'", r'"say \"hi\""', ("single_quotes",)),
    "single, escaped quotes inside": (r"'say \"hi\"'", r'"say \"hi\""', ("single_quotes",)),
    "single, escaped apostrophe": (r"'it\'s'", '"it\'s"', ("single_quotes",)),
    "single, escaped backslash": (r"'a\\'", r'"a\\"', ("single_quotes",)),
    "curly": ("\u201ca\u201d", '"a"', ("smart_quotes",)),
    "curly, the same twice": ("\u201da\u201d", '"a"', ("smart_quotes",)),
    "curly, low": ("\u201ea\u201c", '"a"', ("smart_quotes",)),
    "curly, escaped": ("\u201ca\\\u201db\u201d", '"a\u201db"', ("smart_quotes",)),
    "curly, straight inside": ('\u201csay "hi" now\u201d', r'"say \"hi\" now"', ("smart_quotes",)),
    "curly, escaped straight inside": ('\u201c\\": x\u201d', r'"\": x"', ("smart_quotes",)),
    "curly single": ("\u2018a\u2019", '"a"', ("smart_quotes",)),
    "newline": ('"a\nb"', r'"a\nb"', ("control_character",)),
    "carriage return, tab": ('"a\r\n\tb"', r'"a\r\n\tb"', ("control_character",)),
    "other controls": ('"\x00\x1b"', r'"\u0000\u001b"', ("control_character",)),
    "escaped apostrophe": (r'"it\'s\n"', r'"it' + "'" + r's\n"', ("escape",)),
    "invalid escape": (r'"\d+"', r'"\\d+"', ("backslash",)),
    "valid ones beside it": (r'"C:\new\users\foo"', r'"C:\\new\\users\\foo"', ("backslash",)),
    "unicode escape without digits": (r'"\u12"', r'"\\u12"', ("backslash",)),
    "capital U": (r'"\U0001f600"', r'"\\U0001f600"', ("backslash",)),
    "line continued": ('"a \\\n b"', r'"a \\\n b"', ("backslash", "control_character")),
    "single, invalid escape": (r"'\d'", r'"\\d"', ("single_quotes", "backslash")),
}


@pytest.mark.parametrize(("text", "literal", "repairs"), COMPLETE.values(), ids=COMPLETE.keys())
def test_a_string_becomes_a_json_string(text: str, literal: str, repairs: tuple[str, ...]) -> None:
    quoted = read_quoted(text, 0)
    assert (quoted.kind, quoted.literal, quoted.repairs) == ("complete", literal, repairs)
    assert text[quoted.end - 1] in CLOSERS[text[0]]


TRUNCATED = [
    '"', '"abc', '"abc\\', '"a\\"', '"a\\u12', "'", "'it\\'s", "\u201c", '\u201csay "hi"', '"\\d', '"C:\\new\\"}',
    '"C:\\dir\\"x}', '"\\":\\u', '"\\": \\u00', '"\\":\\\\\\u1',
]  # fmt: skip


@pytest.mark.parametrize("text", TRUNCATED)
def test_a_string_nothing_closes_is_cut(text: str) -> None:
    assert read_quoted(text, 0).kind == "truncated"


MALFORMED = {
    "a quote behind a backslash that may be text": r'"\d+ \"x\""',
    "a backslash that may be an escaped one": r'"C:\\Users\me"',
    "apostrophe and an invalid escape": r'"it\'s \d"',
    "a shell's apostrophe": r'''"echo 'it'\''s'"''',
    "a path that hides the end": r'"C:\dir\"}',
    "a path that hides the end of a key": r'"C:\dir\" : 1}',
    "opened curly, closed straight": '\u201ca": 1}',
    "opened curly, perhaps closed straight": '\u201cHe said "no", and left\u201d',
}


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_string_of_several_readings_has_none(text: str) -> None:
    assert read_quoted(text, 0).kind == "malformed"


@pytest.mark.parametrize(
    ("text", "quote", "ends"),
    [
        ('// "x"\n}', '"', True),
        ('// "x"\n"', '"', False),
        ('// "x"', '"', False),
        ('// "x", y\n', '"', True),
        ('// the "x" one\n}', '"', False),
        ("// 'x'\n}", '"', False),
        ("// 'x'\n}", "'", True),
        ("// \u201dx\u201d  }\n", "\u201c", True),
    ],
)
def test_a_comment_is_looked_through_for_the_end_of_the_string_before(
    text: str, quote: str, ends: bool
) -> None:
    assert ends_inside(text, 0, len(text.partition("\n")[0]), quote) is ends
