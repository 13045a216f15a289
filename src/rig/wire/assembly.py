"""The events of a streamed reply to deltas, and in the end to a `Reply`. No I/O.

The stream is folded into the body a server would have sent without streaming, and `decode_chat` reads
that body: so a reply is the same whichever way it came. Deltas are a preview for people; where the
preview turns out wrong it is taken back, and after the last delta what stands is `Reply.text`.

A reply is complete at a finish_reason or at `[DONE]`, whichever the server offers. What follows a
finish_reason is still read, up to `[DONE]` or the end: the usage, and the calls of servers that
announce the end after each call (BerriAI/litellm 31634, RayBytes/ChatMock 114).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pydantic_core import from_json, to_json

from rig.errors import (
    EmptyReplyError,
    ProtocolError,
    ResponseTooLargeError,
    RigError,
    StreamCutError,
)
from rig.messages import ToolCall, as_array
from rig.model import Delta, Reply
from rig.text.salvage import OfferedTool
from rig.wire.call_assembly import (
    MAX_CALLS,
    CallAssembler,
    finished_calls,
    goes_on,
    whole_calls,
)
from rig.wire.calls import read_calls
from rig.wire.content import read_content, read_thoughts
from rig.wire.decode import decode_chat, failed_reply
from rig.wire.dialects import REASONING_FIELDS
from rig.wire.finish import ending, finish_reason, finish_word
from rig.wire.payload import is_parsed_array, is_parsed_object, parse_json
from rig.wire.plain_events import (
    ARGUMENTS,
    CALL_PATH,
    CHUNK_TEXTS,
    NOWHERE,
    PlainEvents,
    TextPlace,
    value_at,
)
from rig.wire.sse import Event
from rig.wire.text_assembly import PARTS, TextAssembler, byte_size
from rig.wire.told_faults import error_in_payload, first_choice
from rig.wire.usage import USAGE_FIELDS, usage_in

MAX_SKIPPED_EVENTS: Final = 256
"""Events that can't be read before the stream is given up. A broken one among good ones is skipped;
with this many something else than a chat completion is being sent."""

MAX_RESPONSE_BYTES: Final = 1 << 20
"""Bytes of text, reasoning and calls together: the cap of a reply that is not streamed."""

_DONE: Final = "[DONE]"
_ODD: Final = object()
_HEAD_FIELDS: Final = ("id", "model")
_PLAIN_FIELDS: Final = 3  # of a choice: index, delta, finish_reason
_CUTS: Final = frozenset({"length", "content_filter"})


class StreamAssembler:
    """Assembles one reply out of its events.

    Feed events until `ended` or until the body ends, then `close`, then take the `reply`. Nothing
    raises before `close`, so that no delta is lost to an error that came behind it.

    Args:
        max_response_bytes: limit for text, reasoning and calls together, in bytes.
        thinking: the reply begins inside a thought, because the template writes the opening tag.
        tools: what was offered; calls that come as text are held back and read at the end.

    Attributes:
        fault: what `close` will raise, None while nothing is wrong.
        skipped: events that could not be read.
    """

    def __init__(
        self,
        *,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
        thinking: bool = False,
        tools: Sequence[OfferedTool] = (),
    ) -> None:
        self.fault: RigError | None = None
        self.skipped = 0
        self._max_response_bytes = max_response_bytes
        self._room = max_response_bytes  # for text and thoughts, while only those come
        self._tools = tools
        self._text = TextAssembler(thinking=thinking, tools=tools)
        self._calls = CallAssembler()
        self._legacy = CallAssembler()
        self._refusal: list[str] = []
        self._other_size = 0
        self._head: dict[str, object] = {}
        self._usage: dict[str, object] = {}
        self._timings: object = None
        self._choice_index: object = None
        self._in_messages: bool | None = None
        self._read = 0
        self._has_choice = False
        self._plain = PlainEvents()
        self._alone = NOWHERE  # where a text is that was all the last event told
        self._finish = ""
        self._filter_report: object = None
        self._done = False
        self._outcome: Reply | RigError | None = None

    @property
    def complete(self) -> bool:
        """Whether the model finished: the connection may break now without harm."""
        return self._done or bool(self._finish)

    @property
    def ended(self) -> bool:
        """Whether reading on is no use: `[DONE]` came, or a fault."""
        return self._done or self.fault is not None

    @property
    def knows_plain(self) -> bool:
        """Whether `feed_plain` can tell anything, or could soon."""
        return self._plain.curious

    @property
    def text(self) -> str:
        """The visible text so far."""
        return self._text.text

    @property
    def blank(self) -> int:
        """Characters of the longest whitespace that a part of the reply ends with and no delta tells of."""
        text = self._text
        return max(text.blank, text.blank_thought, self._calls.blank, self._legacy.blank)

    @property
    def blank_where(self) -> str:
        """The part that ends with it, named as `Repetition.where` is."""
        text, blank = self._text, self.blank
        if text.blank == blank:
            return "content"
        if text.blank_thought == blank:
            return "reasoning"
        calls = self._calls if self._calls.blank == blank else self._legacy
        return f"tool:{calls.touched or ''} arguments"

    @property
    def _size(self) -> int:
        """Bytes of the reply so far."""
        return self._text.size + self._calls.size + self._other_size

    def take_held(self) -> str:
        """What was held back since the last time this was asked: text no delta tells of yet."""
        return self._text.take_held()

    @property
    def template_thinks(self) -> bool | None:
        """Whether the template writes the opening tag of a thought, so that replies begin inside one.

        True where a closer came without an opener, False where a thought that was assumed is still
        open: at the end of a reply there was none. None when nothing tells.
        """
        if self._text.assumed:
            return False
        return True if self._text.retracted else None

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls so far; their arguments may be cut: never run them."""
        seed = to_json(self._head)
        return read_calls(self._calls_message(), seed=seed).calls

    def feed(self, events: Iterable[Event]) -> list[Delta]:
        """Add events.

        Args:
            events: the next ones, in order.

        Returns:
            What is new, in order. A fault is on `fault`, and is raised by `close`.
        """
        deltas: list[Delta] = []
        plain: tuple[bytes, dict[str, Any], TextPlace, str] | None = None
        for event in events:
            if self.ended:
                break
            self._alone = NOWHERE
            try:
                value = from_json(event.data)
            except ValueError:
                value = _ODD  # its exception would be chained to what is raised of it
            if value is _ODD:
                self._take_odd(event, deltas)
            elif event.type != "error" and is_parsed_object(value):
                self._take_chunk(event.type, value, deltas)
                if self._alone is not NOWHERE:
                    plain = event.data, value, self._alone, event.type
            else:
                self._take_value(event.type, value, deltas)
        if plain is not None and self._plain.curious and self._stays_plain(plain[1]):
            self._plain.learn(*plain)
        size = self._calls.size + self._other_size
        self._room = -1 if self.ended else self._max_response_bytes - size
        return deltas

    def feed_one(self, block: bytes) -> Delta | None:
        """Add one event that differs from the last one in nothing but a word of its text.

        That is nearly each read of a slow model, and its caches are cold each time: so it passes four functions
        where `feed_plain` passes fifteen.

        Args:
            block: bytes of the stream between two events of which nothing is held.

        Returns:
            The only delta that `feed` would have returned; None where only that can tell. Nothing was added then.
        """
        text = self._plain.text(block)
        if text is None or self._text.size + len(block) > self._room:
            return None
        kind, size = self._plain.place.kind, self._plain.size
        if kind == "text":
            delta = self._text.add_word(text, size)
        elif kind == "thought":
            delta = self._text.add_thinking(text, size)
            if delta is not None:
                self._note_thoughts((text,))
        else:
            return None
        if delta is not None:
            self._read += 1
        return delta

    def feed_plain(self, block: bytes) -> list[Delta] | None:
        """Add events at once that differ from the last one in nothing but their text.

        Args:
            block: whole events, each with the blank line that ends it.

        Returns:
            What `feed` would have returned for them; None when only that can tell. Nothing was added then.
        """
        texts = self._plain.texts(block)
        if (
            texts is None
            or self._done
            or self.fault is not None
            or self._size + len(block) > self._max_response_bytes
        ):
            return None
        deltas: list[Delta] = []
        place = self._plain.place
        if place.kind == "text":
            self._text.add_texts(texts, deltas)
        elif place.kind == "thought":
            self._text.add_thoughts(texts, place.source, deltas)
            self._note_thoughts(texts)
        elif not self._add_arguments(texts, deltas):
            return None
        self._read += len(texts)
        return deltas

    def close(self) -> list[Delta]:
        """End the stream: its body arrived whole, or broke after the reply was complete.

        Returns:
            What had been held back, with the delta that ends the reply; nothing the second time.

        Raises:
            RigError: the server told of a fault, or the reply is over a limit.
            StreamCutError: the stream ended before the model had finished; what came is on the error.
            ProtocolError: it was no stream of a chat completion.
        """
        if self.fault is None and not self._read and self.skipped:
            self.fault = _unreadable()
        if self.fault is None and not self.complete:
            self.fault = self._cut()
        if self.fault is not None:
            raise self.fault
        deltas: list[Delta] = []
        self._settle(deltas)
        return deltas

    def reply(self, *, latency_s: float = 0.0, time_to_first_token_s: float | None = None) -> Reply:
        """The whole reply, once closed.

        Args:
            latency_s: seconds the answer took, for the usage.
            time_to_first_token_s: seconds to the first delta, for the usage.

        Returns:
            What `decode_chat` gives for the same reply when it is not streamed.

        Raises:
            RigError: as `close`, and as `decode_chat` for the body that was not streamed.
        """
        self.close()
        outcome = self._outcome or _unreadable()
        times = {"latency_s": latency_s, "time_to_first_token_s": time_to_first_token_s}
        if isinstance(outcome, Reply):
            return replace(outcome, usage=outcome.usage.model_copy(update=times))
        if isinstance(outcome, EmptyReplyError) and outcome.usage is not None:
            outcome.usage = outcome.usage.model_copy(update=times)
        raise outcome

    def _stays_plain(self, chunk: Mapping[str, Any]) -> bool:
        """Whether an event of nothing but text stays one with any other text."""
        choices = chunk["choices"]
        if not is_parsed_array(choices) or len(choices) != 1:
            return False
        choice = choices[0]
        told = (choice.get("usage"), chunk.get("usage"), chunk.get("timings"))
        if any(told) or not USAGE_FIELDS.isdisjoint(chunk):
            return False
        return "error" not in choice and "error" not in chunk

    def _note_thoughts(self, texts: Sequence[str]) -> None:
        """Keep thoughts of plain events also where those of the event they are like were kept."""

    def _plain_call(self) -> object:
        """The index of the call whose arguments plain events hold; None where they are no call's any more."""
        return value_at(self._plain.event, (*CALL_PATH, "index"))

    def _add_arguments(self, texts: Sequence[str], deltas: list[Delta]) -> bool:
        """Add fragments of a call's arguments that came together, unless nothing is known of that call."""
        news = self._calls.go_on(self._plain_call(), texts)
        if news is None:
            return False
        deltas.extend([Delta(tool_call=one) for one in news])
        return True

    # --- Events ---

    def _take_value(self, kind: str, value: object, deltas: list[Delta]) -> None:
        """Take the value of an event, whatever it is."""
        if kind == "error":
            self._is_fault(kind, {"error": value or kind})
            return
        chunk = value if is_parsed_object(value) else self._unwrapped(value, deltas)
        if chunk is not None:
            self._take_chunk(kind, chunk, deltas)

    def _take_chunk(self, kind: str, chunk: dict[str, Any], deltas: list[Delta]) -> None:
        self._read += 1
        choices = chunk.get("choices")
        if (kind != "message" or not choices or "error" in chunk) and self._is_fault(kind, chunk):
            return
        usage = chunk.get("usage")
        if not usage and not USAGE_FIELDS.isdisjoint(chunk):
            usage = usage_in(chunk)
        if usage:
            self._note_usage(usage)
        if timings := chunk.get("timings"):
            self._timings = timings  # llama.cpp, on the last chunk or on each
        if not choices:
            return
        choice = choices[0] if is_parsed_array(choices) else None
        if not is_parsed_object(choice) or choice.get("index") != self._choice_index:
            choice = self._chosen(choices)
        if choice is not None:
            if len(self._head) < len(_HEAD_FIELDS):
                self._note_head(chunk)
            self._take_choice(choice, deltas)

    def _take_choice(self, choice: dict[str, Any], deltas: list[Delta]) -> None:
        """Take the part of a chunk that is ours: its delta first, the finish may share the chunk."""
        if "error" in choice and self._is_fault("message", {"choices": [choice]}):
            return
        self._has_choice = True
        mark = len(deltas)
        delta = choice.get("delta")
        if not delta or not is_parsed_object(delta):
            delta = self._whole(choice)
        if "tool_calls" in choice and not delta.get("tool_calls"):
            delta = {**delta, "tool_calls": choice["tool_calls"]}
        content = delta.get("content")
        if len(delta) == 1 and type(content) is str:
            if content:
                self._text.add_text(content, deltas)
        elif delta:
            self._take_fields(delta, deltas)
        if self._size > self._max_response_bytes:
            self._refuse_size()
        if self.fault is not None:
            del deltas[mark:]
            return
        word = choice.get("finish_reason", _ODD)
        if word or len(choice) > _PLAIN_FIELDS:
            self._note_finish(choice)
        if not (word or self._finish) and self._plain.curious:
            self._alone = _alone(delta)
        if "usage" in choice:
            self._note_usage(choice["usage"])  # Moonshot's place for it

    def _take_fields(self, delta: Mapping[str, object], deltas: list[Delta]) -> None:
        source, thought = _thought(delta)
        if thought:
            self._text.add_thought(thought, source, deltas)
        content = delta.get("content")
        if isinstance(content, str):
            if content:
                self._text.add_text(content, deltas)
        elif content is not None:
            self._take_parts(content, deltas, with_thoughts=not thought)
        self._take_refusal(delta.get("refusal"))
        calls = delta.get("tool_calls")
        if calls:
            self._take_calls(calls, deltas)
        elif legacy := delta.get("function_call"):
            self._other_size -= self._legacy.size
            self._legacy.add_legacy(legacy)
            self._other_size += self._legacy.size

    def _take_parts(self, content: object, deltas: list[Delta], *, with_thoughts: bool) -> None:
        parts = read_content(content)
        if parts.thoughts and with_thoughts:
            self._text.add_thought(parts.thoughts, PARTS, deltas)
        if parts.text:
            self._text.add_text(parts.text, deltas)
        if parts.calls:
            self._take_calls(parts.calls, deltas)
        self._take_refusal(parts.refusal)

    def _take_calls(self, calls: object, deltas: list[Delta]) -> None:
        deltas.extend([Delta(tool_call=news) for news in self._calls.add(calls)])
        if self._calls.overflow:
            self._refuse_calls()

    def _take_refusal(self, refusal: object) -> None:
        if isinstance(refusal, str) and refusal:
            self._refusal.append(refusal)
            self._other_size += byte_size(refusal)

    def _whole(self, choice: dict[str, Any]) -> dict[str, Any]:
        """What stands in place of the delta: a whole message, or the text of a legacy completion.

        Behind deltas it repeats them, so it counts only where none came before.
        """
        message = choice.get("message") or choice.get("text")
        if not message:
            return {}
        if self._in_messages is None:
            self._in_messages = not (self._text.size or self._calls.size or self._other_size)
        if not self._in_messages:
            return {}
        return message if is_parsed_object(message) else {"content": message}

    def _chosen(self, choices: object) -> dict[str, Any] | None:
        """The chunk's piece of the one choice that is read: the first that came (`n` is never sent)."""
        entries = as_array(choices) or (choices,)
        if self._choice_index is None:
            first = first_choice(entries)
            self._choice_index = None if first is None else first.get("index")
        for choice in entries:
            if is_parsed_object(choice) and choice.get("index") in (None, self._choice_index):
                return choice
        return None

    def _take_odd(self, event: Event, deltas: list[Delta]) -> None:
        """Take an event whose data is not JSON as it stands."""
        if _is_done(event.data):
            self._end(deltas)
            return
        read = self._mended(event.data)
        if not read and event.type == "error":
            read = [event.data.decode("utf-8", "replace")]
        if not read:
            self._skip()
        for value in read:
            if self.ended:
                return
            if value == _DONE:
                self._end(deltas)
            else:
                self._take_value(event.type, value, deltas)

    def _mended(self, data: bytes) -> list[object]:
        """The values in data with a fault: half characters, or no blank lines between the events."""
        try:
            return [parse_json(data, mend=True)]
        except ValueError:
            lines = data.split(b"\n")
        values: list[object] = []
        for line in lines if len(lines) > 1 else []:
            try:
                value = _DONE if _is_done(line) else parse_json(line)
            except ValueError:
                continue
            if value == _DONE or is_parsed_object(value):
                values.append(value)
        return values

    def _unwrapped(self, value: object, deltas: list[Delta]) -> dict[str, Any] | None:
        """The chunk in a value that is no object; Google's shim wraps its errors in a list."""
        entries = as_array(value)
        if entries and is_parsed_object(entries[0]) and "error" in entries[0]:
            return entries[0]
        if value == _DONE:
            self._end(deltas)
        else:
            self._skip()
        return None

    def _is_fault(self, kind: str, chunk: Mapping[str, object]) -> bool:
        """Whether a chunk tells of a fault; it counts unless the reply was already complete.

        Named events may hold any message, so there only `error` is one.
        """
        fault = error_in_payload(chunk)
        if fault is None or (kind != "message" and not chunk.get("error")):
            return False
        if not self.complete:
            self.fault = fault
        return True

    # --- Notes ---

    def _note_head(self, chunk: Mapping[str, object]) -> None:
        for name in _HEAD_FIELDS:
            value = chunk.get(name)
            if isinstance(value, str) and value:
                self._head.setdefault(name, value)

    def _note_usage(self, value: object) -> None:
        """Keep the last usage that says something: the counts are cumulative (open-webui 29064)."""
        counts: dict[str, Any] = value if is_parsed_object(value) else {}
        if any(_says_some(count) for count in counts.values()):
            self._usage = counts

    def _note_finish(self, choice: Mapping[str, object]) -> None:
        """Keep the first word, but never behind one that says the reply was cut."""
        word = finish_word(choice)
        if not word:
            return
        means = ending(word)
        if means == "failed" and not self.complete:
            self._text.close([])
            self.fault = failed_reply(word, self.text, self.calls)
        elif not self._finish or (means in _CUTS and ending(self._finish) not in _CUTS):
            self._finish = word
            self._filter_report = choice.get("content_filter_results")

    def _skip(self) -> None:
        self.skipped += 1
        if self.skipped > MAX_SKIPPED_EVENTS and not self.complete:
            self.fault = _unreadable()

    def _refuse_calls(self) -> None:
        self.fault = ResponseTooLargeError(
            f"the reply holds more than {MAX_CALLS} tool calls", reason="calls"
        )

    def _refuse_size(self) -> None:
        self.fault = ResponseTooLargeError(
            f"the reply is larger than the cap of {self._max_response_bytes} bytes; raise"
            " max_response_bytes if it is an honest one",
            reason="decoded",
        )

    # --- The end ---

    def _end(self, deltas: list[Delta]) -> None:
        """`[DONE]` came."""
        self._done = True
        if self._read or not self.skipped:
            self._settle(deltas)

    def _settle(self, deltas: list[Delta]) -> None:
        """Make the reply, once, and tell what the deltas so far did not."""
        if self._outcome is not None:
            return
        self._text.close(deltas)
        calls = self._calls
        if not calls.named() and self._legacy.named():
            calls = self._legacy
            deltas.extend(Delta(tool_call=news) for news in calls.started())
        outcome = self._outcome = self._decoded()
        salvaged = isinstance(outcome, Reply) and any(
            call.origin != "native" for call in outcome.tool_calls
        )
        finish = finish_reason(self._finish, has_calls=bool(calls.named()))
        usage = outcome.usage if isinstance(outcome, Reply | EmptyReplyError) else None
        if isinstance(outcome, Reply):
            finish = outcome.finish_reason
            self._text.settle(outcome.text, outcome.reasoning, deltas, salvaged=salvaged)
            if salvaged:
                news = whole_calls(outcome.tool_calls, cut=finish == "length")
                deltas.extend(Delta(tool_call=one) for one in news)
            elif finish != "length":
                news = finished_calls(calls.named(), outcome.tool_calls)
                deltas.extend(Delta(tool_call=one) for one in news)
        if usage is not None and not usage.reported:
            usage = None
        deltas.append(Delta(finish_reason=finish, usage=usage))

    def _decoded(self) -> Reply | RigError:
        """The reply, read from the body that a server would have sent without streaming."""
        choice: dict[str, object] = {
            "message": self._text.wire(cut=finish_reason(self._finish) == "length")
            | self._calls_message()
            | {"refusal": "".join(self._refusal)},
            "finish_reason": self._finish,
            "content_filter_results": self._filter_report,
        }
        choices = [choice] if self._has_choice else []
        body = {
            **self._head,
            "choices": choices,
            "usage": self._usage,
            "timings": self._timings,
        }
        try:
            return decode_chat(to_json(body, inf_nan_mode="constants"), tools=self._tools)
        except RigError as error:
            return error

    def _calls_message(self) -> dict[str, object]:
        legacy = self._legacy.wire()
        return {
            "tool_calls": self._calls.wire(),
            "function_call": legacy[0]["function"] if legacy else None,
        }

    def _cut(self) -> StreamCutError:
        """The error of a stream that just ended, with all that had come."""
        self._text.close([])
        error = StreamCutError(
            "the stream ended before the reply was complete",
            reason="unfinished" if self._read else "no_events",
        )
        error.text = self.text
        error.tool_calls = self.calls
        return error


