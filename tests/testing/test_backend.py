"""FakeBackend over a loopback socket and in process."""

import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Literal, Never

import anyio
import anyio.lowlevel
import httpx
import pytest
import trustme

from rig import Client, InvalidRequestError
from rig.testing import (
    Answer,
    Close,
    FakeBackend,
    Framing,
    Hang,
    Pause,
    ReceivedRequest,
    Reset,
    Step,
    Until,
    answer,
    chunked,
    head,
    models,
    raw,
    repeat,
    reply,
    stream,
)

Door = Callable[[FakeBackend], AbstractAsyncContextManager[httpx.AsyncClient]]


@pytest.fixture(params=["socket", "in process"])
def door(request: pytest.FixtureRequest) -> Door:
    """How a test reaches the backend: a context manager that gives an httpx client."""

    @asynccontextmanager
    async def over_a_socket(backend: FakeBackend) -> AsyncIterator[httpx.AsyncClient]:
        async with backend.serve(), httpx.AsyncClient(trust_env=False, timeout=5) as client:
            yield client

    @asynccontextmanager
    async def in_process(backend: FakeBackend) -> AsyncIterator[httpx.AsyncClient]:
        async with httpx.AsyncClient(transport=backend.transport, timeout=5) as client:
            yield client

    return over_a_socket if request.param == "socket" else in_process


async def post(
    client: httpx.AsyncClient, backend: FakeBackend, body: object = None
) -> httpx.Response:
    return await client.post(f"{backend.url}/chat/completions", json=body or {"a": 1})


async def test_answers_are_given_in_order_and_requests_are_recorded(door: Door) -> None:
    backend = FakeBackend(reply("one"), "two", answer(418, "teapot"))
    async with door(backend) as client:
        texts = [
            (await post(client, backend)).json()["choices"][0]["message"]["content"]
            for _ in range(2)
        ]
        last = await post(client, backend, {"b": 2})
    assert texts == ["one", "two"]
    assert (last.status_code, last.text) == (418, "teapot")
    assert backend.requests[2].json == {"b": 2}
    assert backend.requests[2].method == "POST"
    assert backend.requests[2].target == "/v1/chat/completions"
    assert backend.requests[2].header("content-type") == "application/json"
    assert backend.requests[2].raw.endswith(b"\r\n\r\n" + backend.requests[2].body)
    assert backend.unused == 0


async def test_a_request_after_the_last_answer_gets_a_400_and_is_counted(door: Door) -> None:
    backend = FakeBackend()
    async with door(backend) as client:
        response = await post(client, backend)
    assert response.status_code == 400
    assert "no answer left" in response.json()["error"]["message"]
    assert backend.unexpected == 1


async def test_a_repeated_answer_never_runs_out(door: Door) -> None:
    backend = FakeBackend(reply("first"), repeat(reply("again")))
    async with door(backend) as client:
        bodies = [(await post(client, backend)).text for _ in range(4)]
    assert "first" in bodies[0]
    assert all("again" in body for body in bodies[1:])
    assert backend.unexpected == 0


def test_a_repeated_answer_must_be_the_last() -> None:
    with pytest.raises(ValueError, match="last"):
        FakeBackend(repeat("a"), "b")


async def test_routes_answer_by_path_outside_of_the_order(door: Door) -> None:
    backend = FakeBackend("chat", routes={"/v1/models": models("m1", "m2")})
    async with door(backend) as client:
        listed = await client.get(f"{backend.url}/models?x=1")
        again = await client.get(f"{backend.url}/models")
        chat = await post(client, backend)
    assert [entry["id"] for entry in listed.json()["data"]] == ["m1", "m2"]
    assert again.text == listed.text
    assert "chat" in chat.text


async def test_a_callable_sees_the_request_and_may_await(door: Door) -> None:
    def echo(request: ReceivedRequest) -> Answer:
        return reply(request.json["say"])

    async def slow_echo(request: ReceivedRequest) -> str:
        await anyio.lowlevel.checkpoint()
        return str(request.json["say"])

    backend = FakeBackend(echo, slow_echo)
    async with door(backend) as client:
        first = await post(client, backend, {"say": "hello"})
        second = await post(client, backend, {"say": "there"})
    assert "hello" in first.text
    assert "there" in second.text


@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
@pytest.mark.parametrize("encoding", [None, "gzip", "deflate"])
async def test_bodies_arrive_whole_in_every_framing_and_coding(
    door: Door, framing: Framing, encoding: Literal["gzip", "deflate"] | None
) -> None:
    backend = FakeBackend(
        answer(200, b"x" * 100_000, framing=framing, content_encoding=encoding, content_type="a/b")
    )
    async with door(backend) as client:
        response = await post(client, backend)
    assert response.content == b"x" * 100_000
    assert response.headers["content-type"] == "a/b"


