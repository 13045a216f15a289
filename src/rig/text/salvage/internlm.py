"""InternLM: `<|action_start|><|plugin|>{"name": .., "parameters": ..}<|action_end|>`. No I/O."""

from typing import Final

from rig.text.salvage.tagged import tagged

DIALECT: Final = tagged(
    "internlm", ("<|action_start|><|plugin|>", "<|action_start|> <|plugin|>"), ("<|action_end|>",)
)
