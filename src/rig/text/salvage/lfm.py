"""LFM2: `<|tool_call_start|>[search(q="x")]<|tool_call_end|>`. No I/O."""

from typing import Final

from rig.text.salvage.tagged import tagged

DIALECT: Final = tagged("lfm", ("<|tool_call_start|>",), ("<|tool_call_end|>",))
