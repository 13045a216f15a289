"""Server-sent events: bytes in, events out. No I/O.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html (9.2.6), with three
differences that real chat servers ask for: `error:` is a field (llama.cpp puts its errors there,
ggml-org/llama.cpp 14566), events without any use are not shown (no data, or data that is itself a
comment, mnfst/llm-gateway 2053), and the event that the end of the stream left unfinished is handed out
by `eof`: servers omit the last blank line (openai/openai-node 2725, earendil-works/pi 9047).

Everything is done on bytes. `str.splitlines`, and what is built on it, also breaks lines at U+0085,
U+2028 and U+2029, which JSON allows inside a string; and a character may be cut by a network read.
"""

from typing import Final, NamedTuple

from rig.errors import ResponseTooLargeError

MAX_EVENT_BYTES: Final = 1 << 20
"""Bytes one event may hold, all its lines together. A chat chunk is about 250; reports name lines of
200 KB (open-webui/open-webui 24928), a whole tool call or thought sent as one delta."""

_BOM: Final = b"\xef\xbb\xbf"
_PLAIN: Final = b"data: {"


class Event(NamedTuple):
    """One event; a tuple, because it is made once a token and costs a third of a frozen dataclass.

    Attributes:
        type: the event's name, `message` when it has none.
        data: its data lines, joined with newlines; empty only in errors.
    """

    type: str
    data: bytes


class SSEParser:
    """Incremental parser of one event stream.

    Args:
        max_event_bytes: limit for one event, comments and field names included.

    Attributes:
        max_event_bytes: that limit.
        fault: the error every further call raises, None while there is none. `feed` returns the
            events before the one that is too large, so look here to know it at once.
        work: bytes kept, searched or copied so far; grows with the stream and no faster.
    """

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self.fault: ResponseTooLargeError | None = None
        self.work = 0
        self.max_event_bytes = max_event_bytes
        self._held = bytearray()
        self._after_cr = False
        self._begun = False

    @property
    def between(self) -> bool:
        """Whether the next byte begins an event, which is not the first."""
        return self._begun and not (self._held or self._after_cr or self.fault)

    def feed(self, chunk: bytes) -> list[Event]:
        """Add bytes and return the events they complete.

        Args:
            chunk: any part of the stream.

        Returns:
            Events in order, often none; how the stream was split makes no difference.

        Raises:
            ResponseTooLargeError: an event outgrew the limit, and no event before it is left to return.
        """
        block = self.take(chunk)
        events = self.parse(block) if block else []
        if not events:
            self._check()
        return events

    def take(self, chunk: bytes) -> bytes:
        """Add bytes and return those of the events they complete, for `parse`.

        Args:
            chunk: any part of the stream.

        Returns:
            Whole events with their blank lines, all line ends as LF; empty when there is none.

        Raises:
            ResponseTooLargeError: an event outgrew the limit before.
        """
        if self.fault is not None:
            raise self.fault
        if not chunk:
            return b""
        if self._after_cr or b"\r" in chunk:
            chunk = self._with_newlines(chunk)
        self.work += len(chunk)
        held = self._held
        block = b""
        if b"\n\n" in chunk or (chunk.startswith(b"\n") and held.endswith(b"\n")):
            block = self._whole(chunk)
        else:
            held += chunk
        if len(held) > self.max_event_bytes and len(held.rstrip(b"\n")) > self.max_event_bytes:
            self._refuse()
        return block

    def parse(self, block: bytes) -> list[Event]:
        """The events of a block that `take` returned; `fault` tells of one that is too large."""
        blocks = block.split(b"\n\n")
        blocks.pop()  # nothing, or one line end more than the blank line has
        return self._events(blocks)

    def eof(self) -> list[Event]:
        """End a stream whose body arrived whole, and return the event that lacks its blank line.

        It may have been cut: only its reader can tell. After a broken connection do not call this.

        Returns:
            One event or none.

        Raises:
            ResponseTooLargeError: an event outgrew the limit.
        """
        self._check()
        rest = bytes(self._held)
        self._held.clear()
        event = _parse(rest if self._begun else rest.removeprefix(_BOM))
        return [] if event is None else [event]

    def _check(self) -> None:
        if self.fault is not None:
            raise self.fault

    def _with_newlines(self, chunk: bytes) -> bytes:
        """The chunk with every line end as LF. JSON has no bare CR, so none is data."""
        if self._after_cr:
            chunk = chunk.removeprefix(b"\n")
        self._after_cr = chunk.endswith(b"\r")
        self.work += len(chunk)
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _whole(self, chunk: bytes) -> bytes:
        """The events that are complete; what follows them is held."""
        held = self._held
        if held:
            held += chunk
            chunk = bytes(held)
            held.clear()
            self.work += len(chunk)
        end = chunk.rfind(b"\n\n") + 2
        held += chunk[end:]
        if not self._begun:
            self._begun = True
            return chunk[:end].removeprefix(_BOM)
        return chunk[:end]

    def _events(self, blocks: list[bytes]) -> list[Event]:
        events: list[Event] = []
        limit = self.max_event_bytes
        for block in blocks:
            if len(block) > limit:
                self._refuse()
                break
            if block.startswith(_PLAIN) and b"\n" not in block:
                events.append(Event("message", block[6:]))
            elif (event := _parse(block)) is not None:
                events.append(event)
        return events

    def _refuse(self) -> None:
        self._held.clear()
        if self.fault is None:
            self.fault = ResponseTooLargeError(
                f"an event of the stream is larger than {self.max_event_bytes} bytes",
                reason="event",
            )


def _parse(block: bytes) -> Event | None:
    """The event of a block of lines, None when it has nothing to say."""
    kind = ""
    data: list[bytes] = []
    for line in block.split(b"\n"):
        name, _, value = line.partition(b":")
        value = value[1:] if value[:1] == b" " else value
        if name == b"data":
            data.append(value)
        elif name == b"event":
            kind = value.decode("utf-8", "replace")
        elif name == b"error":
            kind = "error"
            data.append(value)
    joined = b"\n".join(data)
    content = joined.strip()
    if kind == "error":
        return Event(kind, joined)
    if not content or content.startswith(b":"):
        return None
    return Event(kind or "message", joined)
