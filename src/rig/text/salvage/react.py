"""ReAct: `Action: NAME` and `Action Input: ..`, and LangChain's JSON behind `Action:`. No I/O."""

import re
from dataclasses import replace
from typing import Final, cast

from rig.text.salvage.blocks import Block, Dialect, undecided
from rig.text.salvage.calls import Problem
from rig.text.salvage.json_values import read_value
from rig.text.salvage.objects import Found, Setting, bare_call, find_calls, named_call, with_repairs
from rig.text.salvage.pythonic import read_python_call
from rig.text.salvage.source import Source

_NAME: Final = "react"
_MARKS: Final = ("action:", "**action:**", "**action**:", "action :")
_HEAD: Final = re.compile(r"(?:\*\*)?action(?:\*\*)?[ \t]?:(?:\*\*)?\s*", re.IGNORECASE)
_FENCE: Final = re.compile(r"```(?:json)?\s*", re.IGNORECASE)
_TOOL: Final = re.compile(r"[\"'`*]{0,3}(?P<name>[A-Za-z_][\w.\-]{0,127})[\"'`*]{0,3}")
_INPUT: Final = re.compile(
    r"\s*(?:\*\*)?(?:action[ _]?input|input|arguments|args|parameters)(?:\*\*)?[ \t]?:(?:\*\*)?[ \t]*",
    re.IGNORECASE,
)
_COLON: Final = re.compile(r"[ \t]?:\s{1,8}(?=\{)")
_COLON_PREFIX: Final = re.compile(r"[ \t]?:\s{0,8}")
_INPUT_PREFIX: Final = re.compile(
    r"[ \t]*(?:\r\Z|\r?\n\s*\*{0,2}[a-z _]{0,14}\*{0,2}[ \t]?)?", re.IGNORECASE
)
_ENDS: Final = ("\nobservation", "\nthought:", "\nfinal answer", "\naction:", "\n\n")
_CUT: Final = re.compile(r"[`\"'*]{0,3}(?:json?|jso?|j)?\s*", re.IGNORECASE)
_NO_TOOLS: Final = frozenset({"none", "n", "no", "finish", "final", "answer", "respond", "na"})

_LABELS: Final = re.compile(
    r"(?:tool|function)(?: name)?:[ \t]{0,4}[`\"']?(?P<name>[\w.\-]{1,128})[`\"']?[ \t]{0,4}\r?\n[ \t]{0,4}"
    r"(?:(?:tool|function)[ _])?(?:input|arguments|args|parameters|params):\s{0,8}(?=\{)",
    re.IGNORECASE,
)
_OF_THE_PAST: Final = re.compile(
    r"\s{0,8}(?:(?:tool|function)[ _])?(?:results?|outputs?|responses?|returns?|returned|status|error|observation|duration|time|exit)\b"
    r"|[ \t\r]*\n(?![ \t\r]*\n)[ \t]*(?!(?:tool|function|thought|final answer)(?: name)?:|[a-z_ ]{0,14}\Z)[^\s<`\[]",
    re.IGNORECASE,
)
"""What follows a call in a record of calls that were made: what became of it, or a line that goes on."""

_OPEN_END: Final = re.compile(r"\s*[a-z_ ]{0,14}\Z", re.IGNORECASE)

_TYPES: Final = frozenset(
    {"string", "str", "integer", "int", "number", "float", "boolean", "bool", "object", "array", "dict", "list"}
)  # fmt: skip
_LABELS_PREFIX: Final = re.compile(
    r"(?:tool|function)(?: name)?:[ \t]{0,4}[`\"']?(?P<name>[\w.\-]{1,128})?[`\"']?[ \t]{0,4}"
    r"(?:\r\Z|\r?\n[ \t]{0,4}[a-z_ ]{0,20}(?::\s{0,8})?)?",
    re.IGNORECASE,
)

MAX_LOOK_CHARS: Final = 160
"""Characters behind a name in which its input has to begin, or the text to end."""


def _read(source: Source, start: int) -> Block | None:
    head = _HEAD.match(source.text, start)
    if head is None or not source.is_line_start(start):
        return None
    at = head.end()
    fence = _FENCE.match(source.text, at)
    value_at = fence.end() if fence else at
    setting = Setting(offer=source.offer, dialect=_NAME, certain=True)
    rest = source.text[at : at + MAX_LOOK_CHARS]
    cut = at + len(rest) == len(source.text) and _CUT.fullmatch(rest) is not None
    if cut or value_at == len(source.text):
        return undecided(source, certain=False)
    if source.text[value_at] in "{[":
        return _read_blob(source, value_at, setting)
    tool = _TOOL.match(source.text, at)
    return None if tool is None else _read_tool(source, tool, setting)


def _read_blob(source: Source, start: int, setting: Setting) -> Block | None:
    """An object that says the whole call (LangChain's structured chat, Cohere's Command R)."""
    value = read_value(source, start, loose=True)
    if value.kind == "truncated":
        return undecided(source)
    if value.kind == "malformed":
        return None
    found = find_calls(value.value, with_repairs(setting, *value.repairs))
    if not found.calls:
        return None
    fence = re.match(r"\s*```", source.text[value.end : value.end + 16])
    end = value.end + (fence.end() if fence else 0)
    return Block(end=end, calls=found.calls, problem=found.problem)


