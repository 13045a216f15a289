"""A run whose events are iterated: the same run, whoever reads, however it ends."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from rig.agent.budget import Budget
from rig.agent.request import RunRequest
from rig.agent.run import run
from rig.agent.run_stream import MAX_WAITING_EVENTS, RunStream, stream_run
from rig.agent.tools import Tool
from rig.errors import (
    BudgetExceededError,
    EmptyReplyError,
    InvalidRequestError,
    NotConfiguredError,
    OutputLimitError,
    RefusedError,
    RigError,
    ServerError,
    StreamCutError,
    ToolError,
)
from rig.events import (
    ContextTruncated,
    OutputRejected,
    ReasoningDelta,
    RepetitionCut,
    ReplyReceived,
    RoundStarted,
    RunEvent,
    RunFinished,
    RunResult,
    Termination,
    TextDelta,
    ToolCallArguments,
    ToolCallFinished,
    ToolCallStarted,
    ToolFinished,
    ToolStarted,
    UsageReported,
)
from rig.messages import ToolCall, Usage
from rig.model import ChatRequest, Reply
from rig.testing import ScriptedModel
from rig.text.repetition import Repetition

CALL = ToolCall(id="1", name="look", arguments='{"at":"sky"}')
USAGE = Usage(prompt_tokens=7, completion_tokens=3)
LOOP = Reply(
    text="so: looploop",
    finish_reason="repetition",
    repetition=Repetition(period=4, reps=2, trailing=4, sample="loop", where="content"),
)


async def look(values: dict[str, Any]) -> str:
    await anyio.lowlevel.checkpoint()
    return "blue"


LOOK = Tool("look", "Look it up.", {"type": "object"}, look)


def two_rounds() -> ScriptedModel:
    return ScriptedModel(
        Reply(text="let me", reasoning="hmm", tool_calls=(CALL,), usage=USAGE),
        Reply(text="blue.", usage=USAGE),
    )


def request(**fields: Any) -> RunRequest[Any]:
    defaults: dict[str, Any] = {"max_tokens": 10, "tools": [LOOK], "stream": True}
    return RunRequest("a", **(defaults | fields))


async def events_of_run(
    model: ScriptedModel, **fields: Any
) -> tuple[list[RunEvent], RunResult[Any]]:
    async with stream_run(model, request(**fields)) as stream:
        events = [event async for event in stream]
        return events, stream.result()


async def test_events_tell_the_whole_run_in_order() -> None:
    events, result = await events_of_run(two_rounds())
    first, second = [event.reply for event in events if isinstance(event, ReplyReceived)]
    [outcome] = result.tool_calls
    assert events == [
        RoundStarted(iteration=1),
        ReasoningDelta(text="hmm"),
        TextDelta(text="let"),
        TextDelta(text=" me"),
        ToolCallStarted(index=0, name="look"),
        ToolCallArguments(index=0, name="look", arguments='{"a'),
        ToolCallArguments(index=0, name="look", arguments='t":'),
        ToolCallArguments(index=0, name="look", arguments='"sk'),
        ToolCallArguments(index=0, name="look", arguments='y"}'),
        ToolCallFinished(index=0, name="look", arguments='{"at":"sky"}'),
        UsageReported(usage=USAGE),
        ReplyReceived(iteration=1, reply=first),
        ToolStarted(call=CALL),
        ToolFinished(outcome=outcome),
        RoundStarted(iteration=2),
        TextDelta(text="blu"),
        TextDelta(text="e."),
        UsageReported(usage=USAGE),
        ReplyReceived(iteration=2, reply=second),
        RunFinished(result=result),
    ]
    assert result.text == "blue."


async def test_the_result_is_that_of_a_run_that_is_not_streamed() -> None:
    plain = await run(two_rounds(), request(stream=False))
    told: list[RunEvent] = []
    streamed = await run(two_rounds(), request(on_event=told.append))
    events, iterated = await events_of_run(two_rounds())
    assert timeless(plain) == timeless(streamed) == timeless(iterated)
    assert [type(event) for event in told] == [type(event) for event in events]


def timeless(result: RunResult[Any]) -> RunResult[Any]:
    outcomes = tuple((one.call, one.content) for one in result.tool_calls)
    return RunResult(**(vars(result) | {"tool_calls": outcomes}))


async def test_a_callback_is_told_too_and_first_come_the_events_of_the_stream() -> None:
    told: list[RunEvent] = []
    events, _ = await events_of_run(two_rounds(), on_event=told.append)
    assert events == told


async def test_a_typed_answer_is_streamed_and_asked_for_again() -> None:
    events, result = await events_of_run(ScriptedModel("no", '{"value": 1}'), output=int, tools=[])
    assert result.output == 1
    assert [type(event) for event in events].count(OutputRejected) == 1


async def test_a_refusal_is_a_result() -> None:
    for refusal in (Reply(refusal="no"), RefusedError("no")):
        _, result = await events_of_run(ScriptedModel(refusal))
        assert result.termination is Termination.REFUSED


async def test_an_event_is_there_as_soon_as_it_happened() -> None:
    goes_on = anyio.Event()

    async def slow(_: ChatRequest) -> Reply:
        await goes_on.wait()
        return Reply(text="done")

    async with stream_run(ScriptedModel(slow), request()) as stream:
        events = aiter(stream)
        assert await anext(events) == RoundStarted(iteration=1)
        goes_on.set()
        assert [type(event) async for event in events][:2] == [TextDelta, TextDelta]


# The result


async def test_there_is_no_result_while_the_run_goes_on() -> None:
    async with stream_run(two_rounds(), request()) as stream:
        with pytest.raises(InvalidRequestError):
            stream.result()
        async for event in stream:
            if isinstance(event, RunFinished):
                assert stream.result() is event.result  # at the last event already
                break
            with pytest.raises(InvalidRequestError):
                stream.result()
    assert stream.result().text == "blue."


async def test_a_run_that_was_left_tells_how_far_it_came() -> None:
    async with stream_run(two_rounds(), request()) as stream:
        async for event in stream:
            if isinstance(event, ToolFinished):
                break
    result = stream.result()
    assert [turn.role for turn in result.messages] == ["user", "assistant", "tool"]
    assert (result.text, result.termination, result.iterations) == ("let me", None, 1)
    assert [event async for event in stream] == []


async def test_a_run_that_ended_before_it_was_left_has_its_result_all_the_same() -> None:
    async with stream_run(ScriptedModel("b"), request()) as stream:
        await anext(aiter(stream))
        await anyio.wait_all_tasks_blocked()
    assert stream.result().text == "b"
    assert stream.result().termination is Termination.COMPLETED


# Errors


FAILURES: dict[str, tuple[Any, type[RigError], str]] = {
    "the model fails": (ServerError("down", status=500), ServerError, "let me"),
    "a reply is cut": (Reply(text="half", finish_reason="length"), OutputLimitError, "half"),
    "a reply is empty": (Reply(), EmptyReplyError, "let me"),
    "a stream breaks": (StreamCutError("cut"), StreamCutError, "let me"),
}


@pytest.mark.parametrize(("reply", "error", "text"), FAILURES.values(), ids=FAILURES.keys())
async def test_an_error_comes_out_of_the_iteration_as_itself_with_what_was_done(
    reply: Any, error: type[RigError], text: str
) -> None:
    model = ScriptedModel(Reply(text="let me", tool_calls=(CALL,)), reply)
    events: list[RunEvent] = []
    with pytest.raises(error) as caught:
        async with stream_run(model, request()) as stream:
            async for event in stream:
                events.append(event)  # noqa: PERF401 what came before the error counts
    assert caught.value.__context__ is None
    assert caught.value.result is not None
    assert caught.value.result.text == text
    assert [turn.role for turn in caught.value.result.messages][:3] == ["user", "assistant", "tool"]
    assert any(isinstance(event, ToolFinished) for event in events)
    assert stream.result() is caught.value.result


async def test_an_error_is_raised_once_and_the_block_goes_on() -> None:
    async with stream_run(ScriptedModel(ServerError("down")), request()) as stream:
        with pytest.raises(ServerError) as caught:
            async for _ in stream:
                pass
        assert [event async for event in stream] == []
        assert stream.result() is caught.value.result


async def test_a_tool_that_fails_for_good_ends_the_stream() -> None:
    async def fatal(_: dict[str, Any]) -> str:
        raise ToolError("gone", fatal=True)

    model = ScriptedModel(Reply(tool_calls=(CALL,)))
    with pytest.raises(ToolError):
        await events_of_run(model, tools=[Tool("look", "Look.", None, fatal)])


async def test_what_a_callback_raises_comes_out_as_it_is() -> None:
    def fail(event: RunEvent) -> None:
        raise LookupError

    async with stream_run(ScriptedModel("b"), request(on_event=fail)) as stream:
        with pytest.raises(LookupError):
            async for _ in stream:
                pass
        assert stream.result().termination is None


async def test_what_the_block_raises_comes_out_as_it_is_and_ends_the_run() -> None:
    async with anyio.create_task_group():
        with pytest.raises(LookupError):
            async with stream_run(two_rounds(), request()) as stream:
                async for _ in stream:
                    raise LookupError


@pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)
async def test_a_deadline_ends_the_stream() -> None:
    async def silent(_: ChatRequest) -> Reply:
        await anyio.sleep_forever()
        raise AssertionError

    with pytest.raises(BudgetExceededError):
        await events_of_run(ScriptedModel(silent), budget=Budget(seconds=1))


async def test_a_model_that_cannot_stream_says_so() -> None:
    class Plain:
        async def complete(self, request: ChatRequest, /) -> Reply:
            return Reply(text="b")

    with pytest.raises(NotConfiguredError):
        await run(Plain(), request())
    with pytest.raises(NotConfiguredError):
        async with stream_run(Plain(), request()):  # type: ignore[arg-type]  # the point of the test
            pass
    assert (await run(Plain(), request(stream=False))).text == "b"


# Loops and cut prompts


async def test_a_reply_cut_for_its_loop_is_asked_for_again() -> None:
    model = ScriptedModel(LOOP, LOOP, "all well")
    events, result = await events_of_run(model)
    assert [type(event) for event in events].count(RepetitionCut) == 2
    assert result.text == "all well"
    sent = [turn.content for turn in model.requests[2].messages]
    assert sent[0] == "a"
    assert "looploop" not in str(sent)
    assert [turn.role for turn in result.messages] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
        "assistant",
    ]


async def test_three_loops_in_a_row_are_an_error() -> None:
    with pytest.raises(OutputLimitError) as caught:
        await events_of_run(ScriptedModel(LOOP, LOOP, LOOP))
    assert (caught.value.reason, caught.value.text) == ("repetition", "so: loop")
    assert caught.value.result is not None
    assert caught.value.result.termination is Termination.BUDGET_EXHAUSTED


async def test_a_prompt_that_was_cut_is_told_of_once() -> None:
    prompt = "word " * 4000
    usage = Usage(prompt_tokens=2048, completion_tokens=1)
    model = ScriptedModel(Reply(tool_calls=(CALL,), usage=usage), Reply(text="b", usage=usage))
    events: list[RunEvent] = []
    await run(model, RunRequest(prompt, max_tokens=10, tools=[LOOK], on_event=events.append))
    [truncated] = [event for event in events if isinstance(event, ContextTruncated)]
    assert truncated.read_tokens == 2048


# Who reads slowly, or leaves


async def test_a_run_waits_for_who_reads_it() -> None:
    model = ScriptedModel(Reply(text="ab" * 3 * MAX_WAITING_EVENTS))
    async with stream_run(model, request()) as stream:
        events = aiter(stream)
        await anext(events)
        await anyio.wait_all_tasks_blocked()
        assert len(stream._feed._waiting) == MAX_WAITING_EVENTS
        assert (
            sum([isinstance(event, TextDelta) async for event in events]) == 2 * MAX_WAITING_EVENTS
        )
    assert stream.result().text == "ab" * 3 * MAX_WAITING_EVENTS


@pytest.mark.parametrize("concurrent", [False, True], ids=["alone", "together"])
async def test_leaving_the_block_cancels_the_tools(concurrent: bool) -> None:
    running = 0

    async def slow(_: dict[str, Any]) -> str:
        nonlocal running
        running += 1
        try:
            await anyio.sleep_forever()
        finally:
            running -= 1
        raise AssertionError

    calls = (CALL, ToolCall(id="2", name="look", arguments="{}"))
    model = ScriptedModel(Reply(tool_calls=calls))
    slow_tool = Tool("look", "Look.", None, slow, concurrent=concurrent)
    async with stream_run(model, request(tools=[slow_tool])) as stream:
        async for event in stream:
            if isinstance(event, ToolStarted):
                break
        await anyio.wait_all_tasks_blocked()
        assert running == (2 if concurrent else 1)
    assert running == 0
    assert "it may have taken effect" in stream.result().messages[2].text


async def _cancel_after(steps: int, work: Callable[[], Awaitable[object]]) -> bool:
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


async def test_a_streamed_run_can_be_cancelled_at_every_await() -> None:
    running = 0
    seen: list[RunStream[Any]] = []

    async def slow(values: dict[str, Any]) -> str:
        nonlocal running
        running += 1
        try:
            for _ in range(3):
                await anyio.lowlevel.checkpoint()
        finally:
            running -= 1
        return "ok"

    async def work() -> None:
        async with stream_run(
            two_rounds(), request(tools=[Tool("look", "Look.", None, slow)])
        ) as stream:
            seen.append(stream)
            async for _ in stream:
                await anyio.lowlevel.checkpoint()
        assert stream.result().text == "blue."

    cancelled = 0
    while not await _cancel_after(cancelled, work):
        assert running == 0
        if seen:
            seen.pop().result()  # how far it came
        cancelled += 1
    assert 5 < cancelled < 300
    await work()
