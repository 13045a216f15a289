"""Connections on both back ends over real loopback sockets."""

import asyncio  # noqa: TID251 whoever asks a task to end at the same moment
import contextvars
import socket
import ssl
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, suppress
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from rig.errors import RequestTimeoutError, RigError, UpstreamError
from rig.testing import FakeBackend, Hang, raw, repeat
from rig.testing.sockets import SocketStream, accept, listen
from rig.transport import sockets
from rig.transport.sockets import (
    MAX_BUFFERED_BYTES,
    WRITE_BYTES,
    Connection,
    connect,
    now,
    waits_until,
)
from rig.transport.timeouts import Deadline, Timeouts

Sweep = Callable[
    [Callable[[], Coroutine[Any, Any, object]], Callable[[], Awaitable[None]]], Awaitable[int]
]
"""The fixture `cancel_at_every_await`."""

HUGE = 64 << 20
"""Bytes no pair of loopback sockets buffers."""

TURNS = 500
"""Turns of the event loop in which it would have taken far more than it may."""


def port_of(listener: socket.socket) -> int:
    port: int = listener.getsockname()[1]
    return port


def free_port() -> int:
    with closing(listen()) as listener:
        return port_of(listener)


@asynccontextmanager
async def pair() -> AsyncGenerator[tuple[Connection, SocketStream]]:
    """A connection and the server's end of it."""
    with closing(listen()) as listener:
        connection = await connect("127.0.0.1", port_of(listener))
        peer = await accept(listener)
        try:
            yield connection, peer
        finally:
            await connection.aclose()
            await peer.aclose()


async def receive_all(connection: Connection) -> bytes:
    parts: list[bytes] = []
    while data := await connection.receive(65536):
        parts.append(data)
    return b"".join(parts)


async def send_for_ever(connection: Connection) -> None:
    while True:
        await connection.send(b"x" * 65536)
        await anyio.lowlevel.checkpoint()


async def turns(count: int = TURNS) -> None:
    for _ in range(count):
        await anyio.lowlevel.checkpoint()


async def until_readable(connection: Connection) -> None:
    with anyio.fail_after(5):
        while connection.reusable:
            await anyio.lowlevel.checkpoint()


async def test_bytes_go_both_ways_and_end_with_nothing() -> None:
    async with pair() as (connection, peer):
        await connection.send(b"ping")
        assert await peer.receive() == b"ping"
        await peer.send(b"pong")
        assert await connection.receive(65536) == b"pong"
        assert connection.reusable
        await peer.aclose()
        assert await connection.receive(65536) == b""
        assert await connection.receive(65536) == b""
        assert not connection.reusable


async def test_what_connections_of_one_loop_read_is_their_own() -> None:
    """On asyncio they read into the same buffer."""
    async with pair() as (one, peer), pair() as (other, other_peer):
        texts = [(b"%d" % number) * 3000 for number in range(10)]
        for text in texts:
            await peer.send(text)
            await other_peer.send(text.swapcase()[::-1] + b"!")
            await turns(3)
        await peer.aclose()
        await other_peer.aclose()
        assert await receive_all(one) == b"".join(texts)
        assert await receive_all(other) == b"".join(text[::-1] + b"!" for text in texts)


async def test_never_more_than_asked_for_is_returned() -> None:
    async with pair() as (connection, peer):
        await peer.send(b"abcdef")
        await peer.aclose()
        assert await connection.receive(2) == b"ab"
        assert await connection.receive(3) == b"cde"
        assert await connection.receive(3) == b"f"
        assert await connection.receive(3) == b""


async def test_writing_waits_while_the_peer_reads_nothing() -> None:
    async with pair() as (connection, peer), anyio.create_task_group() as tasks:
        written = anyio.Event()

        async def write() -> None:
            await connection.send(b"x" * HUGE)
            written.set()

        tasks.start_soon(write)
        await turns()
        assert not written.is_set()
        assert not connection.reusable
        read = 0
        while read < HUGE:
            read += len(await peer.receive())
        await written.wait()
        assert connection.reusable


