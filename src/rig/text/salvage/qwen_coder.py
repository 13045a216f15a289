"""Qwen3-Coder and Functionary 3.1: `<function=NAME>`, with parameters or with an object. No I/O.

The tag is spelled in many ways: `<function(NAME)>`, `<function:NAME>`, `<tool name="NAME">`.
"""

import re
from dataclasses import replace
from typing import Final

from rig.text.salvage.blocks import Block, Dialect
from rig.text.salvage.elements import ASIDE, NAMED, Elements, read_element
from rig.text.salvage.objects import Setting
from rig.text.salvage.source import Source

_NAME: Final = "qwen_coder"
_KEY: Final = "name"
_FLAGS: Final = re.IGNORECASE | re.ASCII
_WORDS: Final = ("function", "function_call", "tool_call", "tool_use", "tool", "call", "action")
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
_ODD: Final = replace(
    _TAGS,
    call=re.compile(
        rf"<(?P<word>{'|'.join(_WORDS)}){ASIDE}{{0,4}}(?:\s{{0,4}}\(\s{{0,4}}|:|=|\s{{1,8}}(?:name\s{{0,4}}[=:]\s{{0,4}})?)"
        rf"[\"']?(?P<name>[\w.\-]{{1,128}})[\"']?{ASIDE}{{0,4}}\s{{0,4}}\)?\s{{0,4}}>",
        _FLAGS,
    ),
    call_prefix=re.compile(
        rf"<(?:{'|'.join(_WORDS)}){ASIDE}{{0,4}}(?:[(:=\s][(:=\s\"']{{0,8}}(?:name[=:\s\"']{{1,8}})?(?P<name>[\w.\-]{{0,128}})[\"')\s]{{0,8}})?",
        _FLAGS,
    ),
)


def _read(source: Source, start: int) -> Block | None:
    setting = Setting(offer=source.offer, dialect=_NAME, certain=True)
    return read_element(source, start, setting, _TAGS)


def _read_odd(source: Source, start: int) -> Block | None:
    """Other spellings, only of offered tools: no template teaches them, and pages are full of tags."""
    setting = Setting(offer=source.offer, dialect=_NAME, certain=True)
    opener = _ODD.call.match(source.text, start)
    source.charge(64)
    if opener is None:
        prefix = _ODD.call_prefix.fullmatch(source.text, start)
        begun = (prefix["name"] or "") if prefix else ""
        if prefix is None or not (source.offer.may_begin(begun) or _KEY.startswith(begun.lower())):
            return None
        return read_element(source, start, setting, _ODD)
    name = source.offer.find(opener["name"])
    if not name:
        return None
    word, written = opener["word"].lower(), opener["name"].lower()
    closers = (
        f"</{word}>",
        f"</{word}:{written}>",
        f"</{word}({written})>",
        f"</{word}={written}>",
    )
    tags = replace(_ODD, call_closers=(*dict.fromkeys((*closers, *_TAGS.call_closers)),))
    return read_element(source, start, setting, tags)


DIALECT: Final = Dialect(
    name=_NAME, marks=("<function=", "<function name"), read=_read, native=True
)
ODD: Final = Dialect(
    name=_NAME,
    marks=tuple(f"<{word}{sign}" for word in _WORDS for sign in (":", "(", "=", " ")),
    read=_read_odd,
)
