"""Tool calls as JSON objects in a reply's text, for servers that know neither tools nor grammars.

A call is `{"name": ..., "arguments": {...}}`, and nothing else is: an answer may be JSON too. No I/O,
stdlib only.
"""

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Final, cast

from rig.text.call_places import Places, Span, places_of
from rig.text.duplicate_keys import DUPLICATE_KEY, duplicate_keys
from rig.text.heredoc import HeredocCall, HeredocReply
from rig.text.json_builder import build_json
from rig.text.json_loose import scan_loose
from rig.text.json_scanner import ScanKind, scan_json
from rig.text.tool_list import PromptTool, tool_list

MAX_CALL_DEPTH: Final = 100
"""Containers inside each other in the JSON of a call; what is deeper is prose."""

_BEGIN = re.compile(r"^[ \t]*(?:\[\s*)?(?=\{)", re.MULTILINE)
_NEXT = re.compile(r"[\s,]*(?=\{)")
# What a list is made of, and the tags of Hermes and Qwen: a model that has learned them writes them around
# what it is asked for.
_FRAME: Final = r"(?:[\s\[\],;]|</?tool_calls?>)*+"
_FILLER = re.compile(_FRAME)
_FRAME_LINES = re.compile(r"(?:[ \t\r]*+(?:(?:[\[\],;]|</?tool_calls?>)[ \t\r]*+)?(?:\n|\Z))++")
_HEAD = re.compile(r'\{\s*"name"\s*:\s*"(?P<name>[A-Za-z0-9_\-]{1,64})"\s*(?:,|\Z)')
_ARGUMENTS = re.compile(r'\{\s*"name"\s*:\s*"[A-Za-z0-9_\-]{1,64}"\s*,\s*"arguments"\s*:\s*')
_NAME = re.compile(r"[A-Za-z0-9_\-]{1,64}")
_STRAY = re.compile(r"(?:[ \t]*+\})++")
STRAY_CLOSER: Final = "stray_closer"
"""What `repairs` says where a brace stood behind a call that it did not open."""

_KEYS: Final = frozenset({"name", "arguments"})

_PROMPT: Final = """\
To use a tool, reply with one JSON object and nothing else, in exactly this form:
{"name": "<tool>", "arguments": {"<parameter>": <value>}}
You will be given its result. Without a call, your reply is the answer.

Tools:
"""


def json_calls_prompt(tools: Iterable[PromptTool]) -> str:
    """The part of a system prompt that explains calls and lists the tools.

    Args:
        tools: what the model may call, in the order it is shown them.
    """
    return _PROMPT + tool_list(tools)


def render_json_call(name: str, arguments: str) -> str:
    """A call as the model writes it, for its history.

    Args:
        name: the tool's name.
        arguments: JSON text of one object, kept as it is; blank text is no arguments.
    """
    return f'{{"name": {json.dumps(name)}, "arguments": {arguments.strip() or "{}"}}}'


def parse_json_calls(text: str, *, names: Collection[str] | None = None) -> HeredocReply:
    """Read a reply's text.

    A call is an object with the keys `name` and `arguments` and no others, which names an offered tool
    and begins a line. Several may follow each other, also in a list or a code block that holds nothing
    else; what only shows a call is none, see `parse_heredoc`. All other text, JSON among it, is prose. What
    is no JSON is mended where it has one reading, see `rig.text.json_loose`; a key that is named twice with
    different values has none.

    Args:
        text: the visible text of a reply.
        names: the tools that are offered; None where that is not known.

    Returns:
        The prose and the calls. The last one may be cut or wrong; its arguments then are all text from
        its beginning on.
    """
    return _Reader(text, names).run()


