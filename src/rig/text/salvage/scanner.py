"""The calls in a text without thoughts, from left to right. No I/O."""

import re
from typing import Final, cast

from rig.late_dataclass import dataclass
from rig.text.json_builder import build_json
from rig.text.salvage.blocks import Block
from rig.text.salvage.calls import Problem, SalvagedCall
from rig.text.salvage.cues import CONNECTS, is_announced, is_own_lead, is_presented, is_template
from rig.text.salvage.lines import Dumps
from rig.text.salvage.message import read_message
from rig.text.salvage.quoting import CONTEXT_CHARS, is_shown
from rig.text.salvage.regions import Regions, is_foreign, is_wrapper
from rig.text.salvage.remains import BY_LENGTH
from rig.text.salvage.source import Source
from rig.text.salvage.table import BY_MARK, MARKS
from rig.text.stop_tokens import STOP_TOKENS

_TAIL: Final = re.compile(
    rf"(?:\s*+(?:{'|'.join(map(re.escape, (*BY_LENGTH, *STOP_TOKENS)))}"
    r"|</[a-z:|\uff5c]{0,12}(?:tool|function|invoke|param|arg)[a-z_]{0,16}>|(?<=\})[}\]]|</?\|?[a-z_|/]{0,32}\Z))*+",
    re.IGNORECASE,
)

_ELEMENT: Final = re.compile(
    r"\s*+(?P<tag></?)(?P<name>[A-Za-z][\w.:\-]{0,63})(?:\s[^<>\n]{0,200})?/?>"
)
_ENDS_ELEMENT: Final = re.compile(r"</?(?P<name>[A-Za-z!][\w.:\-]{0,63})[^<>\n]{0,120}>\s*+\Z")
_OWN_ELEMENT: Final = re.compile(
    r"(?:\w{1,16}_)?(?:think(?:ing)?|thoughts?|reasoning|analysis|plan(?:ning)?|reflection|scratchpad|progress|explanation|"
    r"comment|answer|response|reply|message|assistant|tool_calls?|function_calls?)",
    re.IGNORECASE,
)
"""Elements in which models say what they think before they call."""

_WORD: Final = re.compile(r"<[A-Za-z][a-z]*\s{0,8}>")
"""A tag of one word, `<note>` and `<email>`: what it is called does not tell that it is no document's, as the
name of `<read_file>` does."""

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


def _is_template(call: SalvagedCall, *, alone: bool = True) -> bool:
    """Whether the arguments of a call are placeholders."""
    return is_template(cast("dict[str, object]", build_json(call.arguments)), alone=alone)


def _is_open(block: Block) -> bool:
    """Whether a block was not read to its end, so that what stands in it may belong to what surrounds it."""
    return (block.last and not block.calls) or (block.plain and block.unfinished and not block.zone)


def _balanced(text: str, start: int, end: int) -> int:
    """The end of a call without brackets behind it that it did not open: they may be another's."""
    piece = text[start:end].rstrip()
    surplus = sum(map(piece.count, "}]")) - sum(map(piece.count, "{["))
    while surplus > 0 and piece[-1:] in {"}", "]"}:
        piece = piece[:-1].rstrip()
        surplus -= 1
    return start + len(piece)