async def test_a_body_larger_than_any_head_arrives_whole(door: Door) -> None:
    backend = FakeBackend(answer(body=b"x" * (1 << 20)))
    async with door(backend) as client:
        assert len((await post(client, backend)).content) == 1 << 20


async def test_chunks_keep_their_boundaries(door: Door) -> None:
    first, second = anyio.Event(), anyio.Event()
    body = chunked(b"one", Until(first), b"two", Until(second), b"three")
    backend = FakeBackend(raw(head(200, {"Transfer-Encoding": "chunked"}), *body))
    seen: list[bytes] = []
    async with door(backend) as client, client.stream("GET", backend.url) as response:
        async for part in response.aiter_raw():
            seen.append(part)
            (first if len(seen) == 1 else second).set()
    assert seen == [b"one", b"two", b"three"]


async def test_a_reset_is_a_read_error(door: Door) -> None:
    backend = FakeBackend(raw(Reset()))
    async with door(backend) as client:
        with pytest.raises(httpx.ReadError):
            await post(client, backend)
    assert len(backend.requests) == 1


async def test_a_reset_in_the_body_is_a_read_error(door: Door) -> None:
    gate = anyio.Event()
    backend = FakeBackend(raw(head(200, {"Content-Length": "9"}), b"abc", Until(gate), Reset()))
    async with door(backend) as client, client.stream("GET", backend.url) as response:
        gate.set()
        with pytest.raises(httpx.ReadError):
            await response.aread()


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([Close()], id="before the head"),
        pytest.param([b"HTTP/1.1 200 OK\r\n", Close()], id="in the head"),
        pytest.param([head(200, {"Content-Length": "9"}), b"abc", Close()], id="in the body"),
        pytest.param(
            [head(200, {"Transfer-Encoding": "chunked"}), *chunked(b"abc", end=False), Close()],
            id="before the last chunk",
        ),
        pytest.param([b"SSH-2.0-OpenSSH\r\n\r\n", Close()], id="not http"),
    ],
)
async def test_an_answer_that_ends_early_is_a_protocol_error(door: Door, steps: list[Step]) -> None:
    backend = FakeBackend(raw(*steps))
    async with door(backend) as client:
        with pytest.raises(httpx.RemoteProtocolError):
            await post(client, backend)


async def test_a_client_that_leaves_a_hanging_answer_is_noticed(door: Door) -> None:
    backend = FakeBackend(raw(Hang()))
    async with door(backend) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(post, client, backend)
            await backend.wait_for_requests(1)
            tasks.cancel_scope.cancel()
        with anyio.fail_after(5):
            await backend.requests[0].disconnected.wait()


async def test_a_client_that_leaves_a_stream_is_noticed(door: Door) -> None:
    backend = FakeBackend(stream("a", Hang()))
    async with door(backend) as client:
        async with client.stream("GET", backend.url) as response:
            assert response.status_code == 200
        with anyio.fail_after(5):
            await backend.requests[0].disconnected.wait()


async def test_a_client_that_reads_to_the_end_is_not_gone(door: Door) -> None:
    backend = FakeBackend(stream("a", "b"), reply("c"))
    async with door(backend) as client:
        await post(client, backend)
        await post(client, backend)
    assert not any(request.disconnected.is_set() for request in backend.requests)


@pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)
async def test_a_pause_in_process_takes_virtual_time() -> None:
    backend = FakeBackend(raw(Pause(3600), *reply("late").steps))
    async with httpx.AsyncClient(transport=backend.transport, timeout=None) as client:
        started = anyio.current_time()
        await post(client, backend)
        assert anyio.current_time() - started == pytest.approx(3600)


@pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)
async def test_a_wait_in_process_obeys_the_read_timeout_of_httpx() -> None:
    backend = FakeBackend(raw(Hang()))
    async with httpx.AsyncClient(transport=backend.transport, timeout=5) as client:
        with pytest.raises(httpx.ReadTimeout):
            await post(client, backend)


async def test_connections_are_kept_alive_and_counted() -> None:
    backend = FakeBackend(repeat("ok"))
    async with backend.serve():
        async with httpx.AsyncClient(trust_env=False) as client:
            for _ in range(3):
                await post(client, backend)
            assert backend.connections.opened == 1
            assert backend.connections.open == 1
            assert backend.connections.requests == [3]
            assert [request.connection for request in backend.requests] == [0, 0, 0]
        await backend.wait_until(lambda: backend.connections.open == 0)


