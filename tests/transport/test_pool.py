"""The pool and the transport: reuse, deaths, early ends, cancellation at every await, on both back ends."""

import gc
import math
import resource
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, closing
from typing import Any, cast

import anyio
import anyio.lowlevel
import httpx
import pytest

from rig.errors import (
    InvalidRequestError,
    ProtocolError,
    RequestTimeoutError,
    RigError,
    StreamCutError,
    UpstreamError,
)
from rig.testing import (
    Answer,
    Close,
    FakeBackend,
    Hang,
    Pause,
    ReceivedRequest,
    Reset,
    Until,
    answer,
    chunked,
    head,
    raw,
    refused_url,
    repeat,
)
from rig.testing.sockets import accept, listen
from rig.transport import pool
from rig.transport.httpx_transport import PoolTransport
from rig.transport.origin import Origin, origin_of
from rig.transport.pool import JOIN_BYTES, SETTLE_S, ConnectionPool, IdleConnections
from rig.transport.request import encode_head
from rig.transport.sockets import Connection, now
from rig.transport.timeouts import Deadline, Timeouts

Sweep = Callable[
    [Callable[[], Coroutine[Any, Any, object]], Callable[[], Awaitable[None]]], Awaitable[int]
]
"""The fixture `cancel_at_every_await`."""

MANY = 1000

CHUNKED = [("Transfer-Encoding", "chunked")]
HUGE = b"x" * (32 << 20)
"""A body no pair of loopback sockets buffers."""


@asynccontextmanager
async def serving(
    *answers: object, tls: ssl.SSLContext | None = None, **options: Any
) -> AsyncGenerator[tuple[FakeBackend, PoolTransport, httpx.AsyncClient]]:
    transport = PoolTransport(**options)
    fake = FakeBackend(*answers)  # type: ignore[arg-type] # it checks them itself
    async with (
        fake.serve(tls=tls) as backend,
        httpx.AsyncClient(transport=transport, timeout=None, base_url=backend.url) as client,
    ):
        yield backend, transport, client


async def settled(backend: FakeBackend, transport: PoolTransport) -> None:
    """Nothing is in use, and the server has no connection open that the pool does not keep."""
    assert transport.in_use == 0
    await backend.wait_until(lambda: backend.connections.open == transport.idle)


# --- Bookkeeping ---


class Scripted(Connection):
    """A connection that is only flags."""

    def __init__(self) -> None:
        self.alive = True
        self.asked = 0

    @property
    def closed(self) -> bool:
        return not self.alive

    @property
    def answered(self) -> bool:
        return False

    @property
    def settled(self) -> bool:
        return self.alive

    @property
    def reusable(self) -> bool:
        self.asked += 1
        return self.alive

    async def send(self, data: bytes, until: float = math.inf) -> bool:
        raise NotImplementedError

    async def receive(self, max_bytes: int, until: float = math.inf) -> bytes | None:
        raise NotImplementedError

    def close(self) -> None:
        self.alive = False


class Written(Scripted):
    """A connection that keeps what it is given to write, and has a plain answer."""

    def __init__(self, *, at_once: bool) -> None:
        super().__init__()
        self._at_once = at_once
        self.given: list[bytes] = []

    def write(self, data: bytes) -> bool:
        self.given.append(data)
        return self._at_once

    async def send(self, data: bytes, until: float = math.inf) -> bool:
        self.given.append(data)
        return True

    async def receive(self, max_bytes: int, until: float = math.inf) -> bytes | None:
        return b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


HERE = Origin(tls=False, host="here", port=80)
THERE = Origin(tls=False, host="there", port=80)


@pytest.mark.parametrize("at_once", [True, False], ids=["written at once", "sent"])
async def test_a_big_body_is_written_as_it_is_and_a_small_one_with_its_head(at_once: bool) -> None:
    async def ask(body: bytes) -> list[bytes]:
        connection = Written(at_once=at_once)

        async def opened(*_: object, **__: object) -> Connection:
            return connection

        deadline = Deadline(Timeouts(), now())
        await ConnectionPool(connect=opened).send(
            HERE, b"head", body, connect_s=1, deadline=deadline
        )
        return connection.given

    small, big = b"x" * 100, b"x" * (JOIN_BYTES + 1)
    assert set(await ask(small)) == {b"head" + small}
    given = await ask(big)
    assert [len(data) for data in given] == [4, len(big)]
    assert given[1] is big


