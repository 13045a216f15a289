"""The text that is searched for calls, with what searching it has cost. No I/O."""

import re
from typing import Final

from rig.text.salvage.offer import Offer

WORK_FACTOR: Final = 16
"""Characters looked at per character of text before a search stops and leaves the rest as text. A reply
with a call takes about 3; only texts made to be slow take more than 6."""

MIN_WORK: Final = 4096
"""Characters that are always looked at: short texts have no cost worth counting."""

TAG: Final = re.compile(r"<(?P<name>[A-Za-z0-9_][\w.\-]{0,127})\s{0,8}>", re.ASCII)
"""A tag that may be a tool's name: `<read_file>`. Most tags that look so are other ones."""

TAG_PREFIX: Final = re.compile(r"<(?P<name>[A-Za-z0-9_][\w.\-]{0,127})?\s{0,8}", re.ASCII)
"""What the end of a text may have of one."""

_TAG_MARK_CHARS: Final = 2
_BLANKS = re.compile(r"\s*")
_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


class Source:
    """One text and the tools it may call.

    Args:
        text: the text.
        offer: the tools.
        marks: what calls of any dialect begin with.
        begun: there was other text before this one.

    Attributes:
        lower: the text in lower case, the same length.
        marks: as given.
        work: characters looked at so far.
    """

    def __init__(
        self, text: str, offer: Offer, marks: re.Pattern[str], *, begun: bool = False
    ) -> None:
        lower = text.lower()
        self.text = text
        self.lower = lower if len(lower) == len(text) else text.translate(_ASCII_LOWER)
        self.offer = offer
        self.work = 0
        self.marks = marks
        self._limit = MIN_WORK + WORK_FACTOR * len(text)
        self._first = len(text) if begun else self.skip_blanks(0)
        self._found: dict[str, tuple[int, int]] = {}

    @property
    def exhausted(self) -> bool:
        """Whether the search has cost all it may."""
        return self.work > self._limit

    def charge(self, chars: int) -> None:
        """Count characters that were looked at."""
        self.work += chars + 1

    def skip_blanks(self, start: int) -> int:
        """The index of the next character that is not blank."""
        match = _BLANKS.match(self.text, start)
        return match.end() if match else start

    def find(self, needle: str, start: int) -> int:
        """Where a lower-case needle occurs next; -1 when it does not. Repeating it costs nothing."""
        since, found = self._found.get(needle, (-1, -2))
        if since < 0 or start < since or -1 < found < start:
            found = self.lower.find(needle, start)
            self.charge((len(self.lower) if found < 0 else found) - start)
            self._found[needle] = (start, found)
        return found

    def first_of(self, needles: tuple[str, ...], start: int) -> tuple[int, str]:
        """Where one of several lower-case needles occurs first, and which; (-1, "") when none does."""
        hits = [(at, needle) for needle in needles if (at := self.find(needle, start)) >= 0]
        return min(hits, default=(-1, ""))

    def mark_at(self, start: int) -> bool:
        """Whether a call of some dialect may begin at an index."""
        mark = self.marks.match(self.lower, start)
        if mark is None or self.text[start] != "<" or len(mark[0]) > _TAG_MARK_CHARS:
            return mark is not None
        tag = TAG.match(self.text, start)
        return tag is not None and tag["name"] in self.offer

    def is_first(self, start: int) -> bool:
        """Whether nothing but blanks stands before an index."""
        return start <= self._first

    def is_line_start(self, start: int) -> bool:
        """Whether nothing but blanks stands before an index on its line; in doubt it does."""
        return self.is_clear(start)

    def is_clear(self, start: int) -> bool:
        """Whether nothing but blanks stands before an index on its line; in doubt it does not."""
        line = self.text.rfind("\n", 0, start) + 1
        self.charge(start - line)
        if line == 0 and start > self._first:
            return False
        return not self.text[line:start].strip()

    def line_end(self, start: int) -> int:
        """The index of the end of the line."""
        end = self.find("\n", start)
        return len(self.text) if end < 0 else end
