"""Requests go to the model that suits them, and no run fails for it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from rig import (
    Budget,
    ChatOptions,
    ChatRequest,
    Client,
    ImagePart,
    InvalidRequestError,
    Message,
    ModelNotFoundError,
    Price,
    Prices,
    Reply,
    ReplyStream,
    RouteChosen,
    RouteFellBack,
    RunEvent,
    Session,
    TextDelta,
    TextPart,
    ToolCall,
    Usage,
    tool,
)
from rig.gateway.categories import Category
from rig.gateway.classify import ClassifierPolicy
from rig.gateway.router import Router
from rig.testing import FakeBackend, ScriptedModel, answer, reply

AUTOJUMP = pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)
KINDS = {
    "code": Category(models=("coder", "big"), code=True, patterns=("refactor*",)),
    "poetry": Category(models=("poet",), description="verses"),
    "chat": Category(models=("small",)),
    "vision": Category(models=("eyes",), images=True),
}
POETRY = '{"category": "poetry"}'


def router(model: Any, **more: Any) -> Router:
    given: dict[str, Any] = {
        "categories": KINDS,
        "default": "big",
        "default_category": "chat",
        "router_model": "tiny",
    }
    return Router(model, **{**given, **more})


def asked(model: ScriptedModel) -> list[str]:
    return [request.model for request in model.requests]


async def run(routing: Router, prompt: Any, **more: Any) -> tuple[Any, list[RunEvent]]:
    events: list[RunEvent] = []
    result = await routing.run(prompt, max_tokens=50, on_event=events.append, **more)
    return result, [one for one in events if isinstance(one, RouteChosen | RouteFellBack)]


async def test_a_model_that_is_named_is_asked() -> None:
    model = ScriptedModel("Done.")
    result, told = await run(router(model), "refactor this", model="mine")
    assert asked(model) == ["mine"]
    assert told == [
        RouteChosen(category="", model="mine", by="explicit", reason="the request names it")
    ]
    assert result.text == "Done."


@pytest.mark.parametrize("name", [None, "", "auto", "AUTO"])
async def test_auto_or_nothing_lets_the_router_choose(name: str | None) -> None:
    model = ScriptedModel("Done.")
    _, told = await run(router(model), "refactor this", model=name)
    assert asked(model) == ["coder"]
    (event,) = told
    assert isinstance(event, RouteChosen)
    assert (event.category, event.by) == ("code", "heuristic")


async def test_what_the_text_does_not_tell_a_small_model_is_asked() -> None:
    model = ScriptedModel(POETRY, "Roses are red.", "Violets are blue.")
    routing = router(model)
    _, told = await run(routing, "Something about roses")
    _, again = await run(routing, "Something about roses")
    assert asked(model) == ["tiny", "poet", "poet"]
    assert [(one.category, one.by) for one in (*told, *again) if isinstance(one, RouteChosen)] == [
        ("poetry", "classified"),
        ("poetry", "cached"),
    ]


async def test_an_answer_that_names_nothing_leads_to_the_default_category() -> None:
    model = ScriptedModel("dunno", "Hello.")
    _, told = await run(router(model), "Hm?")
    assert asked(model) == ["tiny", "small"]
    assert told[0] == RouteFellBack(reason="unreadable", wanted="tiny", used="chat")
    assert isinstance(told[1], RouteChosen)
    assert told[1].by == "default"


async def test_a_small_model_that_fails_fails_no_run() -> None:
    model = ScriptedModel(ModelNotFoundError("no tiny", status=404), "Hello.")
    result, told = await run(router(model), "Hm?")
    assert (asked(model), result.text) == (["tiny", "small"], "Hello.")
    assert told[0] == RouteFellBack(reason="classifier_failed", wanted="tiny", used="chat")


async def test_what_the_small_model_costs_is_paid_out_of_the_budget_of_the_run() -> None:
    result, _ = await run(
        router(ScriptedModel(POETRY, "Roses are red.")), "roses, please", budget=Budget(calls=5)
    )
    assert result.text == "Roses are red."
    assert result.spent.calls == 2


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_the_price_of_the_model_that_was_chosen_is_paid_whatever_it_calls_itself(
    stream: bool,
) -> None:
    usage = Usage(prompt_tokens=1_000_000, completion_tokens=1)
    said = Reply(text="Roses are red.", model="/models/a-file.gguf", usage=usage)
    dear = Prices({"auto": Price(prompt_per_million=1), "poet": Price(prompt_per_million=7)})
    model = ScriptedModel(ModelNotFoundError("no"), said)
    kinds = {"poetry": Category(models=("gone", "poet"), patterns=("roses",))}
    routing = router(model, categories=kinds, default_category=None)
    result, _ = await run(
        routing, "roses, please", budget=Budget(cost=100, prices=dear), stream=stream
    )
    assert asked(model) == ["gone", "poet"]
    assert result.spent.cost == pytest.approx(7)


async def test_a_budget_with_nothing_to_spare_does_without_the_small_model() -> None:
    model = ScriptedModel("Roses are red.")
    result, _ = await run(router(model), "roses, please", budget=Budget(calls=1))
    assert (result.text, asked(model)) == ("Roses are red.", ["small"])


async def test_without_a_small_model_nobody_is_asked() -> None:
    model = ScriptedModel("Hello.")
    await run(router(model, router_model=None), "Hm?")
    assert asked(model) == ["small"]


async def test_without_a_default_category_the_default_model_answers() -> None:
    model = ScriptedModel("Hello.")
    _, told = await run(router(model, router_model=None, default_category=None), "Hm?")
    assert asked(model) == ["big"]
    assert told == [
        RouteChosen(category="", model="big", by="default", reason="nothing tells what it is about")
    ]


async def test_an_image_goes_where_images_are_seen() -> None:
    model = ScriptedModel("A cat.")
    picture = ImagePart.from_bytes("image/png", b"x")
    await run(router(model), [TextPart(text="refactor"), picture])
    assert asked(model) == ["eyes"]


@tool
async def look() -> str:
    """Look."""
    return "Please refactor this code: ```python\nx\n```"


CALLS = Reply(tool_calls=(ToolCall(id="1", name="look", arguments="{}"),))


@pytest.mark.parametrize("stream", [False, True])
async def test_all_rounds_of_a_run_go_the_same_way(stream: bool) -> None:
    model = ScriptedModel(POETRY, CALLS, CALLS, "Done.")
    _, told = await run(router(model), "Look around", tools=[look], stream=stream)
    assert asked(model) == ["tiny", "poet", "poet", "poet"]
    assert len(told) == 1


async def test_a_typed_answer_that_is_asked_for_again_stays_there() -> None:
    model = ScriptedModel(POETRY, "no number", '{"value": 5}')
    result, _ = await run(router(model), "How many verses?", output=int)
    assert (result.output, asked(model)) == (5, ["tiny", "poet", "poet"])


async def test_the_runs_of_a_conversation_go_by_their_own_question() -> None:
    model = ScriptedModel("One.", "Two.")
    session = Session()
    routing = router(model, router_model=None)
    await session.run(routing, "refactor this", max_tokens=9)
    await session.run(routing, "thank you", max_tokens=9)
    assert asked(model) == ["coder", "small"]


async def test_a_conversation_can_stay_with_one_model() -> None:
    model = ScriptedModel("One.", "Two.")
    session = Session()
    routing = router(model, router_model=None, reads="first")
    await session.run(routing, "refactor this", max_tokens=9)
    await session.run(routing, "thank you", max_tokens=9)
    assert asked(model) == ["coder", "coder"]


def request(text: str, **more: Any) -> ChatRequest:
    turn = Message(role="user", content=text)
    return ChatRequest(**{"model": "auto", "messages": (turn,), "max_tokens": 9, **more})


async def test_a_loop_of_the_callers_own_is_routed_the_same_each_time() -> None:
    model = ScriptedModel(POETRY, CALLS, "Done.")
    routing = router(model)
    first = request("Look around")
    reply = await routing.complete(first)
    turns = (*first.messages, reply.message(), Message(role="tool", content="x", tool_call_id="1"))
    await routing.complete(request("", messages=turns))
    assert asked(model) == ["tiny", "poet", "poet"]


class Catalogue(ScriptedModel):
    """Knows which models it has."""

    def __init__(self, *replies: Any, has: dict[str, bool | None]) -> None:
        super().__init__(*replies)
        self._has = has

    def has_model(self, name: str) -> bool | None:
        return self._has.get(name, False)

    async def models(self) -> tuple[str, ...]:
        return tuple(name for name, there in self._has.items() if there)


async def test_a_preferred_model_that_is_missing_is_passed_over() -> None:
    model = Catalogue("Done.", has={"big": True})
    _, told = await run(router(model), "refactor this")
    assert asked(model) == ["big"]
    assert told[0] == RouteFellBack(reason="model_missing", wanted="coder", used="big")
    assert isinstance(told[1], RouteChosen)
    assert told[1].model == "big"


async def test_a_model_nobody_is_sure_of_is_tried() -> None:
    model = Catalogue("Done.", has={"coder": None, "big": True})
    await run(router(model), "refactor this")
    assert asked(model) == ["coder"]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_model_that_is_missing_after_all_is_passed_over_for_the_whole_run(
    stream: bool,
) -> None:
    model = ScriptedModel(ModelNotFoundError("no coder", status=404), CALLS, "Done.")
    result, told = await run(router(model), "refactor this", tools=[look], stream=stream)
    assert asked(model) == ["coder", "big", "big"]
    assert result.text == "Done."
    assert told[1:] == [RouteFellBack(reason="model_not_found", wanted="coder", used="big")]


@pytest.mark.parametrize("stream", [False, True])
async def test_when_even_the_default_is_missing_the_error_says_so(stream: bool) -> None:
    missing = [ModelNotFoundError("no such model", status=404) for _ in range(2)]
    model = ScriptedModel(*missing)
    with pytest.raises(ModelNotFoundError) as caught:
        await run(router(model), "refactor this", stream=stream)
    assert asked(model) == ["coder", "big"]
    assert caught.value.__context__ is None


async def test_a_client_is_asked_for_its_list() -> None:
    listed = {"object": "list", "data": [{"id": "big"}, {"id": "small"}]}
    backend = FakeBackend(answer(body=listed), lambda got: reply(str(got.json["model"])))
    async with backend.serve(), Client(backend.url) as client:
        result, told = await run(router(client, router_model=None), "refactor this")
    assert result.text == "big"
    assert told[0] == RouteFellBack(reason="model_missing", wanted="coder", used="big")


async def test_a_run_can_be_streamed() -> None:
    model = ScriptedModel("Hello there.")
    events: list[RunEvent] = []
    async with router(model).run_stream("refactor this", max_tokens=9) as stream:
        events.extend([event async for event in stream])
    assert stream.result().text == "Hello there."
    assert stream.result().model == "coder"
    assert len([event for event in events if isinstance(event, TextDelta)]) > 1
    assert [one.model for one in events if isinstance(one, RouteChosen)] == ["coder"]


class WithoutStream:
    async def complete(self, request: ChatRequest, /) -> Reply:
        return Reply(text=f"by {request.model}")


async def test_what_can_not_stream_gives_its_reply_whole() -> None:
    result, _ = await run(router(WithoutStream(), router_model=None), "Hm?", stream=True)
    assert (result.text, result.model) == ("by small", "small")


async def test_replies_without_a_name_get_that_of_the_route() -> None:
    answer = await router(WithoutStream(), router_model=None).complete(request("Hm?"))
    assert answer.model == "small"


async def test_the_route_can_be_asked_for_without_a_request() -> None:
    routing = router(ScriptedModel(), router_model=None)
    assert (await routing.route("refactor this")).models == ("coder", "big")
    assert (await routing.route(request("refactor this"))).category == "code"
    assert (await routing.route(request("x", model="mine"))).by == "explicit"


async def test_tenant_and_priority_go_with_the_question() -> None:
    model = ScriptedModel(POETRY, "Roses.")
    options = ChatOptions(tenant="acme", priority="batch", temperature=0.9)
    await run(router(model), "Something about roses", options=options)
    question = model.requests[0].options
    assert (question.tenant, question.priority, question.temperature) == ("acme", "batch", 0)


async def test_routers_stand_on_routers() -> None:
    model = ScriptedModel("Done.")
    outer = Router(
        router(model, router_model=None),
        categories={"all": Category(models=("poet",), min_chars=0)},
        default="poet",
    )
    _, told = await run(outer, "refactor this")
    assert asked(model) == ["poet"]
    assert [one.by for one in told if isinstance(one, RouteChosen)] == ["heuristic", "explicit"]


class Waiting:
    """Waits in its stream and counts who is inside."""

    def __init__(self) -> None:
        self.inside = 0

    async def complete(self, request: ChatRequest, /) -> Reply:
        self.inside += 1
        try:
            await anyio.sleep_forever()
        finally:
            self.inside -= 1
        return Reply()

    @asynccontextmanager
    async def stream(self, request: ChatRequest, /) -> AsyncGenerator[ReplyStream]:
        self.inside += 1
        try:
            await anyio.sleep_forever()
            yield NotImplemented
        finally:
            self.inside -= 1


@AUTOJUMP
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("prompt", ["refactor this", "Hm?"])
async def test_a_cancelled_run_leaves_nothing_behind(prompt: str, stream: bool) -> None:
    model = Waiting()
    with anyio.move_on_after(1) as scope:
        await run(router(model), prompt, stream=stream)
    assert scope.cancelled_caught
    assert model.inside == 0


@AUTOJUMP
async def test_a_small_model_that_hangs_costs_a_run_its_time_out_and_no_more() -> None:
    model = ScriptedModel("Hello.")

    class Hangs(ScriptedModel):
        async def complete(self, request: ChatRequest, /) -> Reply:
            if request.model == "tiny":
                await anyio.sleep_forever()
            return await model.complete(request)

    started = anyio.current_time()
    _, told = await run(router(Hangs(), policy=ClassifierPolicy(timeout_s=2)), "Hm?")
    assert anyio.current_time() - started == 2
    assert told[0] == RouteFellBack(reason="classifier_timeout", wanted="tiny", used="chat")


BAD: dict[str, dict[str, Any]] = {
    "no categories": {"categories": {}},
    "no default": {"default": ""},
    "an unknown default category": {"default_category": "music"},
    "auto as the small model": {"router_model": "auto"},
    "a blank small model": {"router_model": ""},
    "a policy that is none": {"policy": 5},
    "an unknown way to read": {"reads": "last"},
}


@pytest.mark.parametrize("wrong", BAD.values(), ids=BAD)
def test_a_router_that_can_not_work_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError):
        router(ScriptedModel(), **wrong)


def test_a_router_needs_something_to_ask() -> None:
    with pytest.raises(InvalidRequestError):
        router("http://127.0.0.1:8080/v1")
