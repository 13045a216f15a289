"""HTTP/1.1 over connections of rig's own: a pool without scans, a request written once, a body read as it comes.

Why not httpx's own: its pool looks at every connection for every request and every response, with a
system call for each idle one (2 ms of CPU for two requests alone, 18 ms among 1,000; this one stays
under half a millisecond), and it can lose connections for good when requests are cancelled
(encode/httpcore#1093).

Rules for whoever edits this file: bookkeeping never awaits; every await stands inside a `try` that
closes the connection on the way out; `close` never awaits, so that cancellation can't interrupt it.
"""

import math
import ssl
import threading
import time
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
)
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast

import anyio
import anyio.lowlevel
import anyio.to_thread

from rig.errors import InvalidRequestError, RequestTimeoutError, StreamCutError, UpstreamError
from rig.transport.body import JoinedHeaders
from rig.transport.descriptors import TOO_MANY_FILES, WHY_SHORT, is_short, too_many_files
from rig.transport.http1 import Data, End, Event, Head, ResponseReader, read_plain
from rig.transport.limits import BodyDecoder
from rig.transport.line import Line, Place
from rig.transport.origin import Origin
from rig.transport.request import RequestHead, chunk
from rig.transport.sockets import Connection, connect, now
from rig.transport.timeouts import Deadline

KEEPALIVE_S = 30.0
"""Seconds an idle connection is kept. uvicorn, under most Python model servers, closes after 5 and
llama.cpp after 5 too; load balancers after 60. A close by the server is noticed at once, so this only
bounds how long a socket is held for nothing."""

MAX_IDLE = 1024
"""Idle connections kept for one origin. A thousand agents at once is what rig is measured with."""

SETTLE_S = 0.05
"""Seconds a connection rests after a stream of events before it may carry another request. llama.cpp
announces keep-alive, and closes after every stream all the same: 25 us after its end (measured), but to
the next request of an agent, sent at once, the connection looked alive."""

RECEIVE_BYTES = 64 * 1024
"""Bytes taken from a connection at a time."""

JOIN_BYTES = 64 * 1024
"""Body bytes up to which head and body are written as one; copying more costs more than a second write."""

GROW_S = 1.0
"""Seconds between two looks, while requests wait in line, at whether another connection can be opened."""

FEW = 8
"""Connections of a pool up to which it may take descriptors that are otherwise left to the rest of the
program: one that has filled its table with files of its own still gets its requests served."""

Connect = Callable[..., Awaitable[Connection]]
"""`sockets.connect`, or a stand-in with its signature."""


