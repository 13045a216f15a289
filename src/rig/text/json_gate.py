"""Holds back, of a reply that is still coming, what may become a call as JSON. No I/O, stdlib only.

A preview that never shows too much: behind the first object that begins like a call nothing is shown any
more. `rig.text.json_calls.parse_json_calls` has the last word.
"""

import re
from typing import Final

MAX_HELD_CHARS: Final = 200
"""Characters that are held back to see whether they begin a call: a fence, a bracket and the first key of
an object, with room for blanks between them."""

_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE: Final = r"(?:`{3,}|~{3,})[^\n`]{0,80}"
_HEAD: Final = rf"[ \t]*(?:{_FENCE}\n\s*)?(?:\[\s*)?"
_OBJECT: Final = r"\{\s*[\"'\u201c\u201d]?"
_CALL = re.compile(_HEAD + _OBJECT + r"(?:name|arguments)")
_MAY_BE_CALL = re.compile(
    rf"(?:[ \t]*(?:`{{0,2}}|~{{0,2}}|{_FENCE})|{_HEAD}"
    rf"|{_HEAD}{_OBJECT}(?:n(?:am?)?|a(?:r(?:g(?:u(?:m(?:e(?:nt?)?)?)?)?)?)?)?)\Z"
)


class JSONCallGate:
    """Lets the text of one reply through, up to its first call.

    Attributes:
        is_closed: True once a call began.
    """

    def __init__(self) -> None:
        self.is_closed = False
        self._held = ""
        self._is_text = False  # the last line begins no call, its rest may pass

    def feed(self, chunk: str) -> str:
        """Add text; what of it, and of what was held back, can be shown.

        Args:
            chunk: what arrived, of any length.
        """
        return "".join([self._add(line) for line in _LINES.findall(chunk)])

    def close(self) -> str:
        """The text has ended; what was held back and was no call after all."""
        held, self._held = self._held, ""
        return held

    def _add(self, piece: str) -> str:
        if self.is_closed:
            return ""
        if self._is_text:
            self._is_text = not piece.endswith("\n")
            return piece
        held = self._held + piece
        if _CALL.match(held):
            self.is_closed = True
            self._held = ""
            return ""
        if len(held) <= MAX_HELD_CHARS and _MAY_BE_CALL.match(held):
            self._held = held
            return ""
        self._held = ""
        self._is_text = not held.endswith("\n")
        return held
