"""DeepSeek V3, R1 and V3.1: tokens with full-width bars and low blocks. No I/O.

V3 and R1 write the word function, the name, and the arguments in a fence; V3.1 name and arguments alone.
Servers replace the odd characters by ASCII, so both are read.
"""

import re
from itertools import product
from typing import Final

from rig.text.salvage.blocks import Block, Dialect
from rig.text.salvage.objects import Setting
from rig.text.salvage.source import Source
from rig.text.salvage.tokens import Slots, read_slots

_NAME: Final = "deepseek"
_BAR: Final = "[|\uff5c]"
_GAP: Final = "[_\u2581 ]"


def _spelled(*words: str) -> tuple[str, ...]:
    """The literal spellings of tokens."""
    return tuple(
        f"<{bar}{gap.join(word.split())}{bar}>"
        for word, bar, gap in product(words, ("\uff5c", "|"), ("\u2581", "_", " "))
    )


_OPENERS: Final = _spelled("tool call begin")
_SECTIONS: Final = _spelled("tool calls begin")
CLOSERS: Final = _spelled("tool call end", "tool calls end")
_SEPARATOR: Final = rf"<{_BAR}tool{_GAP}sep{_BAR}>"
_BEGIN: Final = rf"<{_BAR}tool{_GAP}call{_GAP}begin{_BAR}>"
_SLOTS: Final = Slots(
    head=re.compile(
        rf"{_BEGIN}\s*(?:function\s*{_SEPARATOR}\s*(?P<old>[\w.\-]{{1,128}})\s*(?=[`{{<])"
        rf"|(?P<name>[\w.\-]{{1,128}})\s*{_SEPARATOR})",
        re.IGNORECASE,
    ),
    prefix=re.compile(
        rf"{_BEGIN}\s*[\w.\-]{{0,128}}\s*(?:<[^<>]{{0,12}}(?:>\s*(?:[\w.\-]{{0,128}}\s*|<[a-z:]{{0,14}}))?)?",
        re.IGNORECASE,
    ),
    ends=CLOSERS,
)
_OF_STEP: Final = re.compile(
    rf"{_BEGIN}\s*function\s*{_SEPARATOR}\s*(?=<(?:steptml:)?invoke)", re.IGNORECASE
)
"""Step 3 has elements between these tokens."""


def _read(source: Source, start: int) -> Block | None:
    for opener in _SECTIONS:
        if source.lower.startswith(opener, start):
            return Block(
                end=start + len(opener), unfinished=start + len(opener) == len(source.text)
            )
    if wrapper := _OF_STEP.match(source.text, start):
        return Block(end=wrapper.end())
    setting = Setting(offer=source.offer, dialect=_NAME, certain=True)
    return read_slots(source, start, setting, _SLOTS)


DIALECT: Final = Dialect(name=_NAME, marks=(*_SECTIONS, *_OPENERS), read=_read, native=True)
