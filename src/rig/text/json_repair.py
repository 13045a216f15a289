"""JSON that a model got nearly right, made JSON; or why it can't be. No I/O.

Rejecting a call for a comma costs a new generation of all its arguments. Closing what was cut costs more:
half a file, half a filter, run as if they were whole. So there are three answers beside "valid": syntax
that has one reading is repaired, a text that stopped early is truncated, and everything else is
hopeless: values that are missing, several readings, NaN, two objects.
"""

import re
from collections.abc import Iterator
from typing import Final, Literal

from rig.late_dataclass import dataclass
from rig.text.json_loose import COMMENT, LooseScanner, scan_loose
from rig.text.json_object import strict_end
from rig.text.json_scanner import scan_json

RepairKind = Literal["valid", "repaired", "truncated", "hopeless"]

SEARCH_FACTOR: Final = 8
"""Characters looked at in vain, per character of text, before a search for objects stops with what it
has. Braces of prose cost one or two each; only text made for it, a comment full of braces, costs more."""

_OUTSIDE = rf"(?:[\s\ufeff\u200b-\u200f\u2060]++|{COMMENT})*+"
_FENCE = r"`{3,8}|~{3,8}"
_OPENING = re.compile(rf"{_OUTSIDE}(?P<fence>(?:{_FENCE})[ \t]*+[\w+\-]*+)?{_OUTSIDE}")
_CLOSING = re.compile(rf"{_OUTSIDE}(?P<fence>{_FENCE})?")
_ANOTHER = re.compile(rf"[{{\[]|{_FENCE}")
_OBJECT = re.compile(r"\{")
_CONTAINER = re.compile(r"[{\[]")
_JSON_SPACE: Final = " \t\n\r"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What came of a text.

    Attributes:
        kind: valid (strict JSON already); repaired; truncated (the end is missing: never closed);
            hopeless.
        text: strict JSON for valid and repaired, where it is the text as it came but for what is
            named in `repairs`; else the text as it came.
        repairs: what was repaired, in order and once each: fence, and the names of
            `rig.text.json_loose.LooseScanner`.
    """

    kind: RepairKind
    text: str
    repairs: tuple[str, ...] = ()


def repair_json(text: str, *, arrays: bool = False) -> Repair:
    """Make strict JSON of an object that is nearly JSON.

    A text that is strict JSON of any type is valid and left alone. Anything else has to be one object,
    alone but for blanks and a fence around it; text after the closing fence is not looked at unless
    another value or fence begins in it. A bracket too many behind the object is hopeless: it may end an
    object whose beginning was lost. `rig.text.read_arguments`, which is given nothing but arguments, takes the
    bracket for debris and the prose for an error.

    Keys that stand twice are left as they are, and the last one counts, as for every JSON reader; who has to
    know asks `rig.text.duplicate_keys`, as is done for the arguments of calls.

    Args:
        text: any text.
        arrays: accept an array where the object is expected.

    Returns:
        The outcome. It is valid for the `text` of every valid and repaired outcome.
    """
    scan = scan_json(text)
    if scan.kind == "truncated":
        return Repair(kind="truncated", text=text)
    if scan.kind == "complete" and not text[scan.end :].strip(_JSON_SPACE):
        return Repair(kind="valid", text=text)
    opening = _OPENING.match(text)
    start = opening.end() if opening else 0
    if text.startswith("[", start) and not arrays:
        return Repair(kind="hopeless", text=text)
    loose = scan_loose(text, start)
    if loose.kind == "truncated":
        return Repair(kind="truncated", text=text)
    if loose.kind == "malformed":
        return Repair(kind="hopeless", text=text)
    closing = _CLOSING.match(text, loose.end)
    end = closing.end() if closing else loose.end
    if not _is_last(text, end, closed=bool(closing and closing["fence"])):
        return Repair(kind="hopeless", text=text)
    repairs = (*_names(text[:start]), *loose.repairs, *_names(text[loose.end : end]))
    return Repair(kind="repaired", text=loose.text, repairs=tuple(dict.fromkeys(repairs)))


_BRACE_OR_TEXT: Final = re.compile(r'[{}]|"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outermost:
    """The values in a text that are no part of another one.

    Attributes:
        found: the valid and the repaired ones, in order.
        is_broken: the search ended before the text did, at a value that is cut or has several readings.
        broken_at: index of that value, -1 where there is none.
    """

    found: tuple[Repair, ...]
    is_broken: bool = False
    broken_at: int = -1


def repair_objects(text: str) -> Outermost:
    """Make strict JSON of the objects in a text, whatever stands around them.

    Only objects that are no part of another one are looked at. The inside of a broken or a cut object
    is none of the answer, so the search ends there; a brace with no key behind it is prose.

    Args:
        text: any text, without reasoning.
    """
    return _outermost(text, _OBJECT)


def repair_arrays(text: str) -> Outermost:
    """Make strict JSON of the arrays in a text, whatever stands around them.

    As `repair_objects`; an array inside of an object is a part of that.

    Args:
        text: any text, without reasoning.
    """
    every = _outermost(text, _CONTAINER)
    arrays = (one for one in every.found if one.text.startswith("["))
    return Outermost(found=tuple(arrays), is_broken=every.is_broken, broken_at=every.broken_at)


def _outermost(text: str, opening: re.Pattern[str]) -> Outermost:
    found: list[Repair] = []
    in_vain = 0
    begin = opening.search(text)
    while begin is not None and in_vain <= SEARCH_FACTOR * len(text):
        start = begin.start()
        end = strict_end(text, start)
        if end is not None:
            found.append(Repair(kind="valid", text=text[start:end]))
        else:
            scanner = LooseScanner(text, start)
            loose = scanner.run()
            if loose.kind == "complete":
                end = loose.end
                found.append(Repair(kind="repaired", text=loose.text, repairs=loose.repairs))
            elif loose.kind == "truncated" or loose.keyed:
                return Outermost(found=tuple(found), is_broken=True, broken_at=start)
            else:
                in_vain += scanner.work
                end = start + 1
        begin = opening.search(text, end)
    broken_at = begin.start() if begin is not None else -1
    return Outermost(found=tuple(found), is_broken=begin is not None, broken_at=broken_at)


def end_of_broken(text: str, start: int) -> int:
    """Where an object that can't be read seems to end, by its braces alone; -1 where that is not to be seen.

    For whoever looks for others behind it: what stands inside of it is none of the answer.

    Args:
        text: the text.
        start: index of its `{`.
    """
    depth = 0
    for match in _BRACE_OR_TEXT.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if not depth:
            return match.end()
    return -1


def is_truncation(text: str) -> bool:
    """Whether a text is the beginning of strict JSON: it stopped early, and nothing in it is wrong.

    For text that may be nearly JSON, ask `repair_json(text).kind` instead.

    Args:
        text: any text.
    """
    return scan_json(text).kind == "truncated"


def _is_last(text: str, end: int, *, closed: bool) -> bool:
    """Whether nothing that matters stands behind an index; behind a closing fence, prose does not."""
    return _ANOTHER.search(text, end) is None if closed else end == len(text)


def _names(outside: str) -> Iterator[str]:
    """What was dropped before or behind the object."""
    outside = outside.strip(_JSON_SPACE)
    for name, pattern in _DROPPED.items():
        if pattern.search(outside):
            yield name


_DROPPED: Final = {
    "fence": re.compile(_FENCE),
    "comment": re.compile(COMMENT),
    "blank": re.compile(r"[^\S \t\n\r]|[\ufeff\u200b-\u200f\u2060]"),
}