def _alone(delta: Mapping[str, object]) -> TextPlace:
    """Where a text is that is all a delta tells; nowhere when it tells more, or less."""
    told = [name for name, value in delta.items() if value and name != "role"]
    if len(told) != 1:
        return NOWHERE
    name, value = told[0], delta[told[0]]
    if type(value) is str:
        return CHUNK_TEXTS.get(name, NOWHERE)
    return ARGUMENTS if name == "tool_calls" and _is_fragment(value) else NOWHERE


def _is_fragment(calls: object) -> bool:
    """Whether the calls of a delta are one fragment of the arguments of one call, and nothing else."""
    if not is_parsed_array(calls) or len(calls) != 1 or not is_parsed_object(call := calls[0]):
        return False
    return goes_on(call) and bool(call["function"]["arguments"])


def _thought(delta: Mapping[str, object]) -> tuple[str, str]:
    """The first field with a thought, and the thought; blanks count, they stand between words."""
    for name, _ in REASONING_FIELDS:
        value = delta.get(name)
        if isinstance(value, str):
            if value:
                return name, value
        elif value and (text := read_thoughts({name: value})[1]):
            return name, text
    return "", ""


def _says_some(count: object) -> bool:
    return isinstance(count, int | float) and not isinstance(count, bool) and count > 0


def _is_done(data: bytes) -> bool:
    return data.strip(b' \t\n"').upper() == b"[DONE]"


def _unreadable() -> ProtocolError:
    return ProtocolError(
        "the stream's events can't be read as a chat completion: check that the base URL leads to an"
        " OpenAI-compatible API",
        reason="unreadable",
    )
