"""Qwen3-Coder and Functionary 3.1: `<function=NAME>`, with parameters or with an object. No I/O."""

import re
from typing import Final

from rig.text.salvage.blocks import Block, Dialect
from rig.text.salvage.elements import NAMED, Elements, read_element
from rig.text.salvage.objects import Setting
from rig.text.salvage.source import Source

_NAME: Final = "qwen_coder"
_FLAGS: Final = re.IGNORECASE | re.ASCII
_TAGS: Final = Elements(
    call=re.compile(
        rf"<function{NAMED}(?P<name>[\w.\-:]{{1,128}})[\"']?\s{{0,8}}(?:>|,?(?=\s?\{{))", _FLAGS
    ),
    call_prefix=re.compile(r"<function(?:[=\s][\w.\-:=\"'\s]{0,160},?)?", _FLAGS),
    parameter=re.compile(
        rf"<(?:parameter|param|arg){NAMED}(?P<name>[^\"'<>\s]{{1,128}})[\"']?\s{{0,8}}>", _FLAGS
    ),
    parameter_closers=("</parameter>", "</param>", "</arg>"),
    call_closers=("</function>", "</tool_call>"),
)


def _read(source: Source, start: int) -> Block | None:
    setting = Setting(offer=source.offer, dialect=_NAME, certain=True)
    return read_element(source, start, setting, _TAGS)


DIALECT: Final = Dialect(
    name=_NAME, marks=("<function=", "<function name"), read=_read, native=True
)
