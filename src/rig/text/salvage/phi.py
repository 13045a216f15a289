"""Phi-4-mini: `functools[{"name": .., "arguments": ..}]`. No I/O."""

from typing import Final

from rig.text.salvage.blocks import Block, Dialect
from rig.text.salvage.objects import Setting
from rig.text.salvage.payload import read_objects
from rig.text.salvage.source import Source

_NAME: Final = "phi"
_MARK: Final = "functools["


def _read(source: Source, start: int) -> Block | None:
    if not source.is_line_start(start):
        return None
    setting = Setting(offer=source.offer, dialect=_NAME, certain=True)
    first = source.skip_blanks(start + len(_MARK))
    if first == len(source.text):
        return Block(end=first, problem="truncated", unfinished=True)
    if source.text[first] not in "{]":
        return None
    return read_objects(source, start + len(_MARK) - 1, setting, ())


DIALECT: Final = Dialect(name=_NAME, marks=(_MARK,), read=_read)
