"""Apertus: `<|tools_prefix|>[{"search": {"q": "x"}}]<|tools_suffix|>` (ollama/ollama 12738). No I/O."""

from typing import Final

from rig.text.salvage.tagged import tagged

DIALECT: Final = tagged("apertus", ("<|tools_prefix|>",), ("<|tools_suffix|>",))
