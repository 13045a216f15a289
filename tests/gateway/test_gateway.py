"""Requests by tier: one request, one result, and everything it was told of."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from rig import (
    Category,
    ChatOptions,
    ChatRequest,
    Client,
    Delta,
    Endpoint,
    Gateway,
    InvalidRequestError,
    Message,
    NotConfiguredError,
    Pool,
    RateLimitedError,
    RefusedError,
    Reply,
    ReplyReceived,
    ReplyStream,
    RouteChosen,
    RouteFellBack,
    Router,
    RunEvent,
    RunRequest,
    RunResult,
    ServerError,
    StreamCutError,
    Termination,
    Tier,
    TierFellBack,
    TierModel,
    ToolCall,
    Usage,
    stream_complete,
    tool,
)
from rig.testing import FakeBackend, ScriptedModel, repeat, reply

AUTOJUMP = pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)
TIERS: dict[Tier, TierModel | str] = {
    Tier.FAST: TierModel(model="small", effort="low", max_tokens=100),
    Tier.BALANCED: "middle",
    Tier.DEEP: TierModel(
        model="large",
        effort="high",
        max_tokens=9000,
        options=ChatOptions(temperature=0.2, reasoning_budget_tokens=2048),
    ),
}


def gateway(model: Any, **more: Any) -> Gateway:
    return Gateway(model, **{"tiers": TIERS, **more})


def request(model: str = "deep", text: str = "Hi", **more: Any) -> ChatRequest:
    turn = Message(role="user", content=text)
    return ChatRequest(**{"model": model, "messages": (turn,), "max_tokens": 50, **more})


def declined(category: str = "violence") -> RefusedError:
    error = RefusedError("the model declined", status=400)
    error.category = category
    return error


@tool
async def look() -> str:
    """Look."""
    return "seen"


CALLS = Reply(tool_calls=(ToolCall(id="1", name="look", arguments="{}"),))


async def test_a_tier_is_a_model_and_how_hard_it_thinks() -> None:
    model = ScriptedModel("Hello.")
    answer = await gateway(model).complete(request("deep"))
    (sent,) = model.requests
    assert (sent.model, sent.max_tokens) == ("large", 50)
    assert sent.options.reasoning_effort == "high"
    assert (sent.options.temperature, sent.options.reasoning_budget_tokens) == (0.2, 2048)
    assert (answer.text, answer.model, answer.tier) == ("Hello.", "large", "deep")


async def test_what_a_request_sets_wins() -> None:
    model = ScriptedModel("Hello.")
    options = ChatOptions(temperature=0, reasoning_effort="low", tenant="acme")
    await gateway(model).complete(request(options=options))
    sent = model.requests[0].options
    assert (sent.temperature, sent.reasoning_effort, sent.tenant) == (0, "low", "acme")


async def test_the_model_is_the_one_the_server_names() -> None:
    model = ScriptedModel(Reply(text="x", model="large-q4"), Reply(text="x"))
    door = gateway(model)
    assert (await door.complete(request())).model == "large-q4"
    assert (await door.complete(request())).model == "large"


async def test_every_reply_says_what_it_cost() -> None:
    usage = Usage(
        prompt_tokens=100, completion_tokens=5, cached_tokens=80, cache_creation_tokens=10
    )
    answer = await gateway(ScriptedModel(Reply(text="x", usage=usage))).complete(request())
    assert (answer.usage, answer.usage.total) == (usage, 105)


@pytest.mark.parametrize(
    ("asked", "model", "used", "why"),
    [("turbo", "middle", "balanced", "unknown"), ("large", "middle", "balanced", "unknown")],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_an_unknown_tier_is_told_once_and_fails_nothing(
    asked: str, model: str, used: str, why: Any, stream: bool
) -> None:
    script = ScriptedModel(CALLS, "Done.")
    events: list[RunEvent] = []
    result = await gateway(script).run(
        "Hi", model=asked, tools=[look], max_tokens=0, stream=stream, on_event=events.append
    )
    told = [event for event in events if isinstance(event, TierFellBack)]
    assert told == [TierFellBack(asked=asked, used=used, reason=why)]
    assert [sent.model for sent in script.requests] == [model, model]
    assert (result.text, result.tier, result.model) == ("Done.", used, model)


async def test_a_missing_tier_is_stood_in_for() -> None:
    script = ScriptedModel("Done.")
    events: list[RunEvent] = []
    door = gateway(script, tiers={"fast": "small"})
    result = await door.run("Hi", model=Tier.DEEP, max_tokens=9, on_event=events.append)
    assert TierFellBack(asked="deep", used="fast", reason="missing") in events
    assert result.tier == "fast"


@pytest.mark.parametrize(
    ("tier", "tokens"), [("fast", 100), (Tier.DEEP, 9000), ("", 4096), (None, 4096), ("x", 4096)]
)
async def test_a_reply_without_a_limit_has_that_of_its_tier(tier: Any, tokens: int) -> None:
    script = ScriptedModel("Done.")
    await gateway(script).run("Hi", model=tier, max_tokens=0)
    assert script.requests[0].max_tokens == tokens


async def test_the_limit_may_be_left_out_altogether() -> None:
    script = ScriptedModel("Done.", "Done.")
    door: Any = gateway(script)
    await door.run("Hi", model="fast")
    async with door.run_stream("Hi", model="fast") as stream:
        assert [event async for event in stream]
    assert [sent.max_tokens for sent in script.requests] == [100, 100]


async def test_a_run_request_names_its_tier_as_its_model() -> None:
    script = ScriptedModel("Done.")
    result: RunResult[None] = await gateway(script).run(
        RunRequest("Hi", model=Tier.FAST, max_tokens=7)
    )
    assert (script.requests[0].model, script.requests[0].max_tokens) == ("small", 7)
    assert result.tier == "fast"


async def test_a_run_tells_model_and_tier_of_each_reply() -> None:
    events: list[RunEvent] = []
    await gateway(ScriptedModel(CALLS, "Done.")).run(
        "Hi", model="fast", tools=[look], max_tokens=0, on_event=events.append
    )
    replies = [event.reply for event in events if isinstance(event, ReplyReceived)]
    assert [(one.model, one.tier) for one in replies] == [("small", "fast")] * 2


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "answer",
    [declined(), Reply(text="No.", refusal="violence", finish_reason="content_filter")],
    ids=["error", "reply"],
)
async def test_a_refusal_is_an_outcome_however_it_is_told(answer: Any, stream: bool) -> None:
    result = await gateway(ScriptedModel(answer)).run(
        "Hi", model="fast", max_tokens=9, stream=stream
    )
    assert (result.termination, result.refusal) == (Termination.REFUSED, "violence")
    assert (result.model, result.tier) == ("small", "fast")


async def test_a_refusal_is_a_reply() -> None:
    answer = await gateway(ScriptedModel(declined(""))).complete(request("fast"))
    assert (answer.refusal, answer.finish_reason) == ("", "content_filter")
    assert (answer.model, answer.tier) == ("small", "fast")


class DeclinesLate:
    """Says something, and then declines."""

    text = "I was going to"

    async def complete(self, request: ChatRequest, /) -> Reply:
        raise declined()

    @asynccontextmanager
    async def stream(self, request: ChatRequest, /) -> AsyncGenerator[ReplyStream]:
        yield self

    def reply(self) -> Reply:
        raise declined()

    def __aiter__(self) -> AsyncIterator[Delta]:
        return self

    async def __anext__(self) -> Delta:
        if not self.text.endswith("!"):
            self.text += "!"
            return Delta(text=self.text)
        raise declined()


async def test_a_refusal_in_the_middle_of_a_stream_ends_it_like_an_answer() -> None:
    async with gateway(DeclinesLate()).stream(request("fast")) as stream:
        deltas = [delta async for delta in stream]
        answer = stream.reply()
    assert deltas == [Delta(text="I was going to!"), Delta(finish_reason="content_filter")]
    assert (answer.refusal, answer.text, answer.tier) == ("violence", "I was going to!", "fast")


@pytest.mark.parametrize("error", [RateLimitedError, ServerError, NotConfiguredError])
@pytest.mark.parametrize("stream", [False, True])
async def test_other_errors_stay_errors(error: Any, stream: bool) -> None:
    with pytest.raises(error):
        await gateway(ScriptedModel(error("no"))).run("Hi", max_tokens=9, stream=stream)


async def test_a_stream_that_breaks_stays_broken() -> None:
    cut = StreamCutError("cut")
    cut.text = "half"
    with pytest.raises(StreamCutError) as caught:
        await stream_complete(gateway(ScriptedModel(cut)), request(), lambda _: None)
    assert caught.value.text == "half"


WRONG: dict[str, dict[str, Any]] = {
    "an empty message": {"messages": (Message(role="user", content=" "),)},
    "a system message in the middle": {
        "messages": (
            Message(role="user", content="x"),
            Message(role="system", content="retrieved"),
        )
    },
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
async def test_a_wrong_request_is_never_sent(wrong: dict[str, Any]) -> None:
    model = ScriptedModel()
    door = gateway(model)
    with pytest.raises(InvalidRequestError):
        await door.complete(request(**wrong))
    with pytest.raises(InvalidRequestError):
        async with door.stream(request(**wrong)):
            pass
    assert model.requests == []


async def test_a_request_can_be_made_with_the_defaults_of_a_tier() -> None:
    door = gateway(ScriptedModel("Hello."))
    made = door.request([{"role": "user", "content": "Hi"}], tier=Tier.FAST, system="Be brief.")
    assert (made.model, made.max_tokens) == ("fast", 100)
    assert [turn.role for turn in made.messages] == ["system", "user"]
    assert (await door.complete(made)).tier == "fast"
    assert door.request([{"role": "user", "content": "Hi"}], max_tokens=5).max_tokens == 5


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"role": "user", "content": "Hi"}, {"role": "user", "content": ""}],
        [{"role": "robot", "content": "Hi"}],
    ],
    ids=["none", "an empty one", "an unknown role"],
)
def test_a_request_that_can_not_be_sent_can_not_be_made(messages: Any) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        gateway(ScriptedModel()).request(messages, system="Be brief.")
    if len(messages) == 2:
        assert "messages[1]" in caught.value.message


async def test_tools_are_the_same_bytes_in_every_round() -> None:
    """Their order and spelling are part of the prefix that a server caches."""

    @tool
    async def zebra(stripes: int, name: str = "z") -> str:
        """Count."""
        return "counted"

    @tool
    async def apple(kind: str) -> str:
        """Eat."""
        return "eaten"

    backend = FakeBackend(
        reply(tool_calls=[("zebra", {"stripes": 3})]),
        reply(tool_calls=[("apple", {"kind": "red"})]),
        reply("Done."),
    )
    async with backend.serve(), Client(backend.url) as client:
        await gateway(client).run("Go", tools=[zebra, apple, look], max_tokens=0)
    parts = [got.body[got.body.index(b'"tools"') :] for got in backend.requests]
    assert len(parts) == 3
    assert len({part.split(b'"max_tokens"')[0] for part in parts}) == 1
    for got in backend.requests:
        names = [entry["function"]["name"] for entry in got.json["tools"]]
        assert names == ["zebra", "apple", "look"]


async def test_a_gateway_stands_on_a_router() -> None:
    script = ScriptedModel("Done.")
    router = Router(
        script, categories={"all": Category(models=("coder",), min_chars=0)}, default="big"
    )
    events: list[RunEvent] = []
    door = gateway(router, tiers={Tier.FAST: "small", Tier.DEEP: "auto"})
    result = await door.run("Hi", model="deep", max_tokens=9, on_event=events.append)
    assert [sent.model for sent in script.requests] == ["coder"]
    assert (result.model, result.tier) == ("coder", "deep")
    assert [event.model for event in events if isinstance(event, RouteChosen)] == ["coder"]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_gateway_stands_on_a_router_on_a_pool(stream: bool) -> None:
    """The category's best model is nowhere, its second at one endpoint, the small one at the other."""
    small = FakeBackend(repeat(reply('{"category": "code"}', model="sorter")))
    large = FakeBackend(repeat(reply("Done.", model="large-q4")))
    async with small.serve(), large.serve():
        endpoints = [
            Endpoint(small.url, models=("sorter",)),
            Endpoint(large.url, models=("large",)),
        ]
        async with Pool(endpoints) as pool:
            router = Router(
                pool,
                categories={
                    "code": Category(models=("huge", "large")),
                    "chat": Category(models=("sorter",)),
                },
                default="sorter",
                router_model="sorter",
            )
            door = gateway(router, tiers={Tier.DEEP: TierModel(model="auto", effort="high")})
            events: list[RunEvent] = []
            result = await door.run(
                "Hm?", model="deep", max_tokens=0, stream=stream, on_event=events.append
            )
    assert (result.text, result.model, result.tier) == ("Done.", "large-q4", "deep")
    assert [got.json["model"] for got in large.requests] == ["large"]
    assert [got.json["model"] for got in small.requests] == ["sorter"]
    assert large.requests[0].json["reasoning_effort"] == "high"
    assert "reasoning_effort" not in small.requests[0].json
    fell_back = [event for event in events if isinstance(event, RouteFellBack)]
    assert fell_back == [RouteFellBack(reason="model_missing", wanted="huge", used="large")]


