r"""A quoted string as models write them, to a JSON string. No I/O.

Where a string ends is never guessed: it ends at the first quote of its kind that no backslash stands
before, and what follows has to fit. Four things are mended inside: quotes that are not JSON's, raw
control characters, `\'`, and backslashes JSON does not know.

Of the last only one reading is safe. `C:\new\users` holds an invalid escape (`\u` without digits),
so whoever wrote it did not escape backslashes, and the valid-looking `\n` beside it is no newline:
every backslash of the string is taken as itself. Where such a string also holds `\\` or a quote behind
a backslash, two readings are possible, and none is taken.
"""

import re
from typing import Final, Literal

from rig.late_dataclass import dataclass
from rig.text.json_scanner import ScanKind

_DOUBLE = '"'
_SINGLE = "'"
_CURLY_DOUBLE = "\u201c\u201d\u201e\u201f\uff02"
_CURLY_SINGLE = "\u2018\u2019\u201a\u201b\uff07"

CLOSERS: Final = (
    {_DOUBLE: _DOUBLE, _SINGLE: _SINGLE}
    | dict.fromkeys(_CURLY_DOUBLE, _CURLY_DOUBLE)
    | dict.fromkeys(_CURLY_SINGLE, _CURLY_SINGLE)
)
"""What may open a string, and which characters then close it. Curly quotes have directions, and models
mix them up, so any of their kind closes."""

_BODY = {
    closers: re.compile(rf"(?:[^{closers}\\]++|\\.)*+", re.DOTALL)
    for closers in set(CLOSERS.values())
}
_BLANKS = re.compile(r"[ \t\n\r]*")
_HEX = "[0-9a-fA-F]"
_ESCAPE = re.compile(rf"\\(?:u{_HEX}{{4}}|.)", re.DOTALL)
_CUT_ESCAPE = re.compile(rf"(?:[^\\]|\A)(?:\\\\)*+(?P<cut>\\u{_HEX}{{0,3}})\Z")
_SIMPLE = frozenset('"\\/bfnrt')
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*+')
_CONTROL = re.compile(r"[\x00-\x1f]")
_CONTROL_NAMES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}
_EscapeKind = Literal["closer", "double", "apostrophe", "backslash", "valid", "invalid"]
_SPECIAL: Final[dict[str, _EscapeKind]] = {'"': "double", "'": "apostrophe", "\\": "backslash"}
_SHELL_APOSTROPHE = "'\\''"

# A quote where a string could end: what follows may follow a string.
_ENDING = r"[ \t\n\r]*[,:}\]]"
_CLOSING = {closers: re.compile(f"[{closers}]{_ENDING}") for closers in _BODY}
_STRAIGHT_CLOSING = re.compile(rf'(?<!\\)"{_ENDING}')
_HIDDEN_CLOSING = {closers: re.compile(rf"\\[{closers}]{_ENDING}") for closers in _BODY}


@dataclass(frozen=True, slots=True, kw_only=True)
class Quoted:
    r"""What stands at an opening quote.

    Attributes:
        kind: complete; truncated (nothing closes it); malformed (it has several readings, or none).
        end: index after the closing quote; no use otherwise.
        literal: the JSON string; for a complete one only.
        repairs: what was mended: single_quotes, smart_quotes, control_character, escape (`\'`),
            backslash.
    """

    kind: ScanKind
    end: int = 0
    literal: str = ""
    repairs: tuple[str, ...] = ()


def read_quoted(text: str, start: int) -> Quoted:
    """Read the string that begins at an index.

    Half surrogate pairs pass; whoever puts the result together has to look at it once more.

    Args:
        text: any text.
        start: index of a character of `CLOSERS`.
    """
    closers = CLOSERS[text[start]]
    match = _BODY[closers].match(text, start + 1)
    end = match.end() if match else start + 1
    body = text[start + 1 : end]
    if len(closers) > 1 and _STRAIGHT_CLOSING.search(text, start + 1, end):
        return Quoted(kind="malformed")  # opened by a curly quote, closed by a straight one?
    if text[end : end + 1] not in closers or end == len(text):
        return _unclosed(body, closers)
    if closers == _DOUBLE and _PLAIN.fullmatch(body):
        return Quoted(kind="complete", end=end + 1, literal=text[start : end + 1])
    return _mended(body, closers, end + 1)


def ends_inside(text: str, start: int, end: int, quote: str) -> bool:
    """Whether a string that seemed to have ended before could also end inside of a stretch of text.

    Args:
        text: any text.
        start: where the stretch begins.
        end: where it ends.
        quote: the quote that opened the string.
    """
    # Blanks behind a last quote belong to the question, as far as they go and one character more.
    blanks = _BLANKS.match(text, end)
    stop = (blanks.end() if blanks else end) + 1
    return _CLOSING[CLOSERS[quote]].search(text, start, stop) is not None


def _unclosed(body: str, closers: str) -> Quoted:
    r"""A string without an end: cut, or `"C:\dir\"` whose end a backslash hides."""
    if _HIDDEN_CLOSING[closers].search(body):
        cut = _CUT_ESCAPE.search(body)
        whole = body[: cut.start("cut")] if cut else body
        if "invalid" in _escape_kinds(whole, closers):
            return Quoted(kind="malformed")
    return Quoted(kind="truncated")


def _mended(body: str, closers: str, end: int) -> Quoted:
    kinds = _escape_kinds(body, closers)
    repairs = _quote_names(closers)
    if "invalid" in kinds:
        if not kinds <= {"valid", "invalid"}:
            return Quoted(kind="malformed")
        repairs += ("backslash",)
        body = body.replace("\\", "\\\\")
        if closers != _DOUBLE:
            body = body.replace('"', '\\"')
    else:
        if closers == _DOUBLE and "apostrophe" in kinds:
            if _SHELL_APOSTROPHE in body:
                return Quoted(kind="malformed")  # how a shell spells it: the backslash is meant
            repairs += ("escape",)
        body = _requoted(body, closers)
    if _CONTROL.search(body):
        repairs += ("control_character",)
        body = _CONTROL.sub(_control, body)
    return Quoted(kind="complete", end=end, literal=f'"{body}"', repairs=repairs)


def _quote_names(closers: str) -> tuple[str, ...]:
    if closers == _DOUBLE:
        return ()
    return ("single_quotes",) if closers == _SINGLE else ("smart_quotes",)


def _escape_kinds(body: str, closers: str) -> set[_EscapeKind]:
    return {_escape_kind(match[0], closers) for match in _ESCAPE.finditer(body)}


def _escape_kind(escape: str, closers: str) -> _EscapeKind:
    escaped = escape[1:]
    if escaped in closers:
        return "closer"
    special = _SPECIAL.get(escaped)
    if special is not None:
        return special
    return "valid" if escaped in _SIMPLE or len(escaped) > 1 else "invalid"


def _requoted(body: str, closers: str) -> str:
    r"""The body between straight double quotes, `\'` and escaped curly quotes as themselves."""

    def mended(match: re.Match[str]) -> str:
        lexeme = match[0]
        if lexeme == '"':
            return '\\"' if closers != _DOUBLE else lexeme
        kind = _escape_kind(lexeme, closers)
        own = kind == "apostrophe" or (kind == "closer" and closers != _DOUBLE)
        return lexeme[1:] if own else lexeme

    return _LEXEME.sub(mended, body)


_LEXEME = re.compile(rf'{_ESCAPE.pattern}|"', re.DOTALL)


def _control(match: re.Match[str]) -> str:
    return _CONTROL_NAMES.get(match[0]) or f"\\u{ord(match[0]):04x}"
