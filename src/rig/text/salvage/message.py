"""Messages that are nothing but calls, without anything that marks them. No I/O.

Python's spelling has no mark at all; of other dialects the opening one gets lost more often than the
closing one (QwenLM/Qwen3-Coder 475, ai-dynamo/dynamo 10725).
"""

import re
from collections.abc import Mapping
from typing import Final, cast

from rig.text.salvage import glm, hermes, mistral
from rig.text.salvage.bare_json import read_python_message
from rig.text.salvage.blocks import Block, undecided
from rig.text.salvage.json_values import read_value
from rig.text.salvage.objects import Setting, named_call
from rig.text.salvage.source import Source

_HEAD: Final = re.compile(
    r"(?P<name>[A-Za-z_][\w.\-]{0,127})\s{0,8}(?:(?P<args>\[(?:ARGS|CALL_ID)\])|(?P<pair><(?:longcat_)?arg_key>)|(?P<object>\{))",
    re.IGNORECASE,
)
_PREFIX: Final = re.compile(
    r"(?P<name>[A-Za-z_][\w.\-]{0,127})\s{0,8}(?:\[[A-Z_]{0,7}\]?|<[a-z_]{0,15}>?)?",
    re.IGNORECASE,
)


def read_message(source: Source, start: int) -> Block | None:
    """Read a message that is a call from its first character on.

    Args:
        source: the text.
        start: index of that character.

    Returns:
        None when it begins with anything else; a block without calls that is unfinished while that
        can't be told.
    """
    block = read_python_message(source, start)
    if block is not None:
        return block
    head = _HEAD.match(source.text, start)
    source.charge(64)
    if head is None:
        prefix = _PREFIX.fullmatch(source.text, start)
        maybe = prefix is not None and bool(source.offer.find(prefix["name"]))
        return undecided(source, certain=False) if maybe else None
    name = source.offer.find(head["name"])
    if not name:
        return None
    if head["args"]:
        return mistral.read_slots(source, start)
    setting = Setting(offer=source.offer, dialect="glm", certain=True)
    if head["object"]:
        return _read_object(source, head.end("object") - 1, name, setting)
    return glm.read_pairs(source, head.start("pair"), name, setting, hermes.CLOSERS)


def _read_object(source: Source, start: int, name: str, setting: Setting) -> Block | None:
    """GLM 4 writes a name and, on the next line, the object: all of it parameters, and nothing behind it."""
    value = read_value(source, start, loose=False)
    if value.kind == "truncated":
        return undecided(source, certain=False)
    if value.kind == "malformed" or source.text[value.end :].strip():
        return None
    given = cast("Mapping[str, object]", value.value)
    if not given or not given.keys() <= source.offer.properties(name).keys():
        return None
    found = named_call(name, given, setting)
    return Block(end=value.end, calls=found.calls)
