"""Holds back, of a reply that is still coming, what may become a call. No I/O.

The same readers decide as for the whole text. What is text for certain goes on; what is not stays back
and is read again when more has come. Behind a call nothing is shown any more: what a call is can only be
told of the whole text. So this is a preview that never shows too much; `salvage` has the last word.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal

from rig.text.reasoning_tags import find_tag
from rig.text.salvage.calls import OfferedTool
from rig.text.salvage.message import read_message
from rig.text.salvage.offer import Offer
from rig.text.salvage.quoting import CONTEXT_CHARS, closing_fence
from rig.text.salvage.scanner import read_at
from rig.text.salvage.source import Source
from rig.text.salvage.table import (
    MARKS,
    MAX_MARK_CHARS,
    NATIVE_MARKS,
    NATIVE_PREFIXES,
    PREFIXES,
)

EAGER_CHARS: Final = 64
"""Characters held back up to which each new one is looked at: most of what only looks like a call is
text by then. Beyond, a quarter more has to come before all is read again, so that the whole costs what
reading it five times does."""

_LINE_BEGINS: Final = ">]\u25b7"
_MARK_CHARS: Final = re.compile(
    r"[<\[\]{`>~*\n\r\u273f]"
)  # words begin calls on lines of their own only
_NATIVE_STARTS: Final = re.compile(
    f"[{re.escape(''.join(sorted({prefix[0] for prefix in NATIVE_PREFIXES})))}]"
)
_NOT_IN_LINE: Final = re.compile(f"[{re.escape(_LINE_BEGINS)}]")
_NO_WORD: Final = re.compile(f"{_MARK_CHARS.pattern}|{_NOT_IN_LINE.pattern}")
_WIDE_GAP: Final = re.compile(rf"\s{{{CONTEXT_CHARS}}}")

MAX_WORDS: Final = 64
"""Words in a row that are let through before it is noted what stands before the next text."""

Place = Literal["text", "thought", "assumed"]
"""Where the text let through so far ends: in the answer, in a thought, or in what is a thought only if
its end still comes."""


def _in_text() -> Place:
    return "text"


class SalvageGate:
    """Lets the text of one reply through, up to what may be a call.

    Args:
        tools: what the model was offered; with none, everything passes at once.
        place: tells where the text that was let through ends; drafts of calls in thoughts pass.
        shown: tells whether any of that text is an answer so far; None when all of it is.

    Attributes:
        work: characters looked at so far.
    """

    def __init__(
        self,
        tools: Sequence[OfferedTool],
        *,
        place: Callable[[], Place] = _in_text,
        shown: Callable[[], bool] | None = None,
    ) -> None:
        self.work = 0
        self._offer = Offer(tools)
        self._place = place
        self._shown = shown
        self._begun = False
        self._context = ""
        self._words: list[str] = []  # let through, and not in the context yet
        self._buffer = ""
        self._more: list[str] = []
        self._more_chars = 0
        self._wanted = 0
        self._held = False
        self._in_line = False
        self._fence = ""
        self._fence_from = 0

    @property
    def holding(self) -> bool:
        """Whether something is held back that may be a call."""
        return self._held

    @property
    def waiting(self) -> int:
        """Characters that were not let through yet."""
        return len(self._buffer) + sum(map(len, self._more))

    def feed(self, chunk: str) -> list[str]:
        """Add text and return what is no part of a call for certain.

        Args:
            chunk: any part of the reply.
        """
        return list(self.steps(chunk))

    def steps(self, chunk: str) -> Iterator[str]:
        """As `feed`, for callers whose answers to `place` depend on the pieces.

        Args:
            chunk: any part of the reply.

        Yields:
            Text to show. What follows is looked at when this was dealt with.
        """
        self._note_words()
        if not self._offer or self._passes(chunk):
            yield chunk
            return
        self._more.append(chunk)
        self._more_chars += len(chunk)
        if self._held and self._place() == "assumed" and self._ends_thought(chunk):
            yield self._released()
        elif self._more_chars >= self._wanted:
            yield from self._advance()

    def close(self) -> tuple[str, str]:
        """End the reply.

        Returns:
            What is no call for certain, and, from there to the end of the text, what may be one.
        """
        rest = self._buffer + "".join(self._more)
        self._buffer = ""
        self._more.clear()
        return ("", rest) if self._held else (rest, "")

    def passes_all(self, whole: str) -> bool:
        """Whether text that comes in pieces passes piece by piece, in the middle of one line.

        Args:
            whole: the pieces, joined. Nothing is added: when it passed, tell `passed`.
        """
        self._note_words()
        return not self._offer or (
            self._is_plain(whole)
            and _NOT_IN_LINE.search(whole) is None
            and not self._may_hold_gap(whole)
        )

    def passed(self, text: str) -> None:
        """Note text of which `passes_all` said that it passes."""
        if self._offer:
            self.work += len(text)
            self._remember(text)

    def passes_word(self, word: str) -> bool:
        """Let a piece through that `feed` would return as it is, in the middle of a line.

        That is one search. What is noted of text that was let through is noted of many words at once: none
        of them can end the line they stand in, so how they came makes no difference.

        Args:
            word: a piece that does not end in two blanks, and is not blank.

        Returns:
            False where only `feed` can tell. Nothing was added then.
        """
        if not self._offer:
            return True
        if not self._in_line or self._buffer or self._more or _NO_WORD.search(word) is not None:
            return False
        self._words.append(word)
        if len(self._words) >= MAX_WORDS:
            self._note_words()
        return True

    def _note_words(self) -> None:
        if self._words:
            words = "".join(self._words)
            self._words.clear()
            self.passed(words)

    def _passes(self, chunk: str) -> bool:
        """Let through at once what is in the middle of a line and has nothing any call begins with."""
        if not self._is_plain(chunk):
            return False
        self.passed(chunk)
        return True

    def _may_hold_gap(self, text: str) -> bool:
        """Whether so many blanks may come in a row that what stands before them is forgotten."""
        half = CONTEXT_CHARS // 2
        if len(text) < half:
            return self._context[-half:].isspace()
        return _WIDE_GAP.search(self._context + text) is not None

    def _is_plain(self, text: str) -> bool:
        return (
            self._in_line
            and not self._buffer
            and not self._more
            and _MARK_CHARS.search(text) is None
        )

    def _released(self) -> str:
        """What was held is a draft: the thought it stands in ends in it."""
        text = self._buffer + "".join(self._more)
        self._buffer = ""
        self._more.clear()
        self._more_chars = self._wanted = 0
        self._held = False
        self._remember(text)
        return text

    def _ends_thought(self, chunk: str) -> bool:
        tail = "".join([self._buffer[-CONTEXT_CHARS:], *self._more[-8:]]) if chunk else ""
        tag = find_tag(tail)
        while tag is not None and tag.kind != "close":
            tag = find_tag(tail, tag.end)
        return tag is not None

    def _advance(self) -> Iterator[str]:
        self._buffer += "".join(self._more)
        self._more.clear()
        self._more_chars = 0
        self._held = False
        self._wanted = 0
        while self._buffer and (size := self._next()):
            text, self._buffer = self._buffer[:size], self._buffer[size:]
            self._remember(text)
            yield text

    def _next(self) -> int:
        """How many characters to show before looking again; 0 when more text is needed first."""
        if self._fence and (size := self._in_fence()):
            return size
        source = self._source()
        offset = len(source.text) - len(self._buffer)
        if self._at_begin(source, offset):
            return self._hold()
        mark = MARKS.search(source.lower, offset)
        prefix = self._before_prefix(source, offset)
        if mark is None or prefix <= mark.start():
            return prefix - offset
        if mark.start() > offset:
            return mark.start() - offset
        return self._at_mark(source, offset, mark[0])

    def _at_mark(self, source: Source, offset: int, mark: str) -> int:
        block = None if self._place() == "thought" else read_at(source, offset, mark)
        self.work += source.work
        if block is None or (block.last and not block.calls):
            return 1
        if block.zone and not block.unfinished:
            self._fence = block.zone
            self._fence_from = source.line_end(offset)
            return len(self._buffer)
        if block.plain and not block.unfinished:
            return max(block.end - offset, 1)
        if block.calls and not block.unfinished:
            self._wanted = len(source.text) << 64  # never again: it is one
        return self._hold()

    def _hold(self) -> int:
        self._held = True
        if len(self._buffer) > EAGER_CHARS:
            self._wanted = max(self._wanted, len(self._buffer) // 4)
        return 0

    def _at_begin(self, source: Source, offset: int) -> bool:
        """Whether the message may be nothing but calls in Python's spelling."""
        if not source.is_first(offset) or self._place() == "thought":
            return False
        first = source.skip_blanks(offset)
        return first < len(source.text) and read_message(source, first) is not None

    def _before_prefix(self, source: Source, offset: int) -> int:
        """Where the end of the text begins that may become a mark."""
        text, size = source.lower, len(source.text)
        for start in range(max(offset, size - MAX_MARK_CHARS), size):
            if text[start:] in PREFIXES:
                return start
        return size

    def _in_fence(self) -> int:
        """What of a code block can be shown: all of it; 0 once it has ended."""
        text = self._context + self._buffer
        self.work += len(text)
        close = closing_fence(text, self._fence_from, self._fence)
        if close is None or close.end == len(text):
            return len(self._buffer)
        self._fence = ""
        return max(close.end - len(self._context), 0)

    def _source(self) -> "_Begun":
        text = self._context + self._buffer
        self.work += len(text)
        source = _Begun(text, self._offer, MARKS, begun=self._begun)
        if self._shown is not None and not self._shown():
            source.nothing_before(len(self._context))
        return source

    def _remember(self, text: str) -> None:
        context = self._context + text
        cut = max(0, len(context) - CONTEXT_CHARS)
        self._begun = self._begun or bool(context[:cut].strip())
        self._context = context[cut:]
        line = self._context.rpartition("\n")[2].rstrip()
        self._in_line = bool(line) and line[-1] not in _LINE_BEGINS
        self._fence_from = max(0, self._fence_from - cut)


