import asyncio  # noqa: TID251  there alone a task can be cancelled by anybody
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import anyio
import anyio.lowlevel
import pytest
from pydantic import BaseModel, model_validator

from rig.agent.answering import MAX_CONCURRENT_CALLS
from rig.agent.budget import Budget
from rig.agent.calling import CANCELLED
from rig.agent.history import Prepared, prepare
from rig.agent.prompt import LAST_CALL
from rig.agent.request import RunRequest
from rig.agent.run import run
from rig.agent.tools import Tool, ToolContext, tool
from rig.agent.turn import DECLINED, INTERRUPTED
from rig.errors import (
    BudgetExceededError,
    EmptyReplyError,
    InvalidJSONError,
    IterationLimitError,
    NotJSONError,
    OutputLimitError,
    RefusedError,
    RigError,
    ServerError,
    ToolError,
)
from rig.events import (
    OutputRejected,
    ReplyReceived,
    RoundStarted,
    RunEvent,
    RunFinished,
    RunResult,
    Termination,
    ToolFinished,
    ToolStarted,
)
from rig.messages import Message, ToolCall, Usage
from rig.model import ChatOptions, ChatRequest, Reply
from rig.testing import ScriptedModel

VIRTUAL_TIME = pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)


def call(name: str = "look", arguments: str = "{}", identity: str = "") -> ToolCall:
    return ToolCall(id=identity, name=name, arguments=arguments)


def calling(*calls: ToolCall | str, text: str = "", **fields: Any) -> Reply:
    made = tuple(call(one) if isinstance(one, str) else one for one in calls)
    return Reply(text=text, tool_calls=made, finish_reason="tool_calls", **fields)


def usage(tokens: int) -> Usage:
    return Usage(prompt_tokens=tokens - 1, completion_tokens=1)


class Recorder:
    """A tool that remembers what it was called with."""

    def __init__(self, name: str = "look", *, answer: object = "found", **options: Any) -> None:
        self.inputs: list[dict[str, Any]] = []
        self.answer = answer
        self.tool = Tool(name, "Look it up.", {"type": "object"}, self._run, **options)

    async def _run(self, values: dict[str, Any]) -> object:
        self.inputs.append(values)
        await anyio.lowlevel.checkpoint()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


async def ask(script: ScriptedModel, prompt: Any = "a", /, **fields: Any) -> RunResult[Any]:
    return await run(script, RunRequest(prompt, **{"max_tokens": 10, **fields}))


async def failing(
    model: ScriptedModel, kind: type[RigError], **fields: Any
) -> tuple[RigError, RunResult[Any]]:
    """The error a run ends with, and the partial result on it."""
    with pytest.raises(kind) as caught:
        await ask(model, **fields)
    assert caught.value.result is not None
    return caught.value, caught.value.result


def sent(request: ChatRequest) -> list[tuple[str, object]]:
    return [(turn.role, turn.content) for turn in request.messages]


# Requests


async def test_a_run_asks_once_and_returns_the_answer() -> None:
    model = ScriptedModel("b")
    result = await ask(model, system="s", model="m", options=ChatOptions(top_p=0.5), temperature=0)
    request = model.requests[0]
    assert sent(request) == [("system", "s"), ("user", "a")]
    assert (request.model, request.max_tokens, list(request.tools)) == ("m", 10, [])
    assert request.options == ChatOptions(top_p=0.5, temperature=0)
    assert (result.text, result.iterations, result.tool_calls) == ("b", 1, ())
    assert result.termination is Termination.COMPLETED
    assert [turn.role for turn in result.messages] == ["system", "user", "assistant"]


async def test_instructions_are_sent_with_every_request_and_not_kept() -> None:
    model = ScriptedModel(calling("look"), '{"value": 3}', "c")
    first = await ask(
        model, system="s", instructions="only now", tools=[Recorder().tool], output=int
    )
    for request in model.requests:
        head = request.messages[0].text
        assert head.startswith("s\n\nonly now\n\n")
        assert head.count("only now") == 1
    assert first.messages[0] == Message(role="system", content="s")
    await ask(model, "more", history=first.messages)
    assert model.requests[2].messages[0].content == "s"


async def test_another_system_prompt_replaces_that_of_the_history() -> None:
    model = ScriptedModel("a", "b", "c")
    first = await ask(model, system="one")
    second = await ask(model, "more", system="two", history=first.messages)
    third = await ask(model, "more", history=second.messages)
    assert [sent(request)[0] for request in model.requests] == [
        ("system", "one"),
        ("system", "two"),
        ("system", "two"),
    ]
    assert [turn.role for turn in third.messages].count("system") == 1


