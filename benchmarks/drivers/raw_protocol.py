"""A bare asyncio.Protocol that knows what this server sends: what the loop and the kernel cost alone.

Nobody could use it: it checks nothing.
"""

import asyncio
import json
from typing import cast

from benchmarks.drivers.contract import Wire, ask_once, delta_text, hand_written_loop, question
from benchmarks.drivers.sockets import Idle, encoded


class Connection(asyncio.Protocol):
    """Collects what comes, and wakes who waits for it."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.parts.append(data)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def write(self, data: bytes) -> None:
        """Send."""
        assert self.transport is not None
        self.transport.write(data)

    async def read(self) -> bytes:
        """What has come, at least a byte."""
        if not self.parts:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        data = b"".join(self.parts)
        self.parts.clear()
        return data


async def _open(host: str, port: int) -> Connection:
    _, connection = await asyncio.get_running_loop().create_connection(Connection, host, port)
    return connection


class RawProtocol:
    """One list of connections."""

    def __init__(self, url: str) -> None:
        self._idle = Idle(url, _open)

    async def _send(self, body: Wire) -> Connection:
        data = encoded(body)
        fields = "".join(f"{n}: {v}\r\n" for n, v in self._idle.headers(len(data)))
        connection = await self._idle.take()
        connection.write(f"POST {self._idle.target} HTTP/1.1\r\n{fields}\r\n".encode() + data)
        return connection

    async def _post(self, body: Wire) -> Wire:
        connection = await self._send(body)
        data = await connection.read()
        head, _, answer = data.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        while len(answer) < length:
            answer += await connection.read()
        self._idle.connections.append(connection)
        completion: Wire = json.loads(answer)
        return completion

    async def ask(self) -> str:
        """One request."""
        return await ask_once(self._post)

    async def round(self) -> str:
        """Two requests and a tool."""
        return await hand_written_loop(self._post)

    async def stream(self) -> int:
        """One streamed request, by lines; the lines of the chunks' sizes are no data."""
        connection = await self._send(question(stream=True))
        count = 0
        rest = b""
        while not rest.endswith(b"0\r\n\r\n"):
            data = rest + await connection.read()
            if data.endswith(b"0\r\n\r\n"):
                lines, rest = data.split(b"\n"), b"0\r\n\r\n"
            else:
                *lines, rest = data.split(b"\n")
            count += sum(bool(delta_text(line)) for line in lines)
        self._idle.connections.append(connection)
        return count

    async def close(self) -> None:
        """Close the connections."""
        for connection in self._idle.connections:
            if connection.transport is not None:
                connection.transport.close()


def make(url: str) -> RawProtocol:
    """A driver for the endpoint."""
    return RawProtocol(url)
