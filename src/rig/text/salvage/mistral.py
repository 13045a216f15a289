"""Mistral: `[TOOL_CALLS]` before a list, or before `NAME{..}` and `NAME[ARGS]{..}`. No I/O."""

import re
from typing import Final

from rig.text.salvage.blocks import Block, Dialect, undecided
from rig.text.salvage.objects import Setting
from rig.text.salvage.payload import read_named_object, read_objects
from rig.text.salvage.source import Source

_NAME: Final = "mistral"
_MARKS: Final = ("[tool_calls]", "[tool_call]")
CLOSERS: Final = ("[/tool_calls]", "[/tool_call]")
_SLOT: Final = re.compile(
    r"(?P<name>[A-Za-z_][\w.\-]{0,127})\s*(?:\[CALL_ID\]\s*[\w\-]{1,64}\s*)?(?P<args>\[ARGS\]\s*)?",
    re.IGNORECASE,
)
_SLOT_PREFIX: Final = re.compile(
    r"(?P<name>[A-Za-z_][\w.\-]{0,127})(?P<more>\s*\[[A-Z_]{0,7}\]?\s*[\w\-]{0,64}\s*(?:\[[A-Z]{0,4}\]?\s*)?)?",
    re.IGNORECASE,
)


def _read(source: Source, start: int) -> Block | None:
    mark = next(one for one in _MARKS if source.lower.startswith(one, start))
    at = source.skip_blanks(start + len(mark))
    char = source.text[at : at + 1]
    if not char:
        return Block(end=at, unfinished=True)
    if closer := next((one for one in CLOSERS if source.lower.startswith(one, at)), ""):
        return Block(end=at + len(closer))
    if source.mark_at(at) and char != "{":
        return (
            Block(end=at)
            if char != "[" or source.lower.startswith(_MARKS, at)
            else _list(source, at)
        )
    return _list(source, at) if char in "{[" else read_slots(source, at)


def _setting(source: Source) -> Setting:
    return Setting(offer=source.offer, dialect=_NAME, certain=True)


def _list(source: Source, start: int) -> Block | None:
    inside = source.skip_blanks(start + 1)
    first = source.text[inside : inside + 1]
    if source.text[start] == "[" and first not in {"{", "]", "[", ""}:
        return None
    return read_objects(source, start, _setting(source), CLOSERS)


def read_slots(source: Source, start: int) -> Block | None:
    """Read calls whose names stand before their arguments, whatever is in those.

    Args:
        source: the text.
        start: index of the first name.
    """
    block = _slot(source, start)
    if block is None or not block.calls:
        return block
    calls = [*block.calls]
    while not source.exhausted:
        after = source.skip_blanks(block.end)
        head = _SLOT.match(source.text, after)
        if head is None or not source.offer.find(head["name"]):
            break
        following = _slot(source, after)
        if following is None or following.unfinished:
            break
        block = following
        calls += block.calls
    return Block(end=block.end, calls=tuple(calls), problem=block.problem)


def _slot(source: Source, start: int) -> Block | None:
    slot = _SLOT.match(source.text, start)
    if slot is None:
        return None
    name = source.offer.find(slot["name"])
    if source.text[slot.end() : slot.end() + 1] == "{":
        if not name and not slot["args"] and source.text[slot.end("name")] != "{":
            return None
        return read_named_object(source, slot.end(), name, _setting(source), CLOSERS)
    prefix = _SLOT_PREFIX.fullmatch(source.text, start)
    return None if prefix is None else undecided(source, certain=bool(name or prefix["more"]))


DIALECT: Final = Dialect(name=_NAME, marks=_MARKS, read=_read, native=True)