async def test_tools_are_offered_in_the_order_given() -> None:
    model = ScriptedModel("b")
    given = [Recorder(name).tool for name in ("zeta", "alpha", "mid")]
    await ask(model, tools=given)
    assert list(model.requests[0].tools) == given


async def test_a_transcript_is_the_history_of_the_next_run() -> None:
    looker = Recorder()
    model = ScriptedModel(calling("look"), "b", "c")
    first = await ask(model, system="s", tools=[looker.tool])
    second = await ask(model, "more", system="s", tools=[looker.tool], history=first.messages)
    assert [role for role, _ in sent(model.requests[2])] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert second.text == "c"
    assert second.iterations == 1
    assert second.tool_calls == ()


async def test_a_blank_prompt_goes_on_where_the_history_ends() -> None:
    model = ScriptedModel("b")
    await ask(model, "", history=[{"role": "user", "content": "a"}])
    assert sent(model.requests[0]) == [("user", "a")]


async def test_every_request_is_in_order_already() -> None:
    model = ScriptedModel(calling("look", call(arguments="{")), "not it", '{"value": 1}')
    await ask(model, system="s", tools=[Recorder().tool], output=int)
    for request in model.requests:
        assert isinstance(request.messages, Prepared)
        assert prepare(tuple(request.messages)) == request.messages


@pytest.mark.parametrize("choice", ["required", "look"])
async def test_a_forced_call_is_forced_once(choice: str) -> None:
    model = ScriptedModel(calling("look"), "b")
    await ask(model, tools=[Recorder().tool], options=ChatOptions(tool_choice=choice))
    assert [request.options.tool_choice for request in model.requests] == [choice, None]


async def test_reasoning_goes_back_inside_the_tool_loop_only() -> None:
    thinking = calling("look", reasoning="hm", reasoning_field="reasoning")
    model = ScriptedModel(thinking, "b", "c")
    first = await ask(model, tools=[Recorder().tool])
    await ask(model, "more", history=first.messages)
    turns = [request.messages[1] for request in model.requests[1:]]
    assert (turns[0].reasoning, turns[0].reasoning_field) == ("hm", "reasoning")
    assert not turns[1].reasoning


# Calls


async def test_a_call_is_run_and_its_result_sent_back() -> None:
    looker = Recorder(answer={"n": 1})
    model = ScriptedModel(
        calling(call(arguments='{"q": "x"}', identity="c1"), text="let me see"), "b"
    )
    result = await ask(model, tools=[looker.tool])
    assert looker.inputs == [{"q": "x"}]
    assert model.requests[1].messages[1:] == (
        Message(
            role="assistant",
            content="let me see",
            tool_calls=(call(arguments='{"q": "x"}', identity="c1"),),
        ),
        Message(role="tool", content='{"n":1}', tool_call_id="c1", name="look"),
    )
    outcome = result.tool_calls[0]
    assert (outcome.call.id, outcome.content, outcome.is_error, outcome.executed) == (
        "c1",
        '{"n":1}',
        False,
        True,
    )
    assert result.iterations == 2


async def test_calls_run_one_after_another_in_order() -> None:
    running: list[str] = []

    async def slow(values: dict[str, Any]) -> str:
        running.append(f"start {values['n']}")
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        running.append(f"end {values['n']}")
        return str(values["n"])

    slow_tool = Tool("slow", "Take time.", {"type": "object"}, slow)
    calls = [call("slow", f'{{"n": {n}}}') for n in range(3)]
    model = ScriptedModel(calling(*calls), "b")
    result = await ask(model, tools=[slow_tool])
    assert running == [f"{what} {n}" for n in range(3) for what in ("start", "end")]
    assert [outcome.content for outcome in result.tool_calls] == ["0", "1", "2"]


@pytest.mark.parametrize("arguments", ["", " \n\t", "{}"])
async def test_blank_arguments_are_an_empty_object(arguments: str) -> None:
    looker = Recorder()
    blank = ToolCall.model_construct(id="1", name="look", arguments=arguments)
    model = ScriptedModel(calling(blank), "b")
    await ask(model, tools=[looker.tool])
    assert looker.inputs == [{}]
    assert model.requests[1].messages[1].tool_calls[0].arguments == "{}"


async def test_empty_and_double_ids_become_three_different_ones() -> None:
    calls = [call(identity=identity) for identity in ("", "dup", "dup")]
    model = ScriptedModel(calling(*calls), "b")
    result = await ask(model, tools=[Recorder().tool])
    turn, *results = model.requests[1].messages[1:]
    ids = [one.id for one in turn.tool_calls]
    assert ids == [one.tool_call_id for one in results]
    assert ids == [outcome.call.id for outcome in result.tool_calls]
    assert len({*ids}) == 3
    assert ids[1] == "dup"


