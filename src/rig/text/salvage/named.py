"""Tags that are a tool's name: `<read_file><path>a.py</path></read_file>`, `<search>{"q": "x"}</search>`. No I/O.

The prompts of Cline, Roo Code and Kilo Code teach the first, and models write both unasked (cline/cline 3992,
apmantza/pi-free 235, musistudio/claude-code-router 1340). Any document may have such elements, so that only what
fits exactly is a call: the name of an offered tool, and nothing in it but parameters of that tool.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, cast

from rig.text.salvage import hermes
from rig.text.salvage.blocks import Block, Dialect, undecided
from rig.text.salvage.children import Frame, cut_tag, read_children
from rig.text.salvage.json_values import read_value
from rig.text.salvage.objects import (
    ARGUMENT_KEYS,
    NAME_KEYS,
    Found,
    Setting,
    bare_call,
    find_calls,
    named_call,
    with_repairs,
)
from rig.text.salvage.source import TAG, Source

_NAME: Final = "named"
_FENCE: Final = re.compile(r"`{3,8}(?:json)?\s{0,8}(?=\{)", re.IGNORECASE)
_FENCE_PREFIX: Final = re.compile(r"`{1,8}(?:j(?:s(?:on?)?)?)?\s{0,8}", re.IGNORECASE)
_FENCE_END: Final = re.compile(r"\s{0,8}`{3,8}(?=\s|<|\Z)")
_FIRST_KEY: Final = re.compile(r"\{\s{0,8}[\"']?(?P<key>[\w.\-]{1,128})[\"']?\s{0,8}:")
_WRAPPERS: Final = ("arguments", "parameters", "args", "params", "input")
_PROLOGS: Final = ("<?xml", "<!doctype")

MAX_TAIL_CHARS: Final = 32
"""Characters behind an object in which the beginning of its closing tag is looked for."""

MARKS: Final = tuple(f"<{char}" for char in "abcdefghijklmnopqrstuvwxyz0123456789_")
"""What a tag begins with whose name is a tool's. Most of them are other tags."""


def _read(source: Source, start: int) -> Block | None:
    tag = TAG.match(source.text, start)
    if tag is None:
        cut = cut_tag(source, start, source.offer.names)
        return undecided(source, certain=False) if cut else None
    name = tag["name"]
    source.charge(len(name))
    if name not in source.offer or _is_document(source, start):
        return None
    body = source.skip_blanks(tag.end())
    if body == len(source.text) or _FENCE_PREFIX.fullmatch(source.text, body):
        return undecided(source, certain=False)
    setting = Setting(offer=source.offer, dialect=_NAME, certain=True)
    fence = _FENCE.match(source.text, body)
    if fence or source.text[body] == "{":
        repairs = ("fence",) if fence else ()
        at = fence.end() if fence else body
        return _with_object(source, at, name, with_repairs(setting, *repairs))
    closer = f"</{name.lower()}>"
    if source.lower.startswith(closer, body):
        return _empty(source, start, body + len(closer), name, setting)
    inner = TAG.match(source.text, body)
    if inner and inner["name"] in _WRAPPERS and inner["name"] not in source.offer.properties(name):
        return _wrapped(source, inner, name, setting)
    if cut_tag(source, body, _WRAPPERS):
        return undecided(source, certain=False)
    block = read_children(_frame(source, name, name), body, setting)
    return replace(block, weak=True) if block else None


def _frame(source: Source, name: str, tag: str) -> Frame:
    return Frame(source=source, name=name, opener=f"<{tag.lower()}>", ends=(f"</{tag.lower()}>",))


