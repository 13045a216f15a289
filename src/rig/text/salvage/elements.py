"""Calls as XML-like elements: `<function=NAME><parameter=KEY>VALUE</parameter></function>`. No I/O.

It is not XML: values are text as it is, without entities, and may hold any markup, the elements' own
too. A value ends at a closing tag behind which the call goes on or ends.
"""

import re
from collections.abc import Set
from typing import Final

from rig.late_dataclass import dataclass
from rig.text.coerce import coerce_text
from rig.text.duplicate_keys import DuplicateKind
from rig.text.salvage.blocks import Block, undecided
from rig.text.salvage.calls import Problem
from rig.text.salvage.children import Frame, read_children
from rig.text.salvage.json_values import read_value
from rig.text.salvage.objects import Found, Setting, keyed_call, more_doubled, named_call
from rig.text.salvage.source import TAG, Source

MAX_PARAMETERS: Final = 256
"""Parameters of one call."""

NAMED: Final = r"(?:=|\s{1,8}name\s{0,8}=\s{0,8})[\"']?"
"""How an element is named: `<function=x>` and `<invoke name="x">`."""

ASIDE: Final = (
    r"(?:\s{1,8}(?:id|type|index|call_id|tool_call_id)\s{0,2}=\s{0,2}"
    r"(?:\"[^\"<>]{0,128}\"|'[^'<>]{0,128}'|[\w.\-]{1,128}))"
)
"""An attribute that says nothing of a call but its number or its kind: `<tool_call id="1">`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Elements:
    """The tags of a dialect.

    Attributes:
        call: matches the tag that opens a call, its name in group `name`.
        call_prefix: matches what can still become such a tag.
        parameter: matches the tag that opens a parameter, its name in group `name`.
        parameter_closers: what closes a parameter, in lower case.
        call_closers: what closes a call, in lower case.
    """

    call: re.Pattern[str]
    call_prefix: re.Pattern[str]
    parameter: re.Pattern[str]
    parameter_closers: tuple[str, ...]
    call_closers: tuple[str, ...]


def read_element(source: Source, start: int, setting: Setting, tags: Elements) -> Block | None:
    """Read the call that begins at an index.

    Args:
        source: the text.
        start: index of its opening tag.
        setting: how its arguments are looked at.
        tags: the tags.
    """
    opener = tags.call.match(source.text, start)
    if opener is None:
        cut = tags.call_prefix.fullmatch(source.text, start)
        return undecided(source) if cut else None
    name = source.offer.find(opener["name"])
    body = source.skip_blanks(opener.end())
    if body == len(source.text):
        return Block(end=body, problem="truncated" if name else "", unfinished=True)
    if source.text[body] == "{" and name:
        return _with_object(source, body, name, setting, tags)
    if closer := _closer_at(source, body, tags.call_closers):
        found = named_call(name, {}, setting) if name else Found(problem="unknown_tool")
        return Block(end=body + len(closer), calls=found.calls, problem=found.problem)
    if tags.parameter.match(source.text, body):
        return _with_parameters(source, body, name, setting, tags)
    child = TAG.match(source.text, body)
    if name and child and child["name"] in source.offer.properties(name):
        frame = Frame(source=source, name=name, opener=opener[0].lower(), ends=tags.call_closers)
        block = read_children(frame, body, setting)
        return block or _unreadable(source, body, tags, "malformed")
    if _may_be_tag(source, body, tags):
        return undecided(source)
    return _unreadable(source, body, tags, "malformed") if name else None


def _with_object(source: Source, start: int, name: str, setting: Setting, tags: Elements) -> Block:
    """A call whose arguments are JSON, as Functionary and Llama write them."""
    value = read_value(source, start, loose=True)
    if value.kind == "truncated":
        return undecided(source)
    if value.kind == "malformed":
        return _unreadable(source, start, tags, "malformed")
    repaired = Setting(
        offer=setting.offer, dialect=setting.dialect, repairs=value.repairs, certain=True
    )
    found = named_call(name, value.value, repaired)
    after = source.skip_blanks(value.end)
    end = after + len(_closer_at(source, after, tags.call_closers)) if after else value.end
    return Block(end=max(end, value.end), calls=found.calls, problem=found.problem)


def _with_parameters(
    source: Source, start: int, name: str, setting: Setting, tags: Elements
) -> Block:
    known = source.offer.properties(name)
    arguments: dict[str, object] = {}
    doubled: DuplicateKind = "none"
    position = start
    while (opener := tags.parameter.match(source.text, position)) and len(
        arguments
    ) < MAX_PARAMETERS:
        value = _value(
            source, opener.end(), tags, known.keys() - arguments.keys() - {opener["name"]}
        )
        if value is None:
            return undecided(source)
        end, position = value
        text = source.text[opener.end() : end]
        typed = coerce_text(text, known.get(opener["name"]))
        value_given = text if 'string="true"' in opener[0] else typed
        doubled = more_doubled(doubled, arguments, opener["name"], value_given)
        arguments[opener["name"]] = value_given
    closer = _closer_at(source, position, tags.call_closers)
    if not closer:
        cut = position == len(source.text) or _may_be_tag(source, position, tags)
        if cut:
            return undecided(source)
        return _unreadable(source, position, tags, "malformed")
    found = keyed_call(name, arguments, setting, doubled)
    return Block(end=position + len(closer), calls=found.calls, problem=found.problem)


def _value(source: Source, start: int, tags: Elements, missing: Set[str]) -> tuple[int, int] | None:
    """Where a value ends, and where the call goes on behind it; None when neither is there."""
    search = start
    while True:
        at, closer = source.first_of(tags.parameter_closers, search)
        if at < 0:
            break
        after = source.skip_blanks(at + len(closer))
        if _goes_on(source, after, tags):
            return _begin_of_next(source, start, at, tags, missing) or (at, after)
        search = at + len(closer)
        if source.exhausted:
            return None
    return _unclosed_value(source, start, tags)


def _begin_of_next(
    source: Source, start: int, stop: int, tags: Elements, missing: Set[str]
) -> tuple[int, int] | None:
    """Where the next parameter begins inside of a value, whose end was then left out.

    Only on a line of its own, and only one that the tool has and that was not given yet: anything
    else is data.
    """
    source.charge(stop - start)
    for opener in tags.parameter.finditer(source.text, start, stop):
        line = source.text.rfind("\n", start, opener.start())
        if (
            opener["name"] in missing
            and line >= 0
            and not source.text[line : opener.start()].strip()
        ):
            return opener.start(), opener.start()
    return None


def _unclosed_value(source: Source, start: int, tags: Elements) -> tuple[int, int] | None:
    """A value whose closing tag was left out, before the next parameter or the end of the call."""
    at, _ = source.first_of(tags.call_closers, start)
    if at < 0:
        return None
    opener = tags.parameter.search(source.text, start, at)
    source.charge(at - start)
    goes_on = opener.start() if opener else at
    closers = [source.lower.rfind(one, start, goes_on) for one in tags.parameter_closers]
    return (max(closers) if max(closers) >= 0 else goes_on), goes_on


def _goes_on(source: Source, position: int, tags: Elements) -> bool:
    return (
        position == len(source.text)
        or bool(_closer_at(source, position, tags.call_closers))
        or tags.parameter.match(source.text, position) is not None
        or _may_be_tag(source, position, tags)
    )


def _closer_at(source: Source, position: int, closers: tuple[str, ...]) -> str:
    return next((one for one in closers if source.lower.startswith(one, position)), "")


def _may_be_tag(source: Source, position: int, tags: Elements) -> bool:
    """Whether the text ends in what may become one of the tags."""
    rest = source.lower[position : position + 200]
    if position + len(rest) < len(source.text) or not rest.startswith("<"):
        return False
    closers = (*tags.parameter_closers, *tags.call_closers)
    return any(one.startswith(rest) for one in closers) or ">" not in rest


def _unreadable(source: Source, start: int, tags: Elements, problem: Problem) -> Block:
    at, closer = source.first_of(tags.call_closers, start)
    end = len(source.text) if at < 0 else at + len(closer)
    return Block(end=end, problem=problem, unfinished=at < 0)
