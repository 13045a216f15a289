"""Where in a reply its calls stand: alone, in prose, or inside of what only shows them. No I/O, stdlib only.

For calls in a form the model was told to write, so that a place of doubt is told apart from an example:
what stands in an example is never a call; what stands in prose is one, and counts as found in the text.
"""

import re
from collections.abc import Sequence
from dataclasses import field
from typing import Final

from rig.late_dataclass import dataclass
from rig.text.salvage.cues import is_own_lead
from rig.text.salvage.quoting import is_shown
from rig.text.salvage.regions import is_foreign

MAX_LEAD_CHARS: Final = 300
"""Characters of what may stand before calls that are all of a reply: "I will look at both files first.",
one paragraph. More is prose, and so is one that says of what follows anything but that it is a call."""

CUE_CHARS: Final = 200
"""Characters before a call that can tell that it is an example, as where calls are salvaged."""

_WRAPPERS: Final = frozenset(
    {"tool_call", "tool_calls", "function_call", "function_calls", "tool", "tools", "calls", "call"}
)
_TAG: Final = re.compile(
    r"(?<!`)<(?P<close>/)?(?P<name>[A-Za-z][\w.:\-]{0,63})(?:\s[^<>\n]{0,200})?>|(?P<open>)<!--|-->"
)
_CLOSER: Final = re.compile(r"</(?P<name>[A-Za-z][\w.:\-]{0,63})\s{0,8}>|-->")
_COMMENT: Final = "--"
_FENCE: Final = re.compile(r"^[ \t]*(?P<run>`{3,}|~{3,})(?P<info>[^\n`]*)$", re.MULTILINE)
_SAME_LINE: Final = re.compile(r"[ \t]*(?P<run>`{3,}|~{3,})[ \t\r]*(?=\n|\Z)")
# Narrower than the cues of salvaging: who was told to call so says "let me see what it contains:" before.
_EXAMPLE: Final = re.compile(
    r"(?:\b(?:for|an|another|as) examples?|^[\W_]{0,8}examples?|\be\.g\.?|\bfor instance|\bsuch as|"
    r"\blike (?:this|so|that))(?:\s+(?:is|was|are|be|of|calls?|follows?|below|here|this)){0,3}"
    r"[\s\"'`*_]{0,4}:?[\s\"'`*_]{0,8}\Z",
    re.IGNORECASE | re.MULTILINE,
)
_SENTENCE_END: Final = re.compile(r"[.!?]\s+(?=[A-Z])|\n[ \t\r]*\n(?=[ \t\r]*\S)")
_TEACHES: Final = re.compile(
    r"\b(?:(?:for|an|another|as) examples?|e\.g\.|for instance|such as|like (?:this|so)|would look|"
    r"(?:you|one|they|people|models?|users?|someone) (?:can|could|would|should|may|might|must|have to|need to|"
    r"call|write|use|send)|(?:would|could) (?:write|call|use|send))\b",
    re.IGNORECASE,
)
_SHOWS_HOW: Final = re.compile(
    r"\b(?:examples?|how|syntax|format|template|sample)\b", re.IGNORECASE
)
_CODE_INDENT: Final = 4
_WRAPPER: Final = "(?:tool_calls?|function_calls?|tools?|calls?)"
_FRAME: Final = re.compile(rf"(?:(?:<{_WRAPPER}>|\[)\s*+)++\Z", re.IGNORECASE)
_FRAME_END: Final = re.compile(rf"(?:\s*+(?:</{_WRAPPER}>|\]))++", re.IGNORECASE)
_QUOTES: Final = "\"'"
_OPENING_QUOTES: Final = "`\u201c\u2018\u201e\u00ab\u2039"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A call in a text, with its marks.

    Attributes:
        start: index of its first character.
        end: index after its last one.
        is_open: where it ends could not be told: it is no call that can be read.
    """

    start: int
    end: int
    is_open: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where the calls of a reply stand.

    Attributes:
        spans: the calls, an open one without the end of the code block it stands in.
        shown: the numbers of those that are shown and no calls.
        removed: what is no text, in order: the other calls, with code blocks that hold nothing else.
        alone: the other calls are all there is, but for a leading paragraph.
    """

    spans: tuple[Span, ...]
    shown: frozenset[int] = frozenset()
    removed: tuple[tuple[int, int], ...] = ()
    alone: bool = True


