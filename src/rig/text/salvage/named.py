"""Tags that are a tool's name: `<read_file><path>a.py</path></read_file>`, `<search>{"q": "x"}</search>`. No I/O.

The prompts of Cline, Roo Code and Kilo Code teach the first, and models write both unasked (cline/cline 3992,
apmantza/pi-free 235, musistudio/claude-code-router 1340). Any document may have such elements, so that only what
fits exactly is a call: the name of an offered tool, and nothing in it but parameters of that tool.
"""

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Final, cast

from rig.text.coerce import coerce_text
from rig.text.duplicate_keys import DuplicateKind
from rig.text.salvage import hermes
from rig.text.salvage.blocks import Block, Dialect, undecided
from rig.text.salvage.elements import MAX_PARAMETERS
from rig.text.salvage.json_values import read_value
from rig.text.salvage.objects import (
    ARGUMENT_KEYS,
    NAME_KEYS,
    Found,
    Setting,
    bare_call,
    find_calls,
    keyed_call,
    more_doubled,
    named_call,
    with_repairs,
)
from rig.text.salvage.source import TAG, Source

_NAME: Final = "named"
_TAG_PREFIX: Final = re.compile(r"<(?P<name>[A-Za-z0-9_][\w.\-]{0,127})?\s{0,8}", re.ASCII)
_FENCE: Final = re.compile(r"`{3,8}(?:json)?\s{0,8}(?=\{)", re.IGNORECASE)
_FENCE_PREFIX: Final = re.compile(r"`{1,8}(?:j(?:s(?:on?)?)?)?\s{0,8}", re.IGNORECASE)
_FENCE_END: Final = re.compile(r"\s{0,8}`{3,8}(?=\s|<|\Z)")
_FIRST_KEY: Final = re.compile(r"\{\s{0,8}[\"']?(?P<key>[\w.\-]{1,128})[\"']?\s{0,8}:")
_PROLOGS: Final = ("<?xml", "<!doctype")

MAX_TAIL_CHARS: Final = 32
"""Characters behind an object in which the beginning of its closing tag is looked for."""

MARKS: Final = tuple(f"<{char}" for char in "abcdefghijklmnopqrstuvwxyz0123456789_")
"""What a tag begins with whose name is a tool's. Most of them are other tags."""


def _read(source: Source, start: int) -> Block | None:
    tag = TAG.match(source.text, start)
    if tag is None:
        return _cut_tag(source, start, source.offer.names)
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
    return _with_children(source, body, name, setting)


def _cut_tag(source: Source, start: int, names: Set[str] | tuple[str, ...]) -> Block | None:
    """The block of a tag that the end of the text cut, if one of some names can come of it."""
    cut = _TAG_PREFIX.fullmatch(source.text, start)
    begun = (cut["name"] or "") if cut else ""
    if cut is None or not any(name.startswith(begun) for name in names):
        return None
    return undecided(source, certain=False)


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
        return _cut(source) if is_ours else None
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


def _with_children(source: Source, start: int, name: str, setting: Setting) -> Block | None:
    known = source.offer.properties(name)
    closer = f"</{name.lower()}>"
    arguments: dict[str, object] = {}
    doubled: DuplicateKind = "none"
    position = start
    while (child := TAG.match(source.text, position)) and len(arguments) < MAX_PARAMETERS:
        key = child["name"]
        if key not in known:
            return None
        value_of = _Value(source, child.end(), key, name, known.keys() - arguments.keys())
        end = value_of.end()
        if end < 0:
            return value_of.without_end()
        value = coerce_text(source.text[child.end() : end], known[key])
        doubled = more_doubled(doubled, arguments, key, value)
        arguments[key] = value
        position = source.skip_blanks(end + len(key) + len("</>"))
    if arguments and source.lower.startswith(closer, position):
        found = keyed_call(name, arguments, setting, doubled)
        end = position + len(closer)
        return Block(end=end, calls=found.calls, problem=found.problem, weak=True)
    rest = source.lower[position : position + len(closer)]
    at_end = position + len(rest) == len(source.text)
    if at_end and closer.startswith(rest):
        return _cut(source) if arguments else undecided(source, certain=False)
    cut = _cut_tag(source, position, (*known,))
    return _cut(source) if cut and arguments else cut


def _cut(source: Source) -> Block:
    """A call whose end is missing."""
    return Block(end=len(source.text), problem="truncated", unfinished=True, weak=True)


@dataclass(frozen=True, slots=True)
class _Value:
    """The value of a parameter: the text, where it begins, its key, the tool, and the keys that may follow."""

    source: Source
    start: int
    key: str
    name: str
    others: Set[str]

    def end(self) -> int:
        """Where it ends, -1 when it does not: at a closing tag behind which the call goes on or ends.

        A value may hold its own tags, as a file that tells of such calls does: as many as are opened in it have
        to be closed first. Where that never happens it ends at the first such place, unless it holds a call
        of the same tool: then one cannot tell which of them ends there.
        """
        source, closer, opener = self.source, f"</{self.key.lower()}>", f"<{self.key.lower()}>"
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
        return -1 if -1 < source.find(f"<{self.name.lower()}>", self.start) < first else first

    def without_end(self) -> Block | None:
        """What a call is whose value has no end: cut, or none where there is something else in it."""
        source = self.source
        closed = source.find(f"</{self.key.lower()}>", self.start)
        if closed < 0:
            return _cut(source)
        if source.find(f"</{self.name.lower()}>", closed) < 0:
            return undecided(source, certain=False)
        return None if source.find(f"<{self.name.lower()}>", self.start) < 0 else _cut(source)

    def _goes_on(self, position: int) -> bool:
        source, end = self.source, f"</{self.name.lower()}>"
        if source.lower.startswith(end, position) or position == len(source.text):
            return True
        child = TAG.match(source.text, position)
        if child is not None:
            return child["name"] in self.others
        rest = source.lower[position : position + len(end)]
        at_end = position + len(rest) == len(source.text)
        return (at_end and end.startswith(rest)) or _cut_tag(
            source, position, self.others
        ) is not None


DIALECT: Final = Dialect(name=_NAME, marks=MARKS, read=_read)
