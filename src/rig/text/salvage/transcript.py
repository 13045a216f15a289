"""`[Calling tool: NAME with arguments: {..}]`: a client's own history, imitated. No I/O.

Source: NousResearch/hermes-agent 27834. Only with a whole object; a paraphrase is no call
(ConardLi/easy-llm-cli 57).
"""

import re
from typing import Final

from rig.text.salvage.blocks import Block, Dialect, undecided
from rig.text.salvage.json_values import read_value
from rig.text.salvage.objects import Setting, named_call, with_repairs
from rig.text.salvage.source import Source

_NAME: Final = "transcript"
_HEAD: Final = re.compile(
    r"\[(?:calling|called|call|using)?\s?(?:the\s)?(?:tool|function)(?:[ _]call)?s?\s?:?\s?"
    r"[\"'`]?(?P<name>[A-Za-z_][\w.\-]{0,127})[\"'`]?\s?(?:(?:with|and)\s)?"
    r"(?:(?:the\s)?(?:arguments|args|input|parameters))?\s?[:(]?\s?(?P<open>\{)",
    re.IGNORECASE,
)
_PREFIX: Final = re.compile(
    r"\[(?:calling|called|call|using)?\s?(?:the\s)?(?:tool|function)(?:[ _]call)?s?\s?:?\s?"
    r"[\"'`]?(?P<name>[A-Za-z_][\w.\-]{0,127})?[\"'`]?[\sa-z]{0,40}[:(]?\s?",
    re.IGNORECASE,
)
_MARKS: Final = (
    "[calling tool",
    "[called tool",
    "[call tool",
    "[using tool",
    "[tool call",
    "[tool_call:",
    "[tool:",
    "[calling function",
    "[function call",
)
_TAIL: Final = re.compile(r"\s?\)?\s?(?P<closed>\])?")


def _read(source: Source, start: int) -> Block | None:
    head = _HEAD.match(source.text, start)
    source.charge(64)
    if head is None:
        cut = _PREFIX.fullmatch(source.text, start)
        maybe = cut is not None and source.offer.may_begin(cut["name"] or "")
        return undecided(source, certain=False) if maybe else None
    name = source.offer.find(head["name"])
    if not name:
        return None
    setting = Setting(offer=source.offer, dialect=_NAME, certain=True)
    value = read_value(source, head.end("open") - 1, loose=True)
    if value.kind == "truncated":
        return undecided(source)
    tail = _TAIL.match(source.text, value.end)
    if value.kind == "malformed" or tail is None:
        return None
    found = named_call(name, value.value, with_repairs(setting, *value.repairs))
    closed = tail["closed"] is not None
    if not found.calls or not (closed or tail.end() == len(source.text)):
        return None
    return Block(end=tail.end(), calls=found.calls, unfinished=not closed)


DIALECT: Final = Dialect(name=_NAME, marks=_MARKS, read=_read)
