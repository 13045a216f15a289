"""The arguments of a tool call as a model wrote them: one JSON object, or why there is none. No I/O.

Drops what is recognisably not the model's: remains of fences, labels, comments and special tokens around
one whole object. Inside of it, what is no JSON is repaired where it has one reading. Never closes what
is open, so a cut object stays cut, and never chooses: where a second object or any other text stands, the
model is to be told.
"""

import re
from typing import Final, Literal

from rig.late_dataclass import dataclass
from rig.text.duplicate_keys import DUPLICATE_KEY, duplicate_keys, without_duplicates
from rig.text.json_builder import build_json
from rig.text.json_loose import COMMENT, Loose, scan_loose
from rig.text.json_scanner import scan_json

ArgumentsKind = Literal["object", "truncated", "malformed"]

# What occurs around whole objects in public reports. A special token may itself be cut short; the
# bars of DeepSeek's are U+FF5C, the blanks U+2581.
_SPECIAL = (
    r"<\|[\w\-]{1,40}\|?>?|<\uff5c[\w\-\u2581]{1,40}(?:\uff5c>?)?"
    r"|</[A-Za-z_][\w:.\-]{0,40}>?|\[/[A-Z_]{1,20}\]?"
    r"|<(?:s|bos|eos|pad|(?:start|end)_(?:of_turn|function_call)|tool_call|function_call|tool_call\|)>"
)
_BLANKS = r"(?P<space>[ \t\n\r]+)|(?P<blank>[\s\ufeff\u200b]+)"
_LEADING = re.compile(
    rf"{_BLANKS}|(?P<fence>`{{3,8}}|~{{3,8}})|(?P<label>(?:json[5cl]?|JSON)\b:?)"
    rf"|(?P<special_token>{_SPECIAL})|(?P<comment>{COMMENT})"
)
_TRAILING = re.compile(
    rf"{_BLANKS}|(?P<fence>`{{1,8}}|~{{3,8}})|(?P<stray_closer>[\]}}]+)"
    rf"|(?P<special_token>{_SPECIAL}|</?\Z|<[|\uff5c]?\Z)|(?P<comment>{COMMENT})"
)

MAX_UNWRAPS: Final = 1
"""Times a JSON string is opened to find the object: servers encode arguments twice
(vllm-project/vllm#25729); three times has not been reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What a call's arguments are.

    Attributes:
        kind: object; truncated (the end is missing: max_tokens or a stop string cut the call, do
            not run it); malformed (anything else: tell the model).
        text: for object the JSON text of that object, not re-encoded; else the text as it came.
        repairs: what was removed or repaired, in order and once each. Around the object: label,
            fence, comment, special_token, stray_closer, blank (characters JSON does not know as
            blanks), unwrapped (it was a JSON string that held the object). Inside: the names of
            `rig.text.json_loose.LooseScanner`, and duplicate_key: a key that stood twice with equal values.
        ambiguous: they are malformed only because a key stands twice with different values: which one was
            meant can't be told.
    """

    kind: ArgumentsKind
    text: str
    repairs: tuple[str, ...] = ()
    ambiguous: bool = False


def read_arguments(text: str) -> Arguments:
    """Read the arguments of one call.

    Blank text means no arguments, `{}`. A whole strict object comes back unchanged, with its own
    whitespace; only what is none is repaired, and the result is strict. Strict excludes NaN, Infinity,
    unpaired surrogates and what `rig.text.json_scanner` bounds.

    It differs from `rig.text.repair_json` in two places. A bracket too many behind the object is debris
    here: the field of a call holds its arguments and nothing else, and servers leave one there. In a text of
    any origin it may be the end of an object whose beginning was lost. And prose behind a closing fence is
    an error here, which the model is told of, where a reply may well go on behind its answer.

    Args:
        text: the `arguments` of a call, or of a call found in a text.

    Returns:
        The object's text, or why there is none.
    """
    read = _read(text, unwraps=MAX_UNWRAPS)
    if read.kind != "object":
        return Arguments(kind=read.kind, text=text)
    doubled = duplicate_keys(read.text)
    if doubled == "different":
        return Arguments(kind="malformed", text=text, ambiguous=True)
    if doubled == "equal":
        repairs = (*read.repairs, DUPLICATE_KEY)
        return Arguments(kind="object", text=without_duplicates(read.text), repairs=repairs)
    return read


def _read(text: str, *, unwraps: int) -> Arguments:
    if not text.strip():
        return Arguments(kind="object", text="{}")
    start, repairs = _debris(_LEADING, text, 0)
    opener = text[start : start + 1]
    if opener != "{" and not (opener == '"' and unwraps):
        return Arguments(kind="malformed", text=text)
    value = _value(text, start)
    if value.kind != "complete":
        return Arguments(kind=value.kind, text=text)
    end, more = _debris(_TRAILING, text, value.end)
    if end < len(text):
        return Arguments(kind="malformed", text=text)
    repairs = tuple(dict.fromkeys((*repairs, *value.repairs, *more)))
    inside = value.text
    if opener == '"':
        return _unwrap(inside, repairs, unwraps=unwraps)
    return Arguments(kind="object", text=inside if repairs else text, repairs=repairs)


def _value(text: str, start: int) -> Loose:
    """The object or string at an index, mended where it is no JSON."""
    scan = scan_json(text, start)
    if scan.kind == "malformed" and not scan.too_deep and text[start] == "{":
        return scan_loose(text, start)
    return Loose(kind=scan.kind, end=scan.end, text=text[start : scan.end])


def _debris(pattern: re.Pattern[str], text: str, position: int) -> tuple[int, tuple[str, ...]]:
    """Return where debris ends, and what it was."""
    kinds: list[str] = []
    while match := pattern.match(text, position):
        position = match.end()
        if match.lastgroup and match.lastgroup != "space":
            kinds.append(match.lastgroup)
    return position, tuple(kinds)


def _unwrap(literal: str, repairs: tuple[str, ...], *, unwraps: int) -> Arguments:
    read = _read(str(build_json(literal)), unwraps=unwraps - 1)
    found = tuple(dict.fromkeys((*repairs, "unwrapped", *read.repairs)))
    return Arguments(kind=read.kind, text=read.text, repairs=found)
