"""An object or array in the JSON of a model's making, to strict JSON. No I/O.

Mends only what has one reading, see `LooseScanner`. It never adds a bracket or a quote that closes
something: what is open at the end of the text was cut there, and every beginning of a text it can mend
is told to be cut. Iterative and linear like `rig.text.json_scanner`, whose strictness its results have:
each is scanned once more before it is handed out.
"""

import re
from collections.abc import Callable
from typing import Final

from rig.late_dataclass import dataclass
from rig.text.json_quotes import CLOSERS, ends_inside, read_quoted
from rig.text.json_scanner import MAX_DEPTH, MAX_NUMBER_CHARS, ScanKind, scan_json

COMMENT: Final = r"(?://|#)[^\n\r{\[]*+(?![^\n\r])|/\*(?:[^*{\[]|\*(?!/))*+\*/"
"""A comment outside of the value, as a pattern. One that holds a bracket might hold a second value."""

_SPACE = re.compile(r"[ \t\n\r]*")
# Blanks JSON does not know, and characters that show nothing: joiners, marks of direction, byte order.
_BLANK = re.compile(
    r"(?:[^\S \t\n\r]|[\ufeff\u200b-\u200f\u2060-\u2064\u202a-\u202e\u2066-\u2069\u00ad])+"
)
_LINE = re.compile(r"[^\n\r]*")
_LINE_END = re.compile(r"[\n\r]")
_BRACKET = re.compile(r"[{}\[\]]")
_BARE_KEY = re.compile(r"(?:[^\W\d]|\$)(?:[\w$]|-(?=[\w$\-]|\Z))*|(?:0|[1-9][0-9]*)(?![\w.$])")
_WORD = re.compile(r"[\w$]*")
_NUMBER_RUN = re.compile(r"[-+.\w]*")
_NUMBER = re.compile(r"(-?)(0|[1-9][0-9]*+)?(\.[0-9]*+)?([eE][-+]?[0-9]++)?")
_NUMBER_PREFIX = re.compile(r"-?(?:0|[1-9][0-9]*+)?(?:\.[0-9]*+)?(?:(?<=[0-9.])[eE][-+]?[0-9]*+)?")

