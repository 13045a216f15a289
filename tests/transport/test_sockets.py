"""Connections on both back ends over real loopback sockets."""

import socket
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, closing
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from rig.errors import RequestTimeoutError, RigError, UpstreamError
from rig.testing import FakeBackend, Hang, raw, repeat
from rig.testing.sockets import SocketStream, accept, listen
from rig.transport import sockets
from rig.transport.sockets import MAX_BUFFERED_BYTES, Connection, connect, now

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

    async def dial(_address: object) -> socket.socket:
        sock = socket.socket()
        made.append(sock)
        if len(made) == 3:
            everybody.set()
        with anyio.CancelScope(shield=True):  # so that all of them win
            await everybody.wait()
        return sock

    monkeypatch.setattr(sockets, "ATTEMPT_DELAY_S", 0)
    monkeypatch.setattr(sockets, "_dial", dial)
    winner = await sockets._race([(0, 0, 0, number) for number in range(3)])
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
