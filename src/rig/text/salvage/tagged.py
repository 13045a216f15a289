"""Dialects that put their calls between two tags. No I/O."""

from rig.text.salvage.blocks import Block, Dialect
from rig.text.salvage.objects import Setting
from rig.text.salvage.payload import read_payload
from rig.text.salvage.source import Source


def tagged(name: str, openers: tuple[str, ...], closers: tuple[str, ...]) -> Dialect:
    """A dialect of tags.

    Args:
        name: its name.
        openers: what opens calls, in lower case.
        closers: what closes them, in lower case; any of them, since models mix them up, and none is
            fine, since it may be a stop token (lablup/mlxcel 654).
    """

    def read(source: Source, start: int) -> Block | None:
        opener = next(one for one in by_length if source.lower.startswith(one, start))
        setting = Setting(offer=source.offer, dialect=name, certain=True)
        return read_payload(source, start + len(opener), setting, closers)

    by_length = sorted(openers, key=len, reverse=True)
    return Dialect(name=name, marks=openers, read=read, native=True)
