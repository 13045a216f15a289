"""Thoughts out of a stream of text, whatever its chunks: text in, pieces out. No I/O.

Two passes over the characters, because deleting `<think>..</think>` can join what stood on both
sides into a new tag, and `strip_reasoning` counts such a tag. `ReasoningFilter` takes complete
thoughts out of the raw text; `_Joined` then looks at what remains, where a closer means that all
before it was a thought, and an opener that all after it is one. Both work on the end of the text
only: cost and memory are linear.
"""

from typing import Literal

from rig.text.harmony import MessageKind, match_header, may_be_header
from rig.text.headed_thought import HeadedThoughtReader
from rig.text.pieces import PARAGRAPH, Piece, Pieces
from rig.text.reasoning_tags import (
    HARMONY,
    HARMONY_ENDS,
    THINK,
    Tag,
    find_tag,
    may_hold_tag,
    unfinished_from,
)


class ReasoningFilter:
    """Separates one reply into text and reasoning while it arrives.

    What stands after the last piece, concatenated, is what `separate_reasoning` returns for the
    whole reply, to the character: surrounding whitespace is never shown, nor is anything that may
    still become part of a tag.

    Args:
        thinking: begin inside a thought, for servers whose template writes the opening tag into the
            prompt. Then nothing has to be withdrawn. The first closer of any family ends it; a
            reply that begins with an opener of its own is read as usual; a reply without any
            closer is one thought, see `assumed`.
    """

    def __init__(self, *, thinking: bool = False) -> None:
        self._pieces = Pieces()
        self._joined = _Joined(self._pieces)
        self._state: Literal["text", "thought", "assumed", "call"] = "text"
        self._family = ""
        self._opener = ""
        self._closes_itself = False
        self._carry = ""
        self._harmony = False
        self._doubt: list[str] | None = None
        self._last_closers: dict[str, int] | None = None
        self._head: HeadedThoughtReader | None = None if thinking else HeadedThoughtReader()
        self._scanned = 0
        if thinking:
            self._state = "assumed"
            self._pieces.begin_thought()

    @property
    def assumed(self) -> bool:
        """True while all there has been is the thought that `thinking=True` assumed.

        When it is still true at the end of a complete reply, the model may not have thought at all
        this time: the reasoning is then the answer.
        """
        return self._state == "assumed"

    @property
    def thinking(self) -> bool:
        """True when what comes next belongs to a thought, as far as is known."""
        return self._state in {"thought", "assumed"}

    @property
    def scanned(self) -> int:
        """Characters examined so far, counted again where they had to be held back."""
        return self._scanned + self._joined.scanned

    def feed(self, chunk: str) -> list[Piece]:
        """Add text and return what is certain now.

        Args:
            chunk: any part of the reply, also an empty one.

        Returns:
            Pieces in the order of the text, often none.
        """
        if self._head is not None:
            chunk = self._past_heading(self._head, chunk)
        if self._state == "text" and not self._carry and not may_hold_tag(chunk):
            self._scanned += len(chunk)
            self._joined.add_plain(chunk)
        else:
            self._run(self._carry + chunk, final=False)
        return self._pieces.take()

    def close(self) -> list[Piece]:
        """End the reply and return what had been held back. Feeding again is an error.

        Returns:
            The last pieces.
        """
        if self._head is not None:
            self._carry, self._head = self._head.close(), None
        self._run(self._carry, final=True)
        if self._doubt is not None:
            self._replay("".join(self._doubt))
        self._joined.close()
        return self._pieces.take()

    def _past_heading(self, head: HeadedThoughtReader, chunk: str) -> str:
        """What of a chunk is to be read on; "" while the head of the reply is not known."""
        before = head.scanned
        found = head.feed(chunk)
        self._scanned += head.scanned - before
        if found is None:
            return ""
        self._head = None
        if found.thought is not None:
            self._pieces.begin_thought()
            self._pieces.think(found.thought)
            self._joined.thought_ended()
        return found.rest

    def _run(self, buffer: str, *, final: bool) -> None:
        self._carry = ""
        self._scanned += len(buffer)
        position = 0
        while tag := find_tag(buffer, position):
            self._plain(buffer[position : tag.start])
            end = self._tag(buffer, tag, final=final)
            if end is None:
                self._carry = buffer[tag.start :]
                return
            position = end
        keep = len(buffer) if final else unfinished_from(buffer, position)
        self._plain(buffer[position:keep])
        self._carry = buffer[keep:]

    def _replay(self, rest: str) -> None:
        """Read again, as text, what stood after a second opener that no closer followed."""
        self._doubt = None
        self._last_closers = _last_closers(rest)
        self._state = "text"
        self._run(rest, final=True)

    def _plain(self, text: str) -> None:
        if not text:  # between two tags: half of all calls in a flood of them
            return
        match self._state:
            case "text":
                self._joined.add(text)
            case "call":
                self._joined.add_verbatim(text)
            case "thought" | "assumed":
                self._think(text)

    def _think(self, text: str) -> None:
        if self._doubt is None:
            self._pieces.think(text)
        else:
            self._doubt.append(text)

    def _tag(self, buffer: str, tag: Tag, *, final: bool) -> int | None:
        """Act on a tag; return the index to go on from, None when more text is needed first."""
        if self._state == "assumed" and tag.kind == "open" and not self._pieces.thinking:
            self._state = "text"
        match self._state:
            case "text":
                return self._tag_in_text(buffer, tag, final=final)
            case "thought" if self._family != HARMONY:
                self._tag_in_thought(buffer[tag.start : tag.end], tag)
                return tag.end
            case "assumed":
                return self._tag_in_assumed_thought(buffer, tag, final=final)
            case _:
                return self._tag_in_message(buffer, tag, final=final)

    def _tag_in_text(self, buffer: str, tag: Tag, *, final: bool) -> int | None:
        raw = buffer[tag.start : tag.end]
        match tag.kind:
            case "open":
                self._begin_thought(tag)
            case "close" | "wrap" | "unwrap":
                self._joined.add(raw)
            case "drop":
                pass
            case "harmony_end" if self._harmony:
                pass
            case "harmony_end" if raw.lower() != HARMONY_ENDS[0]:
                self._joined.add(raw)
            case _:
                return self._header(buffer, tag, final=final)
        return tag.end

    def _begin_thought(self, tag: Tag) -> None:
        self._state = "thought"
        self._family = tag.family
        self._closes_itself = (
            self._last_closers is not None
            and tag.family != THINK
            and self._last_closers.get(tag.family, -1) < tag.start
        )
        self._pieces.begin_thought()

    def _tag_in_thought(self, raw: str, tag: Tag) -> None:
        if tag.family != self._family:
            self._think(raw)
        elif tag.kind == "close" or self._closes_itself:
            self._settle_doubt()
            self._state = "text"
            self._joined.thought_ended()
        elif self._doubt is None and self._family != THINK:
            # Either a nested thought or, with models that close by a second opener, the end of
            # this one (OpenHands/agent-canvas#1474). Only a closer, or none, will tell.
            self._doubt = []
            self._opener = raw
        else:
            self._think(raw)

    def _settle_doubt(self) -> None:
        doubt, self._doubt = self._doubt, None
        if doubt is not None:
            self._pieces.think(self._opener + "".join(doubt))

    def _tag_in_assumed_thought(self, buffer: str, tag: Tag, *, final: bool) -> int | None:
        if tag.kind == "close":
            self._state = "text"
            self._joined.thought_ended()
            return tag.end
        if tag.kind in {"harmony_start", "harmony_end"}:
            return self._header(buffer, tag, final=final)
        self._think(buffer[tag.start : tag.end])
        return tag.end

    def _tag_in_message(self, buffer: str, tag: Tag, *, final: bool) -> int | None:
        """Act on a tag inside a harmony thought or call, where only harmony's own count."""
        if tag.kind == "harmony_start":
            return self._header(buffer, tag, final=final)
        if self._state == "call" or tag.kind != "harmony_end":
            self._plain(buffer[tag.start : tag.end])
        if tag.kind == "harmony_end":
            self._state = "text"
        return tag.end

    def _header(self, buffer: str, tag: Tag, *, final: bool) -> int | None:
        header = match_header(buffer, tag.start)
        if header is not None:
            self._begin_message(header.kind, buffer[tag.start : header.end])
            return header.end
        if may_be_header(buffer, tag.start):
            if not final:
                return None
            return self._cut_header(buffer, tag)
        raw = buffer[tag.start : tag.end]
        if self._state == "text":
            self._joined.add_plain(raw)  # a marker of harmony is no tag there
        else:
            self._plain(raw)
        return tag.end

    def _begin_message(self, kind: MessageKind, raw: str) -> None:
        first, self._harmony = not self._harmony, True
        if kind == "answer" and first and self._state == "text":
            self._joined.retract()
        match kind:
            case "thought":
                self._begin_thought(Tag(kind="open", family=HARMONY, start=0, end=0))
            case "call":
                self._state = "call"
                self._joined.add_verbatim(raw)
            case _:
                self._state = "text"
                self._joined.add(PARAGRAPH)

    def _cut_header(self, buffer: str, tag: Tag) -> int:
        """Drop a header that the end of the reply cut.

        Not dropped: one with a recipient, which is a call, and what may be no header at all,
        because it is the first marker of the reply and other text stands before it.
        """
        raw = buffer[tag.start :]
        self._joined.close()
        if "to=" in raw.lower():
            self._joined.add_verbatim(raw)
        elif self._state == "assumed" or (self._pieces.showing and not self._harmony):
            self._plain(raw)
        return len(buffer)


