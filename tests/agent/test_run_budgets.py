"""Runs within budgets: alone, together, and one inside of the other."""

from collections.abc import Sequence
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from rig.agent.budget import Budget, Price, Prices
from rig.agent.ledger import SharedBudget, paid_by
from rig.agent.prompt import LAST_CALL
from rig.agent.request import RunRequest
from rig.agent.run import run
from rig.agent.tools import Tool, ToolContext, tool
from rig.agent.turn import DECLINED, OUT_OF_CALLS
from rig.errors import (
    BudgetExceededError,
    EmptyReplyError,
    InvalidRequestError,
    OutputLimitError,
    RigError,
    StreamCutError,
)
from rig.events import RunEvent, RunFinished, RunResult, Termination
from rig.messages import Message, ToolCall, Usage
from rig.model import ChatRequest, Reply
from rig.testing import ScriptedModel

VIRTUAL_TIME = pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)


def usage(prompt: int, completion: int = 1) -> Usage:
    return Usage(prompt_tokens=prompt, completion_tokens=completion)


def calling(*names: str, **fields: Any) -> Reply:
    made = tuple(ToolCall(id=f"c{at}", name=name) for at, name in enumerate(names))
    return Reply(tool_calls=made, finish_reason="tool_calls", **fields)


def counter(ran: list[str], name: str = "look", **options: Any) -> Tool:
    async def count(_: dict[str, Any]) -> str:
        ran.append(name)
        await anyio.lowlevel.checkpoint()
        return "found"

    return Tool(name, "Look it up.", None, count, **options)


async def ask(model: Any, prompt: str = "a", /, **fields: Any) -> RunResult[Any]:
    return await run(model, RunRequest(prompt, **{"max_tokens": 10, "model": "m", **fields}))


async def failing(model: ScriptedModel, **fields: Any) -> tuple[RigError, RunResult[Any]]:
    with pytest.raises(BudgetExceededError) as caught:
        await ask(model, **fields)
    assert caught.value.result is not None
    assert caught.value.result.termination is Termination.BUDGET_EXHAUSTED
    return caught.value, caught.value.result


# Calls


@pytest.mark.parametrize(("calls", "ends"), [(3, False), (2, True), (1, True)])
async def test_a_run_sends_as_many_requests_as_it_may(calls: int, ends: bool) -> None:
    ran: list[str] = []
    script: Sequence[Any] = [calling("look"), calling("look"), "b"]
    model = ScriptedModel(*script)
    if not ends:
        result = await ask(model, tools=[counter(ran)], budget=Budget(calls=calls))
        assert result.text == "b"
        assert result.spent is not None
        assert (result.spent.calls, result.spent.tool_calls) == (3, 2)
        return
    error, result = await failing(model, tools=[counter(ran)], budget=Budget(calls=calls))
    assert error.reason == "calls"
    assert len(model.requests) == calls
    assert len(ran) == calls - 1  # the calls of the last reply are not run: nobody reads the result
    assert result.spent is not None
    assert result.spent.calls == calls


async def test_the_last_of_the_requests_is_for_the_answer() -> None:
    ran: list[str] = []
    model = ScriptedModel(calling("look"), "b")
    result = await ask(model, tools=[counter(ran)], budget=Budget(calls=2), on_limit="answer")
    assert (result.text, result.termination) == ("b", Termination.BUDGET_EXHAUSTED)
    assert list(model.requests[1].tools) == []
    assert model.requests[1].messages[-1].text.endswith(LAST_CALL)


async def test_one_request_without_tools_is_an_answer_and_no_limit() -> None:
    result = await ask(ScriptedModel("b"), budget=Budget(calls=1), on_limit="answer")
    assert result.termination is Termination.COMPLETED


async def test_a_run_without_a_budget_has_spent_nothing_to_tell() -> None:
    assert (await ask(ScriptedModel("b"))).spent is None


# Tokens


async def test_a_prompt_that_can_not_fit_is_not_sent() -> None:
    model = ScriptedModel("never")
    error, result = await failing(model, budget=Budget(tokens=50), system="word " * 60)
    assert error.reason == "tokens"
    assert model.requests == []
    assert result.iterations == 0


async def test_a_reply_gets_fewer_tokens_where_less_is_left() -> None:
    model = ScriptedModel(Reply(text="b", usage=usage(20, 30)))
    result = await ask(model, "word " * 20, max_tokens=500, budget=Budget(tokens=100))
    assert model.requests[0].max_tokens == 75
    assert result.spent is not None
    assert result.spent.tokens == 50


@pytest.mark.parametrize(
    ("max_tokens", "kind"), [(500, BudgetExceededError), (50, OutputLimitError)]
)
async def test_a_reply_cut_for_the_budget_tells_of_the_budget(
    max_tokens: int, kind: type[RigError]
) -> None:
    cut = Reply(text="b", finish_reason="length", usage=usage(20, 50))
    with pytest.raises(kind) as caught:
        await ask(
            ScriptedModel(cut), "word " * 20, max_tokens=max_tokens, budget=Budget(tokens=100)
        )
    assert caught.value.text == "b"


