"""A budget that many spend out of: nothing is spent twice, and nothing stays set aside."""

import math
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from rig.agent.budget import Budget, Left, Price, Prices
from rig.agent.ledger import SharedBudget, complete_paid, paid_by, sent_to
from rig.errors import BudgetExceededError, EmptyReplyError, InvalidRequestError, ServerError
from rig.messages import Message, Usage
from rig.model import ChatRequest, Reply
from rig.testing import ScriptedModel

VIRTUAL_TIME = pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)

LIST = Prices({
    "small": Price(prompt_per_million=1_000_000, completion_per_million=2_000_000),
    "large": Price(prompt_per_million=5_000_000, completion_per_million=5_000_000),
})  # fmt: skip


def request(text: str = "word " * 40, *, max_tokens: int = 50, model: str = "m") -> ChatRequest:
    return ChatRequest(
        model=model, messages=[Message(role="user", content=text)], max_tokens=max_tokens
    )


def took(prompt: int, completion: int, **more: int) -> Usage:
    return Usage(prompt_tokens=prompt, completion_tokens=completion, **more)


async def test_a_request_is_paid_with_what_it_took() -> None:
    shared = SharedBudget(Budget(tokens=1000, calls=5))
    reply = await shared.complete(
        ScriptedModel(Reply(text="a", usage=took(60, 5))), request(max_tokens=50)
    )
    assert reply.text == "a"
    assert shared.left == Left(tokens=935, calls=4)
    assert (shared.spent.tokens, shared.spent.calls, shared.spent.tool_calls) == (65, 1, 0)


async def test_what_does_not_fit_is_not_sent() -> None:
    model = ScriptedModel("never")
    shared = SharedBudget(Budget(tokens=30))
    with pytest.raises(BudgetExceededError) as caught:
        await shared.complete(model, request("word " * 40))
    assert caught.value.reason == "tokens"
    assert model.requests == []
    assert shared.spent.calls == 0


async def test_a_reply_gets_no_more_tokens_than_are_left() -> None:
    model = ScriptedModel("a")
    await SharedBudget(Budget(tokens=70)).complete(model, request(max_tokens=1000))
    assert model.requests[0].max_tokens == 20


@pytest.mark.parametrize("fault", [ServerError("down"), RuntimeError("gone")], ids=["rig", "other"])
async def test_a_request_that_failed_gives_back_its_tokens_and_counts_as_a_call(fault: Any) -> None:
    async def fail(_: ChatRequest) -> str:
        await anyio.lowlevel.checkpoint()
        raise fault

    shared = SharedBudget(Budget(tokens=100, calls=3))
    with pytest.raises(type(fault)):
        await shared.complete(ScriptedModel(fail), request())
    assert shared.left == Left(tokens=100, calls=2)
    async with await shared.reserve(request(max_tokens=50)) as whole:
        assert whole.request.max_tokens == 50
    assert paid_by.get() is None


class Barrier:
    """A model whose replies come when they are let through."""

    def __init__(self, usage: Usage) -> None:
        self.usage = usage
        self.sent: list[ChatRequest] = []
        self.most = 0
        self.under_way = 0
        self.gate = anyio.Event()

    async def complete(self, request: ChatRequest, /) -> Reply:
        self.sent.append(request)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await self.gate.wait()
            await anyio.lowlevel.checkpoint()
        finally:
            self.under_way -= 1
        return Reply(text="a", usage=self.usage)


async def settle(rounds: int = 20) -> None:
    for _ in range(rounds):
        await anyio.lowlevel.checkpoint()


async def many(
    shared: SharedBudget, model: Barrier, count: int, asked: Callable[[int], ChatRequest]
) -> list[str]:
    """Ask at the same time; how each one ended."""
    ends = [""] * count

    async def one(index: int) -> None:
        try:
            ends[index] = (await shared.complete(model, asked(index))).text
        except BudgetExceededError as error:
            ends[index] = error.reason

    async with anyio.create_task_group() as tasks:
        for index in range(count):
            tasks.start_soon(one, index)
        await settle()
        model.gate.set()
    return ends


async def test_a_hundred_at_once_never_overspend_calls() -> None:
    model = Barrier(took(10, 10))
    shared = SharedBudget(Budget(calls=37))
    ends = await many(shared, model, 100, lambda _: request())
    assert (ends.count("a"), ends.count("calls")) == (37, 63)
    assert len(model.sent) == shared.spent.calls == 37


async def test_a_hundred_at_once_never_overspend_tokens_where_prompts_are_as_estimated() -> None:
    model = Barrier(took(50, 30))
    shared = SharedBudget(Budget(tokens=1000))
    ends = await many(shared, model, 100, lambda _: request(max_tokens=50))
    assert shared.spent.tokens <= 1000
    assert model.most == 10  # as many as fit with all their max_tokens
    assert ends.count("a") == 12  # 2 tokens each given back make room for two more, and a short one
    assert set(ends) == {"a", "tokens"}
    assert not shared.left.used_up or shared.left.tokens == 0


