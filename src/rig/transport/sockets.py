"""TCP and TLS connections: the only file of rig that touches sockets, and the only one that may import asyncio.

Two back ends stand behind `Connection`. On asyncio it is an `asyncio.BufferedProtocol`: anyio's stream costs
about 80 us more for every lone read (measured), which is what each token of a slow model is. Everywhere
else, on trio, it is a non-blocking socket and anyio's `wait_readable` and `wait_writable`: nothing between
us and the kernel that could hold bytes or need an await to be closed.

Rules for whoever edits this file: faults of the operating system are turned into values and raised where
no exception is being handled, because theirs hold addresses. `close` never awaits. Every path out of
`connect`, cancellation included, either returns the connection or closes the socket.
"""

import asyncio
import errno
import math
import select
import socket
import ssl
import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from contextlib import suppress
from contextvars import Context
from itertools import chain, zip_longest
from types import coroutine
from typing import Any, Self, TypeVar, cast
from weakref import WeakKeyDictionary

import anyio
import anyio.lowlevel

from rig.cancellation import cancel_requests
from rig.errors import RequestTimeoutError, RigError, UpstreamError
from rig.transport.descriptors import is_short, reserve, too_many_files
from rig.transport.timeouts import Deadline

MAX_BUFFERED_BYTES = 256 * 1024
"""Bytes received and not yet taken, past which reading from the socket pauses (asyncio; it reads up to
`READ_BYTES` at a time, and so much more is held at most). On trio nothing is read ahead."""

READ_BYTES = 64 * 1024
"""Bytes read from the socket at a time (asyncio): what the pool takes at a time."""

RESUME_BYTES = MAX_BUFFERED_BYTES // 4
"""Bytes left in the buffer at which reading goes on."""

WRITE_BYTES = 32 * 1024
"""Bytes that are written without waiting for room (asyncio): half of what its transports buffer."""

SEND_BYTES = 64 * 1024
"""Bytes handed to the kernel, or to TLS, at a time on trio; four records of TLS."""

EARLY_ANSWER_GRACE_S = 1.0
"""Seconds for which the rest of a request is still offered to a server that began to answer before it
had read all of it, when it takes nothing (trio). A server that refuses a body reads no more of it; one
that answers as it reads goes on within milliseconds."""

ATTEMPT_DELAY_S = 0.25
"""Seconds before the next address of a host is tried beside the last (RFC 8305 5)."""

MAX_ADDRESSES = 8
"""Addresses of one host that are tried. A round robin of more is load balancing, not redundancy."""

END_AGAIN_S = 10.0
"""Seconds after which work that was ended is ended again, when it still waits for something (asyncio):
twice what closing an answer may take."""

MAX_TURNS_PAST = 100
"""Turns of the event loop for which work past its deadline goes on while it waits for nothing else (asyncio).
Clients give a connection back in such turns, behind a shield that only anyio's scopes know: ended there,
httpcore kept the request for good (measured). It takes 3, and 2 for each idle connection it closes."""

_IN_PROGRESS = {0, errno.EINPROGRESS, errno.EWOULDBLOCK, getattr(errno, "WSAEWOULDBLOCK", 0)}

_Address = tuple[int, int, int, Any]  # family, type, protocol, sockaddr: what getaddrinfo says

_SENTENCES = {
    "closed": "the connection was closed on this side while it was in use",
    "connect_failed": "the server can't be reached",
    "connect_refused": "nothing accepts connections at the server's address",
    "dns": "the server's name can't be resolved",
    "reset": "the server broke the connection",
    "tls": "no TLS connection to the server can be made: check its certificate, or that it speaks TLS",
    "write_failed": "the request can't be written: the server broke the connection",
}
"""Every `reason` of an error from this file but too_many_files, and the sentence people read."""


def _failure(reason: str, detail: str = "") -> UpstreamError:
    return UpstreamError(_SENTENCES[reason], reason=reason, detail=detail)