class _Scanner:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._calls: list[SalvagedCall] = []
        self._problem: Problem = ""
        self._removed: list[tuple[int, int]] = []
        self._end = len(source.text)
        self._wrapper = self._wrapper_index = 0
        self._wrapper_end = self._shown_end = -1
        self._weak: dict[int, int] = {}
        self._regions: Regions | None = None
        self._dumps: Dumps | None = None

    def run(self) -> Scan:
        source = self._source
        first = source.skip_blanks(0)
        block = read_message(source, first) if first < self._end else None
        if block is not None and (whole := self._whole(block)):
            return whole
        blocks = self._read()
        self._weak = {start: one.end for start, one in blocks if one.weak}
        position = 0
        for start, block in blocks:
            if start < position:
                continue  # a closing tag that belongs to the call before it
            if block.last and not block.calls:
                if self._calls:
                    self._end = start
                    break
            elif not block.plain:
                position = self._take(start, block, blocks)
                if (block.last and self._calls) or len(self._calls) >= MAX_CALLS:
                    self._end = position
                    break
        return Scan(
            text=self._visible(), calls=tuple(self._calls[:MAX_CALLS]), problem=self._problem
        )

    def _whole(self, block: Block) -> Scan | None:
        """What a message is that is nothing but calls, from its first character on."""
        if block.calls and end_of_tail(self._source.text, block.end) == self._end:
            shown = any(map(_is_template, block.calls))
            return None if shown else Scan(text="", calls=block.calls[:MAX_CALLS])
        return Scan(text="", problem=block.problem) if block.problem == "truncated" else None

    def _read(self) -> list[tuple[int, Block]]:
        """What stands at the marks of the text, without judging it."""
        source = self._source
        blocks: list[tuple[int, Block]] = []
        position = calls = 0
        for _ in range(MAX_MARKS):
            mark = None if source.exhausted else MARKS.search(source.lower, position)
            if mark is None or calls >= MAX_CALLS:
                break
            start = mark.start()
            block = read_at(source, start, mark[0])
            position = start + 1
            if block is not None:
                blocks.append((start, block))
                calls += len(block.calls)
                if not block.last or block.calls:
                    position = max(position, block.end)
        return blocks

    def _take(self, start: int, block: Block, blocks: list[tuple[int, Block]]) -> int:
        """Take a call, or what is left of one; return the index behind it."""
        source, end = self._source, block.end
        if not block.calls and not block.problem:
            self._wrap(start, end)
            return end
        begin, index = self._begin(start)
        behind = end_of_tail(source.text, end)
        source.charge(behind - end)
        floor = self._removed[index - 1][1] if index else 0
        if (
            self._follows_shown(begin)
            or is_shown(source.text, begin, behind, floor)
            or self._is_inside(begin, end, blocks)
            or self._is_filled_in_later(begin, behind, block)
            or (block.weak and self._is_amid_others(begin, behind, floor))
        ):
            del self._removed[index:]
            self._shown_end = behind
            return behind
        self._shown_end = -1
        if any(map(_is_template, block.calls)):
            self._problem = self._problem or "no_arguments"
        else:
            self._calls += block.calls
            self._problem = self._problem or block.problem
        self._removed.append((start, behind))
        return behind

    def _follows_shown(self, begin: int) -> bool:
        """Whether nothing, or an "or", stands between something shown and what follows."""
        between = self._source.text[self._shown_end : begin] if self._shown_end >= 0 else "a b"
        return not between.strip() or CONNECTS.fullmatch(between) is not None

    def _is_inside(self, begin: int, end: int, blocks: list[tuple[int, Block]]) -> bool:
        """Whether something else stands around a call; the whole text is looked at for it, once."""
        source = self._source
        if self._regions is None or self._dumps is None:
            holes = [
                (start, _balanced(source.text, start, block.end))
                for start, block in blocks
                if block.whole and block.end > start + 1 and not _is_open(block)
            ]
            self._regions = Regions(source.text, holes, source.offer.names)
            self._dumps = Dumps(source.text)
            source.charge(len(source.text))
        end = _balanced(source.text, begin, end)
        return self._regions.cover(begin, end) or self._dumps.hold(begin)

    def _is_amid_others(self, begin: int, behind: int, floor: int) -> bool:
        """Whether what could stand in any document stands behind words about it, or among other elements."""
        text = self._source.text
        if text[behind : self._source.line_end(behind)].strip()[:1] not in {"", "<"}:
            return True
        before = text[max(floor, begin - CONTEXT_CHARS) : begin]
        element = _ENDS_ELEMENT.search(before)
        if is_presented(before, text[behind : behind + CONTEXT_CHARS]):
            return True
        if not is_own_lead(before) or (element and not _OWN_ELEMENT.fullmatch(element["name"])):
            return True
        if not element and _WORD.match(text, begin) and not is_announced(before):
            return True
        following = _ELEMENT.match(text, behind)
        while following and (end := self._weak.get(following.start("tag"), 0)):
            following = _ELEMENT.match(text, end)
        name = following["name"].lower() if following else ""
        return following is not None and not (is_foreign(name) or is_wrapper(name))

    def _is_filled_in_later(self, begin: int, behind: int, block: Block) -> bool:
        """Whether a call among prose has placeholders, or one alone in a form that is no model's own."""
        if not any(_is_template(call, alone=False) for call in block.calls):
            return False
        text = self._source.text
        if text[:begin].strip() or text[behind : self._end].strip():
            return True
        return text[begin] == "{" and any(map(_is_template, block.calls))

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