def test_the_newest_connection_goes_out_first_and_only_to_its_origin() -> None:
    idle = IdleConnections()
    first, second, other = Scripted(), Scripted(), Scripted()
    idle.put(HERE, first)
    idle.put(HERE, second)
    idle.put(THERE, other)
    assert [idle.take(HERE), idle.take(HERE), idle.take(HERE)] == [second, first, None]
    assert len(idle) == 1


def test_dead_connections_are_skipped_and_closed() -> None:
    idle = IdleConnections()
    good, dead = Scripted(), Scripted()
    idle.put(HERE, good)
    idle.put(HERE, dead)
    dead.alive = False
    assert idle.take(HERE) is good
    assert len(idle) == 0


def test_idle_connections_grow_stale() -> None:
    clock = Clock()
    idle = IdleConnections(keepalive_s=30, now=clock)
    connection = Scripted()
    idle.put(HERE, connection)
    clock.seconds = 30
    assert idle.take(HERE) is connection
    idle.put(HERE, connection)
    clock.seconds = 60.1
    assert idle.take(HERE) is None
    assert connection.closed


def test_the_tail_of_a_busy_hour_is_closed_while_one_connection_keeps_going() -> None:
    clock = Clock()
    idle = IdleConnections(keepalive_s=30, now=clock)
    for _ in range(100):
        idle.put(HERE, Scripted())
    for _ in range(60):
        clock.seconds += 1
        busy = idle.take(HERE)
        assert busy is not None
        idle.put(HERE, busy)
    assert len(idle) < 100
    for _ in range(40):
        clock.seconds += 1
        idle.put(HERE, idle.take(HERE) or Scripted())
    assert len(idle) == 1


def test_the_oldest_makes_room_past_the_bound() -> None:
    idle = IdleConnections(max_idle=2)
    connections = [Scripted() for _ in range(3)]
    for connection in connections:
        idle.put(HERE, connection)
    assert [connection.closed for connection in connections] == [True, False, False]
    assert len(idle) == 2


def test_a_connection_that_carried_a_stream_rests_before_it_goes_out_again() -> None:
    clock = Clock()
    idle = IdleConnections(keepalive_s=30, now=clock)
    streamed, dead, plain = Scripted(), Scripted(), Scripted()
    idle.put(HERE, streamed, settling=True)
    idle.put(HERE, dead, settling=True)
    idle.put(HERE, plain)
    assert len(idle) == 3
    assert [idle.take(HERE), idle.take(HERE)] == [plain, None]
    dead.alive = False
    clock.seconds = SETTLE_S
    assert [idle.take(HERE), idle.take(HERE)] == [streamed, None]
    assert len(idle) == 0
    idle.put(HERE, streamed, settling=True)
    clock.seconds = 60
    assert idle.take(HERE) is None
    assert streamed.closed
    resting = Scripted()
    idle.put(HERE, resting, settling=True)
    idle.close()
    assert resting.closed


@pytest.mark.parametrize("kept", [10, 1000])
def test_work_does_not_grow_with_the_connections_kept(kept: int) -> None:
    idle = IdleConnections()
    connections = [Scripted() for _ in range(kept)]
    for connection in connections:
        idle.put(HERE, connection)
    for _ in range(50):
        taken = idle.take(HERE)
        assert taken is not None
        idle.put(HERE, taken)
    assert sum(connection.asked for connection in connections) == 50


@pytest.mark.parametrize("url", ["ftp://h/", "//h/", "http:///p", "/p"])
def test_urls_that_lead_nowhere_are_refused(url: str) -> None:
    with pytest.raises(InvalidRequestError):
        origin_of(httpx.URL(url))


def test_an_origin_does_not_show_itself() -> None:
    assert "secret-host" not in repr(origin_of(httpx.URL("https://secret-host/")))


# --- Reuse ---

COMPLETE: dict[str, Answer] = {
    "length": answer(body="hi"),
    "chunked": answer(body="hi", framing="chunked"),
    "nothing": answer(204),
    "error": answer(500, body="no"),
}


@pytest.mark.parametrize("scripted", COMPLETE.values(), ids=COMPLETE)
async def test_a_complete_answer_gives_its_connection_back(scripted: Answer) -> None:
    async with serving(repeat(scripted)) as (backend, transport, client):
        for _ in range(3):
            await client.post("/x", content=b"{}")
        assert backend.connections.opened == 1
        assert backend.connections.requests == [3]
        assert (transport.idle, transport.in_use) == (1, 0)
        assert repr(transport) == "<PoolTransport: 0 in use, 1 idle>"