class Connection(ABC):
    """One connection, of one task at a time: it may not be read, or written, twice at once."""

    @property
    @abstractmethod
    def closed(self) -> bool:
        """True once nothing can be sent any more, whoever closed it."""

    @property
    @abstractmethod
    def answered(self) -> bool:
        """True when the peer sent bytes, or its end, that `receive` has not returned."""

    @property
    @abstractmethod
    def settled(self) -> bool:
        """True when as far as is known here it can carry another request: open, all written, nothing unread."""

    @property
    @abstractmethod
    def reusable(self) -> bool:
        """True when it is settled, and the kernel knows no better. O(1), with one poll.

        The poll is for a close that the kernel knows and the event loop has not looked at yet.
        """

    def write(self, data: bytes) -> bool:  # noqa: ARG002 of those that can
        """Write a few bytes without waiting, which spares `send` a coroutine.

        Args:
            data: what to write, on a settled connection.

        Returns:
            False where nothing was written: `send` has to.
        """
        return False

    @abstractmethod
    async def send(self, data: bytes, until: float = math.inf) -> bool:
        """Write bytes, waiting while the peer takes none.

        Returns early when the peer answers first: what is left may then never be sent, `answered` is
        True and `reusable` stays False until the rest is gone.

        Args:
            data: what to write.
            until: when to stop waiting, as for `receive`.

        Returns:
            False when time ran out; the connection is of no use any more.

        Raises:
            UpstreamError: the connection broke (write_failed), or was closed here (closed).
        """

    @abstractmethod
    async def receive(self, max_bytes: int, until: float = math.inf) -> bytes | None:
        """Wait for bytes.

        Args:
            max_bytes: at most so many are returned.
            until: when to stop waiting, on the event loop's clock (`anyio.current_time`). On asyncio
                this costs a twentieth of a cancel scope, which is what a token's read would notice.

        Returns:
            At least one byte, `b""` once the peer said that it sends no more, None when time ran out.

        Raises:
            UpstreamError: the connection broke (reset, tls), or was closed here (closed).
        """

    @abstractmethod
    def close(self) -> None:
        """Close at once, whatever is unsent. Whoever waits on the connection gets an error."""

    async def aclose(self) -> None:
        """Close, and let the event loop see to it."""
        self.close()
        await anyio.lowlevel.cancel_shielded_checkpoint()


async def connect(
    host: str,
    port: int,
    *,
    tls: ssl.SSLContext | None = None,
    server_hostname: str | None = None,
    timeout_s: float | None = None,
    frugal: bool = True,
) -> Connection:
    """Open a connection, trying the addresses of a name side by side (RFC 8305).

    Args:
        host: a name, or an IP address without brackets.
        port: TCP port.
        tls: what to speak TLS with; None for plain TCP.
        server_hostname: the name the certificate must be for; `host` when None.
        timeout_s: seconds for resolving, connecting and the handshake together; None for no bound.
        frugal: leave the last descriptors to the rest of the program.

    Raises:
        RequestTimeoutError: time ran out (connect).
        UpstreamError: connect_refused, connect_failed, dns, tls or too_many_files.
    """
    outcome: Connection | RigError | None = None
    with anyio.move_on_after(timeout_s):
        outcome = await _connect(host, port, tls, server_hostname or host, frugal)
    if outcome is None:
        raise RequestTimeoutError(
            f"no connection to the server within {timeout_s:g} s", reason="connect"
        )
    if isinstance(outcome, RigError):
        raise outcome
    return outcome


async def _connect(
    host: str, port: int, tls: ssl.SSLContext | None, server_hostname: str, frugal: bool
) -> Connection | RigError:
    try:
        sock = await _open_socket(host, port, frugal)
        if _on_asyncio():
            return await _LoopConnection.over(sock, tls, server_hostname)
        return await _SocketConnection.over(sock, tls, server_hostname)
    except (OSError, UnicodeError, OverflowError) as fault:
        return _why_no_connection(fault)


def _on_asyncio() -> bool:
    """True on asyncio; False on trio, also where trio is a guest of an asyncio loop."""
    try:
        return asyncio.current_task() is not None
    except RuntimeError:
        return False


def now() -> float:
    """The clock of the event loop: `anyio.current_time`, of which four a request are 10 us, in a fifth of its time."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return anyio.current_time()
    # Where trio is a guest of the loop, nobody's task is under way in it, and trio's clock is meant.
    if "trio" in sys.modules and asyncio.current_task(loop) is None:
        return anyio.current_time()
    return loop.time()


def clock() -> Callable[[], float]:
    """What `now` asks, for whoever asks the loop it is called on again and again: a third of the calls."""
    return asyncio.get_running_loop().time if _on_asyncio() else anyio.current_time


def _cancel_requests() -> int | None:
    """What `rig.cancellation` wants to know; no task of asyncio's runs where trio does, also as its guest."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return None
    return None if task is None else task.cancelling()


