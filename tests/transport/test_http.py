"""The driver over rig's own transport, httpx's and httpx2's client: caps, time-outs, hygiene, secrets."""

import logging
import math
import traceback
import tracemalloc
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import httpx
import httpx2
import pytest

from rig.errors import (
    InvalidRequestError,
    NotConfiguredError,
    ProtocolError,
    RequestTimeoutError,
    ResponseTooLargeError,
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
    Reset,
    Until,
    answer,
    chunked,
    faults,
    gzipped,
    head,
    raw,
    refused_url,
    repeat,
)
from rig.testing.answers import LazySteps
from rig.testing.sockets import listen
from rig.transport import pool
from rig.transport.http import CODED_STEP_BYTES, HTTP, Response, Timeouts
from rig.transport.httpx_transport import PoolTransport
from rig.transport.pool import ConnectionPool
from rig.transport.pool_route import PoolRoute

Sweep = Callable[
    [Callable[[], Coroutine[Any, Any, object]], Callable[[], Awaitable[None]]], Awaitable[int]
]
"""The fixture `cancel_at_every_await`."""

CAP = 10_000
KEY = "sk-planted-key"
PATH = "planted-path"
CHUNKED = [("Transfer-Encoding", "chunked")]

MakeClient = Callable[[], Any]
CLIENTS: dict[str, MakeClient] = {
    "own": lambda: None,
    "httpx": lambda: httpx.AsyncClient(transport=httpx.AsyncHTTPTransport()),
    "httpx2": lambda: httpx2.AsyncClient(transport=httpx2.AsyncHTTPTransport()),
    "own transport in a caller's client": lambda: httpx.AsyncClient(transport=PoolTransport()),
}


@pytest.fixture(params=CLIENTS)
def make_client(request: pytest.FixtureRequest) -> MakeClient:
    """Makes the caller's client, or None for rig's own."""
    return CLIENTS[request.param]


@asynccontextmanager
async def driving(
    *answers: Answer | object, client: Any = None, path: str = "", **options: Any
) -> AsyncGenerator[tuple[FakeBackend, HTTP]]:
    options.setdefault("max_response_bytes", CAP)
    fake = FakeBackend(*answers)  # type: ignore[arg-type] # it checks them itself
    async with fake.serve() as backend:
        http = HTTP(backend.url + path, http_client=client, **options)
        try:
            yield backend, http
        finally:
            await http.aclose()
            if client is not None:
                await client.aclose()


def pool_of(http: HTTP) -> ConnectionPool:
    route = http._route or http._opened()
    assert isinstance(route, PoolRoute)
    return route.pool


# --- What is sent and returned ---


async def test_a_post_returns_status_headers_and_body(make_client: MakeClient) -> None:
    scripted = answer(201, body="hi", headers=[("X-A", "1"), ("x-a", "2"), ("X-B", "\xe9")])
    async with driving(scripted, client=make_client()) as (backend, http):
        response = await http.post("chat/completions", b'{"a":1}')
    assert (response.status, response.body) == (201, b"hi")
    assert response.headers["x-a"] == "1, 2"
    assert response.headers["x-b"] == "\xe9"
    request = backend.requests[0]
    assert (request.method, request.target, request.body) == (
        "POST",
        "/v1/chat/completions",
        b'{"a":1}',
    )
    assert request.header("content-type") == "application/json"


async def test_a_get_sends_no_body(make_client: MakeClient) -> None:
    async with driving(answer(body="hi"), client=make_client()) as (backend, http):
        assert (await http.get("models")).body == b"hi"
    request = backend.requests[0]
    assert (request.method, request.target, request.body) == ("GET", "/v1/models", b"")
    assert request.header("content-type") is None
    assert request.header("content-length") is None


async def test_headers_of_the_request_win_over_those_of_the_endpoint(
    make_client: MakeClient,
) -> None:
    headers = {"Authorization": f"Bearer {KEY}", "User-Agent": "mine", "X-A": "1"}
    async with driving(answer(), client=make_client(), headers=headers) as (backend, http):
        await http.post("x", b"{}", {"X-A": "2", "Content-Type": "text/plain"})
    sent = {name.lower(): value for name, value in backend.requests[0].headers}
    assert sent["authorization"] == f"Bearer {KEY}"
    assert sent["user-agent"] == "mine"
    assert sent["x-a"] == "2"
    assert sent["content-type"] == "text/plain"


