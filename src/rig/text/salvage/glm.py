"""GLM 4.5 and later, LongCat: a name, then `<arg_key>` and `<arg_value>` in pairs. No I/O."""

import re
from typing import Final

from rig.text.coerce import coerce_text
from rig.text.duplicate_keys import DuplicateKind
from rig.text.salvage.blocks import Block, undecided
from rig.text.salvage.objects import Setting, keyed_call, more_doubled
from rig.text.salvage.source import Source

_NAME: Final = "glm"
_KEY: Final = re.compile(
    r"<(?P<space>(?:longcat_)?)arg_key>\s*(?P<key>[^<>]{1,128}?)\s*</(?P=space)arg_key>\s*<(?P=space)arg_value>",
    re.IGNORECASE,
)
_KEY_MARKS: Final = ("<arg_key>", "<longcat_arg_key>")

MAX_PAIRS: Final = 256
"""Parameters of one call."""


def is_pair_at(source: Source, start: int) -> bool:
    """Whether a key stands at an index, or the beginning of one at the end of the text."""
    rest = source.lower[start : start + len(_KEY_MARKS[-1])]
    at_end = len(rest) > 1 and start + len(rest) == len(source.text)
    return any(rest.startswith(one) or (at_end and one.startswith(rest)) for one in _KEY_MARKS)


def read_pairs(
    source: Source, start: int, name: str, setting: Setting, closers: tuple[str, ...]
) -> Block:
    """Read the arguments of a call whose name stands before them.

    Args:
        source: the text.
        start: index of the first key.
        name: the tool, "" when it is not offered.
        setting: how they are looked at.
        closers: what ends the call, in lower case. One has to come: values and calls look alike
            when they are cut.
    """
    known = source.offer.properties(name)
    arguments: dict[str, object] = {}
    doubled: DuplicateKind = "none"
    cut = undecided(source)
    position = start
    while (key := _KEY.match(source.text, position)) and len(arguments) < MAX_PAIRS:
        value_closer = f"</{key['space'].lower()}arg_value>"
        end = _end_of_value(source, key.end(), value_closer, closers)
        if end < 0:
            return cut
        value = source.text[key.end() : end]
        typed = coerce_text(value, known.get(key["key"]))
        doubled = more_doubled(doubled, arguments, key["key"], typed)
        arguments[key["key"]] = typed
        position = source.skip_blanks(end + len(value_closer))
    closer = next((one for one in closers if source.lower.startswith(one, position)), "")
    if not closer:
        at, closer = source.first_of(closers, position)
        ended = position == len(source.text) or at < 0
        return cut if ended else Block(end=at + len(closer), problem="malformed")
    glm = Setting(offer=setting.offer, dialect=_NAME, repairs=setting.repairs, certain=True)
    found = keyed_call(name, arguments, glm, doubled)
    return Block(end=position + len(closer), calls=found.calls, problem=found.problem)


def _end_of_value(source: Source, start: int, value_closer: str, closers: tuple[str, ...]) -> int:
    """Where a value ends: at a closing tag behind which the call goes on or ends; -1 when cut."""
    search = start
    while (at := source.find(value_closer, search)) >= 0 and not source.exhausted:
        after = source.skip_blanks(at + len(value_closer))
        rest = source.lower[after : after + 32]
        if not rest or rest.startswith((*_KEY_MARKS, *closers)):
            return at
        if after + len(rest) == len(source.text) and any(
            mark.startswith(rest) for mark in (*_KEY_MARKS, *closers)
        ):
            return -1
        search = at + len(value_closer)
    return -1
