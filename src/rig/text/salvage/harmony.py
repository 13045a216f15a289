"""Harmony (gpt-oss): a message to `functions.NAME`, its arguments as its text. No I/O.

`<|call|>` is a stop token and mostly missing; detokenisers drop other parts of the header too
(lablup/mlxcel 654), down to `to=functions.NAME` alone.
"""

import re
from typing import Final

from rig.text.harmony import match_header, may_be_header
from rig.text.salvage.blocks import Block, Dialect, undecided
from rig.text.salvage.calls import Problem
from rig.text.salvage.json_values import read_value
from rig.text.salvage.objects import Setting, named_call, with_repairs
from rig.text.salvage.source import Source

_NAME: Final = "harmony"
_ENDS: Final = ("<|call|>", "<|end|>", "<|return|>")
_RECIPIENT: Final = re.compile(r"to=\s?(?P<name>[\w.\-:]{1,128})")
_BARE: Final = re.compile(
    r"(?:<\|(?:start|channel)\|>)?(?:assistant\s?)?(?:commentary\s?|analysis\s?)?"
    r"to=(?P<name>functions\.[\w\-]{1,128})[^{}\n]{0,64}\n?\s{0,8}(?P<open>\{)?",
    re.IGNORECASE,
)
_BARE_MARKS: Final = (
    "to=functions.",
    "commentary to=functions.",
    "assistantcommentary to=functions.",
)


def _read_message(source: Source, start: int) -> Block | None:
    header = match_header(source.text, start)
    source.charge(64)
    if header is None:
        rest = source.lower[start : start + 640]
        cut = "to=" in rest and may_be_header(source.text, start)
        if cut or (start + len(rest) == len(source.text) and may_be_header(source.text, start)):
            problem: Problem = "truncated" if cut else ""
            return Block(end=len(source.text), problem=problem, unfinished=True)
        return _read_bare(source, start)
    recipient = _RECIPIENT.search(source.text, start, header.end)
    if header.kind != "call" or recipient is None:
        return None
    return _read_body(source, header.end, source.offer.find(recipient["name"]))


def _read_bare(source: Source, start: int) -> Block | None:
    if not source.is_line_start(start):
        return None
    head = _BARE.match(source.text, start)
    if head is None:
        rest = source.lower[start : start + 64]
        at_end = start + len(rest) == len(source.text) and rest in _BARE_MARKS
        return undecided(source) if at_end else None
    name = source.offer.find(head["name"])
    if head["open"]:
        return _read_body(source, head.end("open") - 1, name) if name else None
    at_end = head.end() == len(source.text)
    return Block(end=head.end(), problem="truncated", unfinished=True) if at_end else None


def _read_body(source: Source, start: int, name: str) -> Block:
    setting = Setting(offer=source.offer, dialect=_NAME, certain=True)
    at = source.skip_blanks(start)
    if at == len(source.text):
        return Block(end=at, problem="truncated", unfinished=True)
    if end := next((one for one in _ENDS if source.lower.startswith(one, at)), ""):
        empty = bool(name) and not source.offer.required(name)
        calls = named_call(name, {}, setting).calls if empty else ()
        problem: Problem = "" if empty else "no_arguments" if name else "unknown_tool"
        return Block(end=at + len(end), calls=calls, problem=problem)
    if source.text[at] != "{":
        return Block(end=_end(source, at), problem="malformed" if name else "unknown_tool")
    value = read_value(source, at, loose=True)
    if value.kind == "truncated":
        return undecided(source)
    end_at = _end(source, value.end)
    if value.kind == "malformed" or not name:
        return Block(end=end_at, problem="malformed" if name else "unknown_tool")
    found = named_call(name, value.value, with_repairs(setting, *value.repairs))
    return Block(end=end_at, calls=found.calls, problem=found.problem)


def _end(source: Source, start: int) -> int:
    """Where a message ends: after its end token, or before the next message."""
    at, end = source.first_of((*_ENDS, "<|start|>", "<|channel|>"), start)
    if at < 0:
        return start if source.text[start - 1] == "}" else len(source.text)
    return at + len(end) if end in _ENDS else at


MESSAGE: Final = Dialect(
    name=_NAME, marks=("<|start|>", "<|channel|>"), read=_read_message, native=True
)
BARE: Final = Dialect(name=_NAME, marks=_BARE_MARKS, read=_read_bare)
