r"""Where a JSON value ends, and whether a text that holds none was cut or is wrong. No I/O.

Python's json can't tell the two apart: `{"a":tru`, `{"a":-`, `{"a":"x\` and every unterminated
string are reported before the end of the text. It also recurses, takes NaN, and fails with a plain
ValueError at 4,301 digits. This scanner is strict (RFC 8259), iterative and linear: each character
is looked at a fixed number of times. It builds nothing.

Stricter than the RFC's grammar in three places, so that whatever it calls complete can be decoded,
encoded as UTF-8 and sent back: escaped or raw surrogates have to come in pairs, a fraction or
power has to be finite as a float, and depth and digits are bounded.
"""

import math
import re
from collections.abc import Callable
from typing import Final, Literal

from rig.late_dataclass import dataclass

MAX_DEPTH: Final = 10_000
"""Containers inside each other, the outermost one counted; the bound of Go's encoding/json. Python
objects of this depth can be built and freed, but `repr`, `==` and `json.dumps` refuse them."""

MAX_NUMBER_CHARS: Final = 4300
"""Characters of one number without its sign: what `int` takes by default
(https://docs.python.org/3/library/stdtypes.html#int-max-str-digits): conversion is quadratic."""

_SPACE = re.compile(r"[ \t\n\r]*")
_HEX = "[0-9a-fA-F]"
_ESCAPE = (
    rf'\\["\\/bfnrt]|\\u(?:[0-9a-ce-fA-CE-F]{_HEX}{{3}}|[dD][0-7]{_HEX}{{2}}'
    rf"|[dD][89abAB]{_HEX}{{2}}\\u[dD][c-fC-F]{_HEX}{{2}})"
)
# Possessive: no character is tried twice, and no position is remembered.
_STRING_BODY = re.compile(rf'(?:[^"\\\x00-\x1f\ud800-\udfff]++|{_ESCAPE})*+')
_ESCAPE_PREFIX = re.compile(
    rf"\\(?:u(?:{_HEX}{{0,3}}|[dD][89abAB]{_HEX}{{2}}(?:\\(?:u(?:[dD](?:[c-fC-F]{_HEX}?)?)?)?)?)?)?"
)
_NUMBER_RUN = re.compile(r"[-+.0-9eE]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?")
_NUMBER_PREFIX = re.compile(
    r"-?(?:(?:0|[1-9][0-9]*+)(?:\.[0-9]*+)?(?:(?<=[0-9])[eE][-+]?[0-9]*+)?)?"
)
_WORDS = {"t": "true", "f": "false", "n": "null"}

