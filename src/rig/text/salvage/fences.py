"""Messages that are nothing but code blocks. No I/O."""

import re
from typing import Final

from rig.text.salvage.quoting import closing_fence

MAX_FENCES: Final = 32
"""Code blocks of one message that are opened; a run refuses more calls than that."""

_OPENER: Final = re.compile(
    r"\s*(?P<run>`{3,16}|~{3,16})(?P<info>[ \t]*[\w+\-]{0,32}[ \t]*)(?:\r?\n|(?=[{\[<]))"
)


def fenced_only(text: str) -> list[str]:
    """The insides of the code blocks, when a message is nothing else; an empty list otherwise.

    Args:
        text: the message. The last block may lack its end.
    """
    bodies: list[str] = []
    position = 0
    while text[position:].strip():
        opener = _OPENER.match(text, position)
        if opener is None or len(bodies) >= MAX_FENCES:
            return []
        start = opener.end()
        line = start - 1 if text[start - 1 : start] == "\n" else start
        close = closing_fence(text, line, opener["run"])
        if close is None:
            body, position = _without_end(text[start:], opener["run"]), len(text)
        else:
            body, position = text[start : close.start], close.end
        bodies.append(body)
    return bodies


def _without_end(body: str, run: str) -> str:
    """The rest of a text after a fence that is closed on the line of its last word, or not at all."""
    end = body.rstrip()
    return end.removesuffix(run) if end.endswith(run) else body