cancel_requests.counted_by(_cancel_requests)


def _why_no_connection(fault: Exception) -> UpstreamError:
    if is_short(fault):
        reserve.forget()
        return too_many_files()
    if isinstance(fault, socket.gaierror | UnicodeError | OverflowError):
        return _failure("dns")
    if isinstance(fault, ssl.SSLCertVerificationError):
        return _failure("tls", str(fault.verify_message))
    if isinstance(fault, ssl.SSLError) and not isinstance(fault, ssl.SSLEOFError):
        return _failure("tls", str(getattr(fault, "reason", None) or ""))
    if isinstance(fault, ConnectionRefusedError):
        return _failure("connect_refused")
    return _failure("connect_failed")


# --- TCP, for both back ends. ---


async def _open_socket(host: str, port: int, frugal: bool) -> socket.socket:
    addresses = _interleaved(await _resolve(host, port))[:MAX_ADDRESSES]
    if len(addresses) == 1:
        return await _dial(addresses[0], frugal)
    return await _race(addresses, frugal)


async def _resolve(host: str, port: int) -> list[_Address]:
    try:
        # An IP address needs no resolver, and so no thread; as bytes no codec for names either, 0.3 MB.
        found: Sequence[Any] = socket.getaddrinfo(
            host.encode(), port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST
        )
    except socket.gaierror:
        found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [(family, kind, protocol, where) for family, kind, protocol, _, where in found]


def _interleaved(addresses: Sequence[_Address]) -> list[_Address]:
    """The resolver's order, with the families taking turns (RFC 8305 4)."""
    first = [address for address in addresses if address[0] == addresses[0][0]]
    others = [address for address in addresses if address[0] != addresses[0][0]]
    return [address for address in chain(*zip_longest(first, others)) if address is not None]


async def _dial(address: _Address, frugal: bool) -> socket.socket:
    family, kind, protocol, where = address
    sock = socket.socket(family, kind, protocol)
    try:
        fd = sock.fileno()
        if fd >= reserve.begins and reserve.holds(fd) and frugal:
            _raise_os_error(errno.EMFILE)
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if (fault := sock.connect_ex(where)) not in _IN_PROGRESS:
            _raise_os_error(fault)
        # To this machine it is made already. That saves two calls that watch the socket, and a turn of
        # the loop in which a thousand others would begin before this one has sent anything.
        if not _is_ready(fd, to_write=True):
            await anyio.wait_writable(sock)
        if fault := sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            _raise_os_error(fault)
    except BaseException:
        sock.close()
        raise
    return sock


def _raise_os_error(number: int) -> None:
    raise OSError(number, "connect")  # OSError picks the subclass by the number


async def _race(addresses: list[_Address], frugal: bool) -> socket.socket:
    """The socket that is connected first; each address gets `ATTEMPT_DELAY_S` before the next starts."""
    opened: list[socket.socket] = []
    faults: list[OSError] = []

    async def attempt(address: _Address, failed: anyio.Event, race: anyio.CancelScope) -> None:
        try:
            opened.append(await _dial(address, frugal))
        except OSError as fault:
            faults.append(fault)
            failed.set()
        else:
            race.cancel()

    try:
        async with anyio.create_task_group() as tasks:
            for address in addresses:
                failed = anyio.Event()
                tasks.start_soon(attempt, address, failed, tasks.cancel_scope)
                with anyio.move_on_after(ATTEMPT_DELAY_S):
                    await failed.wait()
    except BaseException:
        for sock in opened:
            sock.close()
        raise
    for sock in opened[1:]:
        sock.close()
    if not opened:
        short = [fault for fault in faults if is_short(fault)]
        refused = [fault for fault in faults if isinstance(fault, ConnectionRefusedError)]
        raise (short or refused or faults)[0]
    return opened[0]


_POLLS = hasattr(select, "poll")  # Windows has none


