"""Looking at endpoints because somebody asked."""

import anyio
import pytest

from rig import Endpoint, EndpointChanged, EndpointStatus, Pool, PoolPolicy, RetryPolicy, RunEvent
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
