"""The `@@call` dialect: tool calls in a reply's text that a small model can write. No I/O, stdlib only.

    I will write the file.
    @@call write_file
    {path: "a.java", content: ~~~java
    class A {}
    ~~~java
    }
    @@end

Long strings stand as bodies, which need no escapes: escaping is what models get wrong most. Calls are
read wherever they begin a line, but not in what only shows them (`rig.text.call_places`); all other text is
prose. A call that is cut or wrong never takes others with it, and is never closed or guessed.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import field, replace
from typing import Final, Literal

from rig.late_dataclass import dataclass
from rig.text.call_places import Places, Span, places_of
from rig.text.heredoc_value import read_heredoc_value

CALL_PREFIX: Final = "@@call "
"""Begins a call; the name follows. Not with `<`: `<|` is one token of many vocabularies, and a delimiter
that begins with it pulls the model there."""

CALL_END: Final = "@@end"
"""Ends a call, alone on its line."""

HEREDOC_STOP: Final = (CALL_END,)
"""Stop sequence for replies of one call at most: it ends the reply at the first one. Servers leave it out
of the text; see `close_heredoc`."""

CallKind = Literal["object", "truncated", "malformed"]

_HEAD_LINE = re.compile(r"^[ \t]*@@call[ \t](?P<rest>[^\n]*)(?P<newline>\n?)", re.MULTILINE)
_HEAD = re.compile(_HEAD_LINE.pattern.removeprefix("^"))
_MARK = re.compile(r"^[ \t]*@@(?:call[ \t]|end[ \t\r]*$)", re.MULTILINE)
_END_LINE = re.compile(r"^[ \t]*@@end[ \t\r]*(?:\n|\Z)", re.MULTILINE)
_WRAPPER_LINE = re.compile(r"^[ \t]*</?tool_calls?>[ \t\r]*(?:\n|\Z)", re.MULTILINE)
_CUT_MARK = re.compile(r"(?:^|\n)[ \t]*@@(?:c(?:a(?:ll?)?)?|en?)?\Z")
_ENDS = re.compile(r"(?:\s*+@@end\b)*")
_LINE_END = re.compile(r"[ \t\r]*\n?")
_SPACE = re.compile(r"\s*")
_NAME = re.compile(r"[A-Za-z0-9_\-]{1,64}")
_FENCED = re.compile(
    r"(?P<run>`{3,}|~{3,})[ \t]*(?:json5?|JSON|js|javascript)?[ \t\r]*\n\s*+(?=\{)"
)
_FILLER = re.compile(r"(?:\s|@@end\b|</?tool_calls?>)*+(?:@@(?:c(?:a(?:ll?)?)?|en?)?)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeredocCall:
    """One call as it was written.

    Attributes:
        name: the tool's name; "" where none was written.
        arguments: for object the strict JSON text of one; for truncated the beginning of one, which no
            JSON reader takes for a whole one; for malformed the text as it was written.
        kind: object; truncated: its end is missing, it must not be run; malformed: what was written is
            no arguments, or names a key twice with different values (these stand in `arguments` both).
        repairs: what was mended to read them, in order; the dialect's own liberties are none.
    """

    name: str
    arguments: str
    kind: CallKind = "object"
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HeredocReply:
    """A reply, read.

    Attributes:
        text: the prose around the calls, without their markers.
        written: all calls in order, those that can't be run among them, so that the model can be told.
        alone: the calls are all there is, but for a leading paragraph. Where they are not, it can't be
            told for sure that the model meant to make them.
        shows: there are calls in the text that are only shown.
    """

    text: str = ""
    written: tuple[HeredocCall, ...] = ()
    alone: bool = True
    shows: bool = False

    @property
    def calls(self) -> tuple[HeredocCall, ...]:
        """The calls that can be run, in order."""
        return tuple(call for call in self.written if call.kind == "object")

    @property
    def problem(self) -> Literal["", "truncated", "malformed"]:
        """Whether a call was cut, else whether one was wrong, "" when all is well."""
        kinds = {call.kind for call in self.written}
        if "truncated" in kinds:
            return "truncated"
        return "malformed" if "malformed" in kinds else ""


def parse_heredoc(text: str, *, names: Collection[str] | None = None) -> HeredocReply:
    """Read a reply's text.

    A call begins a line (or stands right behind another call), has nothing but a name on that line,
    and its arguments on the next. With names given, a line that names no offered tool is a call only
    where an object follows it, so that the model can be told of a tool it made up; without an object
    it is prose that speaks of calls. Where a call is wrong, reading goes on at the next line that
    begins or ends one. A call that is cut has swallowed what followed it. Calls that are shown, in an
    example, a quotation, an element, or a code block with prose in or around it, are prose; a code block
    that holds nothing but calls, and is the reply or stands behind a leading paragraph, is no text at all.

    Args:
        text: the visible text of a reply.
        names: the tools that are offered; None where that is not known.

    Returns:
        The prose and the calls.
    """
    return _Reader(text, names).run()


def render_call(name: str, arguments: str) -> str:
    """A call as the model writes it, for its history.

    Args:
        name: the tool's name.
        arguments: JSON text of one object, kept as it is; blank text is no arguments.
    """
    return f"{CALL_PREFIX}{name}\n{arguments.strip() or '{}'}\n{CALL_END}"


def close_heredoc(text: str) -> str:
    """The text with the end marker that a stop sequence took away; see `HEREDOC_STOP`.

    It adds nothing to a text without calls, and what is cut inside of a call stays cut.

    Args:
        text: the visible text of a reply.
    """
    if CALL_END in text or not _HEAD_LINE.search(text):
        return text
    return f"{text.rstrip()}\n{CALL_END}\n"


@dataclass(slots=True)
class _Reader:
    text: str
    names: Collection[str] | None
    written: list[HeredocCall] = field(default_factory=list[HeredocCall])
    marks: list[int] = field(default_factory=list[int])
    spans: list[Span] = field(default_factory=list[Span])
    begins: list[int] = field(default_factory=list[int])  # of the arguments

    def run(self) -> HeredocReply:
        self.marks = [mark.start() for mark in _MARK.finditer(self.text)]
        position = 0
        while head := self._next_head(position):
            begin = head.start()
            end, is_open = self._call(head)
            position = self._behind(end)
            self.spans.append(Span(start=begin, end=end if is_open else position, is_open=is_open))
        places = places_of(self.text, self.spans, filler=_FILLER)
        written = tuple(
            self._written(index, places)
            for index in range(len(self.written))
            if index not in places.shown
        )
        prose = _prose(self.text, places, has_calls=bool(written))
        return HeredocReply(
            text=prose, written=written, alone=places.alone, shows=bool(places.shown)
        )

    def _written(self, index: int, places: Places) -> HeredocCall:
        """A call, without the end of the code block it stands in."""
        call, span = self.written[index], places.spans[index]
        if span.end >= self.spans[index].end:
            return call
        return replace(call, arguments=self.text[self.begins[index] : span.end].strip())

    def _next_head(self, position: int) -> re.Match[str] | None:
        """The head of the next call."""
        head = _HEAD.match(self.text, position) if self.written else None
        start = position
        while head is None or not self._is_call(head):
            head = _HEAD_LINE.search(self.text, start)
            if head is None:
                return None
            start = head.end()
        return head

    def _is_call(self, head: re.Match[str]) -> bool:
        rest = head["rest"].strip()
        name, _, behind = rest.partition("{")
        name = name.strip()
        if behind and _NAME.fullmatch(name):
            return True
        if rest and not _NAME.fullmatch(rest):
            return False
        is_cut = not head["newline"]
        if self.names is None or rest in self.names:
            return True
        if is_cut:
            return any(known.startswith(rest) for known in self.names)
        start = self._space_end(head.end())
        return self.text.startswith("{", start) or _FENCED.match(self.text, start) is not None

    def _call(self, head: re.Match[str]) -> tuple[int, bool]:
        """Read a call; return the index behind its arguments, and whether that could not be told."""
        name, brace, _ = head["rest"].strip().partition("{")
        name = name.strip()
        text = self.text
        if brace:
            return self._wrong(name, text.index("{", head.start()), head.start("newline"))
        start = self._space_end(head.end())
        if start == len(text):
            return self._add(HeredocCall(name=name, arguments="{", kind="truncated"), start, start)
        fence = _FENCED.match(text, start)
        begin = fence.end() if fence else start
        if text[begin] != "{" or not name:
            return self._wrong(name, start, start)
        value = read_heredoc_value(text, begin, may_go_on=self._has_mark_after)
        end = self._behind_fence(fence["run"], value.end) if fence else value.end
        if value.kind == "malformed" and not value.text:
            return self._wrong(name, start, value.end)
        if value.kind == "complete" and end < 0:
            return self._wrong(name, start, value.end)
        call = HeredocCall(
            name=name,
            arguments=value.text,
            kind="object" if value.kind == "complete" else value.kind,
            repairs=(("fence",) if fence else ()) + value.repairs,
        )
        return self._add(call, begin, max(end, value.end))

    def _wrong(self, name: str, start: int, stopped: int) -> tuple[int, bool]:
        """Put a wrong call aside as it was written, up to the next marker."""
        index = bisect_left(self.marks, stopped)
        end = self.marks[index] if index < len(self.marks) else len(self.text)
        arguments = self.text[start:end].strip()
        self._add(HeredocCall(name=name, arguments=arguments, kind="malformed"), start, end)
        return end, True

    def _add(self, call: HeredocCall, begin: int, end: int) -> tuple[int, bool]:
        self.written.append(call)
        self.begins.append(begin)
        return end, False

    def _behind_fence(self, run: str, end: int) -> int:
        """The index behind the fence that closes arguments, -1 where other text stands there."""
        close = re.compile(rf"\s*+(?:{run}{run[0]}*[ \t\r]*(?=\n|\Z)|(?=@@end\b|\Z))").match(
            self.text, end
        )
        return close.end() if close else -1

    def _behind(self, end: int) -> int:
        """The index behind end markers, and behind the line where nothing else stands on it."""
        for pattern in (_ENDS, _LINE_END):
            match = pattern.match(self.text, end)
            end = match.end() if match else end
        return end

    def _has_mark_after(self, position: int) -> bool:
        return bool(self.marks) and self.marks[-1] >= position

    def _space_end(self, position: int) -> int:
        match = _SPACE.match(self.text, position)
        return match.end() if match else position


def _prose(text: str, places: Places, *, has_calls: bool) -> str:
    """The text between what was removed, without end marks that belong to nothing."""
    parts: list[str] = []
    position = 0
    marks = (_END_LINE, _WRAPPER_LINE) if has_calls else (_END_LINE,)
    shown = [(places.spans[index], True) for index in sorted(places.shown)]
    cuts = [(start, end, False) for start, end in places.removed]
    cuts += [(span.start, span.end, is_shown) for span, is_shown in shown]
    for start, end, is_shown in sorted(cuts):
        if start < position:
            continue
        parts.append(_without(text[position:start], marks))
        if is_shown:
            parts.append(text[start:end])
        position = end
    rest = text[position:]
    parts.append(_without(_CUT_MARK.sub("", rest) if has_calls else rest, marks))
    return "".join(parts).strip()


def _without(text: str, marks: Sequence[re.Pattern[str]]) -> str:
    for mark in marks:
        text = mark.sub("", text)
    return text