@pytest.mark.parametrize(
    "closing",
    [
        pytest.param(answer(framing="close"), id="no length"),
        pytest.param(answer(headers={"Connection": "close"}), id="connection close"),
        pytest.param(raw(head(200, {"Content-Length": "0"}), Close()), id="close step"),
        pytest.param(raw(head(200, {"Content-Length": "0"}), keep_alive=False), id="told so"),
    ],
)
async def test_connections_end_when_the_answer_says_so(closing: Answer) -> None:
    backend = FakeBackend(closing)
    async with backend.serve(), httpx.AsyncClient(trust_env=False) as client:
        await post(client, backend)
        await backend.wait_until(lambda: backend.connections.open == 0)


async def test_tls() -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    backend = FakeBackend(repeat("secret"))
    async with backend.serve(tls=context):
        assert backend.url.startswith("https://")
        async with httpx.AsyncClient(verify=trusting, trust_env=False) as client:
            assert "secret" in (await post(client, backend)).text
        async with httpx.AsyncClient(trust_env=False) as client:
            with pytest.raises(httpx.ConnectError):
                await post(client, backend)
    assert len(backend.requests) == 1


class BodyError(Exception):
    """What a failing test raises."""


async def test_the_exception_of_the_block_comes_out_plain() -> None:
    with pytest.raises(BodyError):
        async with FakeBackend().serve():
            raise BodyError


async def test_the_exception_of_the_block_comes_out_plain_while_a_request_hangs() -> None:
    async def fail_while_serving() -> None:
        async with (
            FakeBackend(raw(Hang())).serve() as backend,
            await anyio.connect_tcp("127.0.0.1", backend.port) as client,
        ):
            await client.send(b"GET / HTTP/1.1\r\n\r\n")
            await backend.wait_for_requests()
            raise BodyError

    with pytest.raises(BodyError):
        await fail_while_serving()


async def test_cancelling_the_block_ends_the_server() -> None:
    with anyio.move_on_after(5) as scope:
        async with FakeBackend().serve() as backend:
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    with pytest.raises(OSError, match="connection attempts failed"):
        await anyio.connect_tcp("127.0.0.1", backend.port)


async def test_a_callable_that_fails_fails_the_block() -> None:
    def broken(request: ReceivedRequest) -> Never:
        raise BodyError

    with pytest.raises(BodyError):
        async with (
            FakeBackend(broken).serve() as backend,
            httpx.AsyncClient(trust_env=False) as client,
        ):
            assert (await post(client, backend)).status_code == 400


async def test_a_script_that_runs_out_ends_the_call_at_once() -> None:
    backend = FakeBackend()
    async with backend.serve(), Client(backend.url, model="m") as client:
        with pytest.raises(InvalidRequestError):
            await client.run("hi", max_tokens=8)
    assert (len(backend.requests), backend.unexpected) == (1, 1)


async def test_a_deaf_server_accepts_and_never_reads() -> None:
    async with (
        FakeBackend().serve(deaf=True) as backend,
        await anyio.connect_tcp("127.0.0.1", backend.port) as client,
    ):
        with anyio.move_on_after(0.2) as scope:
            await client.send(b"x" * 20_000_000)
        assert scope.cancelled_caught
        assert backend.connections.opened == 1
        assert backend.requests == []


async def test_what_is_no_request_gets_a_400_and_is_not_recorded() -> None:
    async with (
        FakeBackend("ok").serve() as backend,
        await anyio.connect_tcp("127.0.0.1", backend.port) as client,
    ):
        await client.send(b"hello there\r\n\r\n")
        assert (await client.receive()).startswith(b"HTTP/1.1 400 Bad Request\r\n")
        with pytest.raises(anyio.EndOfStream):
            await client.receive()
        assert backend.requests == []


async def test_requests_sent_in_one_go_are_answered_in_order() -> None:
    async with (
        FakeBackend(raw(b"one"), raw(b"two"), raw(b"three", Close())).serve() as backend,
        await anyio.connect_tcp("127.0.0.1", backend.port) as client,
    ):
        await client.send(b"GET / HTTP/1.1\r\n\r\n" * 3)
        received = b"".join([data async for data in client])
        assert received == b"one"  # raw bytes without a head end the connection


async def test_kept_alive_raw_answers_are_sent_byte_for_byte() -> None:
    answers = [raw(data, keep_alive=True) for data in (b"one", b"two")]
    async with (
        FakeBackend(*answers, raw(b"three")).serve() as backend,
        await anyio.connect_tcp("127.0.0.1", backend.port) as client,
    ):
        await client.send(b"GET / HTTP/1.1\r\n\r\n" * 3)
        assert b"".join([data async for data in client]) == b"onetwothree"


async def test_waiting_for_what_never_comes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rig.testing.backend.WAIT_S", 0.05)
    with pytest.raises(TimeoutError):
        await FakeBackend().wait_for_requests(1)