async def test_what_had_come_of_a_cut_stream_is_paid() -> None:
    lost = StreamCutError("cut")
    lost.text = "b" * 400
    model = ScriptedModel(lost)
    shared = SharedBudget(Budget(tokens=1000))
    with pytest.raises(StreamCutError):
        await ask(model, "a" * 400, budget=shared, stream=True)
    assert shared.spent.tokens == 200
    assert paid_by.get() is None


async def test_an_empty_reply_is_paid() -> None:
    empty = EmptyReplyError("nothing")
    empty.usage = usage(30, 20)
    shared = SharedBudget(Budget(tokens=1000))
    with pytest.raises(EmptyReplyError) as caught:
        await ask(ScriptedModel(empty), budget=shared)
    assert shared.spent.tokens == 50
    assert caught.value.result is not None
    assert caught.value.result.spent is not None
    assert caught.value.result.spent.tokens == 50


# Tool calls


async def test_exactly_the_tool_calls_allowed_are_run() -> None:
    ran: list[str] = []
    model = ScriptedModel(calling("look", "look"), "b")
    result = await ask(model, tools=[counter(ran)], budget=Budget(tool_calls=2))
    assert (result.text, len(ran)) == ("b", 2)
    assert result.termination is Termination.COMPLETED


async def test_of_a_reply_that_asks_for_more_none_is_run() -> None:
    ran: list[str] = []
    model = ScriptedModel(calling("look"), calling("look", "look"))
    error, result = await failing(model, tools=[counter(ran)], budget=Budget(tool_calls=2))
    assert error.reason == "tool_calls"
    assert len(ran) == 1
    assert [turn.role for turn in result.messages[-3:]] == ["assistant", "tool", "tool"]
    assert all("NOT executed" in turn.text for turn in result.messages[-2:])


@pytest.mark.parametrize("concurrent", [False, True], ids=["in order", "together"])
async def test_with_an_answer_wanted_the_first_ones_are_run(concurrent: bool) -> None:
    ran: list[str] = []
    model = ScriptedModel(calling("look", "look", "look"), "b")
    result = await ask(
        model,
        tools=[counter(ran, concurrent=concurrent)],
        budget=Budget(tool_calls=2),
        on_limit="answer",
    )
    assert len(ran) == 2
    assert [one.executed for one in result.tool_calls] == [True, True, False]
    assert result.tool_calls[2].content == f"error: {OUT_OF_CALLS}"
    assert list(model.requests[1].tools) == []
    assert (result.text, result.termination) == ("b", Termination.BUDGET_EXHAUSTED)


async def test_calls_that_are_not_executed_cost_nothing() -> None:
    ran: list[str] = []
    model = ScriptedModel(calling("nobody", "erase"), calling("look"), "b")
    tools = [counter(ran), counter(ran, "erase", confirm=True)]
    result = await ask(model, tools=tools, budget=Budget(tool_calls=1), confirm=lambda _: False)
    assert ran == ["look"]
    assert result.tool_calls[1].content == f"error: {DECLINED}"
    assert result.spent is not None
    assert result.spent.tool_calls == 1


@pytest.mark.parametrize("on_limit", ["raise", "answer"])
async def test_calls_that_were_approved_count_too(on_limit: Any) -> None:
    ran: list[str] = []
    erase = counter(ran, "erase", confirm=True)
    first = await ask(ScriptedModel(calling("erase", "erase")), tools=[erase])
    again = {
        "history": first.messages,
        "approve": [call.id for call in first.pending],
        "tools": [erase],
        "budget": Budget(tool_calls=1),
        "on_limit": on_limit,
    }
    if on_limit == "raise":
        with pytest.raises(BudgetExceededError):
            await ask(ScriptedModel(), "", **again)
        assert ran == []
        return
    result = await ask(ScriptedModel("b"), "", **again)
    assert (ran, result.text) == (["erase"], "b")


# Money


async def test_a_run_ends_when_its_money_is_spent() -> None:
    ran: list[str] = []
    prices = Prices({"m": Price(prompt_per_million=100_000, completion_per_million=100_000)})
    model = ScriptedModel(*[calling("look", usage=usage(9, 1)) for _ in range(5)])
    error, result = await failing(
        model, tools=[counter(ran)], budget=Budget(cost=2.9, prices=prices), max_tokens=1
    )
    assert error.reason == "cost"
    assert len(model.requests) == len(ran) == 2
    assert result.spent is not None
    assert result.spent.cost == pytest.approx(2.0)


async def test_a_model_without_a_price_is_never_asked() -> None:
    model = ScriptedModel("never")
    with pytest.raises(InvalidRequestError):
        await ask(model, budget=Budget(cost=1, prices=Prices({"other": Price()})))
    assert model.requests == []


# Together


