"""Looking at endpoints because somebody asked."""

import anyio
import httpx
import pytest

from rig import (
    Endpoint,
    EndpointChanged,
    EndpointStatus,
    Pool,
    PoolPolicy,
    RetryPolicy,
    RunEvent,
    UpstreamError,
)
from rig.gateway import checkup
from rig.testing import FakeBackend, answer, faults, models, refused_url, reply

LLAMACPP = {
    "/v1/models": models("qwen3"),
    "/slots": answer(200, [{"is_processing": False}, {"is_processing": False}]),
    "/props": answer(200, {"default_generation_settings": {"n_ctx": 4096}, "total_slots": 2}),
    "/v1/chat/completions": reply("ok"),
}
BUSY = LLAMACPP | {"/slots": answer(200, [{"is_processing": True}, {"is_processing": True}])}


async def test_what_is_found_is_used() -> None:
    events: list[RunEvent] = []
    async with FakeBackend(routes=LLAMACPP).serve() as one, FakeBackend(routes=BUSY).serve() as two:
        with refused_url() as dead:
            endpoints = [
                Endpoint(one.url, name="one"),
                Endpoint(two.url, name="two", slots=9, context_tokens=512),
                Endpoint(dead, name="three"),
            ]
            async with Pool(endpoints, on_event=events.append) as pool:
                found = await pool.check()
                assert pool.has_model("qwen3") is True
                assert (await pool.run("hi", model="qwen3", max_tokens=9)).text == "ok"
    assert [status.state for status in found] == ["unknown", "busy", "down"]
    assert found[0] == EndpointStatus(name="one", slots=2, models=("qwen3",), context_tokens=4096)
    assert (found[1].slots, found[1].context_tokens) == (9, 512)
    changes = {
        event.endpoint: event.after for event in events if isinstance(event, EndpointChanged)
    }
    assert changes == {"one": "healthy", "two": "busy", "three": "down"}


async def test_a_server_that_is_back_may_be_asked_at_once() -> None:
    backend = FakeBackend(faults.loading(), routes={"/v1/models": models("m")})
    policy = PoolPolicy(loading_s=60)
    async with backend.serve(), Pool([backend.url], policy=policy, retry=RetryPolicy.off()) as pool:
        with anyio.move_on_after(0.1), pytest.raises(Exception, match="loading"):
            await pool.run("hi", model="m", max_tokens=9)
        assert pool.endpoints[0].state == "loading"
        assert (await pool.check())[0].state == "unknown"


async def test_a_server_that_loads_or_has_no_list_is_told_apart() -> None:
    loading = FakeBackend(routes={"/v1/models": faults.loading()})
    listless = FakeBackend(routes={"/v1/models": answer(404)})
    async with loading.serve(), listless.serve():
        async with Pool([loading.url, listless.url]) as pool:
            assert [status.state for status in await pool.check()] == ["loading", "unknown"]


async def test_a_server_that_is_silent_is_found_out_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checkup, "CHECK_S", 0.2)
    silent = FakeBackend(faults.hang())
    mute = FakeBackend(faults.hang(), routes={"/v1/models": models("m")})
    async with silent.serve(), mute.serve(), Pool([silent.url, mute.url]) as pool:
        found = await pool.check()
    assert [status.state for status in found] == ["cooling", "unknown"]
    assert found[0].reason == "silent"


async def test_a_list_is_believed_for_a_while_and_who_is_gone_is_not_asked_again_and_again() -> (
    None
):
    backend = FakeBackend(routes={"/v1/models": models("m")})
    with refused_url() as gone:
        async with backend.serve(), Pool([gone, backend.url]) as pool:
            for _ in range(3):
                assert await pool.models() == ("m",)
            assert [status.state for status in pool.endpoints] == ["down", "unknown"]
            assert pool.endpoints[0].failures == 1
    assert len(backend.requests) == 1


async def test_where_nobody_can_be_asked_for_models_that_is_the_error() -> None:
    with refused_url() as gone:
        async with Pool([gone], policy=PoolPolicy(), retry=RetryPolicy(initial_s=60)) as pool:
            with pytest.raises(UpstreamError) as caught:
                await pool.models()
            assert caught.value.reason == "connect_refused"
            with pytest.raises(UpstreamError) as caught:
                await pool.models()
            assert caught.value.reason == "no_endpoint"


@pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)
async def test_a_list_is_asked_for_again_when_it_is_old() -> None:
    backend = FakeBackend(models("m"), models("n"))
    caller = httpx.AsyncClient(transport=backend.transport)
    pool = Pool([Endpoint(backend.url, http_client=caller)])
    assert await pool.models() == ("m",)
    await anyio.sleep(checkup.LISTED_S + 1)
    assert await pool.models() == ("n",)