def _read_tool(source: Source, tool: re.Match[str], setting: Setting) -> Block | None:
    name = source.offer.find(tool["name"])
    given = _INPUT.match(source.text, tool.end())
    source.charge(MAX_LOOK_CHARS)
    if given is not None:
        if not name:
            known = tool["name"].lower() not in _NO_TOOLS
            return (
                Block(end=source.line_end(given.end()), problem="unknown_tool") if known else None
            )
        return _read_input(source, given.end(), name, setting)
    rest = source.text[tool.end() : tool.end() + MAX_LOOK_CHARS]
    at_end = tool.end() + len(rest) == len(source.text)
    if name and rest[:1] == "(":
        call = read_python_call(source, tool.start("name"), setting)
        if call.kind == "truncated":
            return undecided(source)
        if call.kind == "complete":
            return Block(end=call.end, calls=call.found.calls, problem=call.found.problem)
        return None
    if name and (colon := _COLON.match(source.text, tool.end())):
        return _read_input(source, colon.end(), name, setting)
    if name and rest[:1] == "[" and "]" in rest.partition("\n")[0]:
        inside, _, _ = rest[1:].rpartition("]") if "\n" not in rest else rest[1:].partition("]")
        found = named_call(name, inside, setting)
        return Block(end=tool.end() + len(inside) + 2, calls=found.calls) if found.calls else None
    if name and at_end and rest[:1] == "[" and "\n" not in rest:
        return undecided(source, certain=False)
    if name and at_end and _COLON_PREFIX.fullmatch(rest):
        return undecided(source, certain=False)
    if not at_end or not _INPUT_PREFIX.fullmatch(rest):
        return None
    found = bare_call(name, setting) if name and not rest.strip() else Found()
    if not found.calls:
        return undecided(source, certain=False)
    return Block(end=len(source.text), calls=found.calls, unfinished=True)


def _read_input(source: Source, start: int, name: str, setting: Setting) -> Block:
    line = source.skip_blanks(start)
    fence = _FENCE.match(source.text, line)
    at = fence.end() if fence else line
    if at == len(source.text):
        found = bare_call(name, setting)
        problem: Problem = "" if found.calls else "truncated"
        return Block(end=at, calls=found.calls, problem=problem, unfinished=True)
    if source.text[at] == "{":
        value = read_value(source, at, loose=True)
        if value.kind != "complete":
            end = len(source.text) if value.kind == "truncated" else _end(source, at)
            return Block(end=end, problem=value.kind, unfinished=value.kind == "truncated")
        found = named_call(name, value.value, with_repairs(setting, *value.repairs))
        behind = re.match(r"\s*```", source.text[value.end : value.end + 16])
        end = value.end + (behind.end() if behind else 0)
        return Block(end=end, calls=found.calls, problem=found.problem)
    if source.lower.startswith(("observation", "thought:", "final answer"), at):
        found = bare_call(name, setting)
        return Block(end=at, calls=found.calls, problem=found.problem)
    end = _end(source, at)
    text = source.text[at:end].strip()
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`"
    found = named_call(name, text.strip("`") if not quoted else text[1:-1], setting)
    return Block(
        end=end, calls=found.calls, problem=found.problem, unfinished=end == len(source.text)
    )


def _end(source: Source, start: int) -> int:
    at, _ = source.first_of(_ENDS, start)
    return len(source.text) if at < 0 else at


def _read_labels(source: Source, start: int) -> Block | None:
    """`Tool: NAME` and `Arguments: {..}` on the next line."""
    if not source.is_line_start(start):
        return None
    head = _LABELS.match(source.text, start)
    source.charge(64)
    if head is None:
        cut = _LABELS_PREFIX.fullmatch(source.text, start)
        maybe = cut is not None and source.offer.may_begin(cut["name"] or "")
        return undecided(source, certain=False) if maybe else None
    if head["name"] not in source.offer:
        return None
    value = read_value(source, head.end(), loose=True)
    if value.kind != "complete":
        return replace(undecided(source), weak=True) if value.kind == "truncated" else None
    if _OF_THE_PAST.match(source.text, value.end) or _is_definition(value.value):
        return None
    setting = Setting(offer=source.offer, dialect=_NAME, certain=True)
    found = named_call(head["name"], value.value, with_repairs(setting, *value.repairs))
    is_open = _OPEN_END.match(source.text, value.end) is not None
    return Block(
        end=value.end, calls=found.calls, problem=found.problem, weak=True, unfinished=is_open
    )


def _is_definition(given: object) -> bool:
    """Whether an object says of what types arguments are, not what they are."""
    values = cast("dict[str, object]", given).values() if isinstance(given, dict) else ()
    if any(isinstance(value, dict) and "type" in value for value in values):
        return True
    return bool(values) and all(isinstance(value, str) and value in _TYPES for value in values)


DIALECT: Final = Dialect(name=_NAME, marks=_MARKS, read=_read)
LABELS: Final = Dialect(
    name=_NAME, marks=("tool:", "function:", "tool name:", "function name:"), read=_read_labels
)
