"""Kimi K2: `<|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{..}`. No I/O.

The name is part of the id. Some ids hold none (MoonshotAI/Kimi-K2 89): such a call can't be attributed,
whatever its arguments say.
"""

import re
from typing import Final

from rig.text.salvage.blocks import Block, Dialect
from rig.text.salvage.objects import Setting
from rig.text.salvage.source import Source
from rig.text.salvage.tokens import Slots, read_slots

_NAME: Final = "kimi"
SECTION_OPENERS: Final = ("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>")
SECTION_CLOSERS: Final = ("<|tool_calls_section_end|>", "<|tool_call_section_end|>")
_END: Final = "<|tool_call_end|>"
_SLOTS: Final = Slots(
    head=re.compile(
        r"<\|tool_call_begin\|>\s*(?P<name>[\w.\-]{1,128}(?::\d{1,6})?)\s*<\|tool_call_argument_begin\|>",
        re.IGNORECASE,
    ),
    prefix=re.compile(
        r"<\|tool_call_begin\|>\s*(?:[\w.\-]{1,128}(?::\d{0,6})?\s*(?:<[|\w]{0,30})?)?",
        re.IGNORECASE,
    ),
    ends=(_END, *SECTION_CLOSERS),
)


def _read(source: Source, start: int) -> Block | None:
    for opener in SECTION_OPENERS:
        if source.lower.startswith(opener, start):
            return Block(
                end=start + len(opener), unfinished=start + len(opener) == len(source.text)
            )
    setting = Setting(offer=source.offer, dialect=_NAME, certain=True)
    return read_slots(source, start, setting, _SLOTS)


CLOSERS: Final = (_END, *SECTION_CLOSERS)
DIALECT: Final = Dialect(
    name=_NAME, marks=(*SECTION_OPENERS, "<|tool_call_begin|>"), read=_read, native=True
)
