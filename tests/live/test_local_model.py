"""LocalModel starts, serves and always stops."""

import anyio
import httpx
import pytest

from rig.errors import NotConfiguredError
from rig.testing import LocalModel


async def test_the_server_is_ready_inside_the_block_and_gone_after_it() -> None:
    model = LocalModel()
    assert model.url == ""
    async with model:
        assert model.url.startswith("http://127.0.0.1:")
        assert model.url.endswith("/v1")
        assert await model.health() == "ok"
        assert await model.busy_slots() == 0
        url = model.url
    assert await model.health() == "gone"
    async with httpx.AsyncClient(trust_env=False) as client:
        with pytest.raises(httpx.ConnectError):
            await client.get(url)


async def test_two_servers_live_side_by_side() -> None:
    async with LocalModel() as one, LocalModel() as two:
        assert one.url != two.url
        assert await one.health() == await two.health() == "ok"


class BlockError(Exception):
    """What a failing block raises."""


async def test_the_server_stops_when_the_block_fails() -> None:
    urls: list[str] = []

    async def fail() -> None:
        async with LocalModel() as model:
            urls.append(model.url)
            raise BlockError

    with pytest.raises(BlockError):
        await fail()
    async with httpx.AsyncClient(trust_env=False) as client:
        with pytest.raises(httpx.ConnectError):
            await client.get(urls[0])


async def test_the_server_stops_when_the_block_is_cancelled() -> None:
    with anyio.CancelScope() as scope:
        async with LocalModel() as model:
            url = model.url
            scope.cancel()
            await anyio.sleep_forever()
    async with httpx.AsyncClient(trust_env=False) as client:
        with pytest.raises(httpx.ConnectError):
            await client.get(url)


async def test_a_template_that_cannot_be_read_is_a_failed_start_with_the_reason() -> None:
    with pytest.raises(NotConfiguredError) as caught:
        async with LocalModel(chat_template="{% if %}"):
            pass
    assert "template" in caught.value.detail.lower()