_WORDS: Final = {
    "true": "true",
    "false": "false",
    "null": "null",
    "True": "true",
    "False": "false",
    "None": "null",
}
_NO_KEYS = frozenset({*_WORDS, "NaN", "Infinity", "undefined"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Loose:
    """What stands at an opening bracket.

    Attributes:
        kind: complete; truncated (only the end of the text is missing); malformed (neither).
        end: index after the closing bracket; for malformed where the text stops having a reading;
            for truncated the length of the text.
        text: the strict JSON of a complete one.
        repairs: what was mended, in order and once each; empty when it was strict JSON.
        keyed: True when at least one key and its colon were read.
    """

    kind: ScanKind
    end: int
    text: str = ""
    repairs: tuple[str, ...] = ()
    keyed: bool = False


def scan_loose(text: str, start: int = 0, *, max_depth: int = MAX_DEPTH) -> Loose:
    """Read the object or array that begins at an index, and mend it.

    Args:
        text: any text.
        start: index of its `{` or `[`.
        max_depth: containers inside each other that are accepted.
    """
    if text[start : start + 1] not in {"{", "["}:
        return Loose(kind="malformed", end=start)
    return LooseScanner(text, start, max_depth=max_depth).run()


class LooseScanner:
    r"""One scan.

    What it mends, by the name it gives it:

    - trailing_comma: before a closing bracket;
    - doubled_comma: in an object; in an array it could stand for a value left out;
    - single_quotes, smart_quotes, control_character, escape, backslash: see `rig.text.json_quotes`;
    - bare_key: a word, with `-` inside, or a whole number, where only a key can stand;
    - python_literal: `True`, `False`, `None`;
    - number: `.5`, `5.`;
    - comment: `//`, `#` and `/* */` between two tokens;
    - blank: characters between tokens that are blank or invisible, but no JSON whitespace.

    What it leaves alone, because it has no reading or several: a comma left out, a comma too many in
    an array, bare words as values, `01`, `+5`, NaN, Infinity, and a comment that could be text: one in
    which a bracket is closed, or a string before it could end.

    Args:
        text: any text.
        start: index of the opening bracket.
        max_depth: containers inside each other that are accepted.

    Attributes:
        work: characters looked at so far.
    """

    def __init__(self, text: str, start: int = 0, *, max_depth: int = MAX_DEPTH) -> None:
        self.work = 0
        self._text = text
        self._position = self._copied = start
        self._max_depth = max_depth
        self._open: list[str] = []
        self._parts: list[str] = []
        self._comma = 0  # index in parts of the last comma
        self._repairs: dict[str, None] = {}
        self._quote = (
            ""  # opened the string before, when it ended on this line and only a comma came
        )
        self._keyed = False
        self._result: Loose | None = None
        self._step: Callable[[str], None] = self._value

    def run(self) -> Loose:
        """Scan up to the closing bracket, to the end of the text, or to what has no reading."""
        while self._result is None:
            char = self._next()
            if not char:
                self._stop("truncated", len(self._text))
            else:
                self._step(char)
        return self._result

    def _stop(self, kind: ScanKind, end: int) -> None:
        self._result = Loose(kind=kind, end=end, keyed=self._keyed)

    def _malformed(self) -> None:
        self._stop("malformed", self._position)

    # What stands between tokens.

    def _next(self) -> str:
        """Pass blanks and comments; return the next character, "" at the end."""
        text = self._text
        while True:
            begin = self._position
            self._move(_SPACE)
            self._note_lines(begin)
            begin = self._position
            char = text[begin : begin + 1]
            if char and char in "/#":
                if not self._comment(char):
                    return char
            elif char and self._move(_BLANK):
                self._replace(begin, self._position, "", "blank")
            else:
                return char

    def _note_lines(self, begin: int) -> None:
        if self._quote and _LINE_END.search(self._text, begin, self._position):
            self._quote = ""

    def _move(self, pattern: re.Pattern[str]) -> int:
        """Move past a pattern that may be empty; return how far."""
        match = pattern.match(self._text, self._position)
        size = match.end() - match.start() if match else 0
        self._position += size
        self.work += size + 1
        return size

    def _comment(self, char: str) -> bool:
        """Drop the comment here; return False when there is none, or it may be none."""
        text, begin = self._text, self._position
        after = text[begin + 1 : begin + 2]
        if char == "/" and after == "*":
            close = text.find("*/", begin + 2)
            end = len(text) if close < 0 else close + 2
        elif char == "/" and after not in {"", "/"}:
            return False
        elif char == "#" and after not in _AFTER_HASH and self._wants_value():
            return False  # a colour, a channel
        else:
            match = _LINE.match(text, begin)
            end = match.end() if match else begin
        self.work += end - begin
        if after != "*" and _closes_more(text[begin:end]):
            return False
        if self._quote and ends_inside(text, begin, end, self._quote):
            return False
        self._position = end
        self._note_lines(begin)
        self._replace(begin, end, "", "comment")
        return True

    def _wants_value(self) -> bool:
        return self._step in {self._value, self._first_item, self._next_item}

    # Steps: each gets the character at the position and either moves on or stops.

    def _value(self, char: str) -> None:
        if char in CLOSERS:
            self._string(self._after_value)
        elif char in "{[":
            self._begin(char)
        elif char in "-.0123456789":
            self._number()
        else:
            self._word()

    def _first_item(self, char: str) -> None:
        if char == "]":
            self._end()
        else:
            self._value(char)

    def _next_item(self, char: str) -> None:
        if char == "]":
            self._drop_comma()
            self._end()
        else:
            self._value(char)

    def _first_key(self, char: str) -> None:
        if char == "}":
            self._end()
        else:
            self._key(char)

    def _next_key(self, char: str) -> None:
        if char == "}":
            self._drop_comma()
            self._end()
        elif char == ",":
            self._position += 1
            self._replace(self._position - 1, self._position, "", "doubled_comma")
        else:
            self._key(char)

    def _key(self, char: str) -> None:
        if char in CLOSERS:
            self._string(self._colon)
            return
        begin = self._position
        if not self._move(_BARE_KEY):
            self._malformed()
            return
        key = self._text[begin : self._position]
        if self._position == len(self._text):
            self._stop("truncated", self._position)
        elif key in _NO_KEYS:
            self._malformed()
        else:
            self._replace(begin, self._position, f'"{key}"', "bare_key")
            self._quote = ""
            self._step = self._colon

    def _colon(self, char: str) -> None:
        if char != ":":
            self._malformed()
            return
        self._position += 1
        self._quote = ""
        self._keyed = True
        self._step = self._value

    def _after_value(self, char: str) -> None:
        inside = self._open[-1]
        if char == ",":
            self._flush(self._position)
            self._comma = len(self._parts)
            self._parts.append(",")
            self._position = self._copied = self._position + 1
            self._step = self._next_key if inside == "{" else self._next_item
        elif char == ("}" if inside == "{" else "]"):
            self._end()
        else:
            self._malformed()

    # What the steps do.

    def _begin(self, char: str) -> None:
        if len(self._open) >= self._max_depth:
            self._malformed()
            return
        self._open.append(char)
        self._position += 1
        self._quote = ""
        self._step = self._first_key if char == "{" else self._first_item

    def _end(self) -> None:
        self._open.pop()
        self._position += 1
        self._quote = ""
        self._step = self._after_value
        if not self._open:
            self._finish()

    def _finish(self) -> None:
        self._flush(self._position)
        text = "".join(self._parts)
        scan = scan_json(text, max_depth=self._max_depth)
        self.work += len(text)
        if scan.kind != "complete" or scan.end != len(text):
            self._malformed()  # half a surrogate pair, a number that is too large
            return
        self._result = Loose(
            kind="complete",
            end=self._position,
            text=text,
            repairs=tuple(self._repairs),
            keyed=self._keyed,
        )

    def _string(self, step: Callable[[str], None]) -> None:
        begin = self._position
        quoted = read_quoted(self._text, begin)
        if quoted.kind != "complete":
            self._stop(
                quoted.kind, len(self._text) if quoted.kind == "truncated" else self._position
            )
            self.work += len(self._text) - begin
            return
        self._position = quoted.end
        self.work += quoted.end - begin
        if quoted.repairs:
            self._replace(begin, quoted.end, quoted.literal, *quoted.repairs)
        self._quote = self._text[begin]
        self._step = step

    def _number(self) -> None:
        begin = self._position
        self._move(_NUMBER_RUN)
        token = self._text[begin : self._position]
        number = _as_number(token)
        if number:
            if number != token:
                self._replace(begin, self._position, number, "number")
            self._quote = ""
            self._step = self._after_value
            return
        cut = self._position == len(self._text) and _NUMBER_PREFIX.fullmatch(token)
        self._position = self._position if cut else begin
        self._stop("truncated" if cut else "malformed", self._position)

    def _word(self) -> None:
        begin = self._position
        self._move(_WORD)
        word = self._text[begin : self._position]
        meant = _WORDS.get(word)
        if meant is not None:
            if meant != word:
                self._replace(begin, self._position, meant, "python_literal")
            self._quote = ""
            self._step = self._after_value
            return
        cut = self._position == len(self._text) and any(known.startswith(word) for known in _WORDS)
        self._position = self._position if cut else begin
        self._stop("truncated" if cut else "malformed", self._position)

    # The text that comes out.

    def _flush(self, end: int) -> None:
        self._parts.append(self._text[self._copied : end])

    def _replace(self, begin: int, end: int, new: str, *names: str) -> None:
        self._flush(begin)
        self._parts.append(new)
        self._copied = end
        self._repairs.update(dict.fromkeys(names))

    def _drop_comma(self) -> None:
        self._parts[self._comma] = ""
        self._repairs["trailing_comma"] = None


_AFTER_HASH = frozenset({"", " ", "\t", "\n", "\r", "#", "!"})


def _closes_more(comment: str) -> bool:
    """Whether a line comment closes a bracket it has not opened: it may have swallowed the object's."""
    depth = 0
    for match in _BRACKET.finditer(comment):
        depth += 1 if match[0] in "{[" else -1
        if depth < 0:
            return True
    return False


def _as_number(token: str) -> str:
    """The JSON number a token means, "" if it is none."""
    if len(token) > MAX_NUMBER_CHARS + 1:
        return ""
    match = _NUMBER.fullmatch(token)
    if match is None:
        return ""
    sign, whole, fraction, power = (part or "" for part in match.groups())
    if not whole and len(fraction) < 2:
        return ""
    if fraction == ".":
        fraction = ".0"
    return f"{sign}{whole or '0'}{fraction}{power}"
