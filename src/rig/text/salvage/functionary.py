"""Functionary: `>>>NAME` and its arguments below, or `<|recipient|>NAME<|content|>`. No I/O."""

import re
from typing import Final

from rig.text.salvage.blocks import Block, Dialect, undecided
from rig.text.salvage.objects import Setting
from rig.text.salvage.payload import read_named_object
from rig.text.salvage.source import Source

_NAME: Final = "functionary"
_ARROWS: Final = re.compile(r">>>(?P<name>[\w.\-]{1,128})[ \t]*\r?\n\s*(?=\{)")
_ARROWS_PREFIX: Final = re.compile(r">>>(?P<name>[\w.\-]{0,128})[ \t]*\r?\n?\s*")
_TOKENS: Final = re.compile(
    r"(?:<\|from\|>\s?assistant\s*)?<\|recipient\|>\s?(?P<name>[\w.\-]{1,128})\s*<\|content\|>\s*(?=\{)",
    re.IGNORECASE,
)
_TOKENS_PREFIX: Final = re.compile(
    r"(?:<\|from\|>[\sa-z]{0,24})?(?:<\|recipient\|>\s?(?P<name>[\w.\-]{0,128})\s*)?(?:<[|a-z]{0,14}>?)?\s*",
    re.IGNORECASE,
)


def _read_arrows(source: Source, start: int) -> Block | None:
    # Behind another call the model's template has no line break.
    if not source.is_line_start(start) and not source.text.endswith("}", 0, start):
        return None
    return _read(source, start, _ARROWS, _ARROWS_PREFIX)


def _read_tokens(source: Source, start: int) -> Block | None:
    return _read(source, start, _TOKENS, _TOKENS_PREFIX)


def _read(
    source: Source, start: int, head: re.Pattern[str], prefix: re.Pattern[str]
) -> Block | None:
    match = head.match(source.text, start)
    source.charge(64)
    if match is None:
        cut = prefix.fullmatch(source.text, start)
        named = cut is not None and bool(source.offer.find(cut["name"]))
        return None if cut is None else undecided(source, certain=named)
    name = source.offer.find(match["name"])
    if not name and match["name"] == "all":
        return None
    setting = Setting(offer=source.offer, dialect=_NAME, certain=True)
    return read_named_object(source, match.end(), name, setting, ("<|stop|>", "<|eot_id|>"))


ARROWS: Final = Dialect(name=_NAME, marks=(">>>",), read=_read_arrows)
TOKENS: Final = Dialect(
    name=_NAME, marks=("<|from|>assistant", "<|recipient|>"), read=_read_tokens, native=True
)