async def test_reading_pauses_while_nothing_is_taken() -> None:
    async with pair() as (connection, peer), anyio.create_task_group() as tasks:
        sent = anyio.Event()

        async def write() -> None:
            await peer.send(b"x" * HUGE)
            await peer.send_eof()
            sent.set()

        tasks.start_soon(write)
        await turns()
        assert not sent.is_set()
        held = getattr(connection, "_size", 0)
        assert held <= 2 * MAX_BUFFERED_BYTES
        assert len(await receive_all(connection)) == HUGE


async def test_a_peer_that_answers_instead_of_reading_ends_the_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sockets, "EARLY_ANSWER_GRACE_S", 0.01)
    async with pair() as (connection, peer), anyio.create_task_group() as tasks:
        tasks.start_soon(peer.send, b"too large")
        await connection.send(b"x" * HUGE)
        assert connection.answered
        assert await connection.receive(65536) == b"too large"
        assert not connection.reusable


async def test_a_peer_that_answers_as_it_reads_gets_everything() -> None:
    async with pair() as (connection, peer), anyio.create_task_group() as tasks:
        read = 0

        async def serve() -> None:
            nonlocal read
            await peer.send(b"reading")
            while read < HUGE:
                read += len(await peer.receive())
            await peer.send(b"done")

        tasks.start_soon(serve)
        await connection.send(b"x" * HUGE)
        assert await connection.receive(7) == b"reading"
        assert await connection.receive(4) == b"done"
        assert read == HUGE


@pytest.mark.parametrize("how", ["end", "bytes", "reset"])
async def test_an_idle_connection_the_peer_touched_is_not_reusable(how: str) -> None:
    async with pair() as (connection, peer):
        assert connection.reusable
        if how == "end":
            await peer.aclose()
        elif how == "bytes":
            await peer.send(b"unasked")
        else:
            peer.reset()
        await until_readable(connection)


async def test_a_close_the_event_loop_has_not_looked_at_is_known() -> None:
    async with pair() as (connection, peer):
        peer._socket.shutdown(socket.SHUT_WR)  # no await between this and the question
        assert not connection.reusable


async def test_a_reset_has_its_reason_and_no_chain() -> None:
    async with pair() as (connection, peer):
        peer.reset()
        with pytest.raises(UpstreamError) as caught:
            await receive_all(connection)
        assert caught.value.reason == "reset"
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None


async def test_writing_to_a_broken_connection_is_a_failed_write() -> None:
    async with pair() as (connection, peer):
        peer.reset()
        with pytest.raises(UpstreamError) as caught:
            await send_for_ever(connection)
        assert caught.value.reason == "write_failed"


async def test_what_came_before_a_reset_is_still_read() -> None:
    async with pair() as (connection, peer):
        await peer.send(b"last words")
        assert await connection.receive(4) == b"last"
        await peer.aclose()
        assert await connection.receive(65536) == b" words"


@pytest.mark.parametrize("waiting", ["receive", "send"])
async def test_closing_wakes_whoever_waits(waiting: str) -> None:
    async with pair() as (connection, _):
        errors: list[RigError] = []

        async def wait() -> None:
            try:
                if waiting == "receive":
                    await connection.receive(1)
                else:
                    await connection.send(b"x" * HUGE)
            except RigError as error:
                errors.append(error)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await turns(20)
            connection.close()
        assert [error.reason for error in errors] == ["closed"]
        assert connection.closed
        assert not connection.reusable


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"], ids=["one address", "a name"])
async def test_a_refused_connection_says_so(host: str) -> None:
    with pytest.raises(UpstreamError) as caught:
        await connect(host, free_port())
    assert caught.value.reason == "connect_refused"
    assert caught.value.__context__ is None


async def test_a_name_that_is_none_can_not_be_resolved() -> None:
    with pytest.raises(UpstreamError) as caught:
        await connect("x" * 70 + ".example", 80)
    assert caught.value.reason == "dns"