def _is_ready(fd: int, *, to_write: bool = False) -> bool:
    """True when a read, or a write, would not wait: room or bytes, the peer's end or an error. 0.4 us."""
    if not _POLLS:
        reads, writes = ([], [fd]) if to_write else ([fd], [])
        return any(select.select(reads, writes, [], 0))
    poll = select.poll()
    poll.register(fd, select.POLLOUT if to_write else select.POLLIN)
    return bool(poll.poll(0))


# --- Work that knows of no deadline: that of a caller's client. ---

ResultT = TypeVar("ResultT")


class Waits(ABC):
    """Ends what waits past a deadline. Of one exchange: one wait at a time, and always the same deadline.

    Args:
        deadline: it may be moved, also by the work itself.
    """

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline

    @abstractmethod
    def bounded(
        self, work: Coroutine[Any, Any, ResultT]
    ) -> Awaitable[ResultT | RequestTimeoutError]:
        """Await work, until the deadline.

        Args:
            work: a coroutine that has not begun.

        Returns:
            What it returns, or the error to raise where no exception is being handled.
        """

    @abstractmethod
    def moved(self) -> None:
        """The work itself has moved the deadline."""

    @abstractmethod
    def over(self) -> None:
        """Nothing is awaited any more."""


def waits_until(deadline: Deadline) -> Waits:
    """What ends the waits of an exchange.

    Args:
        deadline: of the exchange.
    """
    return _LoopWaits(deadline) if _on_asyncio() else _ScopeWaits(deadline)


class _ScopeWaits(Waits):
    """A cancel scope around each wait: on trio, where each read is a checkpoint anyway."""

    _scope: anyio.CancelScope | None = None

    async def bounded(self, work: Coroutine[Any, Any, ResultT]) -> ResultT | RequestTimeoutError:
        with anyio.CancelScope(deadline=self._deadline.at) as self._scope:
            return await work
        return self._deadline.error()

    def moved(self) -> None:
        if self._scope is not None:
            self._scope.deadline = self._deadline.at

    def over(self) -> None:
        pass


# --- asyncio ---


def _set_timer(
    loop: asyncio.AbstractEventLoop, at: float, ring: Callable[[], None]
) -> asyncio.TimerHandle:
    """Call back in nobody's context: asyncio would copy that of the task, and keep it as long as the connection.

    Each has one of its own: two threads can't be in the same one, and the later alarm would be lost.
    """
    return loop.call_at(at, ring, context=Context())


