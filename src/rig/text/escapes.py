"""Escape sequences for terminals. No I/O, stdlib only."""

import re
from typing import Final

# ECMA-48: control sequences and the strings of OSC, DCS and their like, with their ends where they have one.
_ESCAPES: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]{0,512}(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]{0,8}[0-~]?"
)


def without_escapes(text: str) -> str:
    """The text without sequences that a terminal obeys, with what belongs to them.

    Dropping the escape alone leaves their rest to be read: `[31m`, the address of a link.

    Args:
        text: anybody's text.
    """
    return _ESCAPES.sub("", text)