async def test_the_next_address_is_tried_when_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(listen()) as listener:
        good, bad = port_of(listener), free_port()

        async def resolve(_host: str, _port: int) -> list[object]:
            family = (socket.AF_INET, socket.SOCK_STREAM, 0)
            return [(*family, ("127.0.0.1", bad)), (*family, ("127.0.0.1", good))]

        monkeypatch.setattr(sockets, "_resolve", resolve)
        connection = await connect("somewhere", 1)
        assert connection.reusable
        await connection.aclose()


async def test_the_losers_of_a_race_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[socket.socket] = []
    everybody = anyio.Event()

    async def dial(_address: object, _frugal: bool) -> socket.socket:
        sock = socket.socket()
        made.append(sock)
        if len(made) == 3:
            everybody.set()
        with anyio.CancelScope(shield=True):  # so that all of them win
            await everybody.wait()
        return sock

    monkeypatch.setattr(sockets, "ATTEMPT_DELAY_S", 0)
    monkeypatch.setattr(sockets, "_dial", dial)
    winner = await sockets._race([(0, 0, 0, number) for number in range(3)], frugal=True)
    assert [sock for sock in made if sock.fileno() >= 0] == [winner]
    winner.close()


def test_families_take_turns_in_the_resolvers_order() -> None:
    six, four = socket.AF_INET6, socket.AF_INET
    addresses = [(six, 0, 0, 1), (six, 0, 0, 2), (four, 0, 0, 3), (six, 0, 0, 4)]
    assert [where for *_, where in sockets._interleaved(addresses)] == [1, 3, 2, 4]


async def test_connecting_has_a_bound() -> None:
    with closing(listen()) as listener:  # accepts, and never shakes hands
        with pytest.raises(RequestTimeoutError) as caught:
            await connect(
                "127.0.0.1",
                port_of(listener),
                tls=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
                timeout_s=0.05,
            )
        assert caught.value.reason == "connect"
        assert caught.value.__context__ is None


