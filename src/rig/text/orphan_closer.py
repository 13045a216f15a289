"""A closing tag left at the head of a text whose reasoning came in a field of its own. No I/O."""

from rig.text.pieces import Piece, Pieces
from rig.text.reasoning_tags import match_tag, unfinished_from


class OrphanCloserFilter:
    """The stream's form of `strip_orphan_closer`: drops closers at the head and nothing else."""

    def __init__(self) -> None:
        self._pieces = Pieces()
        self._head: str | None = ""

    def feed(self, chunk: str) -> list[Piece]:
        """Add text and return what is certain now.

        Args:
            chunk: any part of the reply, also an empty one.

        Returns:
            Text pieces; whitespace around the whole is never shown.
        """
        if self._head is not None:
            self._head = chunk = without_closers(self._head + chunk)
            if unfinished_from(chunk) == 0:
                return []
            self._head = None
        self._pieces.show(chunk)
        return self._pieces.take()

    def close(self) -> list[Piece]:
        """End the reply and return what had been held back."""
        self._pieces.show(self._head or "")
        self._head = None
        return self._pieces.take()


def without_closers(text: str) -> str:
    """Return the text without leading whitespace and closers."""
    position = _skip_space(text, 0)
    while (tag := match_tag(text, position)) and tag.kind == "close":
        position = _skip_space(text, tag.end)
    return text[position:]


def _skip_space(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position
