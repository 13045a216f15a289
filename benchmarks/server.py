"""A model server without a model: canned bytes, as late and as slowly as the path of the URL says.

It is a process of its own, so that only the client's CPU is counted. The scenario is in the path of the
base URL, because every client lets its caller choose that: `/delay/200/v1` answers 200 ms after each
request; `/stream/2000/2/v1` streams 2,000 deltas, one every 2 ms, and all at once when the interval is 0.

    python -m benchmarks.server        prints the port, and ends when its standard input does
"""

import asyncio
import json
import random
import sys
from typing import cast

from benchmarks.canned import ANSWER, answer_body, call_body, delta_events
from benchmarks.machine import pin

PORT_LINE = "port {}"


def scenario(target: str) -> tuple[float, int, float]:
    """Seconds of delay, number of deltas, and seconds between them."""
    delay_s, deltas, interval_s = 0.0, 0, 0.0
    match target.strip("/").split("/"):
        case ["delay", milliseconds, *_]:
            delay_s = int(milliseconds) / 1000
        case ["stream", count, milliseconds, *_]:
            deltas, interval_s = int(count), int(milliseconds) / 1000
        case _:
            pass
    return delay_s, deltas, interval_s


def body_for(request: bytes) -> bytes:
    """What a model would say: it calls the tools it has, once, and then answers."""
    fields = json.loads(request)
    offered = [tool["function"]["name"] for tool in fields.get("tools") or ()]
    if "final_answer" in offered and len(fields["messages"]) > 2:
        # smolagents, which sends results as user turns, and ends with a call
        return call_body("final_answer", {"answer": ANSWER})
    answered = any(message["role"] == "tool" for message in fields["messages"])
    if not offered or answered:
        return answer_body()
    calls = 9 if "nine" in fields["model"] else 1
    return call_body("add", {"a": 40, "b": 2}, calls)


class Connection(asyncio.Protocol):
    """One client's connection: requests in, canned answers out."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 of asyncio
        self._transport = None

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, separator, rest = self._buffer.partition(b"\r\n\r\n")
        if not separator:
            return
        length = 0
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if len(rest) < length:
            return
        self._buffer = rest[length:]
        self._answer(head.split(b" ", 2)[1].decode(), rest[:length])

    def _answer(self, target: str, body: bytes) -> None:
        delay_s, deltas, interval_s = scenario(target)
        if deltas:
            self._stream(deltas, interval_s)
            return
        data = _head(b"content-length: %d" % len(answer := body_for(body))) + answer
        if delay_s:
            self._loop.call_later(delay_s, self._write, data)
        else:
            self._write(data)

    def _stream(self, count: int, interval_s: float) -> None:
        events = delta_events(count)
        head = _head(b"transfer-encoding: chunked", b"text/event-stream")
        if not interval_s:
            self._write(head + b"".join(events) + b"0\r\n\r\n")
            return
        self._write(head)
        # Streams that begin together must not tick together: each would be one read in a batch.
        start = self._loop.time() + random.random() * interval_s  # noqa: S311 spreads load
        self._loop.call_at(start, self._tick, events, 0, start, interval_s)

    def _tick(self, events: list[bytes], index: int, start: float, interval_s: float) -> None:
        if self._transport is None:
            return
        self._write(events[index])
        if index + 1 < len(events):
            at = start + (index + 1) * interval_s
            self._loop.call_at(at, self._tick, events, index + 1, start, interval_s)
        else:
            self._write(b"0\r\n\r\n")

    def _write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)


def _head(framing: bytes, content_type: bytes = b"application/json") -> bytes:
    fields = (b"HTTP/1.1 200 OK", b"content-type: " + content_type, framing)
    return b"\r\n".join(fields) + b"\r\n\r\n"


async def serve() -> None:
    """Serve until standard input ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(loop), "127.0.0.1", 0, backlog=8192)
    print(PORT_LINE.format(server.sockets[0].getsockname()[1]), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    pin(0)
    try:
        from uvloop import run
    except ImportError:
        asyncio.run(serve())
    else:
        run(serve())
