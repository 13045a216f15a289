"""What a text shows instead of doing: code blocks, quotes, examples. No I/O."""

import re
from typing import Final

from rig.late_dataclass import dataclass
from rig.text.salvage.bare_json import begins_call
from rig.text.salvage.blocks import Block, Dialect
from rig.text.salvage.cues import is_clause_around, is_explained, is_intended, is_introduced
from rig.text.salvage.lines import (
    MAX_LINE_CHARS,
    is_indented,
    is_lazily_quoted,
    is_mailed,
    is_marked,
    is_printed,
)
from rig.text.salvage.objects import Setting
from rig.text.salvage.payload import read_objects
from rig.text.salvage.pythonic import read_python_calls
from rig.text.salvage.source import Source

CONTEXT_CHARS: Final = 200
"""Characters before a call that can tell that it is an example."""

FIRST_CHARS: Final = 40
"""Characters of a code block that begins a message which may still become what a call begins with; no mark of a
dialect is longer."""

_FENCE: Final = re.compile(r"(?P<run>`{3,16}|~{3,16})(?P<info>[^\n`]{0,80})")
_TOOL_INFOS: Final = frozenset({"tool_code", "tool_call", "tool_calls", "function_call", "tool"})
_OUTPUT: Final = re.compile(
    r"(?:\s|[`~]{3,16}\s*(?:tool_)?(?:output|outputs|result)\b.*)*\Z", re.DOTALL | re.IGNORECASE
)
_QUOTES: Final = "\"'"
_SINGLE: Final = re.compile(r"(?:^|[\s(\[])'(?=\S)(?:[^'\n]|(?<=\w)'(?=\w)){0,200}\Z")
_SINGLE_END: Final = re.compile(r"[^'\n]{0,80}'(?!\w)")
_ENTITY: Final = re.compile(r"&(?:quot|apos|#34|#39|ldquo|laquo|gt);\s{0,4}\Z")
_ENDING: Final = ".!?:\u3002\uff01\uff1f"
_STOPS: Final = ".!?,;:\u3002\uff01\uff1f"
_OPENING_QUOTES: Final = "`\u201c\u2018\u201e\u00ab\u2039"
_SENTENCE_ENDS: Final = ".!?:;)\u2026\u3002\uff01\uff1f\uff1a>]"


def is_shown(text: str, start: int, end: int, floor: int) -> bool:
    """Whether what stands between two indexes is shown, not said.

    Args:
        text: the whole text.
        start: index of its first character.
        end: index after its last one.
        floor: index before which text belongs to something else.
    """
    before = text[max(floor, start - CONTEXT_CHARS) : start]
    after = text[end : end + CONTEXT_CHARS]
    if before[-1:] and before[-1] in _OPENING_QUOTES:
        return True
    if before[-1:] and before[-1] in _QUOTES and (after[:1] or '"') in _QUOTES:
        return True
    if _ENTITY.search(before) or is_introduced(before) or is_explained(after):
        return True
    begin = max(floor, text.rfind("\n", floor, start) + 1)
    line = text[begin : min(start, begin + MAX_LINE_CHARS)]
    if is_marked(line) or is_indented(text, start) or is_lazily_quoted(text, start):
        return True
    if (is_printed(text, start) or is_mailed(text, start)) and not is_intended(before):
        return True
    if _SINGLE.search(line) and _SINGLE_END.match(after):
        return True
    if is_clause_around(before, after) and not is_intended(before):
        return True
    return _is_amid(text[max(begin, start - CONTEXT_CHARS) : start], after)


def _is_amid(line: str, after: str) -> bool:
    """Whether it is a word of a sentence, told by what stands around it on its line."""
    words = line.strip()
    if not words or words[-1] in _SENTENCE_ENDS:
        return False
    rest = after.partition("\n")[0].strip()
    if not rest or (rest[0] not in "<[{" and not rest.lstrip(_STOPS) and is_intended(line)):
        return False
    return rest.lstrip(",; ")[:1] not in {"<", "[", "{", ""} or rest[0] in _ENDING


