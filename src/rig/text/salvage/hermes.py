"""Hermes, Qwen and GLM: `<tool_call>{"name": .., "arguments": ..}</tool_call>`. No I/O.

What stands between the tags varies more than the tags: an object, several, a list, a name with pairs of
keys and values, or another dialect, for which these tags are only a wrapper.
"""

import re
from typing import Final

from rig.text.salvage.blocks import Block, Dialect, undecided
from rig.text.salvage.elements import ASIDE
from rig.text.salvage.objects import Setting
from rig.text.salvage.payload import read_payload
from rig.text.salvage.source import Source
from rig.text.salvage.tagged import tagged

_NAMES: Final = (
    "tool_call",
    "tool_calls",
    "toolcall",
    "toolcalls",
    "function_call",
    "function_calls",
    "functioncall",
    "tool_use",
    "minimax:tool_call",
    "antml:function_calls",
    "seed:tool_call",
    "steptml:tool_call",
    "longcat_tool_call",
    "\uff5cdsml\uff5cfunction_calls",
    "|dsml|function_calls",
    "\uff5cdsml\uff5ctool_calls",
    "|dsml|tool_calls",
)

OPENERS: Final = tuple(f"<{name}>" for name in _NAMES)
CLOSERS: Final = tuple(f"</{name}>" for name in _NAMES)

_NAME: Final = "hermes"
_ANY: Final = "|".join(map(re.escape, _NAMES))
_WITH_ASIDES: Final = re.compile(rf"<(?:{_ANY}){ASIDE}{{1,4}}\s{{0,8}}>", re.IGNORECASE)
_ASIDES_PREFIX: Final = re.compile(
    rf"<(?:{_ANY}){ASIDE}{{0,4}}(?:\s{{1,8}}[a-z_]{{0,12}}(?:\s{{0,2}}=\s{{0,2}}[\"']?[\w.\-]{{0,128}})?)?",
    re.IGNORECASE,
)


def _read_with_asides(source: Source, start: int) -> Block | None:
    """`<tool_call id="1">`, as models write it that have read of ids."""
    opener = _WITH_ASIDES.match(source.text, start)
    source.charge(len(opener[0]) if opener else 0)
    if opener is None:
        cut = _ASIDES_PREFIX.fullmatch(source.text, start)
        return undecided(source, certain=False) if cut else None
    setting = Setting(offer=source.offer, dialect=_NAME, certain=True)
    return read_payload(source, opener.end(), setting, CLOSERS)


DIALECT: Final = tagged(_NAME, OPENERS, CLOSERS)
ASIDES: Final = Dialect(
    name=_NAME, marks=tuple(f"<{name} " for name in _NAMES), read=_read_with_asides, native=True
)
