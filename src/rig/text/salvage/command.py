"""Cohere's Command R7B and A: `<|START_ACTION|>[{"tool_name": .., "parameters": ..}]`. No I/O."""

from typing import Final

from rig.text.salvage.tagged import tagged

DIALECT: Final = tagged("command", ("<|start_action|>",), ("<|end_action|>",))