ScanKind = Literal["complete", "truncated", "malformed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What stands at an index of a text.

    Attributes:
        kind: complete (a JSON value; more text may follow), truncated (the beginning of one: only
            the end of the text is missing), or malformed (neither).
        end: index after the value; for malformed the index where the text stops being JSON; for
            truncated the length of the text.
        depth: containers inside each other, up to the end.
        too_deep: True when `max_depth` made it malformed.
    """

    kind: ScanKind
    end: int
    depth: int = 0
    too_deep: bool = False


def scan_json(text: str, start: int = 0, *, max_depth: int = MAX_DEPTH) -> Scan:
    """Scan one JSON value, of any type, with whitespace before it allowed.

    Args:
        text: any text.
        start: index to begin at, in characters.
        max_depth: containers inside each other that are accepted.

    Returns:
        What stands there. An empty text is truncated.
    """
    return JSONScanner(text, start, max_depth=max_depth).run()


class JSONScanner:
    """One scan, with what it learnt about the objects inside.

    Args:
        text: any text.
        start: index to begin at, in characters.
        max_depth: containers inside each other that are accepted.

    Attributes:
        objects: index of the opening brace -> index after the closing one, of every object that
            was complete, whatever became of the value around it.
        open: indexes of the containers that were open at the end, outermost first.
    """

    def __init__(self, text: str, start: int = 0, *, max_depth: int = MAX_DEPTH) -> None:
        self.objects: dict[int, int] = {}
        self.open: list[int] = []
        self._text = text
        self._position = start
        self._max_depth = max_depth
        self._depth = 0
        self._result: Scan | None = None
        self._step: Callable[[str], None] = self._value

    def run(self) -> Scan:
        """Scan up to the end of the value or of the text, or to the first wrong character."""
        text, skip_space = self._text, _SPACE.match
        while self._result is None:
            space = skip_space(text, self._position)
            # The pattern matches the empty string too.
            self._position = position = space.end() if space else self._position
            char = text[position : position + 1]
            if not char:
                self._stop("truncated", position)
            else:
                self._step(char)
        return self._result

    def _stop(self, kind: ScanKind, end: int, *, too_deep: bool = False) -> None:
        self._result = Scan(kind=kind, end=end, depth=self._depth, too_deep=too_deep)

    # Steps: each gets the character at the position and either moves on or stops.

    def _value(self, char: str) -> None:
        if char == '"':
            end = self._string()
        elif char in "{[":
            self._begin(char)
            return
        elif char in "-0123456789":
            end = self._number()
        else:
            end = self._word(char)
        if end is not None:
            self._moved_past(end)

    def _first_item(self, char: str) -> None:
        if char == "]":
            self._end()
        else:
            self._value(char)

    def _first_key(self, char: str) -> None:
        if char == "}":
            self._end()
        else:
            self._key(char)

    def _key(self, char: str) -> None:
        if char != '"':
            self._stop("malformed", self._position)
        elif (end := self._string()) is not None:
            self._position = end
            self._step = self._colon

    def _colon(self, char: str) -> None:
        if char == ":":
            self._position += 1
            self._step = self._value
        else:
            self._stop("malformed", self._position)

    def _after_item(self, char: str) -> None:
        if char == ",":
            self._position += 1
            self._step = self._value
        elif char == "]":
            self._end()
        else:
            self._stop("malformed", self._position)

    def _after_member(self, char: str) -> None:
        if char == ",":
            self._position += 1
            self._step = self._key
        elif char == "}":
            self._end()
        else:
            self._stop("malformed", self._position)

    # What the steps do.

    def _moved_past(self, end: int) -> None:
        """A value ended: go on with what may follow it."""
        self._position = end
        if not self.open:
            self._stop("complete", end)
        elif self._text[self.open[-1]] == "{":
            self._step = self._after_member
        else:
            self._step = self._after_item

    def _begin(self, char: str) -> None:
        if len(self.open) >= self._max_depth:
            self._stop("malformed", self._position, too_deep=True)
            return
        self.open.append(self._position)
        self._depth = max(self._depth, len(self.open))
        self._position += 1
        self._step = self._first_key if char == "{" else self._first_item

    def _end(self) -> None:
        begin = self.open.pop()
        end = self._position + 1
        if self._text[begin] == "{":
            self.objects[begin] = end
        self._moved_past(end)

    def _string(self) -> int | None:
        """Return the index after the closing quote; stop and return None when there is none."""
        text = self._text
        body = _STRING_BODY.match(text, self._position + 1)
        end = body.end() if body else self._position + 1
        char = text[end : end + 1]
        if char == '"':
            return end + 1
        cut = not char or (char == "\\" and _ESCAPE_PREFIX.fullmatch(text, end) is not None)
        self._stop("truncated" if cut else "malformed", len(text) if cut else end)
        return None

    def _number(self) -> int | None:
        """Return the index after a number; stop and return None when it is none."""
        text, start = self._text, self._position
        run = _NUMBER_RUN.match(text, start)
        end = run.end() if run else start
        if end - start > MAX_NUMBER_CHARS + 1:
            self._stop("malformed", start)
            return None
        token = text[start:end]
        if _NUMBER.fullmatch(token) and _is_bounded(token):
            return end
        cut = end == len(text) and _NUMBER_PREFIX.fullmatch(token) is not None
        self._stop("truncated" if cut else "malformed", end if cut else start)
        return None

    def _word(self, char: str) -> int | None:
        """Return the index after true, false or null; stop and return None for any other word."""
        text, start = self._text, self._position
        word = _WORDS.get(char, "")
        if word and text.startswith(word, start):
            return start + len(word)
        cut = word.startswith(text[start:]) if len(text) - start < len(word) else False
        self._stop("truncated" if cut else "malformed", len(text) if cut else start)
        return None


def _is_bounded(number: str) -> bool:
    """Tell whether a number can be converted: digits few enough, and finite if it is a float."""
    if len(number.removeprefix("-")) > MAX_NUMBER_CHARS:
        return False
    return number.removeprefix("-").isdigit() or math.isfinite(float(number))