@pytest.mark.parametrize("module", [httpx, httpx2], ids=["httpx", "httpx2"])
async def test_a_callers_headers_apply_where_ours_say_nothing(module: Any) -> None:
    client = module.AsyncClient(
        headers={
            "Authorization": "Bearer theirs",
            "X-Theirs": "yes",
            "Accept-Encoding": "br, zstd",
            "OpenAI-Organization": "org",
            "OpenAI-Project": "project",
        },
        params={"tenant": "7"},
    )
    async with driving(repeat(answer()), client=client, headers={"Authorization": "ours"}) as (
        backend,
        http,
    ):
        for _ in range(2):
            await http.post("x", b"{}")
    for request in backend.requests:
        assert request.header("authorization") == "ours"
        assert request.header("x-theirs") == "yes"
        assert request.header("accept-encoding") == "gzip, deflate"
        assert request.header("openai-organization") is None
        assert request.header("openai-project") is None
        assert request.target == "/v1/x?tenant=7"


async def test_account_headers_are_never_sent(make_client: MakeClient) -> None:
    headers = {"OpenAI-Organization": "org", "openai-project": "p"}
    async with driving(answer(), client=make_client(), headers=headers) as (backend, http):
        await http.post("x", b"{}", headers)
    assert not [name for name, _ in backend.requests[0].headers if "openai" in name.lower()]


AMBIENT = {
    "HTTP_PROXY": "http://127.0.0.1:1",
    "http_proxy": "http://127.0.0.1:1",
    "ALL_PROXY": "socks5://127.0.0.1:1",
    "OPENAI_API_KEY": "sk-ambient",
    "OPENAI_ORG_ID": "org-ambient",
    "OPENAI_CUSTOM_HEADERS": "X-Leak: ambient",
    "OPENAI_BASE_URL": "http://127.0.0.1:1/v1",
}


async def test_nothing_of_the_environment_takes_part(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in AMBIENT.items():
        monkeypatch.setenv(name, value)
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login ambient password ambient\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(netrc))
    async with driving(answer(body="direct")) as (backend, http):
        assert (await http.post("x", b"{}")).body == b"direct"
    request = backend.requests[0]
    assert request.header("authorization") is None
    assert "ambient" not in repr(request.headers)


async def test_redirects_are_returned_and_not_followed(make_client: MakeClient) -> None:
    scripted = answer(307, body="moved", headers=[("Location", "/v1/elsewhere")])
    async with driving(repeat(scripted), client=make_client()) as (backend, http):
        assert (await http.post("x", b"{}")).status == 307
    assert len(backend.requests) == 1


async def test_a_redirect_to_nonsense_is_no_crash(make_client: MakeClient) -> None:
    scripted = answer(302, headers=[("Location", "http://h:port/")])
    status = 0
    async with driving(scripted, client=make_client()) as (_, http):
        try:
            status = (await http.post("x", b"{}")).status
        except ProtocolError as error:  # httpx parses what it does not follow; httpx2 does not
            assert error.__context__ is None  # noqa: PT017 either outcome is right
            status = 302
    assert status == 302


async def test_no_cookie_is_kept() -> None:
    async with driving(repeat(answer(headers=[("Set-Cookie", "a=b; Path=/")]))) as (backend, http):
        await http.post("x", b"{}")
        await http.post("x", b"{}")
    assert backend.requests[1].header("cookie") is None
    assert backend.connections.opened == 1


