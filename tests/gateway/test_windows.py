"""Routers and gateways know the windows of the models they choose, so that a run can make its history fit."""

from rig import Category, ChatRequest, Compaction, Gateway, Message, Router, Tier
from rig.events import run_memory
from rig.gateway.windows import window_of
from rig.testing import ScriptedModel

SIZES = {"small": 4096, "large": 32_768}


class Windowed(ScriptedModel):
    async def context_window(self, model: str | None = None) -> int | None:
        return SIZES.get(model or "")


def router(model: ScriptedModel) -> Router:
    return Router(
        model,
        categories={"code": Category(models=("large",), patterns=("refactor",))},
        default="small",
    )


async def test_who_has_no_windows_knows_none() -> None:
    assert await window_of(ScriptedModel(), "small") is None
    assert await window_of(Windowed(), "huge") is None


async def test_a_gateway_knows_the_window_of_a_tier() -> None:
    gateway = Gateway(Windowed(), tiers={Tier.FAST: "small", Tier.DEEP: "large"})
    assert await gateway.context_window("deep") == 32_768
    assert await gateway.context_window() == 4096


async def test_a_router_knows_the_window_of_the_route_of_the_run() -> None:
    routing = router(Windowed("Done."))
    assert await routing.context_window("large") == 32_768
    assert await routing.context_window() == 4096
    token = run_memory.set({})
    turn = Message(role="user", content="refactor")
    await routing.complete(ChatRequest(model="auto", messages=(turn,), max_tokens=9))
    assert await routing.context_window("auto") == 32_768
    run_memory.reset(token)


async def test_a_summary_does_not_decide_where_a_run_goes() -> None:
    """The history is summarised before the first round, with words that would lead elsewhere."""
    model = Windowed("They spoke of how to refactor it all.", "Done.")
    history = [
        turn
        for number in range(40)
        for turn in (
            Message(role="user", content=f"{number} refactor " + "word " * 200),
            Message(role="assistant", content="yes " * 200),
        )
    ]
    result = await router(model).run(
        "Hello", history=history, max_tokens=50, compaction=Compaction(context_tokens=4096)
    )
    assert result.text == "Done."
    assert result.compactions == 1
    assert model.requests[-1].model == "small"