LAST: dict[str, tuple[Answer, dict[str, str]]] = {
    "server says close": (answer(body="hi", headers=[("Connection", "close")]), {}),
    "body ends with the connection": (answer(body="hi", framing="close"), {}),
    "client says close": (answer(body="hi"), {"Connection": "close"}),
    "bytes behind the end": (raw(head(200, [("Content-Length", "2")]) + b"hi there"), {}),
    "http/1.0": (raw(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", keep_alive=True), {}),
}


@pytest.mark.parametrize(("scripted", "headers"), LAST.values(), ids=LAST)
async def test_a_connection_that_can_not_go_on_is_closed(
    scripted: Answer, headers: dict[str, str]
) -> None:
    async with serving(repeat(scripted)) as (backend, transport, client):
        response = await client.post("/x", content=b"{}", headers=headers)
        assert response.content == b"hi"
        await settled(backend, transport)
        assert transport.idle == 0


async def test_a_body_nobody_reads_gives_its_connection_back_if_it_is_all_there() -> None:
    async with serving(repeat(answer(body="hi"))) as (_, transport, client):
        async with client.stream("GET", "/x"):
            assert transport.idle == 1
        await client.get("/x")
        assert transport.idle == 1


@pytest.mark.parametrize("ending", [Close(), Reset()], ids=["close", "reset"])
async def test_a_connection_that_died_while_idle_is_replaced_unseen(ending: Close | Reset) -> None:
    dying = raw(head(200, [("Content-Length", "2")]) + b"hi", ending, keep_alive=True)
    async with serving(dying, answer(body="hi")) as (backend, transport, client):
        await client.post("/x", content=b"{}")
        await backend.wait_until(lambda: backend.connections.open == 0)
        assert (await client.post("/x", content=b"{}")).status_code == 200
        assert backend.connections.opened == 2
        assert len(backend.requests) == 2
        await settled(backend, transport)


async def test_a_server_that_closes_behind_a_stream_costs_no_request() -> None:
    """It said keep-alive, and its close is on its way while the next request is being made."""
    closes = anyio.Event()
    answered = answer(body=b"data: 1\n\n", content_type="text/event-stream", framing="chunked")
    first = Answer((*answered.steps, Until(closes), Close()), keep_alive=True)
    async with serving(first, answer(body="hi")) as (backend, transport, client):
        assert (await client.post("/x", content=b"1")).content == b"data: 1\n\n"
        assert transport.idle == 1
        assert (await client.post("/x", content=b"2")).content == b"hi"
        assert backend.connections.opened == 2
        closes.set()
        await backend.wait_until(lambda: backend.connections.open == 1)


async def test_a_connection_idle_for_too_long_is_replaced() -> None:
    async with serving(repeat(answer()), keepalive_s=0) as (backend, transport, client):
        await client.get("/x")
        await anyio.sleep(0.001)
        await client.get("/x")
        assert backend.connections.opened == 2
        await settled(backend, transport)


async def test_a_request_that_was_written_is_never_written_again() -> None:
    dropping = raw(Close())
    async with serving(answer(), dropping, repeat(answer())) as (backend, transport, client):
        await client.post("/x", content=b"{}")
        with pytest.raises(UpstreamError) as caught:
            await client.post("/x", content=b"{}")
        assert caught.value.reason in {"eof", "reset"}
        assert len(backend.requests) == 2
        await settled(backend, transport)


@pytest.fixture
def _many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 3 * MANY
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"the machine allows {hard} open files, the test needs {wanted}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("_many_files")
async def test_a_thousand_requests_at_once_have_a_connection_each() -> None:
    everybody = anyio.Event()
    seen = 0

    async def wait_for_all(request: ReceivedRequest) -> Answer:
        nonlocal seen
        seen += 1
        if seen == MANY:
            everybody.set()
        await everybody.wait()
        return answer(body=request.body)

    async with serving(repeat(wait_for_all)) as (backend, transport, client):
        echoes: list[bytes] = []

        async def one(number: int) -> None:
            echoes.append((await client.post("/x", content=str(number))).content)

        async with anyio.create_task_group() as tasks:
            for number in range(MANY):
                tasks.start_soon(one, number)
        assert sorted(map(int, echoes)) == list(range(MANY))
        assert backend.connections.opened == MANY
        await settled(backend, transport)
        assert transport.idle == MANY


# --- Requests ---


class Parts:
    """A body in parts; no generator, which httpx would leave to the event loop to end."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = iter(pieces)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        for piece in self._pieces:
            return piece
        raise StopAsyncIteration


async def test_bodies_of_every_kind_arrive_as_they_are() -> None:
    async with serving(repeat(answer())) as (backend, _, client):
        await client.post("/x", content=b"small")
        await client.post("/x", content=b"y" * 300_000)
        await client.post("/x", content=Parts(b"a", b"", b"bc"))
        await client.post("/x", content=Parts(b"a", b"bc"), headers={"Content-Length": "3"})
        await client.get("/x")
        assert [request.body for request in backend.requests] == [
            b"small",
            b"y" * 300_000,
            b"abc",
            b"abc",
            b"",
        ]
        assert backend.connections.opened == 1


@pytest.mark.parametrize("body", [(b"ab",), (b"abcd",)], ids=["short", "long"])
async def test_a_body_of_another_length_than_declared_costs_its_connection(
    body: tuple[bytes, ...],
) -> None:
    async with serving(repeat(answer())) as (backend, transport, client):
        with pytest.raises(InvalidRequestError):
            await client.post("/x", content=Parts(*body), headers={"Content-Length": "3"})
        await settled(backend, transport)
        assert transport.idle == 0


async def test_a_refused_request_opens_no_connection() -> None:
    async with serving() as (backend, _, client):
        with pytest.raises(InvalidRequestError):
            await client.post("/x", content=b"", headers={"X-A": "b\r\nX-B: c"})
        assert backend.connections.opened == 0


async def test_expect_is_never_sent() -> None:
    async with serving(repeat(answer())) as (backend, _, client):
        await client.post("/x", content=b"{}", headers={"Expect": "100-continue"})
        assert backend.requests[0].header("expect") is None


async def test_an_answer_before_the_body_was_read_is_returned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rig.transport.sockets.EARLY_ANSWER_GRACE_S", 0.01)
    transport = PoolTransport()
    with closing(listen()) as listener:

        async def refuse() -> None:
            peer = await accept(listener)
            await peer.receive(10)
            await peer.send(head(413, [("Content-Length", "9")]) + b"too large")
            await answered.wait()
            await peer.aclose()

        answered = anyio.Event()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        async with (
            anyio.create_task_group() as tasks,
            httpx.AsyncClient(transport=transport) as client,
        ):
            tasks.start_soon(refuse)
            response = await client.post(url, content=HUGE)
            assert (response.status_code, response.content) == (413, b"too large")
            assert (transport.idle, transport.in_use) == (0, 0)
            answered.set()


# --- Answers ---


async def test_a_body_is_read_as_it_comes() -> None:
    more = anyio.Event()
    steps = chunked(b"one", Until(more), b"two")
    async with (
        serving(raw(head(200, CHUNKED), *steps)) as (_, transport, client),
        client.stream("GET", "/x") as response,
    ):
        body = response.aiter_raw()
        assert await anext(body) == b"one"
        assert transport.in_use == 1
        more.set()
        assert [part async for part in body] == [b"two"]
        assert transport.idle == 1


async def test_leaving_early_closes_the_connection_at_once() -> None:
    endless = raw(head(200, CHUNKED), *chunked(b"one", end=False), Hang())
    async with serving(endless) as (backend, transport, client):
        request = client.build_request("GET", "/x")
        response = await client.send(request, stream=True)
        assert transport.in_use == 1
        await response.aclose()
        assert (transport.in_use, transport.idle) == (0, 0)
        with anyio.fail_after(5):
            await backend.requests[0].disconnected.wait()


FAULTS: dict[str, tuple[Answer, type[RigError], str]] = {
    "close before an answer": (raw(Close()), UpstreamError, "eof"),
    "reset before an answer": (raw(Pause(0), Reset()), UpstreamError, "reset"),
    "close in the head": (raw(b"HTTP/1.1 200 OK\r\nA", Close()), StreamCutError, "eof"),
    "close in the body": (
        raw(head(200, [("Content-Length", "9")]) + b"hi", Close()),
        StreamCutError,
        "eof",
    ),
    "close in a chunk": (raw(head(200, CHUNKED), b"9\r\nhi", Close()), StreamCutError, "eof"),
    "not http": (raw(b"SSH-2.0-OpenSSH_9.2\r\n", Hang()), ProtocolError, "status_line"),
    "bad chunk": (raw(head(200, CHUNKED), b"zz\r\n", Hang()), ProtocolError, "chunk_size"),
}


@pytest.mark.parametrize(("scripted", "error", "reason"), FAULTS.values(), ids=FAULTS)
async def test_faults_have_types_reasons_and_no_chain(
    scripted: Answer, error: type[RigError], reason: str
) -> None:
    async with serving(scripted, repeat(answer())) as (backend, transport, client):
        with pytest.raises(error) as caught:
            await client.post("/x", content=b"{}")
        assert caught.value.reason == reason
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None
        await settled(backend, transport)
        assert (await client.get("/x")).status_code == 200


async def test_a_reset_in_the_body_is_a_cut() -> None:
    go = anyio.Event()
    scripted = raw(head(200, [("Content-Length", "9")]) + b"hi", Until(go), Reset())
    async with serving(scripted) as (_, transport, client):
        async with client.stream("GET", "/x") as response:
            body = response.aiter_raw()
            assert await anext(body) == b"hi"
            go.set()
            with pytest.raises(StreamCutError) as caught:
                await anext(body)
        assert caught.value.reason == "reset"
        assert transport.in_use == 0


async def test_refused_connections_are_ours_to_name() -> None:
    async with httpx.AsyncClient(transport=PoolTransport()) as client:
        with refused_url() as url, pytest.raises(UpstreamError) as caught:
            await client.get(url)
    assert caught.value.reason == "connect_refused"


WAITS: dict[str, tuple[Answer, str]] = {
    "head": (raw(Hang()), "first_byte"),
    "body": (raw(head(200, [("Content-Length", "9")]), Hang()), "idle"),
}


@pytest.mark.parametrize(("scripted", "reason"), WAITS.values(), ids=WAITS)
async def test_httpx_read_timeouts_are_honoured(scripted: Answer, reason: str) -> None:
    async with serving(scripted) as (backend, transport, client):
        with pytest.raises(RequestTimeoutError) as caught:
            await client.get("/x", timeout=httpx.Timeout(None, read=0.02))
        assert caught.value.reason == reason
        await settled(backend, transport)


async def test_httpx_write_timeouts_are_honoured() -> None:
    transport = PoolTransport()
    with closing(listen()) as listener:  # nobody accepts, so nobody reads
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        timeout = httpx.Timeout(None, write=0.02)
        async with httpx.AsyncClient(transport=transport) as client:
            with pytest.raises(RequestTimeoutError) as caught:
                await client.post(url, content=HUGE, timeout=timeout)
    assert caught.value.reason == "write"
    assert transport.in_use == 0


# --- TLS ---


async def test_tls_verifies_and_reuses(certificates: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    server, trusting = certificates
    async with serving(repeat(answer(body="x" * 200_000)), tls=server, verify=trusting) as (
        backend,
        transport,
        client,
    ):
        for _ in range(3):
            response = await client.post("/x", content=b"y" * 200_000)
            assert len(response.content) == 200_000
        assert backend.connections.opened == 1
        assert backend.requests[0].body == b"y" * 200_000
        await settled(backend, transport)


async def test_an_unknown_authority_is_refused_by_default(
    certificates: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    async with serving(tls=certificates[0]) as (backend, transport, client):
        with pytest.raises(UpstreamError) as caught:
            await client.get("/x")
        assert caught.value.reason == "tls"
        assert backend.requests == []
        await settled(backend, transport)


async def test_one_tls_context_is_made_for_all_and_none_before_it_is_needed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setattr(pool, "_tls_contexts", [])
    keys = tmp_path / "keys"
    monkeypatch.setenv("SSLKEYLOGFILE", str(keys))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none"))
    PoolTransport()
    assert pool._tls_contexts == []
    made: list[ssl.SSLContext] = []

    async def make() -> None:
        made.append(await pool._default_tls())

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(make)
    assert len(set(map(id, made))) == 1
    assert made[0].verify_mode is ssl.CERT_REQUIRED
    assert made[0].check_hostname
    assert made[0].get_ca_certs()
    assert not keys.exists()


@pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)
async def test_preparing_for_tls_and_connecting_end_at_the_deadline_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def slow(*_: object, **__: object) -> Any:
        await anyio.sleep(0.9)

    monkeypatch.setattr(pool, "_tls_contexts", [])
    monkeypatch.setattr(pool, "_default_tls", slow)
    connections = pool.ConnectionPool(connect=slow)
    started = anyio.current_time()
    deadline = Deadline(Timeouts(first_byte_s=1.5), started)
    head = encode_head("POST", b"/", [], host=b"host", length=2).data
    with pytest.raises(RequestTimeoutError) as caught:
        await connections.send(
            Origin(True, "host", 443), head, b"{}", connect_s=1, deadline=deadline
        )
    assert (caught.value.reason, anyio.current_time() - started) == ("first_byte", 1.5)


# --- Closing and cancelling ---


async def test_closing_ends_what_is_idle_and_what_is_in_use() -> None:
    async with serving(answer(), raw(Hang())) as (backend, transport, client):
        await client.get("/x")
        errors: list[RigError] = []

        async def wait() -> None:
            try:
                await client.get("/x")
            except RigError as error:
                errors.append(error)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await backend.wait_for_requests(2)
            await transport.aclose()
        assert [error.reason for error in errors] == ["closed"]
        await settled(backend, transport)
        assert transport.idle == 0
        with pytest.raises(InvalidRequestError):
            await client.get("/x")


BODIES: dict[str, tuple[Answer, bytes]] = {
    "one read": (answer(body="hi"), b"{}"),
    "chunks": (raw(head(200, CHUNKED), *chunked(b"a", Pause(0), b"b", Pause(0), b"c")), b"{}"),
    "large both ways": (answer(body=b"x" * 2_000_000), b"y" * 2_000_000),
}


@pytest.mark.parametrize("secured", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("fresh", [False, True], ids=["kept connection", "new connection"])
@pytest.mark.parametrize(("scripted", "body"), BODIES.values(), ids=BODIES)
async def test_a_request_can_be_cancelled_at_every_await(
    scripted: Answer,
    body: bytes,
    fresh: bool,
    secured: bool,
    certificates: tuple[ssl.SSLContext, ssl.SSLContext],
    cancel_at_every_await: Sweep,
) -> None:
    server, trusting = certificates
    async with serving(
        repeat(scripted),
        tls=server if secured else None,
        verify=trusting,
        keepalive_s=0 if fresh else 30,
    ) as (backend, transport, client):

        async def operation() -> None:
            async with client.stream("POST", "/x", content=body) as response:
                async for _ in response.aiter_raw():
                    pass

        async def check() -> None:
            await settled(backend, transport)

        if not fresh:
            await operation()
        awaits = await cancel_at_every_await(operation, check)
        assert awaits >= 1
        await operation()
        await settled(backend, transport)


async def test_a_cancelled_reader_closes_the_connection_without_help() -> None:
    endless = raw(head(200, CHUNKED), *chunked(b"one", end=False), Hang())
    async with serving(endless) as (backend, transport, client):
        with anyio.move_on_after(0.02):
            await client.get("/x")
        assert (transport.in_use, transport.idle) == (0, 0)
        await settled(backend, transport)
    gc.collect()


async def test_a_read_that_is_cancelled_needs_nobody_to_close_the_body() -> None:
    endless = raw(head(200, CHUNKED), *chunked(b"one", end=False), Hang())
    async with serving(endless) as (backend, transport, _):
        response = await transport.handle_async_request(httpx.Request("GET", backend.url))
        body = aiter(cast("AsyncIterator[bytes]", response.stream))
        assert await anext(body) == b"one"
        with anyio.move_on_after(0.01):
            await anext(body)
        await settled(backend, transport)
        assert transport.idle == 0


async def test_random_cancellations_under_contention_leave_a_pool_that_works() -> None:
    async with serving(repeat(answer(body="x" * 100))) as (backend, transport, client):

        async def one(turns: int) -> None:
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(client.get, "/x")
                    for _ in range(turns):
                        await anyio.lowlevel.checkpoint()
                    scope.cancel()

        async with anyio.create_task_group() as tasks:
            for number in range(200):
                tasks.start_soon(one, number % 23)
        await settled(backend, transport)
        for _ in range(3):
            assert (await client.get("/x")).status_code == 200
        await settled(backend, transport)