async def test_an_answer_that_a_mock_or_a_hook_has_read_is_used_as_it_is() -> None:
    def respond(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"a": 1})

    async with httpx.AsyncClient(transport=httpx.MockTransport(respond)) as client:
        http = HTTP("http://mock/v1", http_client=client)
        assert (await http.post("x", b"{}")).body == b'{"a":1}'
        small = HTTP("http://mock/v1", http_client=client, max_response_bytes=6)
        with pytest.raises(ResponseTooLargeError):
            await small.post("x", b"{}")

    async def read(response: httpx.Response) -> None:
        await response.aread()

    hooked = httpx.AsyncClient(event_hooks={"response": [read]})
    scripted = answer(body="hello", content_encoding="gzip")
    async with driving(scripted, client=hooked) as (_, http):
        assert (await http.post("x", b"{}")).body == b"hello"


async def test_a_hook_that_raises_for_status_is_classified_by_the_status() -> None:
    async def check(response: httpx.Response) -> None:
        response.raise_for_status()

    hooked = httpx.AsyncClient(event_hooks={"response": [check]})
    async with driving(answer(503), client=hooked) as (_, http):
        with pytest.raises(UpstreamError) as caught:
            await http.post("x", b"{}")
    assert caught.value.status == 503
    assert caught.value.__context__ is None


# --- Caps ---

SIZES = {"exactly the cap": (CAP, True), "one byte more": (CAP + 1, False)}


@pytest.mark.parametrize("status", [200, 400, 500])
@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
@pytest.mark.parametrize("coding", [None, "gzip", "deflate"])
@pytest.mark.parametrize(("size", "passes"), SIZES.values(), ids=SIZES)
async def test_the_cap_counts_decoded_bytes_of_every_status(
    status: int, framing: Any, coding: Any, size: int, passes: bool
) -> None:
    scripted = answer(status, b"x" * size, framing=framing, content_encoding=coding)
    async with driving(scripted) as (backend, http):
        if passes:
            assert (await http.post("x", b"{}")).body == b"x" * size
        else:
            with pytest.raises(ResponseTooLargeError):
                await http.post("x", b"{}")
        assert pool_of(http).in_use == 0
    assert len(backend.requests) == 1


@pytest.mark.parametrize(("size", "passes"), SIZES.values(), ids=SIZES)
async def test_the_cap_holds_over_callers_clients(
    size: int, passes: bool, make_client: MakeClient
) -> None:
    scripted = answer(400, b"x" * size, content_encoding="gzip")
    async with driving(scripted, client=make_client()) as (_, http):
        if passes:
            assert len((await http.post("x", b"{}")).body) == size
        else:
            with pytest.raises(ResponseTooLargeError):
                await http.post("x", b"{}")


@pytest.mark.parametrize("status", [200, 400])
async def test_reading_an_endless_body_stops_before_twice_the_cap(
    status: int, make_client: MakeClient
) -> None:
    sent = 0
    cap = 1 << 20

    def body() -> Iterator[bytes]:
        nonlocal sent
        yield head(status)
        while True:
            sent += 4096
            yield b"x" * 4096

    endless = Answer(LazySteps(body))
    async with driving(endless, client=make_client(), max_response_bytes=cap) as (backend, http):
        with pytest.raises(ResponseTooLargeError):
            await http.post("x", b"{}")
        await backend.requests[0].disconnected.wait()
    buffers = 12 << 20  # what the kernel's two socket buffers and the reader's own may hold
    assert sent < 2 * cap + buffers


async def test_a_bomb_of_ten_gigabytes_costs_no_memory(make_client: MakeClient) -> None:
    bomb = faults.gzip_bomb(10 << 30)
    async with driving(bomb, client=make_client(), max_response_bytes=1 << 20) as (_, http):
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        with pytest.raises(ResponseTooLargeError):
            await http.post("x", b"{}")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak - before < 64 << 20


async def test_a_bomb_in_a_stream_comes_in_pieces_one_can_stop_at(make_client: MakeClient) -> None:
    bomb = faults.gzip_bomb(1 << 26)
    async with driving(bomb, client=make_client()) as (_, http):
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        async with http.stream("POST", "x", b"{}", max_bytes=1 << 26) as response:
            sizes = [len(part) async for part in response.aiter()]
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert max(sizes) <= 1032 * CODED_STEP_BYTES
    assert peak - before < 16 << 20