def places_of(text: str, spans: Sequence[Span], *, filler: re.Pattern[str]) -> Places:
    """Tell where calls stand.

    A call is shown inside of a code block that holds or has prose around it, an element, a comment, or
    quotation marks, and behind words such as "for example:".

    Args:
        text: a reply.
        spans: its calls, in order.
        filler: what counts as nothing between calls; it matches from any index, at least blanks.
    """
    return _Walk(text, spans, filler).run() if spans else Places(spans=())


@dataclass(slots=True)
class _Block:
    """A code block."""

    start: int
    inside: int
    run: str
    end: int = -1
    calls: list[int] = field(default_factory=list[int])
    holds_text: bool = False


class _Walk:
    def __init__(self, text: str, spans: Sequence[Span], filler: re.Pattern[str]) -> None:
        self._text = text
        self._spans = list(spans)
        self._filler = filler
        self._block: _Block | None = None
        self._blocks: list[_Block] = []
        self._last_closer = {
            (match["name"] or _COMMENT).lower(): match.start() for match in _CLOSER.finditer(text)
        }
        self._elements: list[tuple[str, int]] = []  # open ones; where the last of them is closed
        self._counts: dict[str, int] = {}
        self._foreign = 0  # open ones that hold what others wrote
        self._shown: set[int] = set()
        self._doubtful: set[int] = set()

    def run(self) -> Places:
        position = 0
        for index in range(len(self._spans)):
            self._prose(position, self._spans[index].start)
            position = self._call(index, position)
        self._prose(position, len(self._text))
        if self._block is not None:
            self._block.end = len(self._text)
        self._look_into_blocks()
        fences = [block for block in self._blocks if self._is_fence_of_calls(block)]
        removed, lead, is_amid = self._outside(fences)
        if fences and (is_amid or not _is_lead(lead) or _is_lesson(lead)):
            self._shown.update(index for block in fences for index in block.calls)
            removed, lead, is_amid = self._outside([])
            fences = []
        is_own = _is_lead(lead) and is_own_lead(_FRAME.sub("", lead))
        alone = is_own and not is_amid and not self._doubtful - self._shown
        return Places(
            spans=tuple(self._spans),
            shown=frozenset(self._shown),
            removed=tuple(removed),
            alone=alone and not (fences and lead),
        )

    # From left to right

    def _call(self, index: int, floor: int) -> int:
        """Look at what surrounds a call; return the index behind it."""
        span = self._spans[index]
        block = self._block
        if block is not None:
            block.calls.append(index)
            if span.is_open and (close := self._closing(block, span.start, span.end)):
                span = self._spans[index] = Span(start=span.start, end=close.start(), is_open=True)
        limit = span.start if span.is_open else span.end
        is_inside = bool(self._elements) and self._elements[-1][1] >= limit
        framed = self._framed(span, floor)
        if is_inside or self._is_quoted(framed, floor) or self._follows_shown(index, floor):
            self._shown.add(index)
        elif (
            self._foreign
            or self._is_indented(span, floor)
            or is_shown(self._text, framed.start, framed.end, floor)
        ):
            self._doubtful.add(index)
        end = span.end
        match = _SAME_LINE.match(self._text, end)
        if block is not None and match is not None and _closes(match["run"], block.run):
            self._close(match.end())
            return match.end()
        return end

    def _framed(self, span: Span, floor: int) -> Span:
        """A call with the tags and brackets around it: words that show it stand outside of them."""
        before = self._text[max(floor, span.start - CUE_CHARS) : span.start]
        opening = _FRAME.search(before)
        start = span.start - (len(before) - opening.start() if opening else 0)
        while self._text[start : start + 1] in {" ", "\t"}:
            start += 1
        closing = None if span.is_open else _FRAME_END.match(self._text, span.end)
        return Span(start=start, end=closing.end() if closing else span.end, is_open=span.is_open)

    def _is_indented(self, span: Span, floor: int) -> bool:
        """Whether a call stands behind text as Markdown's indented code does."""
        indent = self._text[span.start : span.start + _CODE_INDENT]
        is_code = indent.startswith("\t") or not indent.strip()
        return is_code and bool(self._text[max(floor, span.start - CUE_CHARS) : span.start].strip())

    def _is_quoted(self, span: Span, floor: int) -> bool:
        before = self._text[max(floor, span.start - CUE_CHARS) : span.start]
        if self._block is not None:  # what is said of a code block stands before it
            block = self._block.start
            before = self._text[max(floor, block - CUE_CHARS) : max(floor, block)]
        word = before.rstrip()
        if not word:
            return False
        if word[-1] in _OPENING_QUOTES:
            return not word.endswith("``")
        behind = self._text[span.end : span.end + CUE_CHARS].lstrip()[:1]
        if word[-1] in _QUOTES and behind == word[-1]:
            return True
        if _EXAMPLE.search(before):
            return True
        if word.rstrip("*_")[-1:] != ":":
            return False
        *_, start = (0, *(match.end() for match in _SENTENCE_END.finditer(word)))
        return _TEACHES.search(word[start:]) is not None

    def _follows_shown(self, index: int, floor: int) -> bool:
        return index - 1 in self._shown and self._is_nothing(floor, self._spans[index].start)

    def _prose(self, start: int, end: int) -> None:
        position = start
        while position < end:
            if self._block is not None:
                close = self._closing(self._block, position, end)
                stop = end if close is None else close.start()
                if not self._is_nothing(max(position, self._block.inside), stop):
                    self._block.holds_text = True
                if close is None:
                    return
                self._close(close.end())
                position = close.end()
                continue
            fence = _FENCE.search(self._text, position, end)
            stop = end if fence is None else fence.start()
            for tag in _TAG.finditer(self._text, position, stop):
                self._tag(tag)
            if fence is None:
                return
            self._block = _Block(start=fence.start(), inside=fence.end(), run=fence["run"])
            self._blocks.append(self._block)
            position = fence.end()

    def _closing(self, block: _Block, start: int, end: int) -> re.Match[str] | None:
        for match in _FENCE.finditer(self._text, start, end):
            if _closes(match["run"], block.run) and not match["info"].strip():
                return match
        return None

    def _close(self, end: int) -> None:
        if self._block is not None:
            self._block.end = end
        self._block = None

    def _tag(self, tag: re.Match[str]) -> None:
        is_closer = bool(tag["close"]) or tag[0] == "-->"
        name = (tag["name"] or _COMMENT).lower()
        if not is_closer:
            if name not in _WRAPPERS:
                closed = max(
                    self._last_closer.get(name, -1), self._elements[-1][1] if self._elements else -1
                )
                self._elements.append((name, closed))
                self._counts[name] = self._counts.get(name, 0) + 1
                self._foreign += is_foreign(name)
            return
        if not self._counts.get(name):
            return
        while self._elements:
            last, _ = self._elements.pop()
            self._counts[last] -= 1
            self._foreign -= is_foreign(last)
            if last == name:
                return

    # The whole

    def _look_into_blocks(self) -> None:
        for block in self._blocks:
            if block.holds_text:
                self._shown.update(block.calls)

    def _is_fence_of_calls(self, block: _Block) -> bool:
        """Whether a code block holds nothing but calls, or nothing at all behind the last call."""
        if block.calls:
            return not block.holds_text and not self._shown.intersection(block.calls)
        is_last = block.end == len(self._text) and block.start >= self._spans[-1].end
        return is_last and not block.holds_text and not self._text[block.inside :].strip()

    def _outside(self, fences: Sequence[_Block]) -> tuple[list[tuple[int, int]], str, bool]:
        """What is no text, the text before it, and whether there is text between or behind it."""
        fenced = {index for block in fences for index in block.calls}
        kept = [
            (span.start, span.end)
            for index, span in enumerate(self._spans)
            if index not in self._shown and index not in fenced
        ]
        kept += [(block.start, block.end) for block in fences]
        kept.sort()
        if not kept:
            return [], self._text, True
        gaps = zip([end for _, end in kept], [*(start for start, _ in kept[1:]), len(self._text)])  # noqa: B905  same length
        is_amid = any(not self._is_nothing(start, end) for start, end in gaps)
        lead = "" if self._is_nothing(0, kept[0][0]) else self._text[: kept[0][0]].strip()
        return kept, lead, is_amid

    def _is_nothing(self, start: int, end: int) -> bool:
        return start >= end or self._filler.fullmatch(self._text, start, end) is not None


def _closes(run: str, opener: str) -> bool:
    return run[0] == opener[0] and len(run) >= len(opener)


def _is_lead(text: str) -> bool:
    return len(text) <= MAX_LEAD_CHARS and not re.search(
        r"\n[ \t\r]*\n|^[ \t]*(?:```|~~~)", text, re.MULTILINE
    )


def _is_lesson(text: str) -> bool:
    return (_TEACHES.search(text) or _SHOWS_HOW.search(text)) is not None