def _read_fence(source: Source, start: int) -> Block | None:
    opener = _FENCE.match(source.text, start)
    if opener is None:
        return None
    if not source.is_clear(start):
        return _read_inline(source, start)
    line = source.line_end(opener.end())
    close = closing_fence(source.text, line, opener["run"])
    source.charge((len(source.text) if close is None else close.end) - start)
    body, end = line + 1, len(source.text) if close is None else close.end
    if line == len(source.text):
        return Block(end=line, plain=True, unfinished=True)
    info = opener["info"].strip().lower()
    if info in _TOOL_INFOS:
        block = _read_tool_fence(source, body, close.start if close else end, end)
        if block is not None:
            return block
    undecided = source.is_first(start) and _may_be_call(source, body, end)
    zone = "" if close is not None else opener["run"]
    return Block(end=end, plain=True, unfinished=undecided, zone=zone)


@dataclass(frozen=True, slots=True)
class Closing:
    """Where a code block ends: index of the line break before its last line, and after that line."""

    start: int
    end: int


def closing_fence(text: str, start: int, run: str) -> Closing | None:
    """Find the line that closes a code block.

    Args:
        text: the text.
        start: index of the end of the line that opened it, or of any later one.
        run: the characters that opened it; at least as many close it.
    """
    at = text.find(run, start)
    while at >= 0:
        line = text.rfind("\n", start, at)
        after = at + len(run)
        while text[after : after + 1] == run[0]:
            after += 1
        stop = text.find("\n", after)
        stop = len(text) if stop < 0 else stop
        if line >= 0 and not text[line:at].strip() and not text[after:stop].strip():
            return Closing(line, stop)
        at = text.find(run, stop)
    return None


def _read_tool_fence(source: Source, start: int, stop: int, end: int) -> Block | None:
    """A block that says by its label that it is a call, unless the text goes on behind it."""
    if end < len(source.text) and not _OUTPUT.match(source.text, end):
        return None
    body = source.text[start:stop]
    if stop == end:
        body = re.sub(r"\n[ \t]*[`~]{1,16}\Z", "\n", body)  # a fence that has not come in full
    if stop == end and not body.strip():
        return Block(end=end, problem="truncated", unfinished=True)
    inside = Source(body, source.offer, source.marks)
    setting = Setting(offer=source.offer, dialect="gemma", certain=True)
    at = inside.skip_blanks(0)
    if inside.text[at : at + 1] in {"{", "["} and inside.text[at : at + 1]:
        block: Block | None = read_objects(inside, at, setting, ())
    else:
        block = read_python_calls(inside, at, setting, "", code=True)
    source.charge(inside.work)
    if block is None or (not block.calls and not block.unfinished and block.problem != "truncated"):
        return None
    closed = stop < end
    return Block(
        end=end,
        calls=block.calls,
        problem=block.problem if closed or block.calls else "truncated",
        last=end < len(source.text),
        unfinished=not closed,
    )


def _may_be_call(source: Source, start: int, end: int) -> bool:
    """Whether a code block that begins a message may be nothing but calls, as may be all of it."""
    behind = source.skip_blanks(end)
    if behind < len(source.text) and source.text[behind] not in "`~":
        return False
    at = source.skip_blanks(start)
    head = source.text[at : at + CONTEXT_CHARS]
    if not head or head[0] in "<`~":
        return True
    if head[0] in "{[" and begins_call(source, at):
        return True
    mark = source.marks.match(source.lower, at)
    if mark is not None and len(mark[0]) > 1:
        return True
    if at + len(head) == len(source.text) and len(head) < FIRST_CHARS and "\n" not in head:
        return True
    word = re.match(r"\[?\s*([\w.\-]*)", head)
    return word is not None and source.offer.may_begin(word[1])


def _read_inline(source: Source, start: int) -> Block | None:
    """Code inside of a line."""
    after = start + 1
    while source.text[after : after + 1] == "`":
        after += 1
    run = source.text[start:after]
    if run.strip("`"):
        return None
    close = source.find(run, after)
    if close < 0 or source.line_end(start) < close:
        return None
    return Block(end=close + len(run), plain=True)


def _read_quote(source: Source, start: int) -> Block | None:
    """A line of a quotation."""
    end = source.line_end(start)
    if not source.is_clear(start) or not source.text[start:end].strip("> \t\r"):
        return None
    return Block(end=end, plain=True)


FENCE: Final = Dialect(name="fence", marks=("```", "~~~"), read=_read_fence)
INLINE: Final = Dialect(name="code", marks=("`",), read=_read_inline)
QUOTE: Final = Dialect(name="quote", marks=(">",), read=_read_quote)
