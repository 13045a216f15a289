"""The loopback server of `FakeBackend`: reads requests, plays answers step by step."""

import socket
import ssl
from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import ByteStream
from anyio.streams.tls import TLSStream

from rig.late_dataclass import dataclass
from rig.testing.answers import Answer, answer
from rig.testing.connections import Connections
from rig.testing.received import BadRequestError, ReceivedRequest, RequestReader
from rig.testing.sockets import SocketStream, accept
from rig.testing.steps import Close, Hang, Pause, Reset, Step, Until
from rig.testing.wire import stays_open

MAX_PIPELINED_BYTES = 1 << 20
"""Bytes a client may send while it is being answered; past that reading waits for the answer."""

Answerer = Callable[[ReceivedRequest], Awaitable[Answer]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What every connection of a server shares.

    Attributes:
        answerer: records a request and chooses its answer.
        connections: counts.
        changed: called after every change of the counts.
        tls: the server's certificate; None for plain TCP.
        deaf: never read.
    """

    answerer: Answerer
    connections: Connections
    changed: Callable[[], None]
    tls: ssl.SSLContext | None = None
    deaf: bool = False


async def serve_forever(listener: socket.socket, setting: Setting) -> None:
    """Accept connections until cancelled.

    Args:
        listener: a listening socket.
        setting: what the connections share.
    """
    async with anyio.create_task_group() as tasks:
        while True:
            session = _Session(await accept(listener), setting)
            tasks.start_soon(session.run)


class _Session:
    """One connection, from accept to close."""

    def __init__(self, transport: SocketStream, setting: Setting) -> None:
        self._transport = transport
        self._setting = setting
        self._number = setting.connections.start()
        self._reader = RequestReader(self._number)

    async def run(self) -> None:
        """Serve the connection; ends quietly whatever the client does."""
        self._setting.changed()
        try:
            if self._setting.deaf:
                await anyio.sleep_forever()
            stream = await self._secured()
            if stream is not None:
                await self._serve(stream)
        except (anyio.BrokenResourceError, anyio.EndOfStream, anyio.ClosedResourceError, OSError):
            pass  # the client went away: what it did is on the request
        finally:
            with anyio.CancelScope(shield=True):
                await self._transport.aclose()
            self._setting.connections.end()
            self._setting.changed()

    async def _secured(self) -> ByteStream | None:
        if self._setting.tls is None:
            return self._transport
        try:
            return await TLSStream.wrap(
                self._transport,
                server_side=True,
                ssl_context=self._setting.tls,
                standard_compatible=False,
            )
        except ssl.SSLError:
            return None  # a client that does not trust us says so and goes

    async def _serve(self, stream: ByteStream) -> None:
        while (request := await self._next_request(stream)) is not None:
            self._setting.connections.requests[self._number] += 1
            if not await self._answer(stream, request):
                return

    async def _next_request(self, stream: ByteStream) -> ReceivedRequest | None:
        while True:
            try:
                request = self._reader.next_request()
            except BadRequestError as fault:
                await self._play(stream, answer(400, {"error": {"message": str(fault)}}))
                return None
            if request is not None:
                return request
            self._reader.feed(await stream.receive())

    async def _answer(self, stream: ByteStream, request: ReceivedRequest) -> bool:
        """Play the answer while watching the client; False when the connection is over."""
        keep_open = False
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch, stream, request, tasks.cancel_scope)
            try:
                chosen = await self._setting.answerer(request)
                keep_open = await self._play(stream, chosen) and stays_open(chosen, request)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError, ssl.SSLError):
                request.disconnected.set()
            tasks.cancel_scope.cancel()
        return keep_open and not request.disconnected.is_set()

    async def _watch(
        self, stream: ByteStream, request: ReceivedRequest, scope: anyio.CancelScope
    ) -> None:
        """Read on while answering: the only way to learn that the client has gone."""
        pipelined = 0
        try:
            while pipelined < MAX_PIPELINED_BYTES:
                data = await stream.receive()
                pipelined += len(data)
                self._reader.feed(data)
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            request.disconnected.set()
            scope.cancel()

    async def _play(self, stream: ByteStream, chosen: Answer) -> bool:
        """Play every step; False when one of them ended the connection."""
        for step in chosen.steps:
            if isinstance(step, bytes):
                await stream.send(step)
            elif isinstance(step, Reset):
                self._transport.reset()
                return False
            elif isinstance(step, Close):
                return False
            else:
                await wait_for(step)
        return True


async def wait_for(step: Step) -> None:
    """Sit out a step that waits."""
    if isinstance(step, Pause):
        await anyio.sleep(step.seconds)
    elif isinstance(step, Until):
        await step.event.wait()
    elif isinstance(step, Hang):
        await anyio.sleep_forever()
