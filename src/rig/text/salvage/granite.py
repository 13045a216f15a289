"""Granite 3 and Phi-4-mini: `<|tool_call|>` before a list; and their relatives' tokens. No I/O."""

from typing import Final

from rig.text.salvage.tagged import tagged

DIALECT: Final = tagged(
    "granite",
    ("<|tool_call|>",),
    ("<|/tool_call|>", "</|tool_call|>", "<|end_of_text|>"),
)