class WithoutStream:
    async def complete(self, request: ChatRequest, /) -> Reply:
        return Reply(text="whole")


async def test_what_can_not_stream_gives_its_text_in_one_piece() -> None:
    pieces: list[str] = []
    answer = await stream_complete(gateway(WithoutStream()), request("fast"), pieces.append)
    assert pieces == ["whole"]
    assert (answer.model, answer.tier) == ("small", "fast")


@AUTOJUMP
@pytest.mark.parametrize("stream", [False, True])
async def test_a_cancelled_request_leaves_nothing_behind(stream: bool) -> None:
    inside: list[str] = []

    class Waits:
        async def complete(self, request: ChatRequest, /) -> Reply:
            async with self.stream(request):
                return Reply()

        @asynccontextmanager
        async def stream(self, request: ChatRequest, /) -> AsyncGenerator[ReplyStream]:
            inside.append("x")
            try:
                await anyio.sleep_forever()
                yield NotImplemented
            finally:
                inside.pop()

    with anyio.move_on_after(1) as scope:
        await gateway(Waits()).run("Hi", max_tokens=9, stream=stream)
    assert scope.cancelled_caught
    assert inside == []


def test_a_gateway_needs_something_to_ask_and_a_tier() -> None:
    with pytest.raises(InvalidRequestError):
        gateway("http://127.0.0.1/v1")
    with pytest.raises(NotConfiguredError):
        gateway(ScriptedModel(), tiers={})
    with pytest.raises(InvalidRequestError):
        gateway(ScriptedModel(), default_tier="turbo")


async def test_the_default_tier_is_the_deployments() -> None:
    script = ScriptedModel("Done.", "Done.")
    door = gateway(script, default_tier=Tier.FAST)
    assert (await door.run("Hi", max_tokens=9)).tier == "fast"
    assert (await door.complete(request(""))).tier == "fast"
    assert door.default_model == "fast"