async def test_an_id_a_server_uses_again_in_every_round_becomes_unique() -> None:
    model = ScriptedModel(calling(call(identity="call_0")), calling(call(identity="call_0")), "b")
    result = await ask(model, tools=[Recorder().tool])
    assert len({outcome.call.id for outcome in result.tool_calls}) == 2


FED_BACK = {
    "the tool raised": (call("broken"), True, "disk full"),
    "nobody has that name": (call("nobody"), False, "broken"),
    "cut arguments": (call("broken", '{"a": '), False, "NOT executed"),
    "arguments that are no object": (call("broken", "[1]"), False, "NOT executed"),
    "arguments that do not fit": (call("picky", "{}"), False, "NOT executed"),
}


@pytest.mark.parametrize(("wrong", "executed", "told"), FED_BACK.values(), ids=FED_BACK.keys())
async def test_what_goes_wrong_with_a_call_is_told_to_the_model(
    wrong: ToolCall, executed: bool, told: str
) -> None:
    broken = Recorder("broken", answer=OSError("disk full"))
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    picky = Tool("picky", "Be picky.", schema, lambda _: "ok")
    model = ScriptedModel(calling(wrong), "b")
    result = await ask(model, tools=[broken.tool, picky])
    content = model.requests[1].messages[-1].text
    assert content.startswith("error: ")
    assert told in content
    assert result.text == "b"
    assert result.tool_calls[0].is_error
    assert result.tool_calls[0].executed is executed
    assert len(broken.inputs) == executed


async def test_a_nameless_call_among_others_is_answered_too() -> None:
    looker = Recorder()
    model = ScriptedModel(calling(call(""), call("look")), "b")
    result = await ask(model, tools=[looker.tool])
    assert [outcome.is_error for outcome in result.tool_calls] == [True, False]
    assert all(one.name for one in model.requests[1].messages[1].tool_calls)


async def test_what_was_mended_is_kept_with_the_call() -> None:
    looker = Recorder()
    leaked = ToolCall(
        id="1", name="look", arguments='```json\n{"q": 1}\n```', origin="hermes", repairs=("cut",)
    )
    model = ScriptedModel(calling(leaked), "b")
    result = await ask(model, tools=[looker.tool])
    kept = result.tool_calls[0].call
    assert looker.inputs == [{"q": 1}]
    assert kept.origin == "hermes"
    assert kept.repairs[0] == "cut"
    assert len(kept.repairs) > 1


async def test_a_tool_is_told_its_call_its_round_and_the_deps() -> None:
    seen: list[ToolContext] = []

    @tool
    async def look(context: ToolContext) -> str:
        """Look it up."""
        seen.append(context)
        return "ok"

    model = ScriptedModel(calling("look"), calling("look"), "b")
    await ask(model, tools=[look], deps={"user": "u"})
    assert [context.iteration for context in seen] == [1, 2]
    assert all(context.deps == {"user": "u"} for context in seen)
    assert seen[0].call.name == "look"


# Limits


async def test_thirty_two_calls_of_one_reply_all_run() -> None:
    looker = Recorder()
    model = ScriptedModel(calling(*["look"] * 32), "b")
    result = await ask(model, tools=[looker.tool])
    assert len(looker.inputs) == len(result.tool_calls) == 32
    assert len(model.requests) == 2


@pytest.mark.parametrize("count", [33, 500])
async def test_of_more_calls_none_runs(count: int) -> None:
    looker = Recorder()
    model = ScriptedModel(calling(*["look"] * count))
    _, result = await failing(model, IterationLimitError, tools=[looker.tool])
    assert looker.inputs == []
    assert len(model.requests) == 1
    assert result.termination is Termination.ITERATION_LIMIT


@pytest.mark.parametrize("limit", [1, 2, 8, 12])
async def test_a_model_that_never_stops_is_asked_exactly_as_often_as_allowed(limit: int) -> None:
    looker = Recorder()
    model = ScriptedModel(*[calling("look", usage=usage(5)) for _ in range(40)])
    _, result = await failing(model, IterationLimitError, tools=[looker.tool], max_iterations=limit)
    assert len(model.requests) == result.iterations == limit
    assert len(result.tool_calls) == limit
    assert len(looker.inputs) == min(limit, 10)
    assert result.usage.total_tokens == 5 * limit
    assert result.messages[-1].role == "tool"


async def test_an_undeclared_tool_in_a_run_of_one_round_is_the_iteration_limit() -> None:
    model = ScriptedModel(calling("nobody"))
    _, result = await failing(model, IterationLimitError, max_iterations=1)
    assert len(model.requests) == 1
    assert result.tool_calls[0].content.startswith("error: ")