async def test_an_error_page_in_a_coding_nobody_offered_keeps_its_status() -> None:
    page = answer(502, b"\x1b\x0e\x00", headers=[("Content-Encoding", "br")])
    async with driving(page, page, answer(200, b"?", headers=[("Content-Encoding", "br")])) as (
        _,
        http,
    ):
        assert (await http.post("x", b"{}")) == Response(
            502,
            {
                "content-type": "application/json; charset=utf-8",
                "content-length": "3",
                "content-encoding": "br",
            },
            b"",
        )
        async with http.stream("POST", "x", b"{}") as response:
            assert (response.status, await response.read()) == (502, b"")
        with pytest.raises(ProtocolError):
            await http.post("x", b"{}")


# --- Time-outs ---


def only(**bounds: float) -> Timeouts:
    """These bounds and no others."""
    none = dict.fromkeys(("connect_s", "first_byte_s", "idle_s", "total_s"))
    return Timeouts(**{**none, **bounds})


def dripping() -> Answer:
    def steps() -> Iterator[bytes | Pause]:
        yield head(200, CHUNKED)
        while True:
            yield b"1\r\nx\r\n"
            yield Pause(0.005)

    return Answer(LazySteps(steps))


SLOW: dict[str, tuple[Answer, Timeouts, str]] = {
    "no head": (raw(Hang()), only(first_byte_s=0.05), "first_byte"),
    "a head and no body": (raw(head(200, CHUNKED), Hang()), only(first_byte_s=0.05), "first_byte"),
    "a body that stops": (
        raw(head(200, CHUNKED), *chunked(b"x", end=False), Hang()),
        only(first_byte_s=30, idle_s=0.05),
        "idle",
    ),
    "a body that drips": (dripping(), only(idle_s=30, total_s=0.1), "total"),
    "nothing, in all": (raw(Hang()), only(first_byte_s=30, total_s=0.05), "total"),
}


@pytest.mark.parametrize(("scripted", "timeouts", "reason"), SLOW.values(), ids=SLOW)
async def test_every_wait_has_its_bound(
    scripted: Answer, timeouts: Timeouts, reason: str, make_client: MakeClient
) -> None:
    async with driving(scripted, client=make_client(), timeouts=timeouts) as (backend, http):
        with pytest.raises(RequestTimeoutError) as caught:
            await http.post("x", b"{}")
        assert caught.value.reason == reason
        assert caught.value.__context__ is None
        await backend.wait_until(lambda: backend.connections.open == 0)


async def test_a_server_that_takes_nothing_of_a_request_is_slow() -> None:
    with closing(listen()) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        http = HTTP(url, timeouts=only(first_byte_s=0.05))
        with pytest.raises(RequestTimeoutError) as caught:
            await http.post("x", b"x" * (64 << 20))
        assert caught.value.reason == "first_byte"
        await http.aclose()


@pytest.mark.parametrize(("scripted", "timeouts", "reason"), SLOW.values(), ids=SLOW)
async def test_streams_have_the_same_bounds(
    scripted: Answer, timeouts: Timeouts, reason: str
) -> None:
    async with driving(scripted, timeouts=timeouts) as (backend, http):
        with pytest.raises(RequestTimeoutError) as caught:
            async with http.stream("POST", "x", b"{}") as response:
                await read_all(response.aiter())
        assert caught.value.reason == reason
        assert caught.value.__context__ is None
        assert pool_of(http).in_use == 0
        await backend.wait_until(lambda: backend.connections.open == 0)


async def read_all(parts: Any) -> bytes:
    return b"".join([part async for part in parts])


async def test_the_time_a_reader_takes_is_not_the_servers() -> None:
    scripted = raw(head(200, CHUNKED), *chunked(b"one", Pause(0.01), b"two"))
    async with driving(scripted, timeouts=only(first_byte_s=5, idle_s=5)) as (_, http):
        http._timeouts = only(first_byte_s=5, idle_s=0.2)
        async with http.stream("POST", "x", b"{}") as response:
            parts = response.aiter()
            first = await anext(parts)
            await anyio.sleep(0.3)  # longer than the idle bound
            assert first + await read_all(parts) == b"onetwo"