class _LoopWaits(Waits):
    """Steps the work by hand: what waits for nothing, as a read that has come already, costs no time-out.

    A cancel scope for each read is 10 us. None can be opened once a read turns out to wait, because its
    work has opened some of its own by then, and they must nest; none can stay open from read to read,
    because the caller's code runs in between. So one timer ends the wait of the task as
    `Task.cancel` would, by cancelling the future, but without counting as a request to end the task:
    whoever asks for that at the same moment, anyio's scopes and `asyncio.timeout` among them, finds his
    own request untouched, and it is stronger.
    """

    def __init__(self, deadline: Deadline) -> None:
        super().__init__(deadline)
        self._loop = asyncio.get_running_loop()
        self._alarm: asyncio.TimerHandle | None = None
        self._work: Coroutine[Any, Any, Any] | None = None  # while it waits
        self._task: asyncio.Task[Any] | None = None
        self._future: asyncio.Future[Any] | None = None  # None is a turn of the loop
        self._begun = False
        self._ended = False  # by us
        self._ending = False  # as soon as the turn of the loop is over
        self._turns = 0  # past the deadline
        self._asked = 0  # how often others had asked the task to end when the work began

    @coroutine
    def bounded(
        self, work: Coroutine[Any, Any, ResultT]
    ) -> Generator[Any, Any, ResultT | RequestTimeoutError]:
        try:
            future = work.send(None)
        except StopIteration as done:
            result: ResultT = done.value
            return result
        self._work, self._task = work, asyncio.current_task(self._loop)
        self._asked = 0 if self._task is None else self._task.cancelling()
        self._begun = self._ended = self._ending = False
        self._turns = 0
        self._wait(future)
        try:
            result = yield from cast("Generator[Any, Any, ResultT]", self)
        except asyncio.CancelledError:
            if self._ended and self._asked_since():
                self._work = None
                yield  # a scope of anyio's asks again, and knows only what it asked for itself
                raise
            if not self._ended:
                raise
        else:
            return result
        finally:
            self._work = self._task = self._future = None
        return self._deadline.error()

    def moved(self) -> None:
        pass  # each wait looks

    def over(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _wait(self, future: asyncio.Future[Any] | None) -> None:
        """The task waits from here on."""
        self._future = future
        if not self._ended:
            at = self._deadline.at
            if self._alarm is None or self._alarm.when() > at:
                self._set_alarm(at)

    def _set_alarm(self, at: float) -> None:
        self.over()
        if at < math.inf:
            self._alarm = _set_timer(self._loop, at, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        if self._work is None:
            return
        time = self._loop.time()
        if time < self._deadline.at:
            self._set_alarm(self._deadline.at)
            return
        if not self._asked_since() or time >= self._deadline.at + END_AGAIN_S:
            turns_on = self._future is None
            if turns_on and not self._ended and self._turns < MAX_TURNS_PAST:
                self._turns += 1
                return  # the next wait sets the alarm
            self._ending = turns_on
            # One that is done can't be cancelled: what it brings is taken.
            if self._future is None or self._future.cancel():
                self._ended = True
        self._set_alarm(time + END_AGAIN_S)

    def _asked_since(self) -> bool:
        return self._task is not None and self._task.cancelling() > self._asked

    # What `yield from` calls, each for what the task does with it.

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:  # noqa: ANN401 what a task waits for
        if not self._begun:
            self._begun = True
        elif self._ending:
            return self.throw(asyncio.CancelledError())
        else:
            self._wait(cast("Coroutine[Any, Any, Any]", self._work).send(None))
        return self._future

    def throw(self, *fault: Any) -> Any:  # noqa: ANN401 what a task waits for
        self._ending = False  # once is enough, whoever asks
        self._wait(cast("Coroutine[Any, Any, Any]", self._work).throw(*fault))
        return self._future

    def close(self) -> None:
        if self._work is not None:
            self._work.close()


_buffers: WeakKeyDictionary[asyncio.AbstractEventLoop, memoryview] = WeakKeyDictionary()
"""What all connections of a loop read into: it asks for the room, fills it and tells how much it was in one go."""


class _LoopConnection(asyncio.BufferedProtocol, Connection):
    """A connection as a protocol: the loop calls, flags and one future say what happened.

    A protocol without a buffer of its own is given 256 KiB for each read, which the C library has the kernel
    map and unmap each time: 4 us of a read of 300 bytes (measured).
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, fd: int) -> None:
        self._loop = loop
        self._buffer = _buffers.get(loop) or _buffers.setdefault(
            loop, memoryview(bytearray(READ_BYTES))
        )
        self._fd = fd
        self._transport: asyncio.Transport | None = None
        self._chunks: list[bytes] = []  # one or none; an empty deque is 600 bytes
        self._size = 0
        self._reader: asyncio.Future[None] | None = None
        self._writer: asyncio.Future[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = math.inf
        self._until = math.inf
        self._reading_paused = False
        self._writing_paused = False
        self._eof = False
        self._closed = False
        self._fault = ""  # why it is closed, when not because of an end in good order

    @classmethod
    async def over(
        cls, sock: socket.socket, tls: ssl.SSLContext | None, server_hostname: str
    ) -> "_LoopConnection":
        loop = asyncio.get_running_loop()
        connection = cls(loop, sock.fileno())
        # create_connection closes the socket whenever it fails: nothing awaits before it owns it.
        if tls is None:
            await loop.create_connection(lambda: connection, sock=sock)
        else:
            await loop.create_connection(
                lambda: connection, sock=sock, ssl=tls, server_hostname=server_hostname
            )
        return connection

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def answered(self) -> bool:
        return self._size > 0 or self._eof

    @property
    def settled(self) -> bool:
        return not (
            self._closed
            or self._eof
            or self._size
            or self._transport is None
            or self._transport.get_write_buffer_size()
        )

    @property
    def reusable(self) -> bool:
        return self.settled and not self._loop.is_closed() and not _is_ready(self._fd)

    def write(self, data: bytes) -> bool:
        transport = self._transport
        if self._closed or transport is None or len(data) > WRITE_BYTES or self._writing_paused:
            return False
        transport.write(data)
        return True

    async def send(self, data: bytes, until: float = math.inf) -> bool:
        if self.closed or self._transport is None:
            raise self._write_failure()
        self._transport.write(data)
        if self._writing_paused:
            with anyio.CancelScope(deadline=until) as scope:
                await self._drain()
            if scope.cancelled_caught:
                return False
        if self._closed and not self.answered:
            raise self._write_failure()
        return True

    async def _drain(self) -> None:
        while self._writing_paused and not self._closed and not self.answered:
            self._writer = self._loop.create_future()
            try:
                await self._writer
            finally:
                self._writer = None

    def _write_failure(self) -> UpstreamError:
        return _failure("closed" if self._fault == "closed" else "write_failed")

    async def receive(self, max_bytes: int, until: float = math.inf) -> bytes | None:
        if self._size > max_bytes:
            # Only a flood gets here: give other tasks, timers and cancellation their turn.
            await asyncio.sleep(0)
        chunks = self._chunks
        if chunks and self._loop.time() >= until:
            return None  # of a flood that is taken slowly, some has always come
        while not chunks:
            if self._fault:
                raise _failure(self._fault)
            if self._eof or self._closed:
                return b""
            if until < math.inf and self._loop.time() >= until:
                return None
            self._until = until
            if until < self._alarm_at:
                self._set_alarm()
            self._reader = self._loop.create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        data = chunks[0]
        if len(data) != self._size or len(data) > max_bytes or self._reading_paused:
            return self._take(max_bytes)
        chunks.clear()
        self._size = 0
        return data

    def _set_alarm(self) -> None:
        """See to it that a wait ends. A timer is set anew only when it has fired, or is too late."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        self._alarm_at = self._until
        if self._until < math.inf:
            self._alarm = _set_timer(self._loop, self._until, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self._alarm_at = math.inf
        if self._reader is not None:
            if self._loop.time() >= self._until:
                self._wake()
            else:
                self._set_alarm()

    def _take(self, max_bytes: int) -> bytes:
        chunks = self._chunks
        data = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        chunks.clear()
        if len(data) > max_bytes:
            chunks.append(data[max_bytes:])
            data = data[:max_bytes]
        self._size -= len(data)
        if self._reading_paused and self._size <= RESUME_BYTES and self._transport is not None:
            self._reading_paused = False
            self._transport.resume_reading()
        return data

    def close(self) -> None:
        if self._fault != "closed":
            self._fault = "closed"
            self._closed = True
            self._chunks.clear()
            self._size = 0
            if self._transport is not None:
                with suppress(RuntimeError):  # the loop it belonged to is closed
                    self._transport.abort()
            self._wake()

    def _wake(self) -> None:
        for waiter in (self._reader, self._writer):
            if waiter is not None and not waiter.done():
                waiter.set_result(None)

    # What the loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 of asyncio
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._fault:
            return
        self._chunks.append(bytes(self._buffer[:nbytes]))
        self._size += nbytes
        if (
            self._size > MAX_BUFFERED_BYTES
            and not self._reading_paused
            and self._transport is not None
        ):
            self._reading_paused = True
            self._transport.pause_reading()
        if self._writer is not None:
            self._wake()
        elif (reader := self._reader) is not None and not reader.done():
            reader.set_result(None)

    def eof_received(self) -> None:
        self._eof = True
        self._wake()  # returning None has the transport closed once its buffer is written

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed = True
        if self._alarm is not None:
            self._alarm.cancel()
        if exc is not None and not self._fault:
            self._fault = "tls" if isinstance(exc, ssl.SSLError) else "reset"
        self._wake()

    def pause_writing(self) -> None:
        self._writing_paused = True

    def resume_writing(self) -> None:
        self._writing_paused = False
        self._wake()


# --- trio, and any other loop anyio knows ---


class _SocketConnection(Connection):
    """A connection as a non-blocking socket, plain or TLS."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._early: deque[bytes] = deque()  # what the peer sent while we were writing
        self._eof = False
        self._closed = False
        self._unsent = False
        self._fault = ""

    @classmethod
    async def over(
        cls, sock: socket.socket, tls: ssl.SSLContext | None, server_hostname: str
    ) -> "_SocketConnection":
        if tls is None:
            return cls(sock)
        try:
            secured = tls.wrap_socket(
                sock, do_handshake_on_connect=False, server_hostname=server_hostname
            )
        except BaseException:
            sock.close()
            raise
        try:
            await _shake_hands(secured)
        except BaseException:
            secured.close()
            raise
        return cls(secured)

    @property
    def closed(self) -> bool:
        return self._closed or bool(self._fault)

    @property
    def answered(self) -> bool:
        return bool(self._early) or self._eof

    @property
    def settled(self) -> bool:
        return not (
            self.closed
            or self._unsent
            or self.answered
            or (isinstance(self._socket, ssl.SSLSocket) and self._socket.pending())
        )

    @property
    def reusable(self) -> bool:
        return self.settled and not _is_ready(self._socket.fileno())

    async def send(self, data: bytes, until: float = math.inf) -> bool:
        if until == math.inf:
            await self._send(data)
            return True
        with anyio.CancelScope(deadline=until) as scope:
            await self._send(data)
        return not scope.cancelled_caught

    async def _send(self, data: bytes) -> None:
        await anyio.lowlevel.checkpoint_if_cancelled()
        rest = memoryview(data)
        self._unsent = True
        while rest and not self.closed:
            try:
                rest = rest[self._socket.send(rest[:SEND_BYTES]) :]
            except (BlockingIOError, ssl.SSLWantWriteError):
                if not await self._wait_writable():
                    return
            except ssl.SSLWantReadError:
                await self._wait_readable()
            except OSError:
                self._fault = "write_failed"
        if not rest:
            self._unsent = False
        elif not self.answered:
            raise _failure("closed" if self._closed else "write_failed")

    async def receive(self, max_bytes: int, until: float = math.inf) -> bytes | None:
        if until == math.inf:
            return await self._receive(max_bytes)
        with anyio.CancelScope(deadline=until):
            return await self._receive(max_bytes)
        return None

    async def _receive(self, max_bytes: int) -> bytes:
        # One turn of the loop for every read, so that a flooding peer can't starve other tasks.
        await anyio.lowlevel.checkpoint()
        while not self._early:
            if self._eof:
                return b""
            if self._closed or self._fault:
                raise _failure("closed" if self._closed else self._fault)
            if data := self._read(max_bytes):
                return data
            if data is None:
                await self._wait_readable()
        data = self._early.popleft()
        if len(data) > max_bytes:
            self._early.appendleft(data[max_bytes:])
        return data[:max_bytes]

    def _read(self, max_bytes: int) -> bytes | None:
        """What has arrived, `b""` at the end or at a fault; None when there is nothing yet."""
        try:
            data = self._socket.recv(max_bytes)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return None
        except OSError as fault:
            self._fault = "tls" if isinstance(fault, ssl.SSLError) else "reset"
            data = b""
        if not data and not self._fault:
            self._eof = True
        return data

    async def _wait_readable(self) -> None:
        with suppress(anyio.ClosedResourceError):
            await anyio.wait_readable(self._socket)

    async def _wait_writable(self) -> bool:
        """Wait until the peer takes more; False when it answered instead and does not."""
        writable = False
        async with anyio.create_task_group() as tasks:
            if self.answered:
                tasks.cancel_scope.deadline = anyio.current_time() + EARLY_ANSWER_GRACE_S
            else:
                tasks.start_soon(self._watch, tasks.cancel_scope)
            with suppress(anyio.ClosedResourceError):
                await anyio.wait_writable(self._socket)
            writable = True
            tasks.cancel_scope.cancel()
        return writable

    async def _watch(self, writing: anyio.CancelScope) -> None:
        """Take what the peer sends while we write; from then on writing may only last a little."""
        while (data := None if self.closed else self._read(SEND_BYTES)) is None:
            if self.closed:
                return
            await self._wait_readable()
        if data:
            self._early.append(data)
        writing.deadline = anyio.current_time() + EARLY_ANSWER_GRACE_S

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._early.clear()
            with suppress(RuntimeError):  # the loop it belonged to is gone
                anyio.notify_closing(self._socket)
            self._socket.close()


async def _shake_hands(secured: ssl.SSLSocket) -> None:
    while True:
        try:
            secured.do_handshake()
        except ssl.SSLWantReadError:
            await anyio.wait_readable(secured)
        except ssl.SSLWantWriteError:
            await anyio.wait_writable(secured)
        else:
            return
