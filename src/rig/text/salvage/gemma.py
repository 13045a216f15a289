"""Gemma: a `tool_code` block of Python, or its own `call:NAME{..}` between tokens. No I/O."""

import re
from typing import Final

from rig.text.salvage.blocks import Block, Dialect, undecided
from rig.text.salvage.loose_object import read_loose_call
from rig.text.salvage.objects import Setting
from rig.text.salvage.pythonic import read_python_calls
from rig.text.salvage.source import Source
from rig.text.salvage.tagged import tagged

_NAME: Final = "gemma"
_HEAD: Final = re.compile(r"tool_code[ \t]*(?:=[ \t]*|\r?\n\s*)", re.IGNORECASE)
_BARE: Final = re.compile(r"call:(?P<name>[\w.\-]{1,128})\s{0,4}(?=\{)", re.IGNORECASE)
_BARE_PREFIX: Final = re.compile(r"call:(?P<name>[\w.\-]{0,128})\s{0,4}", re.IGNORECASE)


def _read_code(source: Source, start: int) -> Block | None:
    """`tool_code = f(..)` and `print(tool_code)`, without a fence (waybarrios/vllm-mlx 623)."""
    if not source.is_line_start(start):
        return None
    head = _HEAD.match(source.text, start)
    if head is None or head.end() == len(source.text):
        cut = re.fullmatch(r"tool_code[ \t]*(?:=|\n)?\s*", source.text[start : start + 64])
        return undecided(source) if cut else None
    block = read_python_calls(
        source, head.end(), Setting(offer=source.offer, dialect=_NAME, certain=True), "", code=True
    )
    return block if block is not None and (block.calls or block.problem == "truncated") else None


def _read_bare(source: Source, start: int) -> Block | None:
    """`call:NAME{..}` on a line of its own: servers that hide special tokens hide the ones around it."""
    if not source.is_line_start(start):
        return None
    head = _BARE.match(source.text, start)
    if head is None:
        cut = _BARE_PREFIX.fullmatch(source.text, start)
        maybe = cut is not None and source.offer.may_begin(cut["name"])
        return undecided(source, certain=False) if maybe else None
    if head["name"] not in source.offer:
        return None
    setting = Setting(offer=source.offer, dialect=_NAME, certain=True)
    block = read_loose_call(source, head.start("name"), setting)
    return block if block and (block.calls or block.unfinished) else None


CODE: Final = Dialect(name=_NAME, marks=("tool_code",), read=_read_code)

TOKENS: Final = tagged(
    _NAME, ("<|tool_call>", "<start_function_call>"), ("<tool_call|>", "<end_function_call>")
)

TAG: Final = tagged(_NAME, ("<tool_code>",), ("</tool_code>",))
BARE: Final = Dialect(name=_NAME, marks=("call:",), read=_read_bare)
