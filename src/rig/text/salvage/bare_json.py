"""Calls as objects without any markup: alone, in prose, in a list; and lists of Python calls. No I/O."""

import re
from typing import Final

from rig.text.json_scanner import scan_json
from rig.text.salvage.blocks import Block, Dialect, undecided
from rig.text.salvage.calls import SalvagedCall
from rig.text.salvage.json_values import MAX_DEPTH, Value, read_value
from rig.text.salvage.objects import (
    ARGUMENT_KEYS,
    ENVELOPE_KEYS,
    FIRST_KEYS,
    NAME_KEYS,
    Found,
    Setting,
    find_calls,
    with_repairs,
)
from rig.text.salvage.pythonic import read_python_calls
from rig.text.salvage.source import Source

_NAME: Final = "bare_json"
_PYTHONIC: Final = "pythonic"
_FIRST_KEY: Final = re.compile(
    r"[{\[]\s*+(?:\{\s*+)?(?:[\"'\u201c\u201d\u2018\uff02](?P<key>[^\"'\u201c\u201d\u2019\uff02\\\n]{0,128})(?P<closed>[\"'\u201c\u201d\u2019\uff02])?|(?P<bare>\w{0,128}))"
)
_SCALAR: Final = r"(?:\"[^\"\\\n]{0,256}\"|'[^'\\\n]{0,256}'|null|true|false|-?\d{1,16})"
_BEGUN_CALL: Final = re.compile(
    rf"(?:[{{\[]\s*+(?:[\"']?(?:id|type|role|index|content|thoughts?)[\"']?\s*+:\s*+{_SCALAR}\s*+,\s*+)*+"
    rf"(?:[\"']?(?:{'|'.join(ENVELOPE_KEYS)}|function|tool|action)[\"']?\s*+:\s*+(?=[{{\[]))?+){{1,6}}"
    rf"[\"']?(?:{'|'.join(NAME_KEYS)})[\"']?\s*+:\s*+[\"'](?P<name>[\w.\-]{{1,128}})[\"']"
    rf"\s*+,\s*+(?:[\"']?(?:id|type|index)[\"']?\s*+:\s*+{_SCALAR}\s*+,\s*+)*+[\"']?(?:{'|'.join(ARGUMENT_KEYS)})\b"
)
"""What only a call begins with: whatever follows, the end of the text cut it."""

_BETWEEN: Final = re.compile(r"[\s,;]*+")
_DEBRIS: Final = re.compile(r"(?:[\s,;}\]]|```|</[\w:]{1,32}>|<\|[\w/]{1,32}\|>|</s>)*+\Z")
_CLOSER: Final = re.compile(r"\s*+</[a-z_:]{0,24}(?:calls?|function)>", re.IGNORECASE)
_CLOSER_PREFIX: Final = re.compile(r"\s*+(?:</?[a-z_:]{0,32})?\Z", re.IGNORECASE)

MAX_DEBRIS_CHARS: Final = 512
"""Characters behind an object that may be remains of markup when it is to count as standing alone."""


def _read_object(source: Source, start: int) -> Block | None:
    if not begins_call(source, start):
        return _skip(source, start)
    value = read_value(source, start, loose=False)
    first = source.is_first(start)
    if value.kind == "malformed" and first:
        value = read_value(source, start, loose=True)
    if value.kind == "truncated":
        return undecided(source, certain=_is_begun(source, start))
    if value.doubled and _is_begun(source, start):
        return Block(end=value.end, problem="malformed")
    if value.kind == "malformed":
        return Block(end=max(value.end, start + 1), plain=True, whole=False)
    return _read_run(source, value, first=first)


def _is_begun(source: Source, start: int) -> bool:
    begun = _BEGUN_CALL.match(source.text, start)
    return begun is not None and bool(source.offer.find(begun["name"]))


