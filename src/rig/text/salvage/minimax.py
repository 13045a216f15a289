"""`<invoke name="NAME">` with `<parameter name="KEY">`: MiniMax M2, Kimi, DeepSeek's DSML, Grok. No I/O.

Grok calls the element `<xai:function_call>` (anomalyco/opencode 2288).

The wrapper around the calls, `<minimax:tool_call>` or `<function_calls>`, is often left out
(NousResearch/hermes-agent 7332).
"""

import re
from typing import Final

from rig.text.salvage.blocks import Block, Dialect, undecided
from rig.text.salvage.elements import NAMED, Elements, read_element
from rig.text.salvage.objects import Setting
from rig.text.salvage.payload import read_payload
from rig.text.salvage.source import Source

_NAME: Final = "minimax"
_FLAGS: Final = re.IGNORECASE
_SPACE: Final = r"(?:[a-z]{1,16}:|[|\uff5c]dsml[|\uff5c])?"
_SPACES: Final = ("", "antml:", "minimax:", "steptml:", "\uff5cdsml\uff5c", "|dsml|")
_GROK: Final = "xai:function_call"
_TAGS: Final = Elements(
    call=re.compile(
        rf"<(?:{_SPACE}invoke|{_GROK}){NAMED}(?P<name>[\w.\-:]{{1,128}})[\"']?[^<>]{{0,64}}>",
        _FLAGS,
    ),
    call_prefix=re.compile(rf"<(?:{_SPACE}invoke|{_GROK})(?:\s[\w.\-:=\"'\s]{{0,160}})?", _FLAGS),
    parameter=re.compile(
        rf"<{_SPACE}(?:parameter|param|argument|arg){NAMED}(?P<name>[^\"'<>\s]{{1,128}})[\"']?[^<>]{{0,64}}>",
        _FLAGS,
    ),
    parameter_closers=(
        *(f"</{space}parameter>" for space in (*_SPACES, "xai:")),
        "</param>",
        "</argument>",
        "</arg>",
    ),
    call_closers=(*(f"</{space}invoke>" for space in _SPACES), f"</{_GROK}>"),
)
_BARE: Final = re.compile(rf"<{_SPACE}invoke>", _FLAGS)
"""Without a name, which follows in an element of its own: `<tool_name>NAME</tool_name><parameters>`."""


def _read(source: Source, start: int) -> Block | None:
    setting = Setting(offer=source.offer, dialect=_NAME, certain=True)
    if bare := _BARE.match(source.text, start):
        body = source.skip_blanks(bare.end())
        if body == len(source.text):
            return undecided(source, certain=False)
        if source.text[body] not in "<{":
            return None
        return read_payload(source, bare.end(), setting, _TAGS.call_closers)
    return read_element(source, start, setting, _TAGS)


DIALECT: Final = Dialect(
    name=_NAME,
    marks=(*(f"<{space}invoke" for space in _SPACES), f"<{_GROK}"),
    read=_read,
    native=True,
)