class _Begun(Source):
    """The end of a text: a line that goes on behind a tag may be the begin of one without thoughts."""

    _fresh = -1

    def nothing_before(self, start: int) -> None:
        """All before an index is no text: thoughts, or tags of them."""
        self._fresh = self.skip_blanks(start)

    def is_first(self, start: int) -> bool:
        """As for a whole text, also where only thoughts stand before."""
        return start <= self._fresh or super().is_first(start)

    def is_line_start(self, start: int) -> bool:
        """As for a whole text, and after a tag, and after thoughts."""
        if start <= self._fresh or self.is_clear(start):
            return True
        line = self.text[self.text.rfind("\n", 0, start) + 1 : start].rstrip()
        return not line or line[-1] in _LINE_BEGINS


class ThoughtGate:
    """Lets the text of a thought through, up to a call in a model's own tokens.

    Such a call is the reply's when no answer follows (see `salvage_thought`), else a draft.
    """

    def __init__(self) -> None:
        self._held: list[str] = []
        self._tail = ""

    @property
    def holding(self) -> bool:
        """Whether anything is held back."""
        return bool(self._held or self._tail)

    def passes_all(self, whole: str) -> bool:
        """Whether text that comes in pieces, none of which ends in whitespace, passes piece by piece.

        Args:
            whole: the pieces, joined.
        """
        return not self._held and not self._tail and _NATIVE_STARTS.search(whole) is None

    def feed(self, chunk: str) -> str:
        """Add text and return what is no part of such a call.

        Args:
            chunk: any part of the thought.
        """
        if self._held:
            self._held.append(chunk)
            return ""
        text = self._tail + chunk
        lower = text.lower()
        mark = NATIVE_MARKS.search(lower) if len(lower) == len(text) else None
        if mark is not None:
            keep = len(text[: mark.start()].rstrip())
            self._held.append(text[keep:])
            self._tail = ""
            return text[:keep]
        keep = len(text)
        for start in range(max(0, len(text) - MAX_MARK_CHARS), len(text)):
            if text[start:].lower() in NATIVE_PREFIXES:
                keep = start
                break
        keep = len(text[:keep].rstrip())
        self._tail = text[keep:]
        return text[:keep]

    def close(self) -> tuple[str, str]:
        """End the thought.

        Returns:
            What is no call for certain, and what may be one, up to its end.
        """
        tail, held = self._tail, "".join(self._held)
        self._tail = ""
        self._held.clear()
        return tail, held