class ClosesSlowly(httpx.AsyncByteStream):
    """A body that breaks, and whose connection takes its time to close, longer than any read may."""

    closed = False

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        yield b"hi"
        raise httpx.ReadError("broken")

    async def aclose(self) -> None:
        await anyio.sleep(0.05)
        self.closed = True


@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "stream"])
async def test_closing_a_broken_answer_has_a_time_of_its_own(streaming: bool) -> None:
    body = ClosesSlowly()
    transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=body))
    async with httpx.AsyncClient(transport=transport) as client:
        http = HTTP("http://host/v1", http_client=client, timeouts=only(idle_s=0.02, total_s=0.03))
        with pytest.raises(UpstreamError):
            await exchange(http, streaming=streaming)
    assert body.closed


async def test_a_callers_own_time_outs_do_not_end_a_long_wait() -> None:
    impatient = httpx.AsyncClient(timeout=0.02)
    scripted = raw(Pause(0.1), head(200, [("Content-Length", "2")]) + b"hi")
    async with driving(scripted, client=impatient) as (_, http):
        assert (await http.post("x", b"{}")).body == b"hi"


@pytest.mark.parametrize("bound", [0, -1, math.inf, math.nan, True, "5"], ids=repr)
@pytest.mark.parametrize("name", ["connect_s", "first_byte_s", "idle_s", "total_s"])
def test_bounds_are_positive_finite_numbers(name: str, bound: Any) -> None:
    with pytest.raises(InvalidRequestError):
        Timeouts(**{name: bound})


# --- Streams ---


async def test_a_stream_is_read_as_it_comes(make_client: MakeClient) -> None:
    more = anyio.Event()
    scripted = raw(head(200, CHUNKED), *chunked(b"one", Until(more), b"two"))
    async with (
        driving(scripted, client=make_client()) as (_, http),
        http.stream("POST", "x", b"{}") as response,
    ):
        assert response.status == 200
        assert response.headers["transfer-encoding"] == "chunked"
        parts = response.aiter()
        assert await anext(parts) == b"one"
        more.set()
        assert await read_all(parts) == b"two"


async def test_leaving_a_stream_closes_the_connection_at_once(make_client: MakeClient) -> None:
    scripted = raw(head(200, CHUNKED), *chunked(b"one", end=False), Hang())
    async with driving(scripted, client=make_client()) as (backend, http):
        async with http.stream("POST", "x", b"{}") as response:
            assert await anext(response.aiter()) == b"one"
        with anyio.fail_after(5):
            await backend.requests[0].disconnected.wait()


@pytest.mark.parametrize(("size", "passes"), SIZES.values(), ids=SIZES)
async def test_a_stream_has_a_bound_of_its_own(size: int, passes: bool) -> None:
    scripted = answer(body=b"x" * size, framing="chunked", content_encoding="gzip")
    async with (
        driving(scripted) as (_, http),
        http.stream("POST", "x", b"{}", max_bytes=CAP) as response,
    ):
        if passes:
            assert len(await read_all(response.aiter())) == size
        else:
            with pytest.raises(ResponseTooLargeError):
                await read_all(response.aiter())


async def test_a_stream_may_be_longer_than_a_whole_answer_but_reading_it_whole_may_not() -> None:
    async with driving(repeat(answer(400, body=b"x" * (CAP + 1)))) as (_, http):
        async with http.stream("POST", "x", b"{}") as response:
            assert len(await read_all(response.aiter())) == CAP + 1
        async with http.stream("POST", "x", b"{}") as response:
            with pytest.raises(ResponseTooLargeError):
                await response.read()


async def test_a_stream_that_ends_too_soon_is_cut(make_client: MakeClient) -> None:
    scripted = raw(head(200, CHUNKED), *chunked(b"one", end=False), Close())
    async with driving(scripted, client=make_client()) as (_, http):
        async with http.stream("POST", "x", b"{}") as response:
            with pytest.raises(StreamCutError) as caught:
                await read_all(response.aiter())
        assert caught.value.__context__ is None
        assert caught.value.reason == "eof"


