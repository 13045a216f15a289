"""The body of a streamed reply to deltas, and in the end to a `Reply`. No I/O.

A stream was asked for; what came may also be one JSON body (servers that can't stream, errors at
status 200) or a page of HTML. The bytes decide, not the Content-Type, which is wrong as often as it
is right; it only settles what the bytes leave open.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal, Protocol

from rig.errors import ProtocolError, ResponseTooLargeError, RigError, StreamCutError
from rig.model import Delta, Reply
from rig.text.salvage import OfferedTool
from rig.wire.assembly import MAX_RESPONSE_BYTES, StreamAssembler
from rig.wire.call_assembly import whole_calls
from rig.wire.decode import decode_chat
from rig.wire.sse import MAX_EVENT_BYTES, Event, SSEParser

RAW_FACTOR: Final = 256
"""Raw bytes of a stream a byte of the reply may take. A chunk is about 250 bytes, 3 KB with twenty
log probabilities, and its token about four; so an honest stream stays below even with those."""

HEAD_BYTES: Final = 512
"""Bytes of the beginning that are kept, to say what was sent instead of a stream."""

HALVED_BYTES: Final = 1024
"""Bytes of events of which some are odd that are read as a whole: about four."""

# Blanks and byte order marks, in any order, before the first byte that tells.
_NOTHING: Final = re.compile(rb"(?:[ \t\r\n]|\xef\xbb\xbf)+")
_EVENT_LINE: Final = re.compile(rb"(?:data|event|id|retry|error)?:|(?:data|event)[\r\n]")
# Fragments of a reply that no delta tells of before its end.
_UNTOLD: Final = re.compile(rb'"(?:function_call"[ \t]*:[ \t]*\{|refusal"[ \t]*:[ \t]*"[^"])')
_BODY_STARTS: Final = (b"{", b"[", b"<", b'"')
_ENOUGH: Final = 8


class BodyReader(Protocol):
    """Reads a body that is not a stream."""

    def __call__(self, body: bytes, /, *, tools: Sequence[OfferedTool]) -> Reply:
        """The reply.

        Args:
            body: the whole decoded body.
            tools: what was offered.

        Raises:
            RigError: it is none.
        """
        ...


class ChatStream:
    """Reads the body of one answer at status 200.

    Feed it until `ended` or until the body ends, then `close`, then take the `reply`. Nothing raises
    before `close`, so that no delta is lost to an error that came behind it.

    Args:
        content_type: the answer's media type, "" when it has none.
        max_response_bytes: limit for text, reasoning and calls together, or for a body that is
            not a stream, in bytes.
        max_raw_bytes: limit for all bytes of the stream; None means `RAW_FACTOR` times the above.
        max_event_bytes: limit for one event; None means twice max_response_bytes (a call's quotes are
            escaped once more), and at least `MAX_EVENT_BYTES`.
        thinking: the reply begins inside a thought, because the template writes the opening tag.
        tools: what was offered; calls that come as text are held back and read at the end.
        assembler: makes what assembles the events; another wire has its own.
        decode: reads a body that is not a stream.

    Attributes:
        raw_bytes: bytes fed so far.
        untold: grows with what comes of the reply and no delta tells of yet: a body that is no stream,
            refusals, the deprecated function_call.
    """

    def __init__(
        self,
        *,
        content_type: str = "",
        max_response_bytes: int = MAX_RESPONSE_BYTES,
        max_raw_bytes: int | None = None,
        max_event_bytes: int | None = None,
        thinking: bool = False,
        tools: Sequence[OfferedTool] = (),
        assembler: type[StreamAssembler] = StreamAssembler,
        decode: BodyReader = decode_chat,
    ) -> None:
        self.raw_bytes = 0
        self.untold = 0
        self._content_type = content_type.partition(";")[0].strip().lower()
        self._max_response_bytes = max_response_bytes
        self._max_raw_bytes = max_raw_bytes or max_response_bytes * RAW_FACTOR
        self._parser = SSEParser(
            max_event_bytes=max_event_bytes or max(MAX_EVENT_BYTES, 2 * max_response_bytes)
        )
        self._tools = tools
        self._assembler = assembler(
            max_response_bytes=max_response_bytes, thinking=thinking, tools=tools
        )
        self._decode = decode
        self._kind: Literal["events", "body"] | None = None
        self._between = False  # two events of a stream, of which nothing is held
        self._held = bytearray()
        self._odd_head = b""
        self._broken = False
        self._fault: RigError | None = None
        self._reply: Reply | None = None

    @property
    def assembler(self) -> StreamAssembler:
        """What has been assembled so far; it stays empty when the body is not a stream."""
        return self._assembler

    @property
    def complete(self) -> bool:
        """Whether the model finished: the connection may break now without harm."""
        return self._fault is None and self._assembler.complete

    @property
    def ended(self) -> bool:
        """Whether reading on is no use: `[DONE]` came, or a fault."""
        return self._broken or self._fault is not None or self._assembler.ended

    def feed(self, chunk: bytes) -> list[Delta]:
        """Add bytes of the body, transfer and content coding removed.

        Args:
            chunk: any part of it.

        Returns:
            What is new, in order. A fault ends the stream, and is raised by `close`.
        """
        if self.ended:
            return []
        self.raw_bytes += len(chunk)
        if self.raw_bytes > self._max_raw_bytes:
            self._break(_too_large("the stream", self._max_raw_bytes, "raw"))
            return []
        if self._kind != "events":
            chunk = self._begin(chunk)
        deltas = self._events(chunk) if self._kind == "events" else []
        self._between = self._parser.between and not self._broken
        return deltas

    def feed_one(self, chunk: bytes) -> Delta | None:
        """Add a read that is one event like the last one, but for a word: nearly each read of a slow model.

        Args:
            chunk: the next bytes of the body, as for `feed`.

        Returns:
            The delta that is all `feed` would have returned; None where only `feed` can tell. Nothing was
            added then.
        """
        raw_bytes, parser = self.raw_bytes + len(chunk), self._parser
        if (
            not self._between
            or raw_bytes > self._max_raw_bytes
            or len(chunk) > parser.max_event_bytes
        ):
            return None
        delta = self._assembler.feed_one(chunk)
        if delta is not None:
            self.raw_bytes = raw_bytes
            parser.work += len(chunk)
        return delta

    def close(self) -> list[Delta]:
        """End the body: it arrived whole, or broke after the reply was complete.

        Returns:
            What had been held back, with the delta that ends the reply; nothing the second time.

        Raises:
            RigError: the server told of a fault, or a limit was passed.
            StreamCutError: the stream ended before the model had finished; what came is on the error.
            ProtocolError: the body is neither a stream of a chat completion nor one in whole.
        """
        self._between = False
        if self._kind is None:
            self._decide(final=True)
        deltas: list[Delta] = []
        if self._fault is None and self._reply is None:
            try:
                deltas = self._close_body() if self._kind == "body" else self._close_events()
            except RigError as error:
                self._fault = error
        if self._fault is not None:
            raise self._fault
        return deltas

    def reply(self, *, latency_s: float = 0.0, time_to_first_token_s: float | None = None) -> Reply:
        """The whole reply, once closed.

        Args:
            latency_s: seconds the answer took, for the usage.
            time_to_first_token_s: seconds to the first delta, for the usage of a stream.

        Returns:
            The same whether it was streamed or not.

        Raises:
            RigError: as `close`, and where the reply holds no answer.
        """
        self.close()
        if self._reply is None:
            return self._assembler.reply(
                latency_s=latency_s, time_to_first_token_s=time_to_first_token_s
            )
        usage = self._reply.usage.model_copy(update={"latency_s": latency_s})
        return replace(self._reply, usage=usage)

    def _begin(self, chunk: bytes) -> bytes:
        """Hold bytes until it is known what they are, or to the end; return those that are events."""
        held = self._held
        held += chunk
        if self._kind is None:
            if start := _NOTHING.match(held):
                del held[: start.end()]
            self._decide(final=False)
        if self._kind == "events":
            taken = bytes(held)
            held.clear()
            return taken
        if self._kind == "body":
            self.untold += bool(chunk.strip())
        if len(held) > self._max_response_bytes:
            self._break(_too_large("the answer", self._max_response_bytes, "decoded"))
        return b""

    def _decide(self, *, final: bool) -> None:
        held = self._held
        if held.startswith(_BODY_STARTS):
            self._kind = "body"
        elif _EVENT_LINE.match(held):
            self._kind = "events"
        elif final or len(held) >= _ENOUGH:
            typed = self._content_type not in {"", "text/event-stream"}
            self._kind = "body" if typed else "events"
            self._odd_head = bytes(held[:HEAD_BYTES])

    def _events(self, chunk: bytes) -> list[Delta]:
        parser = self._parser
        try:
            block = parser.take(chunk)
        except ResponseTooLargeError as error:
            self._break(error)
            return []
        odd: list[Event] = []
        deltas = self._read(block, odd) if block else []
        if not deltas:
            self.untold += sum(_UNTOLD.search(event.data) is not None for event in odd)
        if parser.fault is not None:
            self._break(parser.fault)
        return deltas

    def _read(self, block: bytes, odd: list[Event]) -> list[Delta]:
        """The deltas of whole events; those that are not like the others are added to `odd`.

        A block is halved until the few odd events of a read, its first and its last, stand alone.
        """
        parser, assembler = self._parser, self._assembler
        if len(block) <= parser.max_event_bytes:
            deltas = assembler.feed_plain(block)
            if deltas is not None:
                return deltas
            if len(block) > HALVED_BYTES and assembler.knows_plain and (half := _half(block)):
                return self._read(block[:half], odd) + self._read(block[half:], odd)
        events = parser.parse(block)
        odd += events
        return assembler.feed(events)

    def _break(self, error: RigError) -> None:
        """Stop reading; that is a fault only when the reply is not complete yet."""
        self._broken = True
        if not self._assembler.complete and self._assembler.fault is None:
            self._fault = error

    def _close_events(self) -> list[Delta]:
        if self._held:
            deltas = self._events(bytes(self._held))
            self._held.clear()
        else:
            deltas = []
        if not self._broken:
            deltas += self._assembler.feed(self._parser.eof())
        try:
            return deltas + self._assembler.close()
        except StreamCutError as error:
            if error.reason != "no_events" or not self._odd_head.strip():
                raise
        from rig.wire.fault_text import read_fault  # noqa: PLC0415 of answers that are none

        raise ProtocolError(
            "the answer is neither a stream of events nor JSON: check that the base URL leads to an"
            " OpenAI-compatible API",
            reason="not_event_stream",
            detail=read_fault(self._odd_head).line,
        )

    def _close_body(self) -> list[Delta]:
        """The whole reply at once, as deltas."""
        reply = self._reply = self._decode(bytes(self._held), tools=self._tools)
        self._held.clear()
        deltas: list[Delta] = []
        if reply.reasoning:
            deltas.append(Delta(reasoning=reply.reasoning))
        if reply.text:
            deltas.append(Delta(text=reply.text))
        news = whole_calls(reply.tool_calls, cut=reply.finish_reason == "length")
        deltas.extend(Delta(tool_call=one) for one in news)
        usage = reply.usage if reply.usage.reported else None
        return [*deltas, Delta(finish_reason=reply.finish_reason, usage=usage)]


def _half(block: bytes) -> int:
    """Where to cut events in two, as near to the middle as they allow; 0 when there is only one."""
    half = block.find(b"\n\n", len(block) // 2) + 2
    if half < len(block):
        return half
    before = block.rfind(b"\n\n", 0, len(block) - 2)
    return before + 2 if before >= 0 else 0


def _too_large(what: str, limit: int, reason: str) -> ResponseTooLargeError:
    return ResponseTooLargeError(
        f"{what} is larger than the cap of {limit} bytes; raise max_response_bytes if it is an honest"
        " one",
        reason=reason,
    )