async def test_a_cut_reply_is_an_error_and_runs_nothing() -> None:
    looker = Recorder()
    cut = Reply(text="half", tool_calls=(call(),), finish_reason="length")
    model = ScriptedModel(calling("look"), cut)
    error, result = await failing(model, OutputLimitError, tools=[looker.tool])
    assert isinstance(error, OutputLimitError)
    assert error.text == result.text == "half"
    assert len(looker.inputs) == len(result.tool_calls) == 1
    assert result.iterations == 2


async def test_an_empty_reply_is_an_error_with_what_was_done() -> None:
    model = ScriptedModel(calling("look"), Reply(reasoning="hm"))
    error, result = await failing(model, EmptyReplyError, tools=[Recorder().tool])
    assert isinstance(error, EmptyReplyError)
    assert error.reasoning == "hm"
    assert len(result.tool_calls) == 1


async def test_an_empty_reply_the_model_itself_refuses_is_paid_for() -> None:
    empty = EmptyReplyError("nothing")
    empty.usage = usage(7)
    _, result = await failing(ScriptedModel(empty), EmptyReplyError)
    assert result.usage.total_tokens == 7
    assert result.iterations == 1


async def test_an_error_of_the_model_carries_what_was_done() -> None:
    fault = ServerError("down", status=502)
    model = ScriptedModel(calling("look", text="let me see", usage=usage(5)), fault)
    error, result = await failing(model, ServerError, tools=[Recorder().tool])
    assert error is fault
    assert error.__context__ is None
    assert result.iterations == 1
    assert result.text == "let me see"
    assert result.usage.total_tokens == 5
    assert result.termination is None
    assert [turn.role for turn in result.messages] == ["user", "assistant", "tool"]


async def test_an_interrupted_run_can_be_taken_up_again() -> None:
    looker = Recorder()
    model = ScriptedModel(calling("look"), ServerError("down"), "b")
    _, partial = await failing(model, ServerError, tools=[looker.tool])
    result = await ask(model, "", history=partial.messages, tools=[looker.tool])
    assert result.text == "b"
    assert len(looker.inputs) == 1


async def test_a_refusal_is_a_result() -> None:
    model = ScriptedModel(Reply(refusal="violence", text="No."))
    result = await ask(model)
    assert (result.termination, result.refusal, result.text) == (
        Termination.REFUSED,
        "violence",
        "No.",
    )


async def test_a_refusal_raised_by_the_model_is_a_result_too() -> None:
    refusal = RefusedError("declined")
    refusal.category = "policy"
    result = await ask(ScriptedModel(refusal))
    assert (result.termination, result.refusal) == (Termination.REFUSED, "policy")


# One last answer


async def test_at_the_limit_one_last_answer_is_asked_for_without_tools() -> None:
    looker = Recorder()
    model = ScriptedModel(calling("look"), calling("look"), "b")
    result = await ask(
        model,
        tools=[looker.tool],
        max_iterations=2,
        on_limit="answer",
        options=ChatOptions(tool_choice="auto", parallel_tool_calls=False),
    )
    last = model.requests[-1]
    assert list(last.tools) == []
    assert (last.options.tool_choice, last.options.parallel_tool_calls) == (None, None)
    assert last.messages[-1].role == "tool"
    assert last.messages[-1].text.endswith(LAST_CALL)
    assert (result.text, result.termination) == ("b", Termination.ITERATION_LIMIT)
    assert len(looker.inputs) == 2
    assert all(LAST_CALL not in turn.text for turn in result.messages)


async def test_a_model_that_calls_even_then_ends_in_the_error() -> None:
    model = ScriptedModel(calling("look"), calling("look"))
    _, result = await failing(
        model, IterationLimitError, tools=[Recorder().tool], max_iterations=1, on_limit="answer"
    )
    assert result.iterations == 2
    assert len(result.tool_calls) == 1


async def test_a_token_budget_keeps_enough_for_an_answer() -> None:
    model = ScriptedModel(calling("look", usage=usage(40)), Reply(text="b", usage=usage(40)))
    result = await ask(model, tools=[Recorder().tool], budget=Budget(tokens=100), on_limit="answer")
    assert list(model.requests[1].tools) == []
    assert (result.text, result.termination) == ("b", Termination.BUDGET_EXHAUSTED)


# Budgets


async def test_a_token_budget_ends_the_run() -> None:
    looker = Recorder()
    model = ScriptedModel(*[calling("look", usage=usage(40)) for _ in range(5)])
    error, result = await failing(
        model, BudgetExceededError, tools=[looker.tool], budget=Budget(tokens=100)
    )
    assert error.reason == "tokens"
    assert len(model.requests) == 2  # a third prompt, of 39 tokens again, does not fit the 20 left
    assert len(looker.inputs) == 2
    assert result.usage.total_tokens == 80
    assert result.termination is Termination.BUDGET_EXHAUSTED
    assert prepare(tuple(result.messages)) == result.messages


