"""Salvaging the calls of one reply. No I/O.

Thoughts are found first, then calls outside of them: a call drafted in a thought is not made. But a tag
of a thought inside of a call's arguments is data, so whole calls are put aside before the thoughts are
looked for. A call put aside that turns out to stand in a thought goes back into it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from rig.text.harmony import match_header
from rig.text.reasoning import Separated, separate_reasoning, strip_orphan_closer
from rig.text.reasoning_tags import HARMONY, Tag, find_tag
from rig.text.salvage.blocks import Block
from rig.text.salvage.calls import OfferedTool, Problem, Salvaged, SalvagedCall
from rig.text.salvage.fences import fenced_only
from rig.text.salvage.offer import Offer
from rig.text.salvage.quoting import is_shown
from rig.text.salvage.regions import Regions
from rig.text.salvage.scanner import Scan, end_of_tail, read_at, scan_text
from rig.text.salvage.signs import SIGNS
from rig.text.salvage.source import Source
from rig.text.salvage.table import MARKS, NATIVE, NATIVE_MARKS
from rig.text.stop_tokens import strip_stop_token

_STAND_INS: Final = range(0xE000, 0xF900)
"""Characters of private use, of which one that the text does not hold marks a call put aside."""

_TAIL_CHARS: Final = 64
"""Characters at the end of a thought by which it is known again at the end of the reply."""


def salvage(text: str, tools: Sequence[OfferedTool], *, separated: bool = False) -> Salvaged:
    """Find the calls that a model wrote into its text.

    Args:
        text: the content of a reply that is complete and has no calls of its own.
        tools: what the model was offered; no other name becomes a call.
        separated: the server sent the thoughts apart: tags in the text are then text.

    Returns:
        The calls, and the text without them. Nothing is ever completed: what was cut is a problem.
    """
    offer = Offer(tools)
    apart = strip_orphan_closer(text) if separated else _without_thoughts(text, offer)
    if not offer:
        return Salvaged(text=apart.text, reasoning=apart.reasoning)
    shown = strip_stop_token(apart.text).strip()
    if shown and SIGNS.search(shown) is None:
        return Salvaged(text=shown, reasoning=apart.reasoning)
    scan = _scan(shown, offer)
    if not scan.text and not scan.calls and not scan.problem and _ends_in(text, apart.reasoning):
        found = salvage_thought(apart.reasoning, tools)
        if found.calls:
            return found
    return Salvaged(
        text=scan.text, reasoning=apart.reasoning, calls=scan.calls, problem=scan.problem
    )


def salvage_thought(reasoning: str, tools: Sequence[OfferedTool]) -> Salvaged:
    """Find the calls at the very end of a thought that no answer follows.

    Some models forget to end their thought before they call (vybestack/llxprt-code 749). Only calls in
    a model's own tokens count, whole, and with nothing behind them; anything else is a draft.

    Args:
        reasoning: the thoughts of a reply without text and without calls.
        tools: what the model was offered.

    Returns:
        The calls, and the thoughts without them; no calls where there are none.
    """
    source = Source(reasoning, Offer(tools), MARKS)
    run = _Run()
    position = 0
    while not source.exhausted and (mark := NATIVE_MARKS.search(source.lower, position)):
        block = _native_at(source, mark.start(), mark[0])
        if block is None:
            run = _Run()
            position = mark.start() + 1
            continue
        if run.calls and reasoning[run.end : mark.start()].strip():
            run = _Run()
        run.begin = mark.start() if run.begin < 0 else run.begin
        run.calls += block.calls
        position = run.end = end_of_tail(reasoning, block.end)
    if not run.calls or reasoning[run.end :].strip() or not _may_begin(source, run.begin):
        return Salvaged(text="", reasoning=reasoning)
    if is_shown(reasoning, run.begin, run.end, 0) or Regions(
        reasoning, [(run.begin, run.end)], source.offer.names
    ).cover(run.begin, run.end):
        return Salvaged(text="", reasoning=reasoning)
    return Salvaged(text="", reasoning=reasoning[: run.begin].strip(), calls=tuple(run.calls))


@dataclass(slots=True)
class _Run:
    """Calls that stand together."""

    begin: int = -1
    end: int = -1
    calls: list[SalvagedCall] = field(default_factory=list[SalvagedCall])


def _native_at(source: Source, start: int, mark: str) -> Block | None:
    """A whole call, or a wrapper, in a model's own tokens."""
    source.charge(len(mark))
    for dialect in NATIVE:
        if mark.startswith(dialect.marks):
            block = dialect.read(source, start)
            if block is not None:
                return None if block.problem or block.plain else block
    return None


