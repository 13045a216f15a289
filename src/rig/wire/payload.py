r"""Bytes of an answer to JSON values. No I/O, linear time.

Two faults are forgiven, because both come from text a model wrote and not from a broken server:
bytes that are not UTF-8 (a character cut at the token limit) and escapes of half a surrogate pair
(`\ud83d` alone). Both become U+FFFD, so whatever comes out can be encoded as UTF-8 again. Forgiven are
also UTF-16 with its mark and, where the caller wants it, control characters that stand as they are inside of
a text, and numbers of thousands of digits, which become null: nothing rig reads is such a number.
"""

import re
from collections.abc import Callable
from typing import Any, Final, TypeGuard

from pydantic_core import from_json

from rig.messages import as_array, as_object

_BOM = b"\xef\xbb\xbf"
_BOMS_16 = (b"\xff\xfe", b"\xfe\xff")
_BLANK = b" \t\r\n"

# One match per escape, so that the second half of a pair is never taken for a lone one; each
# alternative is of bounded length: no backtracking.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)

# A text, also one that never ends, or a number that no parser here takes; possessive, so linear.
_MENDABLE = re.compile(r'"(?:[^"\\]++|\\.)*+"?|(?<=[:,\[ \t\r\n])[-0-9.eE+]{4300,}+', re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f]")


def parse_json(body: bytes | str, *, partial: bool = False, mend: bool = False) -> Any:  # noqa: ANN401  JSON is any value
    """The JSON value of a body; a byte order mark and blanks before it are skipped.

    Args:
        body: the whole text.
        partial: accept a text that was cut, and give what is complete.
        mend: forgive control characters and long numbers too: an answer that was paid for.

    Returns:
        The value. NaN and infinities are read: servers write them into log probabilities.

    Raises:
        ValueError: the text is not one JSON value.
    """
    if isinstance(body, bytes):
        body = body.lstrip(_BLANK).removeprefix(_BOM)
        if body.startswith(_BOMS_16):
            body = body.decode("utf-16", "replace")
    allow: Any = "trailing-strings" if partial else False
    try:
        return from_json(body, allow_partial=allow)
    except (ValueError, TypeError):  # TypeError: a str that holds lone surrogates
        text = without_surrogates(body) if isinstance(body, str) else body.decode(errors="replace")
    text = mend_escapes(text)
    if mend:
        text = _MENDABLE.sub(_mend_token, text)
    return from_json(text, allow_partial=allow)


def _mend_token(match: re.Match[str]) -> str:
    token = match[0]
    if not token.startswith('"'):
        return "null"
    return _CONTROL.sub(_escape_control, token)


def _escape_control(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


OBJECT: Final[type[Any]] = dict
ARRAY: Final[type[Any]] = list
"""The types of parsed JSON objects and arrays: `type(value) is OBJECT` is a fifth of a call of what follows."""


def is_parsed_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a parsed JSON value is an object; for code that runs once a token.

    `as_object` takes any mapping, and that costs four times as much.
    """
    return type(value) is dict


def is_parsed_array(value: object) -> TypeGuard[list[Any]]:
    """Whether a parsed JSON value is an array."""
    return type(value) is list


def mend_escapes(text: str) -> str:
    r"""JSON text with every escape of half a surrogate pair replaced by `\ufffd`."""
    return _ESCAPE.sub(_mend_escape, text) if "\\u" in text else text


def _mend_escape(match: re.Match[str]) -> str:
    return "\\ufffd" if match[1] else match[0]


def without_surrogates(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates replaced by U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def scrub(value: object, clean: Callable[[str], str] = without_surrogates) -> object:
    """A copy of a JSON value with every text, keys too, passed through `clean`."""
    if isinstance(value, str):
        return clean(value)
    wire, entries = as_object(value), as_array(value)
    if wire is not None:
        return {scrub(key, clean): scrub(item, clean) for key, item in wire.items()}
    return value if entries is None else [scrub(item, clean) for item in entries]
