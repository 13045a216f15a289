"""Every preset of `FAULTS` does over the wire what its name says."""

import gzip
import zlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx
import pytest

from rig.testing import FakeBackend, faults, refused_url, repeat
from rig.testing.faults import FAULTS, gzip_bomb, large_reply

STATUS = {
    "loading": 503,
    "rate-limited": 429,
    "server-error": 500,
    "prompt-too-long": 400,
    "model-not-found": 404,
    "echoing-401": 401,
    "html-502": 502,
    "redirect": 307,
}
RAISES: dict[str, type[httpx.TransportError]] = {
    "reset-before-headers": httpx.ReadError,
    "close-before-headers": httpx.RemoteProtocolError,
    "cut-body": httpx.RemoteProtocolError,
    "reset-in-body": httpx.ReadError,
    "cut-chunked-body": httpx.RemoteProtocolError,
    "not-http": httpx.RemoteProtocolError,
    "endless-head": httpx.RemoteProtocolError,
    "hang": httpx.ReadTimeout,
    "stalled-body": httpx.ReadTimeout,
}
ENDLESS = {"large-reply", "endless-body", "gzip-bomb", "dripping-body"}


@asynccontextmanager
async def asking(backend: FakeBackend, timeout_s: float) -> AsyncGenerator[httpx.Response]:
    async with (
        backend.serve(),
        httpx.AsyncClient(trust_env=False, timeout=timeout_s) as client,
        client.stream("POST", f"{backend.url}/chat/completions", json={"a": 1}) as response,
    ):
        yield response


async def fetch(name: str) -> tuple[int, bytes]:
    made = FAULTS[name].make()
    backend = FakeBackend(made)
    async with asking(backend, 0.3 if RAISES.get(name) is httpx.ReadTimeout else 5) as response:
        if name in ENDLESS:
            return response.status_code, b""
        return response.status_code, b"".join([part async for part in response.aiter_raw()])


@pytest.mark.parametrize("name", sorted(FAULTS.keys() - RAISES.keys()))
async def test_a_fault_of_the_answer_is_served(name: str) -> None:
    status, _ = await fetch(name)
    assert status == STATUS.get(name, 200)


@pytest.mark.parametrize("name", sorted(RAISES))
async def test_a_fault_of_the_connection_is_one(name: str) -> None:
    with pytest.raises(RAISES[name]):
        await fetch(name)


@pytest.mark.parametrize("name", sorted(RAISES))
async def test_a_fault_of_the_connection_is_the_same_in_process(name: str) -> None:
    backend = FakeBackend(repeat(FAULTS[name].make()))  # type: ignore[arg-type]  # none repeats
    async with httpx.AsyncClient(transport=backend.transport, timeout=0.1) as client:
        with pytest.raises(RAISES[name]):
            await client.get(backend.url)


def test_every_public_preset_is_in_the_table() -> None:
    made = {fault.make.__name__ for fault in FAULTS.values() if fault.make.__name__ != "<lambda>"}
    presets = {name for name in faults.__all__ if callable(getattr(faults, name))}
    assert presets - made == {"Fault", "error", "html_page"}


async def test_the_key_and_the_url_are_in_the_body_of_the_echoing_401() -> None:
    backend = FakeBackend(faults.echoing_401())
    async with httpx.AsyncClient(transport=backend.transport) as client:
        response = await client.get(
            f"{backend.url}/models", headers={"Authorization": "Bearer sk-planted"}
        )
    assert "Bearer sk-planted" in response.text
    assert "fake.invalid/v1/models" in response.text


@pytest.mark.parametrize("size", [0, 1, 1 << 20, (3 << 20) + 5])
async def test_a_bomb_is_valid_to_its_last_byte(size: int) -> None:
    for coding, wbits in {"gzip": 31, "deflate": 15}.items():
        backend = FakeBackend(gzip_bomb(size, coding=coding))  # type: ignore[arg-type]  # a literal
        async with (
            httpx.AsyncClient(transport=backend.transport) as client,
            client.stream("GET", backend.url) as response,
        ):
            packed = b"".join([part async for part in response.aiter_raw()])
        decoder = zlib.decompressobj(wbits)
        assert decoder.decompress(packed) == bytes(size)
        assert decoder.eof
        if coding == "gzip":
            assert gzip.decompress(packed) == bytes(size)


async def test_a_bomb_of_ten_gigabytes_costs_only_what_is_read() -> None:
    steps = iter(gzip_bomb(10_000_000_000).steps)
    first = [next(steps) for _ in range(10)]
    assert sum(len(step) for step in first if isinstance(step, bytes)) < 12_000


async def test_a_large_reply_is_as_large_as_it_says() -> None:
    backend = FakeBackend(large_reply(200_001))
    async with asking(backend, 5) as response:
        body = await response.aread()
    assert len(body) == int(response.headers["content-length"])
    assert len(response.json()["choices"][0]["message"]["content"]) == 200_001


async def test_nobody_listens_on_a_refused_url() -> None:
    with refused_url() as url:
        async with httpx.AsyncClient(trust_env=False) as client:
            with pytest.raises(httpx.ConnectError):
                await client.get(url)