class IdleConnections:
    """Idle connections by origin, newest first out. Pure bookkeeping: O(1) for each call, amortised.

    Args:
        keepalive_s: seconds a connection may be idle.
        max_idle: connections kept for one origin; past that the oldest is closed.
        now: the clock, in seconds.
    """

    def __init__(
        self,
        *,
        keepalive_s: float = KEEPALIVE_S,
        max_idle: int = MAX_IDLE,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keepalive_s = keepalive_s
        self._max_idle = max_idle
        self._now = now
        self._idle: dict[Origin, deque[tuple[float, Connection]]] = {}
        self._settling: dict[Origin, deque[tuple[float, Connection]]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def take(self, origin: Origin) -> Connection | None:
        """The newest connection that still works, None without one. Dead and stale ones are closed."""
        if self._settling and origin in self._settling:
            self._settle(origin)
        idle = self._idle.get(origin)
        if idle is None:
            return None
        oldest_allowed = self._now() - self._keepalive_s
        found = None
        while idle and found is None:
            since, connection = idle.pop()
            self._count -= 1
            if since >= oldest_allowed and connection.reusable:
                found = connection
            else:
                connection.close()
        if idle:
            self._close_stale(idle, oldest_allowed)
        else:
            del self._idle[origin]
        return found

    def put(self, origin: Origin, connection: Connection, *, settling: bool = False) -> None:
        """Keep a connection that was used just now.

        Args:
            origin: where it leads to.
            connection: it.
            settling: it must rest for `SETTLE_S` first.
        """
        table = self._settling if settling else self._idle
        idle = table.get(origin)
        if idle is None:
            idle = table[origin] = deque()
        idle.append((self._now(), connection))
        self._count += 1
        if len(idle) > self._max_idle:
            self._count -= 1
            idle.popleft()[1].close()

    def _settle(self, origin: Origin) -> None:
        """Make those that have rested available; each is moved once in its life."""
        settling = self._settling[origin]
        rested_since = self._now() - SETTLE_S
        while settling and settling[0][0] <= rested_since:
            since, connection = settling.popleft()
            self._count -= 1
            if connection.reusable:
                self.put(origin, connection)
                self._idle[origin][-1] = (since, connection)
            else:
                connection.close()
        if not settling:
            del self._settling[origin]

    def _close_stale(self, idle: deque[tuple[float, Connection]], oldest_allowed: float) -> None:
        # Two a call: more than come in, so that the tail of a busy hour goes without ever being scanned.
        for _ in range(2):
            if idle and (idle[0][0] < oldest_allowed or idle[0][1].closed):
                self._count -= 1
                idle.popleft()[1].close()

    def close_one(self) -> bool:
        """Close the one that has been idle the longest of some origin; False where none is."""
        for table in (self._idle, self._settling):
            for origin, idle in table.items():
                self._count -= 1
                idle.popleft()[1].close()
                if not idle:
                    del table[origin]
                return True
        return False

    def close(self) -> None:
        """Close all of them."""
        for idle in (*self._idle.values(), *self._settling.values()):
            for _, connection in idle:
                connection.close()
        self._idle.clear()
        self._settling.clear()
        self._count = 0


class ConnectionPool:
    """HTTP/1.1 over rig's own connections. `rig.transport.httpx_transport` is its face for httpx.

    There is no bound on the number of connections but the descriptors of the process: bound the requests
    instead, as `Client(slots=...)` does. Where none is left, idle connections are closed, and requests wait
    in line for one of those in use; only where the pool has none does a request fail. A request that was written is never written again. It belongs to one event loop; when that has
    ended, idle connections of it are dropped.

    Args:
        verify: how to verify servers of https URLs. None trusts the authorities certifi lists and
            reads nothing from the environment; such a context is made once per process, for the first
            https connection.
        keepalive_s: seconds a connection is kept idle.
        max_idle: idle connections kept for one origin.
        connect: opens connections.

    Raises:
        RigError: from every request; a URL or a header is in none of them.
    """

    def __init__(
        self,
        *,
        verify: ssl.SSLContext | None = None,
        keepalive_s: float = KEEPALIVE_S,
        max_idle: int = MAX_IDLE,
        connect: Connect = connect,
    ) -> None:
        self._verify = verify
        self._connect = connect
        self._idle = IdleConnections(keepalive_s=keepalive_s, max_idle=max_idle)
        self._in_use: set[Connection] = set()
        self._closed = False
        self._opening = 0  # those that are being opened, and those called from the line to do so
        self._line = Line()
        self._grow_at = 0.0
        self._scarce = 0  # requests in line, or called from it

    @property
    def idle(self) -> int:
        """Connections that wait for a request."""
        return len(self._idle)

    @property
    def in_use(self) -> int:
        """Connections that carry a request or its answer."""
        return len(self._in_use)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.in_use} in use, {self.idle} idle>"

    async def send(
        self,
        origin: Origin,
        head: bytes,
        body: bytes,
        *,
        connect_s: float | None,
        deadline: Deadline,
    ) -> "PoolAnswer":
        """Send a request whose head is written already, without httpx's objects: 25 us a request.

        It is one coroutine and that of the read, because each stays alive for as long as the answer is
        waited for.

        Args:
            origin: where it goes.
            head: its head, of a connection that may carry more.
            body: its body.
            connect_s: seconds a new connection may take.
            deadline: bounds every wait from here on, those of whoever reads the answer too.

        Raises:
            InvalidRequestError: the pool is closed.
            RequestTimeoutError: the deadline came first.
            UpstreamError: no connection, or it broke before an answer came; the reasons of `sockets`,
                too_many_files and eof.
            ProtocolError: the answer is not HTTP/1.1.
            StreamCutError: the answer's head ended in the middle.
        """
        if self._closed:
            raise InvalidRequestError("the client is closed: make requests before closing it")
        connection = self._idle.take(origin) or await self._open_by(deadline, origin, connect_s)
        exchange = Exchange(self, origin, connection, deadline, keep=True)
        try:
            if len(body) > JOIN_BYTES or not connection.write(head + body):
                await exchange.write_whole(head, body)
            data = await connection.receive(RECEIVE_BYTES, deadline.at)
            if data is None:
                raise deadline.error()
            answer = exchange.plain_head(data) or await exchange.read_head(data)
        except BaseException:
            exchange.close()
            raise
        return PoolAnswer(exchange, answer)

    async def _open_by(
        self, deadline: Deadline, origin: Origin, timeout_s: float | None
    ) -> Connection:
        """Open a connection before the deadline, which needs no scope where the time-out comes first.

        It does not where there is more to wait for than the connection.

        Raises:
            RequestTimeoutError: one of them came.
            UpstreamError: none can be opened.
        """
        if first := not self._scarce:
            try:
                known = not origin.tls or self._verify is not None or _tls_contexts
                if known and timeout_s is not None and now() + timeout_s <= deadline.at:
                    return await self._open(origin, timeout_s)
                with anyio.CancelScope(deadline=deadline.at):
                    return await self._open(origin, timeout_s)
                raise deadline.error()
            except UpstreamError as error:
                if error.reason != TOO_MANY_FILES:
                    raise
        connection = await self._open_in_turn(origin, timeout_s, until=deadline.at, first=first)
        deadline.start_over(now())
        return connection

    async def _open(
        self,
        origin: Origin,
        timeout_s: float | None,
        *,
        in_turn: bool = False,
        frugal: bool = True,
    ) -> Connection:
        connect = self._connect if frugal else partial(self._connect, frugal=False)
        self._opening += 1
        try:
            tls = (self._verify or await _default_tls(timeout_s)) if origin.tls else None
            connection = await connect(
                origin.host, origin.port, tls=tls, server_hostname=origin.host, timeout_s=timeout_s
            )
        except BaseException as fault:
            if self._scarce and not in_turn and getattr(fault, "reason", "") != TOO_MANY_FILES:
                self._call_next()  # its descriptor is free
            raise
        finally:
            self._opening -= 1
        if self._closed:
            connection.close()
            raise InvalidRequestError("the transport was closed while it connected")
        return connection

    # Where descriptors are short. Whoever is called from the line, and leaves it without a connection it
    # was handed, calls the next: nobody waits while a descriptor may be free.

    async def _open_in_turn(
        self, origin: Origin, timeout_s: float | None, *, until: float, first: bool
    ) -> Connection:
        """Wait in line for a connection.

        Args:
            origin: where it leads to.
            timeout_s: seconds that opening it may take.
            until: when to stop waiting, on the event loop's clock.
            first: nobody waited when this was asked for, and none could be opened.

        Raises:
            InvalidRequestError: the pool was closed.
            RequestTimeoutError: time ran out (too_many_files).
            RigError: none can be opened.
        """
        place = self._line.place(origin)
        self._scarce += 1
        if first:
            self._opening += 1
            place.call()
        else:
            self._line.wait(place)
        try:
            with anyio.CancelScope(deadline=until):
                return await self._in_turn(place, timeout_s)
        finally:
            self._leave(place)
        raise RequestTimeoutError(
            f"no connection was given back in time, and no other could be opened: {WHY_SHORT}",
            reason=TOO_MANY_FILES,
        )

    async def _in_turn(self, place: Place, timeout_s: float | None) -> Connection:
        while True:  # each turn follows a connection that came back, or was closed
            if not place.has_turn:
                await place.called()
            if self._closed:
                raise InvalidRequestError("the client was closed while a request waited")
            if (handed := self._handed(place)) is not None:
                return handed
            try:
                return await self._make_room(place.origin, timeout_s)
            except UpstreamError as error:
                if error.reason != TOO_MANY_FILES or not self._others:
                    raise
            self._opening -= 1
            place.step_back()
            self._line.wait(place)

    @property
    def _others(self) -> int:
        """Connections that may be given back yet, for one that has its turn."""
        return len(self._in_use) + self._opening - 1

    async def _make_room(self, origin: Origin, timeout_s: float | None) -> Connection:
        """Open a connection, if need be for idle ones, and for the reserve where there are but a few.

        Raises:
            UpstreamError: there is no descriptor for it (too_many_files).
        """
        connection = self._idle.take(origin)
        while connection is None:
            try:
                return await self._open(origin, timeout_s, in_turn=True)
            except UpstreamError as error:
                if error.reason != TOO_MANY_FILES:
                    raise
                failure = error
            connection = self._idle.take(origin)
            if connection is None:
                closed_one = self._idle.close_one()
                if not closed_one and self._others >= FEW:
                    raise failure
                # One turn of the loop, in which asyncio closes sockets.
                await anyio.lowlevel.checkpoint()
                if not closed_one:
                    return await self._open(origin, timeout_s, in_turn=True, frugal=False)
        return connection

    def _leave(self, place: Place) -> None:
        self._scarce -= 1
        place.left = True
        if place.has_turn:
            self._opening -= 1
            if (connection := place.connection) is not None:
                self.end(place.origin, connection, keep=True, streamed=False)
            else:
                self._call_next()

    def _handed(self, place: Place) -> Connection | None:
        """The connection one was handed with its turn; None without one that works.

        The turn ends with it, as no descriptor has become free: once in a while the next is called all the
        same, to see whether some have.
        """
        connection, place.connection = place.connection, None
        if connection is None:
            return None
        if not connection.reusable:
            self._in_use.discard(connection)
            connection.close()
            return None
        if now() < self._grow_at:
            place.has_turn = False
            self._opening -= 1
        else:
            self._grow_at = now() + GROW_S
        return connection

    def _call_next(
        self, origin: Origin | None = None, connection: Connection | None = None
    ) -> bool:
        """Give the first in line its turn, with a connection if it leads where that one wants to go.

        Returns:
            False where nobody waits.
        """
        place = self._line.next()
        if place is None:
            return False
        self._opening += 1
        if connection is not None and place.origin == origin:
            self._in_use.add(connection)
            place.call(connection)
            return True
        if connection is not None:
            connection.close()
        place.call()
        return True

    def begin(self, connection: Connection) -> None:
        """Count a connection as in use; who calls this must call `end`."""
        self._in_use.add(connection)

    def end(self, origin: Origin, connection: Connection, *, keep: bool, streamed: bool) -> None:
        """Take a connection back: keep it for the next request, or close it."""
        self._in_use.discard(connection)
        if keep and not self._closed and connection.settled:
            if not self._scarce or not self._call_next(None if streamed else origin, connection):
                self._idle.put(origin, connection, settling=streamed)
        else:
            connection.close()
            if self._scarce:
                self._call_next()

    async def aclose(self) -> None:
        """Close every connection, those in use too: whoever reads from one gets an UpstreamError."""
        self._closed = True
        self._idle.close()
        while self._call_next():
            pass
        in_use, self._in_use = self._in_use, set()
        for connection in in_use:
            connection.close()
        # One turn of the loop, in which asyncio closes the sockets.
        await anyio.lowlevel.cancel_shielded_checkpoint()


_tls_lock = threading.Lock()
_tls_contexts: list[ssl.SSLContext] = []


async def _default_tls(timeout_s: float | None = None) -> ssl.SSLContext:
    """The process's context for verifying servers: 20 ms of CPU and 1 MB, so made once, off the loop.

    Raises:
        RequestTimeoutError: every thread was busy for so long.
        UpstreamError: it can't be read from its file (too_many_files).
    """
    if _tls_contexts:
        return _tls_contexts[0]
    with anyio.move_on_after(timeout_s):
        context = await anyio.to_thread.run_sync(_make_tls)
        if context is None:
            failure = too_many_files()
            raise failure
        return context
    raise RequestTimeoutError(
        f"no thread was free to prepare for TLS within {timeout_s:g} s: are all of them busy with tools?",
        reason="connect",
    )


def _make_tls() -> ssl.SSLContext | None:
    """Make the context, once; None where no descriptor is left to read the authorities with.

    Raises:
        OSError: they can't be read for another reason.
    """
    with _tls_lock:
        if not _tls_contexts:
            try:
                _tls_contexts.append(_trusting_certifi())
            except OSError as fault:
                if not is_short(fault):
                    raise
                return None
        return _tls_contexts[0]


def _trusting_certifi() -> ssl.SSLContext:
    import certifi  # noqa: PLC0415 for https alone

    # Not ssl.create_default_context: it writes the keys to a file that SSLKEYLOGFILE names.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(certifi.where())
    context.set_alpn_protocols(["http/1.1"])
    return context


class Exchange:
    """One request and its answer on one connection.

    Args:
        pool: gets the connection back, once, and is told what may become of it.
        origin: where the connection leads to.
        connection: in use from here on.
        deadline: bounds every wait; None where httpx's time-outs do.
        keep: the request leaves the connection open for another; `ask` reads it off the head.

    Attributes:
        deadline: as given.
        over: the connection was given back.
        whole: the body where all of it came with the head, None where more is to be read.
        read_s: seconds for each read where there is no deadline.
        write_s: seconds for each write.
    """

    __slots__ = (
        "_connection",
        "_keep",
        "_origin",
        "_pending",
        "_pool",
        "_reader",
        "_streamed",
        "deadline",
        "over",
        "read_s",
        "whole",
        "write_s",
    )

    def __init__(
        self,
        pool: ConnectionPool,
        origin: Origin,
        connection: Connection,
        deadline: Deadline | None = None,
        *,
        keep: bool = False,
    ) -> None:
        self._pool = pool
        self._origin = origin
        self._connection = connection
        self._keep = keep
        self._pending: list[Event] = []
        self._reader: ResponseReader | None = None
        self._streamed = False
        self.deadline = deadline
        self.over = False
        self.whole: bytes | None = None
        self.read_s: float | None = None
        self.write_s: float | None = None
        pool.begin(connection)

    async def ask(self, head: RequestHead, body: bytes | AsyncIterable[bytes]) -> Head:
        """Write the request and read the answer's head; the connection is closed when that fails."""
        try:
            await self.write(head, body)
            data = self._come(await self._receive())
            return self.plain_head(data) or await self.read_head(data)
        except BaseException:
            self.close()
            raise

    async def write(self, head: RequestHead, body: bytes | AsyncIterable[bytes]) -> None:
        """Write the request, or as much of it as the server wants before it answers."""
        self._keep = head.persistent
        if isinstance(body, bytes):
            await self.write_whole(head.data, _framed(body, head))
            return
        await self._send(head.data)
        await self._write_stream(body, head.length)

    async def write_whole(self, head: bytes, body: bytes) -> None:
        """Write a request that is in memory.

        Args:
            head: as it is sent.
            body: as it is sent.
        """
        if len(body) <= JOIN_BYTES:
            await self._send(head + body)
            return
        await self._send(head)
        await self._send(body)

    async def _write_stream(self, body: AsyncIterable[bytes], length: int | None) -> None:
        written = 0
        async with _closing(aiter(body)) as parts:
            async for part in parts:
                if self._connection.answered:
                    self._keep = False  # the rest would be read as another request
                    return
                written += len(part)
                if length is not None and written > length:
                    break
                if part:
                    await self._send(chunk(part) if length is None else part)
        if length is None:
            await self._send(chunk(b""))
        elif written != length:
            raise InvalidRequestError("the Content-Length header is not the size of the body")

    def plain_head(self, data: bytes) -> Head | None:
        """The head of an answer that has come whole and is plain, None of any other.

        Args:
            data: what has come of it.
        """
        plain = read_plain(data)
        if plain is None:
            return None
        head, self.whole = plain
        self._streamed = _is_event_stream(head)
        self._give_back(keep=self._keep)
        return head

    async def read_head(self, data: bytes) -> Head:
        """The answer's head; what came with it is kept for `read_data`.

        Args:
            data: what has come of it, which is not all of a plain answer.
        """
        self._pending = self._read(data)
        while not self._pending:
            self._pending = self._read(self._come(await self._receive()))
        head = cast("Head", self._pending.pop(0))  # it comes first, and once
        self._streamed = _is_event_stream(head)
        self._end_if_complete()
        if self.over:
            self.whole = b"".join([part.data for part in self._pending if isinstance(part, Data)])
            self._pending.clear()
        return head

    async def read_data(self, decoder: BodyDecoder | None = None) -> bytes | None:
        """More of the body, None at its end; the connection is closed when reading fails.

        It is one coroutine, because each more is begun and woken for every token of a slow model.

        Args:
            decoder: what the bytes are to pass, of a body without a coding; None for none.

        Raises:
            ResponseTooLargeError: the decoder counted too many.
            StreamCutError: the connection broke.
            UpstreamError: it was closed on this side.
        """
        if self.whole is not None:
            whole, self.whole = self.whole, b""
            return (decoder.feed(whole) if decoder is not None else whole) or None
        reader = self._reader
        try:
            while True:
                if self._pending:
                    event = self._pending.pop(0)
                    if isinstance(event, Data):
                        return event.data if decoder is None else decoder.feed(event.data)
                if self.over:
                    return None
                until = self._until() if self.deadline is None else self.deadline.at
                data = await self._connection.receive(RECEIVE_BYTES, until)
                if data is None:
                    raise self._timed_out("idle")
                if reader is not None and (piece := reader.one_chunk(data)) is not None:
                    return piece if decoder is None else decoder.feed(piece)
                self._pending = self._read(data)
                self._end_if_complete()
        except UpstreamError as error:
            self.close()
            if error.reason != "reset" or isinstance(error, StreamCutError):
                raise
        except BaseException:
            self.close()
            raise
        raise StreamCutError(
            "the server broke the connection before its answer was complete", reason="reset"
        )

    def _receive(self) -> Coroutine[Any, Any, bytes | None]:
        """The next bytes, none at the end of the connection; None when time ran out."""
        return self._connection.receive(RECEIVE_BYTES, self._until())

    def _come(self, data: bytes | None) -> bytes:
        """What was received before there was a head.

        Raises:
            RequestTimeoutError: none came in time.
        """
        if data is None:
            raise self._timed_out("first_byte")
        return data

    def _read(self, data: bytes) -> list[Event]:
        """What the next bytes complete.

        Raises:
            UpstreamError: the connection ended before any byte of an answer.
        """
        reader = self._reader = self._reader or ResponseReader()
        if data:
            return reader.feed(data)
        if not reader.started:
            raise UpstreamError("the server closed the connection without an answer", reason="eof")
        return reader.eof()

    def _until(self) -> float:
        """When a read must end: at the driver's deadline, or after httpx's time-out."""
        if self.deadline is not None:
            return self.deadline.at
        return math.inf if self.read_s is None else now() + self.read_s

    def _timed_out(self, phase: str) -> RequestTimeoutError:
        if self.deadline is not None:
            return self.deadline.error()
        return RequestTimeoutError(f"the server sent nothing for {self.read_s:g} s", reason=phase)

    async def _send(self, data: bytes) -> None:
        if self.deadline is not None:
            if not await self._connection.send(data, self.deadline.at):
                raise self.deadline.error()
            return
        until = math.inf if self.write_s is None else now() + self.write_s
        if not await self._connection.send(data, until):
            raise RequestTimeoutError(
                f"the server took nothing of the request for {self.write_s:g} s", reason="write"
            )

    def _end_if_complete(self) -> None:
        """Give the connection back as soon as the end is there, taken or not."""
        if not self.over and self._pending and isinstance(self._pending[-1], End):
            reader = self._reader
            self._give_back(keep=self._keep and reader is not None and reader.keep_alive)

    def _give_back(self, *, keep: bool) -> None:
        self.over = True
        self._pool.end(self._origin, self._connection, keep=keep, streamed=self._streamed)

    def close(self) -> None:
        """Close the connection, unless it was given back."""
        if not self.over:
            self._pending.clear()
            self._give_back(keep=False)


def _is_event_stream(answer: Head) -> bool:
    for name, value in answer.headers:
        if name == b"content-type" and value.lower().startswith(b"text/event-stream"):
            return True
    return False


def _framed(body: bytes, head: RequestHead) -> bytes:
    if head.length is not None:
        return body
    return (chunk(body) if body else b"") + chunk(b"")


@asynccontextmanager
async def _closing(parts: AsyncIterator[bytes]) -> AsyncGenerator[AsyncIterator[bytes]]:
    """End the iterator where the block ends; an abandoned generator would be ended by the loop."""
    try:
        yield parts
    finally:
        if isinstance(parts, AsyncGenerator):
            await parts.aclose()


class PoolAnswer:
    """An answer over a connection of the pool.

    Args:
        exchange: reads it.
        head: its head.

    Attributes:
        exchange: the same, for who reads a whole stream.
    """

    __slots__ = ("exchange", "headers", "status")

    minds_deadline = True

    def __init__(self, exchange: Exchange, head: Head) -> None:
        self.exchange = exchange
        self.status = head.status
        self.headers = JoinedHeaders(head.headers)

    @property
    def encoding(self) -> str:
        """The coding the bytes are in."""
        return self.headers.encoding

    @property
    def whole(self) -> bytes | None:
        """The body where all of it has come with the head, as it is encoded; None where it is to be read."""
        return self.exchange.whole

    def read(self) -> Coroutine[Any, Any, bytes | None]:
        """The next bytes, None at the end."""
        return self.exchange.read_data()

    async def close(self) -> None:
        """Close the connection if anything is left of the body; never awaits."""
        self.exchange.close()