def _wrapped(source: Source, tag: re.Match[str], name: str, setting: Setting) -> Block | None:
    """Parameters in an element of their own: `<search><arguments><query>x</query></arguments></search>`."""
    at = source.skip_blanks(tag.end())
    if at == len(source.text):
        return undecided(source, certain=False)
    inside = _frame(source, name, tag["name"])
    json = source.text[at] == "{"
    block = _object_in(inside, at, setting) if json else read_children(inside, at, setting)
    if block is None or block.unfinished:
        return block and replace(block, weak=True)
    around = _frame(source, name, name)
    after = source.skip_blanks(block.end)
    if closer := around.end_at(after):
        return replace(block, end=after + len(closer), weak=True)
    return undecided(source, certain=False) if around.may_end_at(after) else None


def _object_in(frame: Frame, start: int, setting: Setting) -> Block | None:
    source = frame.source
    value = read_value(source, start, loose=True)
    after = source.skip_blanks(value.end)
    if value.kind == "truncated" or (value.kind == "complete" and frame.may_end_at(after)):
        return undecided(source, certain=False)
    closer = frame.end_at(after) if value.kind == "complete" else ""
    found = _found(frame.name, value.value, with_repairs(setting, *value.repairs))
    return Block(end=after + len(closer), calls=found.calls) if closer and found.calls else None


def _is_document(source: Source, start: int) -> bool:
    """Whether the text before an index says that it is XML or HTML."""
    return any(-1 < source.find(prolog, 0) < start for prolog in _PROLOGS)


def _empty(source: Source, start: int, end: int, name: str, setting: Setting) -> Block | None:
    """A tool that needs nothing, on a line of its own."""
    alone = source.is_clear(start) or source.is_first(start)
    if not alone or source.text[end : source.line_end(end)].strip():
        return None
    found = bare_call(name, setting)
    return Block(end=end, calls=found.calls, weak=True) if found.calls else None


def _with_object(source: Source, start: int, name: str, setting: Setting) -> Block | None:
    known = source.offer.properties(name)
    key = _FIRST_KEY.match(source.text, start)
    value = read_value(source, start, loose=True)
    is_ours = key is not None and (key["key"] in known or key["key"] in _OTHER_KEYS)
    if value.kind == "truncated":
        if key is None:
            return undecided(source, certain=False)
        return replace(undecided(source), weak=True) if is_ours else None
    closers = (f"</{name.lower()}>", *hermes.CLOSERS)
    after = _behind_fence(source, value.end)
    closer = next((one for one in closers if source.lower.startswith(one, after)), "")
    if value.kind == "malformed":
        at = source.find(closers[0], value.end) if is_ours else -1
        return Block(end=at + len(closers[0]), problem="malformed", weak=True) if at >= 0 else None
    found = _found(name, value.value, with_repairs(setting, *value.repairs))
    if not found.calls:
        return None
    if closer:
        return Block(end=after + len(closer), calls=found.calls, weak=True)
    rest = source.lower[after : after + MAX_TAIL_CHARS]
    at_end = after + len(rest) == len(source.text)
    cut = at_end and (not rest.strip("`") or any(one.startswith(rest) for one in closers))
    return Block(end=value.end, calls=found.calls, weak=True, unfinished=True) if cut else None


def _behind_fence(source: Source, end: int) -> int:
    fence = _FENCE_END.match(source.text, end)
    return source.skip_blanks(fence.end() if fence else end)


_OTHER_KEYS: Final = frozenset({*NAME_KEYS, *ARGUMENT_KEYS})


def _found(name: str, value: object, setting: Setting) -> Found:
    """The call that an object between the tags says: the arguments, or once more the whole call."""
    if not isinstance(value, Mapping):
        return Found()
    given = cast("Mapping[str, object]", value)
    known = setting.offer.properties(name)
    if given.keys() <= known.keys():
        return named_call(name, given, setting) if given else bare_call(name, setting)
    inner = next(iter(given.values())) if len(given) == 1 else None
    if isinstance(inner, Mapping) and given.keys() <= {*ARGUMENT_KEYS}:
        return _found(name, cast("Mapping[str, object]", inner), setting)
    found = find_calls(given, setting)
    return found if all(call.name == name for call in found.calls) else Found()


DIALECT: Final = Dialect(name=_NAME, marks=MARKS, read=_read)
