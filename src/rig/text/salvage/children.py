"""Parameters as elements of their own names: `<path>a.py</path><limit>3</limit>`. No I/O."""

import re
from collections.abc import Iterable, Set
from typing import Final

from rig.late_dataclass import dataclass
from rig.text.coerce import coerce_text
from rig.text.duplicate_keys import DuplicateKind
from rig.text.salvage.blocks import Block, undecided
from rig.text.salvage.objects import Setting, keyed_call, more_doubled
from rig.text.salvage.source import TAG, TAG_PREFIX, Source

MAX_CHILDREN: Final = 256
"""Parameters of one call."""

_SECTION: Final = re.compile(r"\s*<!\[CDATA\[(?P<text>(?:(?!\]\]>).)*+)\]\]>\s*", re.DOTALL)
_INDENTED: Final = re.compile(
    r"\r?\n(?P<outer>[ \t]+)(?P<inner>[ \t]+)(?P<line>\S[^\n]*)\n(?P=outer)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What stands around the parameters.

    Attributes:
        source: the text.
        name: the tool, an offered one.
        opener: the tag that opens the call, in lower case.
        ends: the tags that end it, in lower case.
    """

    source: Source
    name: str
    opener: str
    ends: tuple[str, ...]

    def end_at(self, position: int) -> str:
        """The tag at an index that ends the call, "" where none does."""
        lower = self.source.lower
        return next((one for one in self.ends if lower.startswith(one, position)), "")

    def may_end_at(self, position: int) -> bool:
        """Whether the text ends in what may become such a tag."""
        longest = max(map(len, self.ends))
        rest = self.source.lower[position : position + longest]
        at_end = position + len(rest) == len(self.source.text)
        return at_end and any(one.startswith(rest) for one in self.ends)


def read_children(frame: Frame, start: int, setting: Setting) -> Block | None:
    """Read parameters up to the end of the call.

    Args:
        frame: what stands around them.
        start: index of the first one.
        setting: how they are looked at.

    Returns:
        None where anything but parameters of the tool stands there.
    """
    source = frame.source
    known = source.offer.properties(frame.name)
    arguments: dict[str, object] = {}
    doubled: DuplicateKind = "none"
    position = start
    while (child := TAG.match(source.text, position)) and len(arguments) < MAX_CHILDREN:
        key = child["name"]
        if key not in known:
            return None
        value = _Value(frame, child.end(), key, known.keys() - arguments.keys())
        end = value.end()
        if end < 0:
            return value.without_end()
        typed = coerce_text(_without_layout(source.text[child.end() : end]), known[key])
        doubled = more_doubled(doubled, arguments, key, typed)
        arguments[key] = typed
        position = source.skip_blanks(end + len(key) + len("</>"))
    if arguments and (closer := frame.end_at(position)):
        found = keyed_call(frame.name, arguments, setting, doubled)
        return Block(end=position + len(closer), calls=found.calls, problem=found.problem)
    if frame.may_end_at(position) or cut_tag(source, position, known.keys()):
        return undecided(source, certain=bool(arguments))
    return None


def _without_layout(text: str) -> str:
    """A value without what XML puts around it: a CDATA section, or the indents of its one line.

    Lines are only taken for indented where the closing tag is, and less: else the blanks are the value's own.
    """
    if section := _SECTION.fullmatch(text):
        return section["text"]
    indented = _INDENTED.fullmatch(text)
    return indented["line"].rstrip() if indented else text


def cut_tag(source: Source, start: int, names: Iterable[str]) -> bool:
    """Whether the text ends in what may become a tag of one of some names.

    Args:
        source: the text.
        start: where it would begin.
        names: the names.
    """
    cut = TAG_PREFIX.fullmatch(source.text, start)
    if cut is None:
        return False
    begun = cut["name"] or ""
    return any(name.startswith(begun) for name in names)


@dataclass(frozen=True, slots=True)
class _Value:
    """A value: what stands around, where it begins, its key, and the keys that may follow."""

    frame: Frame
    start: int
    key: str
    others: Set[str]

    def end(self) -> int:
        """Where it ends, -1 when it does not: at a closing tag behind which the call goes on or ends.

        A value may hold its own tags, as a file that tells of such calls does: as many as are opened in it have
        to be closed first. Where that never happens it ends at the first such place, unless it holds a call
        of the same tool: then one cannot tell which of them ends there.
        """
        source, closer, opener = (
            self.frame.source,
            f"</{self.key.lower()}>",
            f"<{self.key.lower()}>",
        )
        opened = closed = 0
        first, inside, search = -1, self.start, self.start
        while (at := source.find(closer, search)) >= 0 and not source.exhausted:
            while -1 < (inner := source.find(opener, inside)) < at:
                opened += 1
                inside = inner + len(opener)
            if self._goes_on(source.skip_blanks(at + len(closer))):
                if opened <= closed:
                    return at
                first = at if first < 0 else first
            closed += 1
            search = at + len(closer)
        return -1 if -1 < source.find(self.frame.opener, self.start) < first else first

    def without_end(self) -> Block | None:
        """What a call is whose value has no end: cut, or none where there is something else in it."""
        source = self.frame.source
        closed = source.find(f"</{self.key.lower()}>", self.start)
        if closed < 0:
            return undecided(source)
        if source.first_of(self.frame.ends, closed)[0] < 0:
            return undecided(source, certain=False)
        return None if source.find(self.frame.opener, self.start) < 0 else undecided(source)

    def _goes_on(self, position: int) -> bool:
        source = self.frame.source
        if position == len(source.text) or self.frame.end_at(position):
            return True
        child = TAG.match(source.text, position)
        if child is not None:
            return child["name"] in self.others
        return self.frame.may_end_at(position) or cut_tag(source, position, self.others)