@dataclass(slots=True)
class _Reader:
    text: str
    names: Collection[str] | None
    written: list[HeredocCall] = field(default_factory=list[HeredocCall])
    spans: list[Span] = field(default_factory=list[Span])

    def run(self) -> HeredocReply:
        position = 0
        follows = False
        while begin := self._begin(position, follows=follows):
            end, call = self._read(begin.end())
            follows = call is not None
            if call is not None:
                self.written.append(call)
                is_open = call.kind == "malformed" and end == len(self.text)
                start = begin.end() if begin.re is _NEXT else begin.start()
                self.spans.append(Span(start=start, end=end, is_open=is_open))
            position = end
        places = places_of(self.text, self.spans, filler=_FILLER)
        written = tuple(
            self._written(index, places)
            for index in range(len(self.written))
            if index not in places.shown
        )
        return HeredocReply(
            text=self._prose(places).strip(),
            written=written,
            alone=places.alone,
            shows=bool(places.shown),
        )

    def _written(self, index: int, places: Places) -> HeredocCall:
        """A call, without the end of the code block it stands in."""
        call, span = self.written[index], places.spans[index]
        if span.end >= self.spans[index].end:
            return call
        return replace(call, arguments=self.text[span.start : span.end].strip())

    def _prose(self, places: Places) -> str:
        """The text between what was removed, without the frame of a list."""
        parts: list[str] = []
        position = 0
        for start, end in places.removed:
            parts.append(_without_frame(self.text[position:start], is_behind=position > 0))
            position = end
        if not position:
            return self.text
        match = _FRAME_LINES.match(self.text, position)
        return "".join([*parts, self.text[match.end() if match else position :]])

    def _begin(self, position: int, *, follows: bool) -> re.Match[str] | None:
        """Where the next object begins: right behind a call, or at the beginning of a line."""
        match = _NEXT.match(self.text, position) if follows else None
        return match or _BEGIN.search(self.text, position)

    def _read(self, start: int) -> tuple[int, HeredocCall | None]:
        """The index behind an object, or behind what is none, and its call."""
        found = scan_loose(self.text, start, max_depth=MAX_CALL_DEPTH)
        if found.kind == "complete":
            call = self._whole(found.text, found.repairs)
            stray = _STRAY.match(self.text, found.end) if call is not None else None
            if call is None or stray is None:
                return found.end, call
            return stray.end(), replace(call, repairs=(*call.repairs, STRAY_CLOSER))
        call = self._broken(start, found.kind)
        if found.kind == "truncated" or call is not None:
            return len(self.text), call
        return max(found.end, start + 1), None

    def _whole(self, text: str, repairs: tuple[str, ...]) -> HeredocCall | None:
        try:
            value = cast("dict[str, object]", build_json(text))
        except ValueError:
            return None
        name = value.get("name")
        if not isinstance(name, str) or value.keys() != _KEYS or not self._is_offered(name):
            return None
        twice = duplicate_keys(text)
        if twice == "different":
            return HeredocCall(name=name, arguments=_arguments(text), kind="malformed")
        if twice == "equal":
            repairs = (*repairs, DUPLICATE_KEY)
        arguments = value["arguments"]
        written = "{}" if arguments is None else json.dumps(arguments, ensure_ascii=False)
        return HeredocCall(name=name, arguments=written, repairs=repairs)

    def _broken(self, start: int, kind: ScanKind) -> HeredocCall | None:
        """A call that is cut or wrong: all that is left of the text, for nobody can say where it ends."""
        head = _HEAD.match(self.text, start)
        if head is None or not self._is_offered(head["name"]):
            return None
        return HeredocCall(
            name=head["name"],
            arguments=self.text[start:],
            kind="truncated" if kind == "truncated" else "malformed",
        )

    def _is_offered(self, name: str) -> bool:
        return bool(_NAME.fullmatch(name)) and (self.names is None or name in self.names)


def _arguments(text: str) -> str:
    """The text of a call's arguments, of the whole call where that can't be told.

    Args:
        text: the strict JSON of a call, as it was written.
    """
    head = _ARGUMENTS.match(text)
    inside = text[head.end() : -1].rstrip() if head else ""
    scan = scan_json(inside)
    return inside if scan.kind == "complete" and scan.end == len(inside) else text


def _without_frame(text: str, *, is_behind: bool) -> str:
    """The text before a call, without the lines of a list or of tags that frame it."""
    start = 0
    if is_behind and (match := _FRAME_LINES.match(text)):
        start = match.end()
    lines = text[start:].splitlines(keepends=True)
    while lines and _FILLER.fullmatch(lines[-1]):
        lines.pop()
    return "".join(lines)
