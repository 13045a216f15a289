"""Qwen-Agent's older template: a flower, FUNCTION and the name, a flower, ARGS and an object. No I/O."""

import re
from typing import Final

from rig.text.salvage.blocks import Block, Dialect
from rig.text.salvage.objects import Setting
from rig.text.salvage.source import Source
from rig.text.salvage.tokens import Slots, read_slots

_NAME: Final = "qwen_agent"
_FLOWER: Final = "\u273f"
_SLOTS: Final = Slots(
    head=re.compile(
        rf"{_FLOWER}FUNCTION{_FLOWER}\s?:\s?(?P<name>[\w.\-]{{1,128}})\s+{_FLOWER}ARGS{_FLOWER}\s?:",
        re.IGNORECASE,
    ),
    prefix=re.compile(
        rf"{_FLOWER}FUNCTION{_FLOWER}\s?:?\s?[\w.\-]{{0,128}}\s*(?:{_FLOWER}[A-Z]{{0,4}}{_FLOWER}?)?\s?:?",
        re.IGNORECASE,
    ),
    ends=(),
)


def _read(source: Source, start: int) -> Block | None:
    setting = Setting(offer=source.offer, dialect=_NAME, certain=True)
    return read_slots(source, start, setting, _SLOTS)


DIALECT: Final = Dialect(
    name=_NAME, marks=(f"{_FLOWER}function{_FLOWER}",), read=_read, native=True
)