async def test_an_exception_of_the_reader_comes_out_as_it_is() -> None:
    async with driving(repeat(answer(body="hi"))) as (_, http):
        with pytest.raises(KeyError):
            async with http.stream("POST", "x", b"{}"):
                raise KeyError("mine")
        assert pool_of(http).in_use == 0


# --- Faults ---

BROKEN: dict[str, tuple[Answer, type[RigError], str]] = {
    "close before an answer": (raw(Close()), UpstreamError, "eof"),
    "close in the body": (
        raw(head(200, [("Content-Length", "9")]) + b"hi", Close()),
        StreamCutError,
        "eof",
    ),
    "cut gzip": (
        answer(200, b"\x1f\x8b\x08\x00\x00", headers=[("Content-Encoding", "gzip")]),
        StreamCutError,
        "encoding_cut",
    ),
}


@pytest.mark.parametrize(("scripted", "error", "reason"), BROKEN.values(), ids=BROKEN)
async def test_faults_are_named_alike_whoever_connects(
    scripted: Answer, error: type[RigError], reason: str, make_client: MakeClient
) -> None:
    async with driving(scripted, client=make_client()) as (_, http):
        with pytest.raises(error) as caught:
            await http.post("x", b"{}")
    assert caught.value.reason == reason


async def test_refused_connections_are_named_alike(make_client: MakeClient) -> None:
    client = make_client()
    with refused_url() as url:
        http = HTTP(url, http_client=client)
        with pytest.raises(UpstreamError) as caught:
            await http.get("models")
        await http.aclose()
        if client is not None:
            await client.aclose()
    assert caught.value.reason == "connect_refused"


FAILURES: dict[str, Answer] = {
    "close": raw(Close()),
    "reset": raw(Pause(0), Reset()),
    "cut": raw(head(200, [("Content-Length", "9")]) + b"hi", Close()),
    "not http": raw(b"planted\r\n\r\n", Close()),
    "bad coding": answer(body="x", headers=[("Content-Encoding", KEY)]),
    "too large": answer(body="x" * (CAP + 1)),
    "silence": raw(Hang()),
}


async def exchange(http: HTTP, *, streaming: bool) -> None:
    if streaming:
        async with http.stream("POST", "x", b"{}", max_bytes=CAP) as response:
            await read_all(response.aiter())
    else:
        await http.post("x", b"{}")


@pytest.mark.parametrize("scripted", FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "stream"])
async def test_no_failure_shows_the_key_or_the_url(
    scripted: Answer, streaming: bool, make_client: MakeClient
) -> None:
    async with driving(
        scripted,
        client=make_client(),
        path=f"/{PATH}",
        headers={"Authorization": f"Bearer {KEY}"},
        timeouts=only(total_s=0.1),
    ) as (_, http):
        with pytest.raises(RigError) as caught:
            await exchange(http, streaming=streaming)
    error = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None
    shown = "".join([str(error), repr(error), repr(error.args), *traceback.format_exception(error)])
    assert KEY not in shown
    assert PATH not in shown
    assert "127.0.0.1" not in shown


