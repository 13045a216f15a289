"""GLM 4.5 and later: a name, then `<arg_key>` and `<arg_value>` in pairs. No I/O."""

import re
from typing import Final

from rig.text.coerce import coerce_text
from rig.text.duplicate_keys import DuplicateKind
from rig.text.salvage.blocks import Block, undecided
from rig.text.salvage.objects import Setting, keyed_call, more_doubled
from rig.text.salvage.source import Source

_NAME: Final = "glm"
_KEY: Final = re.compile(r"<arg_key>\s*([^<>]{1,128}?)\s*</arg_key>\s*<arg_value>", re.IGNORECASE)
_KEY_MARK: Final = "<arg_key>"
_VALUE_CLOSER: Final = "</arg_value>"

MAX_PAIRS: Final = 256
"""Parameters of one call."""


def is_pair_at(source: Source, start: int) -> bool:
    """Whether a key stands at an index, or the beginning of one at the end of the text."""
    rest = source.lower[start : start + len(_KEY_MARK)]
    return rest == _KEY_MARK or (
        len(rest) > 1 and start + len(rest) == len(source.text) and _KEY_MARK.startswith(rest)
    )


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
        end = _end_of_value(source, key.end(), closers)
        if end < 0:
            return cut
        value = source.text[key.end() : end]
        typed = coerce_text(value, known.get(key[1]))
        doubled = more_doubled(doubled, arguments, key[1], typed)
        arguments[key[1]] = typed
        position = source.skip_blanks(end + len(_VALUE_CLOSER))
    closer = next((one for one in closers if source.lower.startswith(one, position)), "")
    if not closer:
        at, closer = source.first_of(closers, position)
        ended = position == len(source.text) or at < 0
        return cut if ended else Block(end=at + len(closer), problem="malformed")
    glm = Setting(offer=setting.offer, dialect=_NAME, repairs=setting.repairs, certain=True)
    found = keyed_call(name, arguments, glm, doubled)
    return Block(end=position + len(closer), calls=found.calls, problem=found.problem)


def _end_of_value(source: Source, start: int, closers: tuple[str, ...]) -> int:
    """Where a value ends: at a closing tag behind which the call goes on or ends; -1 when cut."""
    search = start
    while (at := source.find(_VALUE_CLOSER, search)) >= 0 and not source.exhausted:
        after = source.skip_blanks(at + len(_VALUE_CLOSER))
        rest = source.lower[after : after + 32]
        if not rest or rest.startswith((_KEY_MARK, *closers)):
            return at
        if after + len(rest) == len(source.text) and any(
            mark.startswith(rest) for mark in (_KEY_MARK, *closers)
        ):
            return -1
        search = at + len(_VALUE_CLOSER)
    return -1