def begins_call(source: Source, start: int) -> bool:
    """Whether the first key of the object or list at an index is one of a call, or may become one.

    Args:
        source: the text.
        start: index of its `{` or `[`.
    """
    key = _FIRST_KEY.match(source.text, start)
    if key is None:
        return False
    word = key["key"] or key["bare"] or ""
    undecided = not key["closed"] and key.end() == len(source.text)
    known = word in FIRST_KEYS or word.lower() in FIRST_KEYS
    return undecided or known or bool(source.offer.find(word))


def _skip(source: Source, start: int) -> Block:
    """Data, whatever stands inside of it."""
    inside = source.skip_blanks(start + 1)
    if source.text[start] == "{" and source.text[inside : inside + 1] not in {'"', "}"}:
        return Block(end=start + 1, plain=True, whole=False)
    scan = scan_json(source.text, start, max_depth=MAX_DEPTH)
    source.charge(scan.end - start)
    return Block(end=max(scan.end, start + 1), plain=True, whole=scan.kind == "complete")


def _read_run(source: Source, value: Value, *, first: bool) -> Block:
    """Objects that follow each other, as long as they are calls; a first one that is none is data."""
    calls: list[SalvagedCall] = []
    end = value.end
    while value.kind == "complete":
        found = _find(source, value, first=first)
        if found.problem or not found.calls:
            break
        calls += found.calls
        end = value.end
        between = _BETWEEN.match(source.text, end)
        after = between.end() if between else end
        if source.exhausted or source.text[after : after + 1] not in {"{", "["}:
            break
        value = read_value(source, after, loose=False)
    if not calls:
        rest = source.text[end : end + MAX_DEBRIS_CHARS]
        return Block(end=end, plain=True, unfinished=_CLOSER_PREFIX.match(rest) is not None)
    return Block(end=end, calls=tuple(calls))


def _find(source: Source, value: Value, *, first: bool) -> Found:
    """The calls of an object. Standing alone, or before a stray closing tag, it is certain to be one."""
    rest = source.text[value.end : value.end + MAX_DEBRIS_CHARS]
    source.charge(len(rest))
    alone = first and _DEBRIS.match(rest) is not None
    closed = _CLOSER.match(rest) is not None
    setting = Setting(offer=source.offer, dialect=_NAME, certain=alone or closed, bare=not closed)
    return find_calls(value.value, with_repairs(setting, *value.repairs))


def _read_list(source: Source, start: int) -> Block | None:
    inside = source.skip_blanks(start + 1)
    char = source.text[inside : inside + 1]
    if not char:
        return Block(end=inside, plain=True, unfinished=True)
    if char == "{":
        return _read_object(source, start)
    return _read_python_list(source, inside) if source.is_line_start(start) else None


def _read_python_list(source: Source, start: int) -> Block | None:
    """`[search(q="x"), search(q="y")]`, with nothing behind it on its line."""
    setting = Setting(offer=source.offer, dialect=_PYTHONIC, certain=True)
    block = read_python_calls(source, start, setting, "]")
    if block is None:
        return None
    if (
        block.unfinished
    ):  # the bracket is missing; and what stands in it is a call, or may become one
        return undecided(source, certain=bool(block.calls) or block.problem == "truncated")
    line = source.line_end(block.end)
    if block.problem or not block.calls or source.text[block.end + 1 : line].strip():
        return None
    return Block(end=block.end + 1, calls=block.calls)


def read_python_message(source: Source, start: int) -> Block | None:
    """Read a text that is nothing but calls, each on a line of its own (vllm-project/vllm 43116).

    Args:
        source: the text.
        start: index of its first character that is not blank.
    """
    setting = Setting(offer=source.offer, dialect=_PYTHONIC, certain=True)
    block = read_python_calls(source, start, setting, "")
    if block is None or (block.problem and not block.unfinished):
        return None
    if block.problem or block.calls:
        return block
    return undecided(source, certain=False) if block.unfinished else None


OBJECT: Final = Dialect(name=_NAME, marks=("{",), read=_read_object)
LIST: Final = Dialect(name=_PYTHONIC, marks=("[",), read=_read_list)