async def test_a_token_budget_counts_what_no_server_reported() -> None:
    model = ScriptedModel(*[calling("look", text="b" * 400) for _ in range(5)])
    _, result = await failing(
        model, BudgetExceededError, tools=[Recorder().tool], budget=Budget(tokens=150)
    )
    assert result.iterations == 2
    assert not result.usage.reported


def silent(_: ChatRequest) -> Awaitable[Reply]:
    async def never() -> Reply:
        await anyio.sleep_forever()
        return Reply()

    return never()


@VIRTUAL_TIME
@pytest.mark.parametrize("on_limit", ["raise", "answer"])
async def test_a_deadline_cancels_the_request_in_flight(
    on_limit: Literal["raise", "answer"],
) -> None:
    model = ScriptedModel(calling("look"), silent)
    started = anyio.current_time()
    error, result = await failing(
        model,
        BudgetExceededError,
        tools=[Recorder().tool],
        budget=Budget(seconds=60),
        on_limit=on_limit,
    )
    assert anyio.current_time() - started == pytest.approx(60)
    assert error.reason == "seconds"
    assert len(result.tool_calls) == 1
    assert result.termination is Termination.BUDGET_EXHAUSTED


async def wait_forever(_: dict[str, Any]) -> str:
    await anyio.sleep_forever()
    return ""


@VIRTUAL_TIME
@pytest.mark.parametrize("concurrent", [False, True], ids=["in order", "together"])
async def test_a_deadline_cancels_the_tool_in_flight(concurrent: bool) -> None:
    hanging = Tool("hang", "Hang.", None, wait_forever, concurrent=concurrent)
    looker = Recorder(concurrent=concurrent)
    model = ScriptedModel(calling("look", "hang"))
    _, result = await failing(
        model, BudgetExceededError, tools=[hanging, looker.tool], budget=Budget(seconds=1)
    )
    assert [outcome.content for outcome in result.tool_calls] == ["found"]
    assert [turn.content for turn in result.messages[-2:]] == ["found", INTERRUPTED]


# Tools that end the run


@pytest.mark.parametrize("concurrent", [False, True], ids=["in order", "together"])
async def test_a_fatal_error_ends_the_run(concurrent: bool) -> None:
    fatal = Recorder("fatal", answer=ToolError("gone", fatal=True), concurrent=concurrent)
    later = Recorder("later")
    model = ScriptedModel(calling("fatal", "fatal", "later"))
    error, result = await failing(model, ToolError, tools=[fatal.tool, later.tool])
    assert error is fatal.answer
    assert result.termination is Termination.TOOL_FAILURE
    assert result.tool_calls[0].content == "error: gone"
    assert later.inputs == []
    assert prepare(tuple(result.messages)) == result.messages
    assert [turn.role for turn in result.messages[-3:]] == ["tool"] * 3


async def test_a_fatal_error_cancels_the_neighbours() -> None:
    cancelled: list[str] = []

    async def hang(_: dict[str, Any]) -> str:
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            cancelled.append("hang")
            raise
        return ""

    hanging = Tool("hang", "Hang.", None, hang, concurrent=True)
    fatal = Recorder("fatal", answer=ToolError("gone", fatal=True), concurrent=True)
    model = ScriptedModel(calling("hang", "fatal"))
    _, result = await failing(model, ToolError, tools=[hanging, fatal.tool])
    assert cancelled == ["hang"]
    assert [turn.content for turn in result.messages[-2:]] == [INTERRUPTED, "error: gone"]


# Together


async def test_neighbours_that_all_allow_it_run_together_and_keep_their_order() -> None:
    started: list[int] = []
    everybody = anyio.Event()

    async def meet(values: dict[str, int]) -> int:
        started.append(values["n"])
        if len(started) == 3:
            everybody.set()
        await everybody.wait()
        for _ in range(3 - values["n"]):
            await anyio.lowlevel.checkpoint()
        return values["n"]

    meeting = Tool("meet", "Meet.", {"type": "object"}, meet, concurrent=True)
    model = ScriptedModel(calling(*[call("meet", f'{{"n": {n}}}') for n in range(3)]), "b")
    with anyio.fail_after(5):
        result = await ask(model, tools=[meeting])
    assert [outcome.content for outcome in result.tool_calls] == ["0", "1", "2"]
    assert [turn.content for turn in result.messages[2:5]] == ["0", "1", "2"]