class _Joined:
    """The text outside of complete thoughts, in which bare closers and openers are left."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self._held = ""
        self._hidden = False
        self._behind_thought = False
        self._wrapper = ""
        self.scanned = 0

    def thought_ended(self) -> None:
        """A complete thought was taken out here: an element that wraps the answer may follow."""
        self._behind_thought = True

    def add(self, text: str) -> None:
        buffer, self._held = self._held + text, ""
        self.scanned += len(buffer)
        position = 0
        while tag := find_tag(buffer, position):
            self._show(buffer[position : tag.start])
            self._tag(buffer[tag.start : tag.end], tag)
            position = tag.end
        keep = unfinished_from(buffer, position)
        self._show(buffer[position:keep])
        self._held = buffer[keep:]

    @property
    def is_plain(self) -> bool:
        """True when text without a part of a tag would be shown as it is."""
        return not (self._held or self._hidden or self._behind_thought)

    def add_plain(self, text: str) -> None:
        """Add text that holds no part of a tag: nearly every token of a stream."""
        if self._held:
            self.add(text)
        else:
            self._show(text)

    def add_verbatim(self, text: str) -> None:
        """Add text in which tags are data."""
        self.close()
        self._show(text)

    def close(self) -> None:
        held, self._held = self._held, ""
        self._show(held)

    def retract(self) -> None:
        """All so far was a thought, or belongs to one."""
        self.close()
        self._hidden = False
        self._pieces.retract()

    def _tag(self, raw: str, tag: Tag) -> None:
        if tag.kind == "close":
            self.retract()
            self._behind_thought = True
        elif tag.kind == "open" and not self._hidden:
            self._hidden = True
            self._pieces.begin_thought()
        elif tag.kind == "wrap" and self._behind_thought:
            self._behind_thought, self._wrapper = False, tag.family
        elif tag.kind == "unwrap" and self._wrapper == tag.family:
            self._wrapper = ""
        else:
            self._show(raw)

    def _show(self, text: str) -> None:
        if not text:
            return
        if self._behind_thought and not text.isspace():
            self._behind_thought = False
        if self._hidden:
            self._pieces.think(text)
        else:
            self._pieces.show(text)


def _last_closers(text: str) -> dict[str, int]:
    """Return where each family is closed for the last time."""
    found: dict[str, int] = {}
    position = 0
    while tag := find_tag(text, position):
        if tag.kind == "close":
            found[tag.family] = tag.start
        position = tag.end
    return found
