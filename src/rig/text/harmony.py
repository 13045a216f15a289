"""Message headers of the harmony format: `<|start|>assistant<|channel|>final<|message|>`. No I/O.

Source: https://cookbook.openai.com/articles/openai-harmony. Servers drop parts of a header in
detokenisation (lablup/mlxcel#654), so all of it but `<|message|>` and one of `<|start|>` and
`<|channel|>` is optional. Other roles than assistant are text: a reply has no business with them.
"""

import re
from typing import Literal

from rig.late_dataclass import dataclass

MAX_RUN_CHARS = 160
"""Characters of plain text between two markers of a header. The longest honest run is a recipient,
`commentary to=functions.NAME json`, and tool names have 64 characters."""

_MARKERS = ("<|end|>", "<|start|>", "<|channel|>", "<|constrain|>", "<|message|>")
_CHANNELS = ("analysis", "commentary", "final")
_RUN = rf"[\w\s.=:/-]{{0,{MAX_RUN_CHARS}}}"
_WORDS = rf"\b{_RUN}"
_FLAGS = re.IGNORECASE | re.ASCII
_HEADER = re.compile(
    rf"(?:<\|end\|>\s{{0,8}})?(?P<start><\|start\|>\s?assistant{_WORDS})?"
    rf"(?:<\|channel\|>\s?(?P<channel>(?:{'|'.join(_CHANNELS)}){_WORDS}))?"
    rf"(?:<\|constrain\|>\s?\w{_RUN})?<\|message\|>",
    _FLAGS,
)


def _cut(*words: str) -> str:
    """Return a pattern for the beginnings of words, where the text ends inside of one."""
    beginnings = {word[:length] for word in words for length in range(len(word))}
    return rf"(?:{'|'.join(map(re.escape, sorted(beginnings, key=len, reverse=True)))})\Z"


# Everything a header can be before its `<|message|>` has arrived in full.
_HEADER_PREFIX = re.compile(
    rf"(?:<\|end\|>\s{{0,8}})?"
    rf"(?:<\|start\|>\s?(?:assistant{_WORDS}|{_cut('assistant')}))?"
    rf"(?:<\|channel\|>\s?(?:(?:{'|'.join(_CHANNELS)}){_WORDS}|{_cut(*_CHANNELS)}))?"
    rf"(?:<\|constrain\|>\s?(?:\w{_RUN}|\Z))?"
    rf"(?:{_cut(*_MARKERS)})?",
    _FLAGS,
)

MessageKind = Literal["thought", "answer", "preamble", "call"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """One complete message header.

    Attributes:
        kind: thought (analysis), answer (final or no channel), preamble (any other channel), or
            call (any channel with a recipient).
        end: index after its `<|message|>`.
    """

    kind: MessageKind
    end: int


def match_header(text: str, start: int) -> Header | None:
    """Return the complete header that begins at an index, None when there is none."""
    match = _HEADER.match(text, start)
    if match is None or (match["start"] is None and match["channel"] is None):
        return None
    channel = (match["channel"] or "").strip().lower()
    return Header(kind=_kind(channel, (match["start"] or "").lower()), end=match.end())


def may_be_header(text: str, start: int) -> bool:
    """Tell whether all text from an index on may be the beginning of a header."""
    return _HEADER_PREFIX.fullmatch(text, start) is not None


def _kind(channel: str, start: str) -> MessageKind:
    if "to=" in channel or "to=" in start:
        return "call"
    if channel.startswith("analysis"):
        return "thought"
    return "answer" if not channel or channel.startswith("final") else "preamble"
