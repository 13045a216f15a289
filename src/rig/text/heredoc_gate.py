"""Holds back, of a reply that is still coming, what may become an `@@call`. No I/O, stdlib only.

A preview that never shows too much: behind the first call nothing is shown any more, for what a call is
can only be told of the whole text. `rig.text.heredoc.parse_heredoc` has the last word.
"""

import re
from typing import Final

MAX_HELD_CHARS: Final = 200
"""Characters that are held back to see whether they begin a call: with its prefix the longest such line has
71, and the line that opens a code block around it some ten."""

_LINES = re.compile(r"[^\n]*\n|[^\n]+")
# What a code block may hold that is nothing but calls: see the filler of rig.text.heredoc.
_FENCE = r"(?:[^\S\n]*(?:`{3,}|~{3,})[^\n`]*\n(?:\s|@@end\b|</?tool_calls?>)*+)"
_MAY_BE_MARK = re.compile(
    rf"(?:{_FENCE}?[^\S\n]*(?:@@?|@@c(?:a(?:ll?)?)?|@@en?|@@call[ \t].*|@@end[ \t\r]*)?"
    rf"|{_FENCE}</?[a-z_]{{0,10}}"
    r"|[^\S\n]*(?:`{0,2}|~{0,2}|(?:`{3,}|~{3,})[^\n`]*))\Z"
)
_CALL = re.compile(_FENCE + r"?[ \t]*@@call[ \t][^\S\n]*[A-Za-z0-9_\-]{0,64}[^\S\n]*(?:[{\n]|\Z)")
_END = re.compile(r"^[ \t]*@@end[ \t\r]*(?:\n|\Z)", re.MULTILINE)


class HeredocGate:
    """Lets the text of one reply through, up to its first call.

    Attributes:
        is_closed: True once a call began.
    """

    def __init__(self) -> None:
        self.is_closed = False
        self._line = ""  # what is held back of the last line
        self._is_text = False  # the last line is no mark, its rest may pass

    def feed(self, chunk: str) -> str:
        """Add text; what of it, and of what was held back, can be shown.

        Args:
            chunk: what arrived, of any length.
        """
        shown = [self._add(line) for line in _LINES.findall(chunk)]
        return "".join(shown)

    def close(self) -> str:
        """The text has ended; what was held back and was no call after all."""
        line, self._line = self._line, ""
        return "" if self.is_closed or _CALL.match(line) else _without_end(line)

    def _add(self, piece: str) -> str:
        if self.is_closed:
            return ""
        if self._is_text:
            self._is_text = not piece.endswith("\n")
            return piece
        self._line += piece
        line = self._line
        call = _CALL.match(line)
        if call is not None and call[0].endswith(("{", "\n")):
            self.is_closed, self._line = True, ""
            return ""
        if len(line) <= MAX_HELD_CHARS and _MAY_BE_MARK.match(line):
            return ""
        self._line = ""
        self._is_text = not piece.endswith("\n")
        return _without_end(line)


def _without_end(line: str) -> str:
    """What was held back, without end marks that belong to nothing."""
    return _END.sub("", line)
