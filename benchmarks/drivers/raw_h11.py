"""h11 over asyncio's streams, as its documentation shows it."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass

import h11

from benchmarks.drivers.contract import Wire, ask_once, delta_text, hand_written_loop, question
from benchmarks.drivers.sockets import Idle, encoded


@dataclass
class Connection:
    """A socket and its HTTP state."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    state: h11.Connection


async def _open(host: str, port: int) -> Connection:
    reader, writer = await asyncio.open_connection(host, port)
    return Connection(reader, writer, h11.Connection(h11.CLIENT))


class RawH11:
    """One list of connections."""

    def __init__(self, url: str) -> None:
        self._idle = Idle(url, _open)

    async def _body(self, body: Wire) -> AsyncIterator[bytes]:
        data = encoded(body)
        connection = await self._idle.take()
        state = connection.state
        head = h11.Request(
            method="POST", target=self._idle.target, headers=self._idle.headers(len(data))
        )
        parts = [state.send(head), state.send(h11.Data(data=data)), state.send(h11.EndOfMessage())]
        connection.writer.write(b"".join(part for part in parts if part))
        while True:
            event = state.next_event()
            if event is h11.NEED_DATA:
                state.receive_data(await connection.reader.read(65536))
            elif isinstance(event, h11.Response):
                assert event.status_code == 200
            elif isinstance(event, h11.Data):
                yield bytes(event.data)
            else:
                break
        state.start_next_cycle()
        self._idle.connections.append(connection)

    async def _post(self, body: Wire) -> Wire:
        completion: Wire = json.loads(b"".join([part async for part in self._body(body)]))
        return completion

    async def ask(self) -> str:
        """One request."""
        return await ask_once(self._post)

    async def round(self) -> str:
        """Two requests and a tool."""
        return await hand_written_loop(self._post)

    async def stream(self) -> int:
        """One streamed request, by lines."""
        count = 0
        rest = b""
        async for part in self._body(question(stream=True)):
            *lines, rest = (rest + part).split(b"\n")
            count += sum(bool(delta_text(line)) for line in lines)
        return count

    async def close(self) -> None:
        """Close the connections."""
        for connection in self._idle.connections:
            connection.writer.close()


def make(url: str) -> RawH11:
    """A driver for the endpoint."""
    return RawH11(url)