async def test_an_unknown_authority_is_a_tls_fault_that_names_no_host(
    certificates: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    strangers = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    async with FakeBackend().serve(tls=certificates[0]) as backend:
        port = int(backend.url.split(":")[2].partition("/")[0])
        with pytest.raises(UpstreamError) as caught:
            await connect("127.0.0.1", port, tls=strangers)
    assert caught.value.reason == "tls"
    assert "127.0.0.1" not in str(caught.value)
    assert caught.value.__context__ is None


async def test_a_server_that_speaks_no_tls_is_a_tls_fault() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with closing(listen()) as listener:
        async with anyio.create_task_group() as tasks:

            async def serve() -> None:
                peer = await accept(listener)
                await peer.receive()
                await peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                await peer.aclose()

            tasks.start_soon(serve)
            with pytest.raises(UpstreamError) as caught:
                await connect("127.0.0.1", port_of(listener), tls=context)
    assert caught.value.reason == "tls"


FAULTS: dict[str, tuple[Exception, str]] = {
    "resolver": (socket.gaierror(-2, "Name or service not known"), "dns"),
    "refused": (ConnectionRefusedError(), "connect_refused"),
    "unreachable": (OSError(113, "No route to host"), "connect_failed"),
    "reset in the handshake": (ConnectionResetError(), "connect_failed"),
    "end in the handshake": (ssl.SSLEOFError(), "connect_failed"),
    "handshake": (ssl.SSLError(1, "wrong version"), "tls"),
    "port": (OverflowError(), "dns"),
}


@pytest.mark.parametrize(("fault", "reason"), FAULTS.values(), ids=FAULTS)
def test_faults_have_reasons(fault: Exception, reason: str) -> None:
    assert sockets._why_no_connection(fault).reason == reason


@pytest.mark.parametrize("at_once", [True, False], ids=["connected at once", "connected later"])
@pytest.mark.parametrize("way", ["plain", "tls", "name", "tls by name"])
async def test_connecting_can_be_cancelled_at_every_await(
    way: str,
    at_once: bool,
    certificates: tuple[ssl.SSLContext, ssl.SSLContext],
    cancel_at_every_await: Sweep,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not at_once:
        monkeypatch.setattr(sockets, "_is_ready", lambda *_, **__: False)
    server, client = certificates if "tls" in way else (None, None)
    host = "localhost" if "name" in way else "127.0.0.1"
    async with FakeBackend(repeat(raw(Hang()))).serve(tls=server) as backend:
        port = int(backend.url.split(":")[2].partition("/")[0])

        async def operation() -> None:
            connection = await connect(host, port, tls=client)
            await connection.aclose()

        async def check() -> None:
            await backend.wait_until(lambda: backend.connections.open == 0)

        awaits = await cancel_at_every_await(operation, check)
        assert awaits >= (1 if at_once else 2)


async def test_a_connection_to_this_machine_is_made_without_watching_its_socket(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def wait_writable(_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(anyio, "wait_writable", wait_writable)
    with closing(listen()) as listener:
        await (await connect("127.0.0.1", port_of(listener))).aclose()


async def test_a_read_ends_at_its_time_and_the_connection_goes_on() -> None:
    async with pair() as (connection, peer):
        started = anyio.current_time()
        assert await connection.receive(65536, started + 0.02) is None
        assert anyio.current_time() >= started + 0.02
        assert await connection.receive(65536, started) is None  # over before it began
        await peer.send(b"late")
        assert await connection.receive(65536, started + 60) == b"late"
        assert connection.reusable


async def test_a_write_ends_at_its_time_and_the_connection_with_it() -> None:
    async with pair() as (connection, _peer):
        data = b"x" * HUGE
        until = anyio.current_time() + 0.02
        assert not await connection.send(data, until)
        assert anyio.current_time() >= until
        assert not connection.reusable


async def test_a_few_bytes_are_written_at_once_or_not_at_all() -> None:
    async with pair() as (connection, peer):
        if not connection.write(b"few"):  # trio: a cancelled task sends nothing
            await connection.send(b"few")
        assert await peer.receive(65536) == b"few"
        assert not connection.write(b"x" * (WRITE_BYTES + 1))
        connection.close()
        assert not connection.write(b"few")


async def test_the_clock_is_the_event_loops() -> None:
    before = anyio.current_time()
    assert before <= now() <= anyio.current_time()


async def test_every_read_has_its_own_time() -> None:
    async with pair() as (connection, peer):
        for _ in range(5):
            await peer.send(b"x")
            assert await connection.receive(65536, anyio.current_time() + 60) == b"x"
        soon = anyio.current_time() + 0.02  # sooner than the time of the reads before
        assert await connection.receive(65536, soon) is None
        later = anyio.current_time() + 0.05
        assert await connection.receive(65536, later) is None
        assert anyio.current_time() >= later


async def test_a_read_with_more_time_than_the_last_one_has_all_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alarms: list[object] = []
    set_alarm = sockets._LoopConnection._set_alarm

    def counted(connection: Any) -> None:
        alarms.append(connection)
        set_alarm(connection)

    monkeypatch.setattr(sockets._LoopConnection, "_set_alarm", counted)
    async with pair() as (connection, peer), anyio.create_task_group() as tasks:
        taken: list[bytes | None] = []

        async def read() -> None:
            taken.append(await connection.receive(65536, anyio.current_time() + 0.05))

        tasks.start_soon(read)
        await turns(10)
        await peer.send(b"x")  # long before its time, which is not the next read's
        await anyio.sleep(0.02)
        later = anyio.current_time() + 0.1
        with anyio.fail_after(5):
            assert await connection.receive(65536, later) is None
        assert anyio.current_time() >= later
    assert taken == [b"x"]
    assert len(alarms) <= 5  # not one after the other until then


async def test_a_read_without_a_time_is_not_ended_by_the_last_ones() -> None:
    async with pair() as (connection, peer), anyio.create_task_group() as tasks:
        await peer.send(b"x")
        assert await connection.receive(65536, anyio.current_time() + 0.01) == b"x"
        arrived: list[bytes | None] = []

        async def read() -> None:
            arrived.append(await connection.receive(65536))

        tasks.start_soon(read)
        await anyio.sleep(0.03)
        assert arrived == []
        await peer.send(b"y")
    assert arrived == [b"y"]


async def test_a_read_whose_time_is_over_takes_nothing_that_has_come() -> None:
    async with pair() as (connection, peer):
        await peer.send(b"late")
        await until_readable(connection)
        await turns(10)
        assert await connection.receive(65536, anyio.current_time()) is None
        assert await connection.receive(65536, anyio.current_time() + 60) == b"late"


# --- Work that knows of no deadline ---

NONE = dict.fromkeys(("connect_s", "first_byte_s", "idle_s", "total_s"))
SOON_S = 0.02


def deadline_in(seconds: float | None, *, idle_s: float | None = None) -> Deadline:
    return Deadline(Timeouts(**{**NONE, "first_byte_s": seconds, "idle_s": idle_s}), now())


async def forever() -> None:
    await anyio.sleep_forever()


async def turning() -> None:
    while True:
        await anyio.lowlevel.checkpoint()


async def in_a_group() -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.sleep_forever)


async def in_scopes() -> None:
    with anyio.move_on_after(60), anyio.CancelScope():
        await anyio.sleep_forever()


async def of_a_task() -> None:
    if sniffed_asyncio():
        await asyncio.create_task(asyncio.sleep(60))
    await anyio.sleep_forever()


def sniffed_asyncio() -> bool:
    try:
        return asyncio.current_task() is not None
    except RuntimeError:
        return False


WAITING = {"one wait": forever, "turns": turning, "a group": in_a_group, "scopes": in_scopes}


@pytest.mark.parametrize("work", [*WAITING.values(), of_a_task], ids=[*WAITING, "a task"])
async def test_work_ends_at_its_deadline_and_nobody_else_does(
    work: Callable[[], Coroutine[Any, Any, None]],
) -> None:
    deadline = deadline_in(SOON_S)
    outcome = await waits_until(deadline).bounded(work())
    assert isinstance(outcome, RequestTimeoutError)
    assert outcome.reason == "first_byte"
    assert outcome.__context__ is None
    assert now() >= deadline.at
    await turns(5)


async def test_what_waits_for_nothing_has_all_the_time() -> None:
    async def work() -> str:
        return "done"

    waits = waits_until(deadline_in(1e-9))
    assert await waits.bounded(work()) == "done"
    with pytest.raises(ZeroDivisionError):
        await waits.bounded(failing())


async def failing() -> None:
    _ = 1 / 0


async def test_work_returns_and_raises_after_its_waits_too() -> None:
    async def work(*, fails: bool) -> str:
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
            await anyio.sleep(0.001)
        if fails:
            await failing()
        variable.set("inside")
        return "done"

    variable = contextvars.ContextVar("variable", default="")
    waits = waits_until(deadline_in(60))
    assert await waits.bounded(work(fails=False)) == "done"
    assert variable.get() == "inside"
    with pytest.raises(ZeroDivisionError):
        await waits.bounded(work(fails=True))
    waits.over()


async def test_the_deadline_is_where_the_work_has_moved_it() -> None:
    async def work(reads: int) -> None:
        for _ in range(reads):
            await anyio.sleep(0.01)
            deadline.read_on(now())
            waits.moved()
        await anyio.sleep_forever()

    started = now()
    deadline = deadline_in(60, idle_s=0.03)
    waits = waits_until(deadline)
    outcome = await waits.bounded(work(6))  # twice as long as each of them may last, and no longer
    assert isinstance(outcome, RequestTimeoutError)
    assert outcome.reason == "idle"
    assert 0.09 <= now() - started < 30


async def test_each_wait_of_an_exchange_has_its_own_time() -> None:
    deadline = deadline_in(60, idle_s=SOON_S)
    waits = waits_until(deadline)
    for _ in range(3):
        await waits.bounded(anyio.sleep(0.001))
        await anyio.sleep(SOON_S * 1.5)  # the caller's own time
        deadline.read_on(now())
    assert isinstance(await waits.bounded(forever()), RequestTimeoutError)


async def test_work_that_is_ended_may_clean_up() -> None:
    cleaned = []

    async def work() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
                await anyio.sleep(0.001)
            with anyio.move_on_after(0.001, shield=True):
                await anyio.sleep_forever()
            cleaned.append(True)

    assert isinstance(await waits_until(deadline_in(SOON_S)).bounded(work()), RequestTimeoutError)
    assert cleaned == [True]


@pytest.mark.parametrize("count", [1, 2, 40])
async def test_work_that_only_gives_others_their_turn_is_not_ended_there(count: int) -> None:
    """As clients do where they give a connection back, behind a shield: cut there, it is never given back."""

    async def work() -> None:
        with anyio.CancelScope(shield=True):
            await anyio.lowlevel.checkpoint()
            deadline.at = now()
            waits.moved()
            await turns(count)
            given_back.append(True)
        await anyio.sleep_forever()

    given_back: list[bool] = []
    deadline = deadline_in(60)
    waits = waits_until(deadline)
    with anyio.fail_after(5):
        assert isinstance(await waits.bounded(work()), RequestTimeoutError)
    assert given_back == [True]


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
@pytest.mark.parametrize("then", [forever, turning], ids=["one wait", "turns"])
async def test_work_that_does_not_end_is_ended_again(
    monkeypatch: pytest.MonkeyPatch, then: Callable[[], Coroutine[Any, Any, None]]
) -> None:
    async def work() -> None:
        for wait in (forever, then, then):
            try:
                await wait()
            except asyncio.CancelledError:
                caught.append(True)
        await then()

    caught: list[bool] = []
    monkeypatch.setattr(sockets, "END_AGAIN_S", 0.001)
    with anyio.fail_after(5):
        outcome = await waits_until(deadline_in(SOON_S)).bounded(work())
    assert isinstance(outcome, RequestTimeoutError)
    assert caught == [True] * 3


@pytest.mark.parametrize("work", WAITING.values(), ids=WAITING)
@pytest.mark.parametrize("ours_s", [SOON_S, 60], ids=["at the same time", "later"])
async def test_a_scope_around_the_work_stays_right(
    work: Callable[[], Coroutine[Any, Any, None]], ours_s: float
) -> None:
    waits = waits_until(deadline_in(ours_s))
    outcome: object = None
    with anyio.CancelScope(deadline=now() + SOON_S) as scope:
        outcome = await waits.bounded(work())
        await turns(5)  # a scope that ends gets its turn
    assert scope.cancelled_caught
    assert outcome is None or ours_s == SOON_S
    waits.over()
    await turns(5)


@pytest.mark.parametrize("work", WAITING.values(), ids=WAITING)
@pytest.mark.parametrize("inner_s", [SOON_S, SOON_S / 2], ids=["at the same time", "sooner"])
async def test_a_scope_inside_of_the_work_stays_right(
    work: Callable[[], Coroutine[Any, Any, None]], inner_s: float
) -> None:
    async def scoped() -> str:
        with anyio.CancelScope(deadline=now() + inner_s):
            await work()
        return "inner"

    waits = waits_until(deadline_in(SOON_S))
    outcome = await waits.bounded(scoped())
    assert isinstance(outcome, RequestTimeoutError) or outcome == "inner"
    await turns(5)
    waits.over()


@pytest.mark.parametrize("work", [*WAITING.values(), of_a_task], ids=[*WAITING, "a task"])
@pytest.mark.parametrize("offset_s", [-0.001, 0, 0.0001])
@pytest.mark.parametrize("first", [True, False], ids=["told first", "told last"])
@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_a_task_that_is_asked_to_end_at_the_deadline_ends(
    work: Callable[[], Coroutine[Any, Any, None]], offset_s: float, first: bool
) -> None:
    """Whichever comes first: a request to end a task is made once, and must not be lost."""
    loop = asyncio.get_running_loop()

    async def outer() -> None:
        task = asyncio.current_task()
        assert task is not None
        deadline = deadline_in(SOON_S)
        if first:
            loop.call_at(deadline.at + offset_s, task.cancel)
            await waits_until(deadline).bounded(work())
        else:
            loop.call_soon(lambda: loop.call_at(deadline.at + offset_s, task.cancel))
            await waits_until(deadline).bounded(work())
        await asyncio.sleep(60)

    task = asyncio.create_task(outer())
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("work", [*WAITING.values(), of_a_task], ids=[*WAITING, "a task"])
@pytest.mark.parametrize("offset_s", [-0.001, 0, 0.0001])
@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_a_timeout_of_asyncio_around_the_work_stays_right(
    work: Callable[[], Coroutine[Any, Any, None]], offset_s: float
) -> None:
    task = asyncio.current_task()
    assert task is not None
    deadline = deadline_in(SOON_S)
    outcome: object = None
    with pytest.raises(TimeoutError):
        async with asyncio.timeout_at(deadline.at + offset_s):
            outcome = await waits_until(deadline).bounded(work())
            await asyncio.sleep(60)
    assert outcome is None or isinstance(outcome, RequestTimeoutError)
    assert task.cancelling() == 0
    await turns(5)


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_a_scope_that_ends_while_the_work_cleans_up_stays_right() -> None:
    async def work() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with suppress(asyncio.CancelledError):  # as careless clients do
                await anyio.sleep(60)  # ended by the scope

    with anyio.CancelScope(deadline=now() + 2 * SOON_S) as scope:
        await waits_until(deadline_in(SOON_S)).bounded(work())
        await turns(5)
    assert scope.cancel_called
    await turns(5)


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_work_that_is_closed_in_the_middle_ends() -> None:
    ended = []

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    async def reading() -> None:
        await waits_until(deadline_in(60)).bounded(work())

    closed = reading()
    closed.send(None)
    closed.close()
    assert ended == [True]


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_a_task_that_is_asked_to_end_beside_the_deadline_cleans_up_in_peace() -> None:
    """Both in one turn of the loop, while the work waits for that turn alone."""
    cleaned = []

    async def work() -> None:
        try:
            await turning()
        finally:
            await asyncio.sleep(0.001)
            await asyncio.sleep(0)
            cleaned.append(True)

    async def outer() -> None:
        await waits_until(deadline).bounded(work())

    deadline = deadline_in(SOON_S)
    task = asyncio.create_task(outer())
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_at(deadline.at, task.cancel)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cleaned == [True]


class Blocking(asyncio.Future[None]):
    """What takes its time to be cancelled: other loops go on in the meantime."""

    def __init__(self, ringing: threading.Event, rung: threading.Event) -> None:
        super().__init__()
        self._ringing = ringing
        self._rung = rung
        self.was_rung = False

    def cancel(self, msg: object = None) -> bool:
        self._ringing.set()
        self.was_rung = self._rung.wait(5)
        return super().cancel(msg)


@pytest.mark.parametrize("waiting", ["work", "a read"])
def test_alarms_of_two_loops_ring_at_the_same_time(waiting: str) -> None:
    ringing, rung = threading.Event(), threading.Event()

    async def first() -> bool:
        future = Blocking(ringing, rung)

        async def work() -> None:
            await future

        await waits_until(deadline_in(SOON_S)).bounded(work())
        return future.was_rung

    async def second() -> None:
        async with pair() as (connection, _):
            await asyncio.to_thread(ringing.wait, 5)
            if waiting == "work":
                await waits_until(deadline_in(SOON_S)).bounded(asyncio.sleep(60))
            else:
                await connection.receive(1, now() + SOON_S)
        rung.set()

    with ThreadPoolExecutor(2) as threads:
        other = threads.submit(asyncio.run, first())
        threads.submit(asyncio.run, asyncio.wait_for(second(), 2))
        assert other.result()


async def test_work_can_be_cancelled_at_every_await(cancel_at_every_await: Sweep) -> None:
    async def operation() -> None:
        waits = waits_until(deadline_in(60))
        assert await waits.bounded(three_waits()) == "done"
        waits.over()

    async def three_waits() -> str:
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        return "done"

    async def check() -> None:
        await turns(2)

    assert await cancel_at_every_await(operation, check) >= 3
