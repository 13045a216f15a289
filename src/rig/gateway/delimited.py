"""Text that is data for a model, put between tags it can't end by itself. No I/O."""

import re
from typing import Final

from rig.text.turn_tokens import without_turn_tokens

CUT: Final = "[...]"
"""Stands where text was left out, so that a model does not take two ends for neighbours."""


def defused(text: str, *tags: str) -> str:
    """The text, unable to end its block or to begin a turn of its own.

    A blank goes behind the first character of every tag of the block, in whatever case and with
    whatever blanks, and of every token that chat templates put between turns; nothing else changes.

    Args:
        text: what anybody may have written.
        tags: the names of the tags it stands between.
    """
    broken = without_turn_tokens(text)
    if not tags:
        return broken
    names = "|".join(map(re.escape, tags))
    tag = re.compile(rf"<(?=\s{{0,8}}/?\s{{0,8}}(?:{names})\b)", re.IGNORECASE)
    return tag.sub("< ", broken)


def excerpt(text: str, max_chars: int) -> str:
    """The beginning and the end of a text: what is asked for stands at either.

    Args:
        text: any text.
        max_chars: characters to keep; what is left out is told by a mark beyond that.

    Returns:
        The text as it is where it is short enough.
    """
    if len(text) <= max_chars:
        return text
    tail = max_chars // 3
    return f"{text[: max_chars - tail]}\n{CUT}\n{text[len(text) - tail :]}"