async def test_a_tool_that_does_not_allow_it_keeps_its_place() -> None:
    order: list[str] = []

    def logging_tool(name: str, *, concurrent: bool) -> Tool:
        async def log(_: dict[str, Any]) -> str:
            order.append(f"{name} starts")
            await anyio.lowlevel.checkpoint()
            order.append(f"{name} ends")
            return name

        return Tool(name, "Log.", None, log, concurrent=concurrent)

    tools = [logging_tool("both", concurrent=True), logging_tool("alone", concurrent=False)]
    model = ScriptedModel(calling("both", "alone", "both"), "b")
    await ask(model, tools=tools)
    assert order == [
        f"{name} {what}" for name in ("both", "alone", "both") for what in ("starts", "ends")
    ]


async def test_the_number_that_run_together_is_bounded() -> None:
    running = 0
    most = 0

    async def count(values: dict[str, Any]) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        running -= 1
        return "ok"

    counting = Tool("count", "Count.", None, count, concurrent=True)
    model = ScriptedModel(calling(*["count"] * 32), "b")
    result = await ask(model, tools=[counting])
    assert most == MAX_CONCURRENT_CALLS
    assert len(result.tool_calls) == 32


# Confirmation


def erasing() -> tuple[Recorder, Recorder]:
    return Recorder("erase", effect="write", confirm=True), Recorder("look")


async def test_a_call_to_confirm_ends_the_run_with_what_waits() -> None:
    erase, look = erasing()
    model = ScriptedModel(calling("look", "erase", text="May I?"))
    result = await ask(model, tools=[erase.tool, look.tool])
    assert result.termination is Termination.NEEDS_CONFIRMATION
    assert [one.name for one in result.pending] == ["look", "erase"]
    assert erase.inputs == look.inputs == []
    assert result.messages[-1].tool_calls == result.pending


async def test_a_resumed_run_runs_what_was_approved_and_nothing_else() -> None:
    erase, look = erasing()
    model = ScriptedModel(calling("erase", "erase", "look"), "done")
    tools = [erase.tool, look.tool]
    waiting = await ask(model, tools=tools)
    approved = [waiting.pending[1].id]
    result = await ask(model, "", tools=tools, history=waiting.messages, approve=approved)
    assert len(erase.inputs) == 1
    assert look.inputs == []
    assert [turn.text for turn in result.messages[2:5]] == [
        f"error: {DECLINED}",
        "found",
        f"error: {DECLINED}",
    ]
    assert [outcome.executed for outcome in result.tool_calls] == [False, True, False]
    assert (result.text, result.iterations) == ("done", 1)
    assert result.termination is Termination.COMPLETED


async def test_a_resumed_run_that_approves_nothing_declines_everything() -> None:
    erase, look = erasing()
    model = ScriptedModel(calling("erase"), "as you wish")
    waiting = await ask(model, tools=[erase.tool, look.tool])
    result = await ask(model, "", tools=[erase.tool], history=waiting.messages)
    assert erase.inputs == []
    assert result.tool_calls[0].content == f"error: {DECLINED}"


async def test_a_resumed_run_may_say_something_too() -> None:
    erase, _ = erasing()
    model = ScriptedModel(calling("erase"), "done")
    waiting = await ask(model, tools=[erase.tool])
    await ask(
        model,
        "and be quick",
        tools=[erase.tool],
        history=waiting.messages,
        approve=[one.id for one in waiting.pending],
    )
    assert len(erase.inputs) == 1
    assert [role for role, _ in sent(model.requests[1])] == ["user", "assistant", "tool", "user"]


async def test_calls_that_wait_are_declined_by_a_run_about_something_else() -> None:
    erase, _ = erasing()
    model = ScriptedModel(calling("erase"), "hello")
    waiting = await ask(model, tools=[erase.tool])
    told: list[RunEvent] = []
    result = await ask(
        model, "never mind", tools=[erase.tool], history=waiting.messages, on_event=told.append
    )
    assert erase.inputs == []
    finished = [event.outcome for event in told if isinstance(event, ToolFinished)]
    assert finished == list(result.tool_calls)
    assert [(one.call.name, one.is_error, one.executed) for one in finished] == [
        ("erase", True, False)
    ]
    assert sent(model.requests[1])[2:] == [("tool", f"error: {DECLINED}"), ("user", "never mind")]


async def test_answers_given_before_the_pause_keep_their_place() -> None:
    erase, look = erasing()
    model = ScriptedModel(calling("erase", "nobody", "erase"), "done")
    waiting = await ask(model, tools=[erase.tool, look.tool])
    ids = [one.id for one in waiting.pending]
    result = await ask(model, "", tools=[erase.tool], history=waiting.messages, approve=ids)
    assert [turn.text.split()[0] for turn in result.messages[2:5]] == ["found", "error:", "found"]
    assert prepare(tuple(result.messages)) == result.messages


