"""Bytes to JSON values, forgiving what a model's text breaks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.wire.payload import mend_escapes, parse_json, scrub, without_surrogates

FORGIVEN = {
    "plain": (b'{"a": 1}', {"a": 1}),
    "byte order mark": (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
    "blanks first": (b' \r\n\t{"a": 1}\n', {"a": 1}),
    "blanks and a mark": (b'\n\xef\xbb\xbf {"a": 1}', {"a": 1}),
    "a text": ('{"a": 1}', {"a": 1}),
    "UTF-16": ('{"a": "\u4e2d"}'.encode("utf-16"), {"a": "\u4e2d"}),
    "UTF-16, the other way round": (b"\xfe\xff" + '{"a": 1}'.encode("utf-16-be"), {"a": 1}),
    "a cut character": (b'{"a": "x\xf0\x9f\x98"}', {"a": "x\ufffd"}),
    "a lone high surrogate": (rb'{"a": "x\ud83d y"}', {"a": "x\ufffd y"}),
    "a lone low surrogate": (rb'{"a": "\ude00"}', {"a": "\ufffd"}),
    "surrogates the wrong way round": (rb'{"a": "\ude00\ud83d"}', {"a": "\ufffd\ufffd"}),
    "a pair": (rb'{"a": "\ud83d\ude00"}', {"a": "\U0001f600"}),
    "a pair beside a lone one": (rb'{"a": "\ud83d\ud83d\ude00"}', {"a": "\ufffd\U0001f600"}),
    "an escaped backslash": (rb'{"a": "\\ud83d", "b": "\ud83d"}', {"a": r"\ud83d", "b": "\ufffd"}),
    "a text with a lone surrogate": ('{"a": "\ud83d"}', {"a": "\ufffd"}),
    "a repeated key": (b'{"a": 1, "a": 2}', {"a": 2}),
}


@pytest.mark.parametrize(("body", "value"), FORGIVEN.values(), ids=FORGIVEN)
def test_a_body_is_read(body: bytes | str, value: object) -> None:
    assert parse_json(body) == value


MENDED = {
    "a line break in a text": (b'{"a": "x\ny"}', {"a": "x\ny"}),
    "NUL and a tab": (b'{"a": "\x00\t"}', {"a": "\x00\t"}),
    "a break as a key": (b'{"a\nb": 1}', {"a\nb": 1}),
    "an escape beside it": (rb'{"a": "\n"}', {"a": "\n"}),
    "a long number": (b'{"a": ' + b"9" * 5000 + b', "b": 1}', {"a": None, "b": 1}),
    "in a list": (b"[1," + b"9" * 5000 + b"]", [1, None]),
    "as a text": (b'{"a": "' + b"9" * 5000 + b'\n"}', {"a": "9" * 5000 + "\n"}),
}


@pytest.mark.parametrize(("body", "value"), MENDED.values(), ids=MENDED)
def test_more_is_forgiven_where_the_caller_wants_it(body: bytes, value: object) -> None:
    assert parse_json(body, mend=True) == value


@pytest.mark.parametrize("body", [MENDED["a line break in a text"][0], MENDED["a long number"][0]])
def test_by_default_it_is_not(body: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse_json(body)


@pytest.mark.parametrize("unit", ['\\"', '"\\"', '"\n', "9", ",9", '"'])
def test_a_flood_that_can_not_be_mended_is_read_in_one_pass(unit: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse_json("{" + unit * 200_000, mend=True)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"{",
        b'{"a": 1} {"b": 2}',
        b'{"a": "\\ud8"}',
        b"nul",
        b'{"a":' * 5000,
        b"1" * 5000,
    ],
    ids=["nothing", "html", "cut", "two values", "a cut escape", "a cut word", "deep", "digits"],
)
def test_what_is_no_json_is_a_value_error(body: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse_json(body)


def test_a_cut_body_gives_what_is_complete_when_asked() -> None:
    assert parse_json(b'{"error": {"message": "too lo', partial=True) == {
        "error": {"message": "too lo"}
    }


def test_nan_is_read_since_log_probabilities_hold_it() -> None:
    assert parse_json(b'{"logprob": -Infinity}') == {"logprob": float("-inf")}


@given(st.text(alphabet=st.sampled_from(list('\\u"dD89abcef0{}x'))))
def test_mending_never_breaks_what_was_fine_and_is_stable(text: str) -> None:
    once = mend_escapes(text)
    assert mend_escapes(once) == once


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_no_surrogate_is_left(text: str) -> None:
    without_surrogates(text).encode()


def test_a_pair_of_surrogate_characters_becomes_one_character() -> None:
    assert without_surrogates("\ud83d\ude00 \ud83d") == "\U0001f600 \ufffd"


def test_scrubbing_reaches_keys_and_nested_texts() -> None:
    assert scrub({"\ud800": [("\ud800", 1, None)]}) == {"\ufffd": [["\ufffd", 1, None]]}
