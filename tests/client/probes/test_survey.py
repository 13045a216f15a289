"""The probes in a row, in virtual time: budgets, time-outs, and the wait before a second look."""

from typing import Any

import anyio
import httpx
import pytest

from rig import Client
from rig.client.probes.finding import NOT_MEASURED
from rig.client.probes.limits import BUDGET_S
from rig.client.probes.profile import EndpointProfile
from rig.client.probes.running import GONE_S
from rig.client.probes.survey import PROBE_TIMEOUT_S
from rig.testing import Answer, FakeBackend, Pause, ReceivedRequest, answer, faults, repeat, reply

pytestmark = pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)


async def profile_of(responder: Any, **options: Any) -> tuple[EndpointProfile, FakeBackend]:
    backend = FakeBackend(repeat(responder))
    async with httpx.AsyncClient(transport=backend.transport, timeout=None) as door:
        client = Client(backend.url, model="m", http_client=door)
        return await client.profile(**options), backend


def slow(seconds: float) -> Any:
    """A server that takes its time for every chat reply."""

    def respond(request: ReceivedRequest) -> Answer:
        if "chat" not in request.path:
            return answer(404)
        (whole,) = tuple(reply("4").steps)
        return Answer((Pause(seconds), whole))

    return respond


async def test_a_profile_ends_with_its_budget_and_says_what_was_not_reached() -> None:
    started = anyio.current_time()
    profile, backend = await profile_of(slow(5))
    assert anyio.current_time() - started <= BUDGET_S + 1
    assert profile.took_s <= BUDGET_S + 1
    chats = [request for request in backend.requests if "chat" in request.path]
    assert len(chats) == BUDGET_S / 5
    assert profile.state.value == "ready"
    assert profile.max_completion_tokens.evidence == (
        f"{NOT_MEASURED}the {BUDGET_S:g} s of the profile were used up"
    )


async def test_a_smaller_budget_is_kept() -> None:
    profile, _ = await profile_of(slow(2), budget_s=7)
    assert profile.took_s <= 7.1


async def test_a_probe_that_hangs_is_given_up_and_the_next_one_is_asked() -> None:
    def respond(request: ReceivedRequest) -> Answer:
        if "chat" not in request.path:
            return answer(404)
        hangs = (request.json.get("response_format") or {}).get("type") == "json_schema"
        return faults.hang() if hangs else reply("4")

    profile, _ = await profile_of(respond)
    assert profile.json_schema.value is None
    assert profile.json_object.value == "ignored"
    assert PROBE_TIMEOUT_S <= profile.took_s < 2 * PROBE_TIMEOUT_S


async def test_a_server_that_never_answers_costs_one_probe() -> None:
    def respond(request: ReceivedRequest) -> Answer:
        return faults.hang() if "chat" in request.path else answer(404)

    profile, backend = await profile_of(respond)
    assert profile.state.value == "failing"
    assert sum("chat" in request.path for request in backend.requests) == 1
    assert profile.took_s < PROBE_TIMEOUT_S + 1


async def test_the_server_has_its_time_to_notice_that_the_client_left(serve: Any) -> None:
    served = serve("llama.cpp")
    asked_at: list[float] = []
    real = served.slots

    def slots() -> list[dict[str, Any]]:
        asked_at.append(anyio.current_time())
        found: list[dict[str, Any]] = real()
        return found

    served.slots = slots
    async with served.client() as client:
        profile = await client.profile()
    assert len(asked_at) == 2
    assert asked_at[1] - asked_at[0] >= GONE_S
    assert profile.abort_on_close.value is True


async def test_leaving_a_profile_leaves_nothing_behind(serve: Any) -> None:
    with anyio.move_on_after(3) as scope:
        await profile_of(slow(1))
    assert scope.cancelled_caught