@pytest.mark.parametrize(("answer", "runs"), [(True, 1), (False, 0), ("yes", 0), (None, 0)])
async def test_a_callback_is_asked_for_each_call_and_only_true_agrees(
    answer: Any, runs: int
) -> None:
    erase, look = erasing()
    asked: list[ToolCall] = []

    async def confirm(one: ToolCall) -> Any:
        asked.append(one)
        return answer

    model = ScriptedModel(calling("erase", "look", "erase"), "b")
    result = await ask(model, tools=[erase.tool, look.tool], confirm=confirm)
    assert [one.name for one in asked] == ["erase", "erase"]
    assert len(erase.inputs) == 2 * runs
    assert len(look.inputs) == 1
    assert result.text == "b"
    assert result.tool_calls[0].executed is bool(runs)


async def test_a_call_that_was_approved_is_not_asked_for_again() -> None:
    erase, _ = erasing()
    model = ScriptedModel(calling("erase"), calling("erase"), "done")
    waiting = await ask(model, tools=[erase.tool])
    asked: list[ToolCall] = []

    async def decline(one: ToolCall) -> bool:
        asked.append(one)
        return False

    result = await ask(
        model,
        "",
        tools=[erase.tool],
        history=waiting.messages,
        approve=[waiting.pending[0].id],
        confirm=decline,
    )
    assert len(asked) == 1
    assert [outcome.executed for outcome in result.tool_calls] == [True, False]


async def test_a_callback_may_be_a_plain_function() -> None:
    erase, _ = erasing()
    model = ScriptedModel(calling("erase"), "b")
    await ask(model, tools=[erase.tool], confirm=lambda _: True)
    assert len(erase.inputs) == 1


async def test_neighbours_are_confirmed_one_by_one_before_they_run() -> None:
    erase = Recorder("erase", confirm=True, concurrent=True)
    answers = iter([True, False, True])
    model = ScriptedModel(calling("erase", "erase", "erase"), "b")
    result = await ask(model, tools=[erase.tool], confirm=lambda _: next(answers))
    assert [outcome.executed for outcome in result.tool_calls] == [True, False, True]


# Typed answers


class City(BaseModel):
    name: str
    people: int


async def test_a_typed_answer_is_a_value_of_its_type() -> None:
    model = ScriptedModel('{"name": "Paris", "people": 2000000}')
    result = await ask(model, system="s", output=City)
    assert result.output == City(name="Paris", people=2_000_000)
    system = model.requests[0].messages[0].text
    assert system.startswith("s\n\n")
    assert '"people"' in system
    assert result.messages[0].content == "s"


async def test_a_typed_answer_may_come_after_calls() -> None:
    model = ScriptedModel(calling("look"), '{"value": [1, 2]}')
    result = await ask(model, output=list[int], tools=[Recorder().tool])
    assert result.output == [1, 2]


async def test_a_typed_answer_that_does_not_match_is_asked_for_once_more() -> None:
    events: list[RunEvent] = []
    model = ScriptedModel('{"name": "Paris"}', '{"name": "Paris", "people": 1}')
    result = await ask(model, output=City, on_event=events.append)
    assert result.output == City(name="Paris", people=1)
    assert result.iterations == 2
    problems = [event.problem for event in events if isinstance(event, OutputRejected)]
    assert len(problems) == 1
    assert problems[0] in model.requests[1].messages[-1].text


class Failing(BaseModel):
    x: int

    @model_validator(mode="after")
    def _check(self) -> "Failing":
        raise KeyError("hunter2")


async def test_what_a_validator_raises_does_not_lose_the_run() -> None:
    looker = Recorder()
    model = ScriptedModel(calling("look"), '{"x": 1}', '{"x": 1}')
    error, result = await failing(model, InvalidJSONError, output=Failing, tools=[looker.tool])
    assert "hunter2" not in error.message + error.detail
    assert [one.content for one in result.tool_calls] == ["found"]
    assert result.text == '{"x": 1}'


async def test_an_error_says_that_it_was_asked_again_only_when_it_was() -> None:
    error, _ = await failing(ScriptedModel("no"), NotJSONError, output=City, max_iterations=1)
    assert "again" not in error.message
    error, _ = await failing(ScriptedModel("no", "no"), NotJSONError, output=City)
    assert "again" in error.message


async def test_a_typed_answer_that_never_matches_is_an_error() -> None:
    model = ScriptedModel('{"name": "Paris"}', '{"name": "hunter2"}', "unused")
    error, result = await failing(model, InvalidJSONError, output=City)
    assert "hunter2" not in repr(error)
    assert len(model.requests) == 2
    assert result.text == '{"name": "hunter2"}'
    assert result.output is None


