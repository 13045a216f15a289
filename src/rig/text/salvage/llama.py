"""Llama 3 and 4: `<|python_tag|>{"name": .., "parameters": ..}`, several with `;` between. No I/O."""

from typing import Final

from rig.text.salvage.tagged import tagged

DIALECT: Final = tagged(
    "llama",
    ("<|python_tag|>", "<|python_start|>"),
    ("<|eom_id|>", "<|eot_id|>", "<|python_end|>", "<|eot|>", "<|eom|>"),
)
