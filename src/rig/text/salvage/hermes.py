"""Hermes, Qwen and GLM: `<tool_call>{"name": .., "arguments": ..}</tool_call>`. No I/O.

What stands between the tags varies more than the tags: an object, several, a list, a name with pairs of
keys and values, or another dialect, for which these tags are only a wrapper.
"""

from typing import Final

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
)

OPENERS: Final = tuple(f"<{name}>" for name in _NAMES)
CLOSERS: Final = tuple(f"</{name}>" for name in _NAMES)

DIALECT: Final = tagged("hermes", OPENERS, CLOSERS)