async def test_nothing_is_logged_over_rigs_own_connections(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    async with driving(answer(), path=f"/{PATH}", headers={"X-Key": KEY}) as (_, http):
        await http.post("x", b"{}")
        assert PATH not in repr(http)
    assert not [record for record in caplog.records if record.name != "asyncio"]


# --- Construction ---


@pytest.mark.parametrize(
    "wrong",
    [object(), "http://h", httpx.Client, PoolTransport()],
    ids=["object", "url", "class", "transport"],
)
def test_what_is_no_client_is_refused(wrong: Any) -> None:
    with pytest.raises(NotConfiguredError):
        HTTP("http://h/v1", http_client=wrong)


@pytest.mark.parametrize("module", [httpx, httpx2], ids=["httpx", "httpx2"])
def test_a_synchronous_client_is_refused_by_name(module: Any) -> None:
    with module.Client() as client, pytest.raises(NotConfiguredError, match="synchronous"):
        HTTP("http://h/v1", http_client=client)


URLS = {
    "empty": "",
    "no scheme": "h/v1",
    "ftp": "ftp://h/v1",
    "no host": "http:///v1",
    "credentials": f"http://user:{KEY}@h/v1",
    "fragment": "http://h/v1#f",
    "bad port": "http://h:99999999/v1",
    "not text": None,
}


@pytest.mark.parametrize("url", URLS.values(), ids=URLS)
def test_base_urls_that_can_not_be_requested_are_refused_unseen(url: Any) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        HTTP(url)
    assert KEY not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("path", ["a b", "a\r\nX: y", "\u00e9", "http://elsewhere/x"], ids=repr)
async def test_paths_that_can_not_be_requested_are_refused(path: str) -> None:
    async with driving() as (backend, http):
        with pytest.raises(InvalidRequestError):
            await http.post(path, b"{}")
    assert backend.requests == []


async def test_paths_are_joined_and_whole_urls_of_the_origin_are_taken() -> None:
    async with driving(repeat(answer())) as (backend, http):
        await http.get("models")
        await http.get("/models?all=1")
        await http.get(backend.url.removesuffix("/v1") + "/props")
    targets = [request.target for request in backend.requests]
    assert targets == ["/v1/models", "/v1/models?all=1", "/props"]


async def test_a_closed_client_says_so(make_client: MakeClient) -> None:
    client = make_client()
    async with driving(answer(), client=client) as (backend, http):
        await (client or http).aclose()
        with pytest.raises(InvalidRequestError):
            await http.post("x", b"{}")
    assert backend.requests == []


async def test_a_callers_client_is_not_closed() -> None:
    async with httpx.AsyncClient() as client:
        await HTTP("http://h/v1", http_client=client).aclose()
        assert not client.is_closed


# --- Cancelling ---


@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "stream"])
async def test_an_exchange_can_be_cancelled_at_every_await(
    streaming: bool, cancel_at_every_await: Sweep
) -> None:
    scripted = raw(head(200, CHUNKED), *chunked(b"a", Pause(0), b"b", Pause(0), b"c"))
    async with driving(repeat(scripted)) as (backend, http):
        transport = pool_of(http)

        async def operation() -> None:
            if streaming:
                async with http.stream("POST", "x", b"{}") as response:
                    assert await read_all(response.aiter()) == b"abc"
            else:
                assert (await http.post("x", b"{}")).body == b"abc"

        async def check() -> None:
            assert transport.in_use == 0
            await backend.wait_until(lambda: backend.connections.open == transport.idle)

        assert await cancel_at_every_await(operation, check) >= 2
        await operation()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # theirs, on trio
@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("module", [httpx, httpx2])
async def test_an_exchange_of_a_callers_client_can_be_cancelled_at_every_await(
    streaming: bool, module: Any, cancel_at_every_await: Sweep
) -> None:
    scripted = raw(head(200, CHUNKED), *chunked(b"a", Pause(0), b"b", Pause(0), b"c"))
    client = module.AsyncClient(transport=module.AsyncHTTPTransport())
    async with driving(repeat(scripted), client=client) as (backend, http):

        async def operation() -> None:
            if streaming:
                async with http.stream("POST", "x", b"{}") as response:
                    assert await read_all(response.aiter()) == b"abc"
            else:
                assert (await http.post("x", b"{}")).body == b"abc"

        async def check() -> None:
            # at most the one that an exchange has given back
            await backend.wait_until(lambda: backend.connections.open <= 1)

        assert await cancel_at_every_await(operation, check) >= 2
        await operation()


