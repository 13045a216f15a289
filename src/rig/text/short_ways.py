"""The filters of a stream, with short ways for text that they let through as it is: nearly all of it. No I/O.

For whoever gives them one token after the other. That is no part of what `rig.text` promises.
"""

from collections.abc import Sequence

from rig.text.orphan_closer import OrphanCloserFilter
from rig.text.reasoning_filter import ReasoningFilter
from rig.text.reasoning_tags import may_hold_tag


class ShortReasoningFilter(ReasoningFilter):
    """A `ReasoningFilter` with short ways.

    Args:
        thinking: as there.

    Attributes:
        pieces: what it makes of the text. While `is_plain`, text that holds no part of a tag may be added there.
    """

    def __init__(self, *, thinking: bool = False) -> None:
        super().__init__(thinking=thinking)
        self.pieces = self._pieces

    @property
    def is_plain(self) -> bool:
        """True when text that holds no part of a tag is shown as it is, and leaves that so."""
        return (
            self._state == "text"
            and not self._carry
            and self._head is None
            and self._joined.is_plain
        )

    def pass_plain(self, chunk: str) -> str | None:
        """Add a chunk that is nothing but text in the middle of text: nearly every token of a stream.

        Args:
            chunk: any part of the reply.

        Returns:
            The text that `feed` would have given as one piece, "" for none. None when only `feed` can
            tell what the chunk is; nothing was added then.
        """
        if may_hold_tag(chunk) or not self.is_plain:
            return None
        self._scanned += len(chunk)
        return self._pieces.pass_text(chunk)

    def pass_plain_all(self, chunks: Sequence[str], whole: str) -> list[str] | None:
        """As `pass_plain`, for many chunks: they are looked at once.

        Args:
            chunks: consecutive parts of the reply.
            whole: the same, joined.

        Returns:
            The texts `pass_plain` would have given for them, empty ones left out. None when one of them
            is not plain; nothing was added then.
        """
        if may_hold_tag(whole) or not self.is_plain:
            return None
        self._scanned += len(whole)
        return self._pieces.pass_texts(chunks)


class ShortOrphanCloserFilter(OrphanCloserFilter):
    """An `OrphanCloserFilter` with the same short ways, open behind the head.

    Attributes:
        pieces: what it makes of the text; while `is_plain`, any may be added there.
    """

    def __init__(self) -> None:
        super().__init__()
        self.pieces = self._pieces

    @property
    def is_plain(self) -> bool:
        """True when all that comes is shown as it is: behind the head."""
        return self._head is None

    def pass_plain(self, chunk: str) -> str | None:
        """As `ShortReasoningFilter.pass_plain`.

        Args:
            chunk: any part of the reply.
        """
        return self._pieces.pass_text(chunk) if self._head is None else None

    def pass_plain_all(self, chunks: Sequence[str], whole: str) -> list[str] | None:  # noqa: ARG002 as there
        """As `ShortReasoningFilter.pass_plain_all`.

        Args:
            chunks: consecutive parts of the reply.
            whole: the same, joined.
        """
        return None if self._head is not None else self._pieces.pass_texts(chunks)
