"""Calls whose name and arguments stand between tokens of their own: DeepSeek, Kimi K2. No I/O."""

import re

from rig.late_dataclass import dataclass
from rig.text.salvage.blocks import Block, undecided
from rig.text.salvage.json_values import read_value
from rig.text.salvage.objects import Setting, named_call, with_repairs
from rig.text.salvage.source import Source

_FENCE = re.compile(r"(?:\s|```(?:json)?)*+", re.IGNORECASE)
_BEHIND = re.compile(r"(?:\s|```)*+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """The tokens of a dialect.

    Attributes:
        head: matches from the token that opens a call to the one before its arguments, the tool's
            name in group `name`, or in `old` where the dialect has two forms.
        prefix: matches what can still become a head.
        ends: tokens that end a call, in lower case; may be missing.
    """

    head: re.Pattern[str]
    prefix: re.Pattern[str]
    ends: tuple[str, ...]


def read_slots(source: Source, start: int, setting: Setting, slots: Slots) -> Block | None:
    """Read the call that begins at an index.

    Args:
        source: the text.
        start: index of the token that opens it.
        setting: how it is looked at.
        slots: the tokens.
    """
    head = slots.head.match(source.text, start)
    if head is None:
        cut = slots.prefix.fullmatch(source.text, start)
        return undecided(source) if cut else None
    name = source.offer.find(head["name"] or head.groupdict().get("old"))
    fence = _FENCE.match(source.text, head.end())
    at = fence.end() if fence else head.end()
    if source.text[at : at + 1] != "{":
        return _without_object(source, at, name, setting, slots)
    value = read_value(source, at, loose=True)
    if value.kind == "truncated":
        return undecided(source)
    end = _end(source, value.end, slots)
    if value.kind == "malformed" or not name:
        return Block(end=end, problem="unknown_tool" if not name else "malformed")
    found = named_call(name, value.value, with_repairs(setting, *value.repairs))
    return Block(end=end, calls=found.calls, problem=found.problem)


def _without_object(source: Source, start: int, name: str, setting: Setting, slots: Slots) -> Block:
    end = _end(source, start, slots)
    if start == len(source.text):
        return Block(end=start, problem="truncated", unfinished=True)
    ended = any(source.lower.startswith(one, start) for one in slots.ends)
    if ended and name and not source.offer.required(name):
        return Block(end=end, calls=named_call(name, {}, setting).calls)
    return Block(
        end=end, problem=("no_arguments" if ended else "malformed") if name else "unknown_tool"
    )


def _end(source: Source, start: int, slots: Slots) -> int:
    behind = _BEHIND.match(source.text, start)
    after = behind.end() if behind else start
    for one in slots.ends:
        if source.lower.startswith(one, after):
            return after + len(one)
    at, end = source.first_of(slots.ends, start)
    return start if at < 0 else at + len(end)