@pytest.mark.parametrize(("calls", "ended_by"), [(60, "calls"), (1000, "tool_calls")])
async def test_a_hundred_runs_share_a_budget_and_never_overspend_it(
    calls: int, ended_by: str
) -> None:
    shared = SharedBudget(Budget(calls=calls, tool_calls=35, tokens=100_000))
    ran: list[str] = []
    ends: list[str] = []

    async def think(_: ChatRequest) -> Reply:
        await anyio.lowlevel.checkpoint()
        return calling("look", "look", usage=usage(20, 5))

    async def agent() -> None:
        model = ScriptedModel(think, think, "b")
        try:
            await ask(model, tools=[counter(ran)], budget=shared)
        except BudgetExceededError as error:
            ends.append(error.reason)
        else:
            ends.append("done")

    async with anyio.create_task_group() as tasks:
        for _ in range(100):
            tasks.start_soon(agent)
    assert len(ends) == 100
    assert shared.spent.calls <= calls
    assert len(ran) == shared.spent.tool_calls <= 35
    assert ended_by in ends
    assert shared.take_tool_calls(99).count == 35 - len(ran)


async def test_a_run_of_a_shared_budget_tells_what_it_spent_itself() -> None:
    shared = SharedBudget(Budget(tokens=1000))
    first = await ask(ScriptedModel(Reply(text="b", usage=usage(30))), budget=shared)
    second = await ask(ScriptedModel(Reply(text="b", usage=usage(40))), budget=shared)
    assert first.spent is not None
    assert second.spent is not None
    assert (first.spent.tokens, second.spent.tokens, shared.spent.tokens) == (31, 41, 72)


async def test_a_run_has_its_own_limit_within_a_shared_one() -> None:
    shared = SharedBudget(Budget(calls=10))
    ran: list[str] = []
    model = ScriptedModel(*[calling("look")] * 5)
    with pytest.raises(BudgetExceededError):
        await ask(model, tools=[counter(ran)], budget=SharedBudget(Budget(calls=2), within=shared))
    assert shared.spent.calls == 2
    assert shared.left.calls == 8


@VIRTUAL_TIME
async def test_the_deadline_of_a_shared_budget_holds_for_all_its_runs() -> None:
    shared = SharedBudget(Budget(seconds=10))

    async def slow(_: ChatRequest) -> str:
        await anyio.sleep(6)
        return "b"

    assert (await ask(ScriptedModel(slow), budget=shared)).text == "b"
    started = anyio.current_time()
    with pytest.raises(BudgetExceededError) as caught:
        await ask(ScriptedModel(slow), budget=shared)
    assert caught.value.reason == "seconds"
    assert anyio.current_time() - started == pytest.approx(4)
    late = ScriptedModel("never")
    with pytest.raises(BudgetExceededError):
        await ask(late, budget=shared)
    assert late.requests == []


async def test_a_run_inside_of_a_tool_spends_out_of_the_same_budget() -> None:
    inner = ScriptedModel(Reply(text="42", usage=usage(50)))

    @tool
    async def expert(context: ToolContext) -> str:
        """Ask an expert."""
        return (await ask(inner, "deep question", budget=context.budget)).text

    model = ScriptedModel(
        calling("expert", usage=usage(20)), Reply(text="It is 42.", usage=usage(30))
    )
    result = await ask(model, tools=[expert], budget=Budget(tokens=1000, calls=3))
    assert result.text == "It is 42."
    assert result.spent is not None
    assert (result.spent.tokens, result.spent.calls, result.spent.tool_calls) == (
        21 + 51 + 31,
        3,
        1,
    )


async def test_what_a_tool_spent_is_seen_before_the_next_request() -> None:
    inner = ScriptedModel("42")

    @tool
    async def expert(context: ToolContext) -> str:
        """Ask an expert."""
        return (await ask(inner, budget=context.budget)).text

    error, _ = await failing(
        ScriptedModel(calling("expert")), tools=[expert], budget=Budget(calls=2)
    )
    assert error.reason == "calls"


# Cancellation


@pytest.mark.parametrize("steps", range(14))
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_a_cancelled_run_leaves_nothing_set_aside(stream: bool, steps: int) -> None:
    shared = SharedBudget(Budget(tokens=1000, tool_calls=3))
    ran: list[str] = []

    async def agent() -> None:
        model = ScriptedModel(calling("look", "look", usage=usage(30)), "word")
        await ask(model, tools=[counter(ran)], budget=shared, max_tokens=900, stream=stream)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(agent)
        for _ in range(steps):
            await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    left = shared.left.tokens
    assert left is not None
    async with await shared.reserve(
        ChatRequest(model="m", messages=[Message(role="user", content="")], max_tokens=left)
    ) as whole:
        assert whole.capped == ""
    assert shared.spent.tool_calls == len(ran)
    assert shared.take_tool_calls(9).count == 3 - len(ran)


async def test_the_last_event_tells_what_was_spent() -> None:
    told: list[RunEvent] = []
    await ask(ScriptedModel("b"), budget=Budget(calls=5), on_event=told.append)
    last = told[-1]
    assert isinstance(last, RunFinished)
    assert last.result.spent is not None
    assert last.result.spent.calls == 1
