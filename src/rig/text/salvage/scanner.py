"""The calls in a text without thoughts, from left to right. No I/O."""

import re
from dataclasses import dataclass
from typing import Final

from rig.text.salvage.blocks import Block
from rig.text.salvage.calls import Problem, SalvagedCall
from rig.text.salvage.message import read_message
from rig.text.salvage.quoting import is_shown
from rig.text.salvage.remains import BY_LENGTH
from rig.text.salvage.source import Source
from rig.text.salvage.table import BY_MARK, MARKS
from rig.text.stop_tokens import STOP_TOKENS

_TAIL: Final = re.compile(
    rf"(?:\s*+(?:{'|'.join(map(re.escape, (*BY_LENGTH, *STOP_TOKENS)))}"
    r"|</[a-z:|\uff5c]{0,12}(?:tool|function|invoke|param|arg)[a-z_]{0,16}>|(?<=\})[}\]]|</?\|?[a-z_|/]{0,32}\Z))*+",
    re.IGNORECASE,
)

MAX_CALLS: Final = 256
"""Calls that are read of one text. A run refuses 33, so that more make no difference."""


MAX_MARKS: Final = 1 << 16
"""Places looked at in one text. A megabyte of code has as many brackets; what comes behind is text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What a text holds.

    Attributes:
        text: the text without calls and their remains.
        calls: the calls, in order.
        problem: the first problem there was.
    """

    text: str
    calls: tuple[SalvagedCall, ...] = ()
    problem: Problem = ""


def scan_text(source: Source) -> Scan:
    """Find the calls of a text.

    Args:
        source: the text.
    """
    return _Scanner(source).run()


def read_at(source: Source, start: int, mark: str) -> Block | None:
    """What stands at a mark: the first dialect that knows it decides.

    Args:
        source: the text.
        start: index of the mark.
        mark: the longest one there.
    """
    source.charge(len(mark))
    for dialect in BY_MARK[mark]:
        block = dialect.read(source, start)
        if block is not None:
            return block
    return None


def end_of_tail(text: str, start: int) -> int:
    """The index after the closing tags and tokens that follow a call.

    Args:
        text: the text.
        start: index after the call.
    """
    tail = _TAIL.match(text, start)
    return tail.end() if tail else start


class _Scanner:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._calls: list[SalvagedCall] = []
        self._problem: Problem = ""
        self._removed: list[tuple[int, int]] = []
        self._end = len(source.text)
        self._wrapper = self._wrapper_index = 0
        self._wrapper_end = self._shown_end = -1

    def run(self) -> Scan:
        source = self._source
        first = source.skip_blanks(0)
        block = read_message(source, first) if first < self._end else None
        if block is not None and block.calls and end_of_tail(source.text, block.end) == self._end:
            return Scan(text="", calls=block.calls[:MAX_CALLS])
        position = 0
        for _ in range(MAX_MARKS):
            mark = None if source.exhausted else MARKS.search(source.lower, position)
            if mark is None:
                break
            block = read_at(source, mark.start(), mark[0])
            if block is None:
                position = mark.start() + 1
            elif block.last and not block.calls:
                position = mark.start() + 1
                if self._calls:
                    self._end = mark.start()
                    break
            else:
                position = self._take(mark.start(), block)
                if (block.last and self._calls) or len(self._calls) >= MAX_CALLS:
                    self._end = position
                    break
        return Scan(
            text=self._visible(), calls=tuple(self._calls[:MAX_CALLS]), problem=self._problem
        )

    def _take(self, start: int, block: Block) -> int:
        """Take a block; return the index to go on from."""
        source, end = self._source, block.end
        if block.plain:
            return max(end, start + 1)
        if not block.calls and not block.problem:
            self._wrap(start, end)
            return end
        begin, index = self._begin(start)
        behind = end_of_tail(source.text, end)
        source.charge(behind - end)
        floor = self._removed[index - 1][1] if index else 0
        follows_shown = self._is_blank(self._shown_end, begin)
        if follows_shown or is_shown(source.text, begin, behind, floor):
            del self._removed[index:]
            self._shown_end = behind
            return behind
        self._shown_end = -1
        self._calls += block.calls
        self._problem = self._problem or block.problem
        self._removed.append((start, behind))
        return behind

    def _wrap(self, start: int, end: int) -> None:
        """Take a wrapper, or what is left of one; it belongs to the call that follows it directly."""
        if not self._is_blank(self._wrapper_end, start):
            self._wrapper, self._wrapper_index = start, len(self._removed)
        self._wrapper_end = end
        self._removed.append((start, end))

    def _begin(self, start: int) -> tuple[int, int]:
        """Where a call begins with its wrappers, and the index of the first of them in the removed."""
        wrapped = self._is_blank(self._wrapper_end, start)
        self._wrapper_end = -1
        return (self._wrapper, self._wrapper_index) if wrapped else (start, len(self._removed))

    def _is_blank(self, start: int, end: int) -> bool:
        """Whether there is something that ended at one index, and only blanks up to another."""
        return start >= 0 and not self._source.text[start:end].strip()

    def _visible(self) -> str:
        """The text without what was removed; a seam is a blank, or a paragraph between lines."""
        text, shown, position = self._source.text, "", 0
        pieces = [*self._removed, (self._end, self._end)]
        parts: list[str] = []
        for start, end in pieces:
            if start < position:
                continue
            parts.append(text[position:start])
            position = end
        for part in parts:
            if not part.strip():
                continue
            if not shown:
                shown = part
            else:
                seam = (
                    "\n\n"
                    if "\n" in shown[len(shown.rstrip()) :] + part[: len(part) - len(part.lstrip())]
                    else " "
                )
                shown = shown.rstrip() + seam + part.lstrip()
        return shown.strip()