# Interrupts


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("calls", [1, 2])
@pytest.mark.parametrize("streamed", [False, True], ids=["run", "run_stream"])
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_interrupt_in_a_tool_ends_the_run_as_itself(
    backend: str, streamed: bool, calls: int, interrupt: type[BaseException]
) -> None:
    async def stop(_: dict[str, Any]) -> None:
        await anyio.lowlevel.checkpoint()
        raise interrupt

    async def main() -> None:
        model = ScriptedModel(calling(*["stop"] * calls))
        stopping = Tool("stop", "Stop.", None, stop, concurrent=True)
        if not streamed:
            await ask(model, tools=[stopping])
            return
        async with model.run_stream("a", tools=[stopping], max_tokens=8) as run:
            async for _ in run:
                pass

    with pytest.raises(interrupt):
        anyio.run(main, backend=backend)


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
@pytest.mark.parametrize("concurrent", [False, True])
async def test_what_somebody_else_cancelled_ends_a_call_and_not_the_run(concurrent: bool) -> None:
    async def wait(_: dict[str, Any]) -> None:
        other = asyncio.ensure_future(asyncio.sleep(30))
        other.cancel()
        await other

    waiting = Tool("wait", "Wait.", None, wait, concurrent=concurrent)
    looker = Recorder(concurrent=concurrent)
    model = ScriptedModel(calling("wait", "look", "wait"), "b")
    result = await ask(model, tools=[waiting, looker.tool])
    assert [one.content for one in result.tool_calls] == [CANCELLED, "found", CANCELLED]
    assert result.text == "b"


# Events


async def test_events_tell_the_run_in_order() -> None:
    events: list[RunEvent] = []

    async def note(event: RunEvent) -> None:
        await anyio.lowlevel.checkpoint()
        events.append(event)

    model = ScriptedModel(calling("look", "nobody"), "b")
    result = await ask(model, tools=[Recorder().tool], on_event=note)
    assert [type(event) for event in events] == [
        RoundStarted,
        ReplyReceived,
        ToolStarted,
        ToolFinished,
        ToolFinished,
        RoundStarted,
        ReplyReceived,
        RunFinished,
    ]
    assert [event.iteration for event in events if isinstance(event, RoundStarted)] == [1, 2]
    finished = [event.outcome for event in events if isinstance(event, ToolFinished)]
    assert tuple(finished) == result.tool_calls
    assert events[-1] == RunFinished(result=result)


async def test_neighbours_are_told_in_order_too() -> None:
    events: list[str] = []
    looker = Recorder(concurrent=True)
    model = ScriptedModel(calling("look", "look"), "b")
    await ask(
        model, tools=[looker.tool], on_event=lambda event: events.append(type(event).__name__)
    )
    assert events[2:6] == ["ToolStarted", "ToolStarted", "ToolFinished", "ToolFinished"]


async def test_what_a_callback_raises_ends_the_run_as_it_is() -> None:
    def fail(event: RunEvent) -> None:
        if isinstance(event, ToolFinished):
            raise LookupError("mine")  # noqa: TRY004  it only has to be nobody else's

    looker = Recorder()
    model = ScriptedModel(calling("look", "look"), "b")
    with pytest.raises(LookupError):
        await ask(model, tools=[looker.tool], on_event=fail)
    assert len(looker.inputs) == 1


# Cancellation


async def _cancel_after(steps: int, work: Callable[[], Awaitable[object]]) -> bool:
    """Cancel the work after a number of scheduling steps; whether it had ended by itself."""
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:

            async def cancel() -> None:
                for _ in range(steps):
                    await anyio.lowlevel.checkpoint()
                scope.cancel()

            tasks.start_soon(cancel)
            await work()
            tasks.cancel_scope.cancel()
            return True
    return False


@pytest.mark.parametrize("concurrent", [False, True], ids=["in order", "together"])
async def test_a_run_can_be_cancelled_at_every_await(concurrent: bool) -> None:
    """Nothing is left running, nothing is half done, and the next run works."""
    running = 0

    async def slow(values: dict[str, Any]) -> str:
        nonlocal running
        running += 1
        try:
            for _ in range(3):
                await anyio.lowlevel.checkpoint()
        finally:
            running -= 1
        return "ok"

    slow_tool = Tool("slow", "Take time.", None, slow, concurrent=concurrent)

    async def work() -> None:
        model = ScriptedModel(calling("slow", "slow"), "b")
        result = await ask(model, tools=[slow_tool], on_event=lambda _: anyio.lowlevel.checkpoint())
        assert result.text == "b"

    cancelled = 0
    while not await _cancel_after(cancelled, work):
        assert running == 0
        cancelled += 1
    assert 5 < cancelled < 200
    await work()


async def test_cancelling_from_outside_is_no_budget_error() -> None:
    model = ScriptedModel(silent)
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, model)
            await anyio.wait_all_tasks_blocked()
            scope.cancel()
    assert scope.cancelled_caught
