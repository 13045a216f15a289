"""What an answer to a question is worth."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx
import pytest

from rig.client.requester import Answer, HTTPRequester, ask, judge
from rig.errors import InvalidRequestError
from rig.testing import Close, FakeBackend, Reset, answer, raw, refused_url
from rig.testing.faults import gzip_bomb
from rig.transport.http import HTTP


@asynccontextmanager
async def requester(backend: FakeBackend, path: str = "") -> AsyncGenerator[HTTPRequester]:
    url = backend.url.removesuffix("/v1") + path + "/v1/"
    http = HTTP(url, headers={"Authorization": "Bearer k"})
    try:
        yield HTTPRequester(http, url)
    finally:
        await http.aclose()


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (200, "ok"),
        (201, "absent"),
        (204, "absent"),
        (302, "absent"),
        (400, "absent"),
        (401, "absent"),
        (404, "absent"),
        (405, "absent"),
        (408, "failing"),
        (429, "failing"),
        (500, "failing"),
        (501, "absent"),
        (502, "failing"),
        (503, "failing"),
        (599, "failing"),
    ],
)
def test_only_trouble_that_may_pass_is_no_clear_no(status: int, verdict: str) -> None:
    assert judge(status) == verdict


async def test_paths_are_below_the_root_and_carry_the_clients_headers() -> None:
    async with FakeBackend(answer(body=b"{}")).serve() as backend:
        async with requester(backend, "/proxy") as asked:
            got = await ask(asked, "POST", "tokenize", b'{"a":1}', max_bytes=100)
    assert got == Answer("ok", b"{}")
    [request] = backend.requests
    assert (request.method, request.target) == ("POST", "/proxy/tokenize")
    assert request.header("authorization") == "Bearer k"
    assert request.header("content-type") == "application/json"
    assert request.json == {"a": 1}


async def test_the_body_of_an_error_is_not_kept() -> None:
    async with FakeBackend(answer(404, body={"count": 3})).serve() as backend:
        async with requester(backend) as asked:
            assert await ask(asked, "GET", "props", max_bytes=100) == Answer("absent")


@pytest.mark.parametrize(("size", "verdict"), [(100, "ok"), (101, "absent")])
async def test_exactly_the_cap_is_read(size: int, verdict: str) -> None:
    async with FakeBackend(answer(body=b"x" * size)).serve() as backend:
        async with requester(backend) as asked:
            assert (await ask(asked, "GET", "props", max_bytes=100)).verdict == verdict


async def test_a_bomb_is_a_no() -> None:
    async with FakeBackend(gzip_bomb(100 << 20)).serve() as backend:
        async with requester(backend) as asked:
            assert await ask(asked, "GET", "props", max_bytes=1 << 20) == Answer("absent")


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        (raw(b"no http at all\r\n\r\n"), "failing"),
        (raw(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", Close()), "failing"),
        (raw(Reset()), "unreachable"),
    ],
    ids=["garbage", "cut", "reset"],
)
async def test_broken_answers_are_trouble(said: object, verdict: str) -> None:
    async with FakeBackend(said).serve() as backend:  # type: ignore[arg-type]  # an Answer
        async with requester(backend) as asked:
            assert (await ask(asked, "GET", "props", max_bytes=100)).verdict == verdict


async def test_a_dead_server_is_unreachable() -> None:
    with refused_url() as url:
        http = HTTP(url)
        assert await ask(HTTPRequester(http, url), "GET", "x", max_bytes=9) == Answer("unreachable")
        await http.aclose()


async def test_a_closed_client_is_the_callers_mistake() -> None:
    http = HTTP("http://127.0.0.1:9/v1/", http_client=(own := httpx.AsyncClient()))
    await own.aclose()
    with pytest.raises(InvalidRequestError):
        await ask(HTTPRequester(http, "http://127.0.0.1:9/v1/"), "GET", "x", max_bytes=9)