def _may_begin(source: Source, start: int) -> bool:
    """Tokens may stand anywhere; tags that prose could hold only on lines of their own."""
    return source.text[start + 1 : start + 2] in {"|", "\uff5c"} or source.is_line_start(start)


def _ends_in(text: str, reasoning: str) -> bool:
    """Whether the thought was never closed: the whole reply ends as it does."""
    tail = reasoning[-_TAIL_CHARS:]
    return bool(tail) and text.rstrip().endswith(tail)


def _scan(text: str, offer: Offer) -> Scan:
    """The calls of a text without thoughts, also when it is nothing but code blocks."""
    whole = scan_text(Source(text, offer, MARKS))
    if whole.calls or whole.problem:
        return whole
    scans = [scan_text(Source(body, offer, MARKS)) for body in fenced_only(text)]
    if scans and all((scan.calls or scan.problem) and not scan.text for scan in scans):
        calls = tuple(call for scan in scans for call in scan.calls)
        problems: list[Problem] = [scan.problem for scan in scans if scan.problem]
        return Scan(text="", calls=calls, problem=problems[0] if problems else "")
    return whole


def _without_thoughts(text: str, offer: Offer) -> Separated:
    """Text and thoughts apart, with the arguments of calls left as they are."""
    if find_tag(text) is None:
        return Separated(text=text.strip())
    spans = _spans(text, offer) if offer else []
    if not spans:
        return separate_reasoning(text)
    present = set(text)
    stand_in = next((char for code in _STAND_INS if (char := chr(code)) not in present), "")
    if not stand_in:
        return separate_reasoning(text)
    parts: list[str] = []
    position = 0
    for index, (start, end) in enumerate(spans):
        parts += (text[position:start], f"{stand_in}{index}{stand_in}")
        position = end
    apart = separate_reasoning("".join([*parts, text[position:]]))
    marked = re.compile(f"{stand_in}([0-9]+){stand_in}")

    def inside(match: re.Match[str]) -> str:
        start, end = spans[int(match[1])]
        return text[start:end]

    return Separated(
        text=marked.sub(inside, apart.text), reasoning=marked.sub(inside, apart.reasoning)
    )


def _spans(text: str, offer: Offer) -> list[tuple[int, int]]:
    """The whole calls outside of thoughts that hold tags of thoughts."""
    source = Source(text, offer, MARKS)
    spans: list[tuple[int, int]] = []
    position = 0
    tag = find_tag(text)
    while tag is not None and not source.exhausted:
        mark = MARKS.search(source.lower, position)
        if mark is None:
            break
        if tag.start < mark.start() or (tag.start == mark.start() and tag.kind != "harmony_start"):
            position = _past(source, tag)
        else:
            block = read_at(source, mark.start(), mark[0])
            position = mark.start() + 1
            if block is not None and block.calls and not block.plain:
                position = block.end
                if tag.end <= block.end:
                    spans.append((mark.start(), block.end))
        if tag.start < position:
            source.charge(position - tag.start)
            tag = find_tag(text, position)
    return spans


def _past(source: Source, tag: Tag) -> int:
    """The index after a tag, and after the thought that it opens."""
    family = tag.family
    if tag.kind == "harmony_start":
        header = match_header(source.text, tag.start)
        if header is None or header.kind != "thought":
            return tag.end if header is None else header.end
        start = header.end
    elif tag.kind == "open":
        start = tag.end
    else:
        return tag.end
    following = find_tag(source.text, start)
    while following is not None and not _ends_thought(following, family):
        following = find_tag(source.text, following.end)
    if following is None:
        return len(source.text)
    return following.start if following.kind == "harmony_start" else following.end


def _ends_thought(tag: Tag, family: str) -> bool:
    if family == HARMONY:
        return tag.family == HARMONY
    return tag.kind == "close" and tag.family == family