async def test_who_waits_is_let_through_when_others_give_back() -> None:
    model = Barrier(took(50, 1))
    shared = SharedBudget(Budget(tokens=220))
    ends = await many(shared, model, 4, lambda _: request(max_tokens=100))
    assert model.most == 1
    assert ends == ["a"] * 4
    assert shared.spent.tokens == 204


async def test_what_is_reported_beyond_the_estimate_is_all_that_is_overspent() -> None:
    model = Barrier(took(80, 50))
    shared = SharedBudget(Budget(tokens=300))
    ends = await many(shared, model, 50, lambda _: request(max_tokens=50))
    assert ends.count("a") == 3
    assert shared.spent.tokens <= 300 + 3 * (80 - 50)


@VIRTUAL_TIME
async def test_a_wait_for_others_has_an_end() -> None:
    model = Barrier(took(1, 1))
    shared = SharedBudget(Budget(tokens=100))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(shared.complete, model, request(max_tokens=50))
        await settle()
        with pytest.raises(BudgetExceededError):
            await shared.complete(model, request(max_tokens=50))
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("steps", range(6))
async def test_a_cancelled_request_leaves_nothing_set_aside(steps: int) -> None:
    """Cancelled at every await of one that waits and one that is under way."""
    model = Barrier(took(50, 50))
    shared = SharedBudget(Budget(tokens=100))
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(shared.complete, model, request())
            tasks.start_soon(shared.complete, model, request())
            await settle(steps)
            scope.cancel()
    assert shared.spent.tokens == 0
    async with await shared.reserve(request(max_tokens=50)) as whole:
        assert whole.capped == ""
    assert paid_by.get() is None


async def test_a_request_inside_of_another_does_not_wait_for_it() -> None:
    shared = SharedBudget(Budget(tokens=200))
    inner = ScriptedModel(Reply(text="maths", usage=took(10, 1)))

    class Router:
        async def complete(self, asked: ChatRequest, /) -> Reply:
            said = await complete_paid(inner, request("which?", max_tokens=10))
            return Reply(text=f"{said.text} {asked.max_tokens}", usage=took(50, 4))

    reply = await shared.complete(Router(), request(max_tokens=130))
    assert reply.text == "maths 130"
    assert (shared.spent.tokens, shared.spent.calls) == (65, 2)
    with pytest.raises(BudgetExceededError):
        await shared.complete(Router(), request(max_tokens=130))  # takes all 135, leaves nothing


async def test_without_a_budget_a_paid_request_is_a_plain_one() -> None:
    assert (await complete_paid(ScriptedModel("a"), request())).text == "a"


# Parts


async def test_a_part_spends_out_of_the_whole() -> None:
    whole = SharedBudget(Budget(tokens=1000, calls=3))
    part = SharedBudget(Budget(calls=2), within=whole)
    model = ScriptedModel(*[Reply(text="a", usage=took(40, 10))] * 4)
    for _ in range(2):
        await part.complete(model, request())
    with pytest.raises(BudgetExceededError) as caught:
        await part.complete(model, request())
    assert caught.value.reason == "calls"
    assert (whole.spent.calls, whole.spent.tokens, part.spent.tokens) == (2, 100, 100)
    assert part.left == Left(tokens=900, calls=0)
    await whole.complete(model, request())
    other = SharedBudget(Budget(), within=whole)
    with pytest.raises(BudgetExceededError):
        await other.complete(model, request())
    assert other.spent.calls == 0


# Tool calls


async def test_tool_calls_are_set_aside_and_given_back() -> None:
    whole = SharedBudget(Budget(tool_calls=5))
    part = SharedBudget(Budget(), within=whole)
    with part.take_tool_calls(4) as taken:
        assert taken.count == 4
        with whole.take_tool_calls(4) as rest:
            assert rest.count == 1
        taken.executed()
    assert (whole.spent.tool_calls, part.spent.tool_calls) == (1, 1)
    assert whole.take_tool_calls(9).count == 4


# Time


@VIRTUAL_TIME
async def test_the_clock_of_a_shared_budget_runs_from_its_first_use() -> None:
    shared = SharedBudget(Budget(seconds=10))
    await anyio.sleep(5)
    assert (shared.deadline_s, shared.spent.seconds) == (math.inf, 0)
    assert shared.left.seconds == 10
    shared.start()
    await anyio.sleep(3)
    shared.start()
    assert shared.spent.seconds == pytest.approx(3)
    assert shared.left.seconds == pytest.approx(7)
    part = SharedBudget(Budget(seconds=60), within=shared)
    part.start()
    assert part.deadline_s == shared.deadline_s


@VIRTUAL_TIME
async def test_a_request_outside_of_runs_ends_at_the_deadline() -> None:
    async def hang(_: ChatRequest) -> str:
        await anyio.sleep(1000)
        return "never"

    shared = SharedBudget(Budget(seconds=30, calls=9))
    model = ScriptedModel(hang, "never")
    for sent in (1, 1):  # the second one is late before it is sent
        with pytest.raises(BudgetExceededError) as caught:
            await shared.complete(model, request())
        assert caught.value.reason == "seconds"
        assert (len(model.requests), shared.spent.calls, shared.spent.seconds) == (sent, sent, 30)