def broken_error_pages() -> dict[str, Answer]:
    """Error answers whose bodies can't be read to their end, each in another way."""
    start = b"HTTP/1.1 429 Busy\r\nRetry-After: 2\r\n"
    return {
        "cut": raw(start + b"Content-Length: 500\r\n\r\nbusy", Close()),
        "reset": raw(start + b"Content-Length: 500\r\n\r\nbusy", Reset()),
        "cut chunk": raw(start + b"Transfer-Encoding: chunked\r\n\r\n4\r\nbusy\r\n5", Close()),
        "stalled": raw(start + b"Content-Length: 500\r\n\r\nbusy", Hang()),
        "not the coding it says": answer(
            429, b"busy", headers=[("Retry-After", "2"), ("Content-Encoding", "gzip")]
        ),
        "cut coding": raw(
            start
            + b"Content-Encoding: gzip\r\nContent-Length: 30\r\n\r\n"
            + gzipped(b"busy" * 99)[:30]
        ),
    }


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("scripted", broken_error_pages().values(), ids=broken_error_pages().keys())
@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "stream"])
async def test_an_error_status_outlives_the_fault_that_cut_its_body(
    scripted: Answer, make_client: MakeClient, streaming: bool
) -> None:
    options: dict[str, Any] = {"client": make_client(), "timeouts": only(idle_s=0.1, total_s=2)}
    async with driving(scripted, **options) as (_, http):
        if streaming:
            async with http.stream("POST", "x", b"{}") as response:
                body = await response.read()
                status, headers = response.status, response.headers
        else:
            whole = await http.post("x", b"{}")
            status, headers, body = whole.status, whole.headers, whole.body
    assert (status, headers["retry-after"]) == (429, "2")
    assert b"busy".startswith(body[:4])


async def test_a_flood_of_empty_framing_does_not_outlast_the_total() -> None:
    block = b"1;a=1\r\n \r\n" * 10_000
    scripted = raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", *[block] * 2_000)
    options: dict[str, Any] = {"max_response_bytes": 1 << 30, "timeouts": only(total_s=0.2)}
    async with driving(scripted, **options) as (_, http):
        with pytest.raises(RequestTimeoutError) as caught:
            await http.post("x", b"{}")
    assert caught.value.reason == "total"


async def test_a_bomb_in_a_stream_leaves_others_their_turn_and_ends_at_the_total() -> None:
    # Ten gigabytes take seconds to inflate on any machine.
    scripted = faults.gzip_bomb(10 << 30)
    options: dict[str, Any] = {"timeouts": only(total_s=0.05)}
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await anyio.lowlevel.checkpoint()

    async with driving(scripted, **options) as (_, http), anyio.create_task_group() as tasks:
        tasks.start_soon(others)
        async with http.stream("POST", "x", b"{}", max_bytes=1 << 40) as response:
            before = turns
            with pytest.raises(RequestTimeoutError) as caught:
                async for _ in response:
                    pass
        assert caught.value.reason == "total"
        assert turns > before
        tasks.cancel_scope.cancel()


async def test_a_flood_that_is_read_slowly_does_not_outlast_the_total() -> None:
    def steps() -> Iterator[bytes]:
        yield head(200, CHUNKED)
        while True:
            yield (b"1000\r\n" + b"x" * 4096 + b"\r\n") * 256

    async with driving(Answer(LazySteps(steps)), timeouts=only(total_s=0.05)) as (_, http):
        with anyio.fail_after(10), pytest.raises(RequestTimeoutError) as caught:
            async with http.stream("POST", "x", b"{}", max_bytes=1 << 40) as response:
                async for _ in response:
                    await anyio.sleep(0.01)  # there is always more by then
        assert caught.value.reason == "total"


@pytest.mark.parametrize(
    ("bounds", "reason"),
    [
        ({"connect_s": 0.02}, "connect"),
        ({"connect_s": 0.02, "total_s": 30}, "connect"),
        ({"connect_s": 30, "first_byte_s": 0.02}, "first_byte"),
        ({"total_s": 0.02}, "total"),
    ],
)
async def test_a_wait_for_a_thread_has_the_bound_of_connecting(
    bounds: dict[str, float], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_tls_contexts", [])
    threads = anyio.to_thread.current_default_thread_limiter()
    workers = [object() for _ in range(int(threads.available_tokens))]
    for worker in workers:
        threads.acquire_on_behalf_of_nowait(worker)
    try:
        http = HTTP("https://127.0.0.1:1/v1", timeouts=only(**bounds))
        with anyio.fail_after(10), pytest.raises(RequestTimeoutError) as caught:
            await http.post("x", b"{}")
        assert caught.value.reason == reason
        await http.aclose()
    finally:
        for worker in workers:
            threads.release_on_behalf_of(worker)