@pytest.mark.parametrize("backends", [("asyncio", "trio"), ("trio", "trio"), ("trio", "asyncio")])
def test_the_clock_goes_on_in_the_next_event_loop(backends: tuple[str, str]) -> None:
    """Every loop has a time of its own: trio's begins anywhere."""
    shared = SharedBudget(Budget(seconds=1000, calls=9))

    async def ask() -> tuple[float, float]:
        before = shared.spent.seconds
        await shared.complete(ScriptedModel("a"), request())
        return before, shared.spent.seconds

    assert anyio.run(ask, backend=backends[0])[0] == 0
    spent = shared.spent.seconds
    before, after = anyio.run(ask, backend=backends[1])
    assert before == spent <= after < 100
    assert shared.spent.calls == 2


def test_what_was_spent_can_be_read_when_no_event_loop_runs() -> None:
    shared = SharedBudget(Budget(tokens=100))

    async def use() -> None:
        await shared.complete(ScriptedModel("a"), request("a"))

    anyio.run(use)
    assert shared.spent.tokens == 2
    assert shared.spent.seconds >= 0
    assert shared.left.tokens == 98


# Money


async def test_a_model_without_a_price_is_not_asked() -> None:
    model = ScriptedModel("never")
    shared = SharedBudget(Budget(cost=100, prices=LIST))
    with pytest.raises(InvalidRequestError):
        await shared.complete(model, request(model="other"))
    assert model.requests == []
    assert (shared.spent.calls, shared.spent.cost) == (0, 0)


@pytest.mark.parametrize(
    ("asked", "answered", "cost"),
    [
        ("small", "", 80.0),
        ("small", "large", 300.0),
        ("large", "small", 300.0),
        ("small", "unknown", 80.0),
    ],
)
async def test_the_dearer_of_the_models_asked_and_answering_is_paid(
    asked: str, answered: str, cost: float
) -> None:
    model = ScriptedModel(Reply(text="a", usage=took(40, 20), model=answered))
    shared = SharedBudget(Budget(cost=1000, prices=LIST))
    await shared.complete(model, request(model=asked))
    assert shared.spent.cost == pytest.approx(cost)


async def test_what_a_request_asks_by_the_way_needs_a_price_too() -> None:
    inner = ScriptedModel("never")

    class Router:
        async def complete(self, _: ChatRequest, /) -> Reply:
            with pytest.raises(BudgetExceededError) as caught:
                await complete_paid(inner, request(model="other"))
            return Reply(text=caught.value.reason, usage=took(1, 1))

    shared = SharedBudget(Budget(cost=1000, prices=LIST))
    assert (await shared.complete(Router(), request(model="small"))).text == "cost"
    assert inner.requests == []


@pytest.mark.parametrize(
    ("said", "cost"),
    [((), 80.0), (("large",), 300.0), (("unknown",), 80.0), (("large", "small"), 80.0)],
    ids=["nobody", "dearer", "unpriced", "last word"],
)
async def test_the_model_a_request_is_sent_to_under_an_alias_is_paid(
    said: tuple[str, ...], cost: float
) -> None:
    def elsewhere(_: ChatRequest) -> Reply:
        sent_to("large")
        return Reply(text="b", usage=took(1, 0))

    class Chooser:
        async def complete(self, _: ChatRequest, /) -> Reply:
            for name in said:
                sent_to(name)
            await complete_paid(ScriptedModel(elsewhere), request("", model="small", max_tokens=1))
            return Reply(text="a", usage=took(40, 20), model="a file name")

    shared = SharedBudget(Budget(cost=1000, prices=LIST))
    await shared.complete(Chooser(), request(model="small"))
    assert shared.spent.cost == pytest.approx(cost + 5)  # what was asked by the way is its own
    sent_to("large")  # of no request


async def test_an_empty_reply_costs_what_it_took() -> None:
    empty = EmptyReplyError("nothing")
    empty.usage = took(60, 5)
    shared = SharedBudget(Budget(tokens=1000))
    with pytest.raises(EmptyReplyError):
        await shared.complete(ScriptedModel(empty), request())
    assert shared.spent.tokens == 65
    with pytest.raises(EmptyReplyError):
        await shared.complete(ScriptedModel(EmptyReplyError("not even a count")), request())
    assert shared.spent.tokens == 65 + 50


async def test_prices_without_a_limit_only_count() -> None:
    shared = SharedBudget(Budget(prices=LIST))
    model = ScriptedModel(*[Reply(text="a", usage=took(1, 1))] * 2)
    await shared.complete(model, request(model="small"))
    await shared.complete(model, request(model="other"))
    assert shared.spent.cost == pytest.approx(3.0)


@pytest.mark.parametrize("wrong", [None, "all", {"tokens": 3}, SharedBudget(Budget())], ids=repr)
def test_a_shared_budget_takes_a_budget(wrong: Any) -> None:
    with pytest.raises(InvalidRequestError):
        SharedBudget(wrong)
    if wrong is not None and not isinstance(wrong, SharedBudget):
        with pytest.raises(InvalidRequestError):
            SharedBudget(Budget(), within=wrong)
