"""`client.run_stream` over sockets: what people see is what the result says, and leaving ends it all."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.lowlevel
import pytest
from pydantic_core import from_json

from rig import (
    Client,
    EmptyReplyError,
    InvalidRequestError,
    IterationLimitError,
    NotConfiguredError,
    OutputLimitError,
    RepetitionCut,
    RequestTimeoutError,
    RetryEvent,
    RetryPolicy,
    RigError,
    RoundStarted,
    RunEvent,
    RunRequest,
    RunResult,
    ServerError,
    Skill,
    StreamCutError,
    Termination,
    TextDelta,
    TextRetracted,
    Timeouts,
    ToolCallFinished,
    ToolFinished,
    ToolStarted,
    UsageReported,
    tool,
)
from rig.client.running import RunMixin
from rig.model import ChatRequest, Reply
from rig.testing import (
    Answer,
    Close,
    FakeBackend,
    Hang,
    ReceivedRequest,
    answer,
    call_deltas,
    chunk,
    encode_event,
    faults,
    head,
    raw,
    repeat,
    reply,
    sse,
    stream,
)
from rig.testing.answers import LazySteps

DATA = Path(__file__).parents[1] / "data" / "text"
BLOCK = "EXCLUSIVE OF THE EASTERLY 100 FEET OF SAID LOTS 7 TO 10, "
RAN: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    RAN.clear()


@tool
async def weather(city: str) -> str:
    """Look up the weather of a city."""
    RAN.append(city)
    return "18 degrees"


PARIS = ("weather", {"city": "Paris"})


@asynccontextmanager
async def asking(*answers: Any, **options: Any) -> AsyncGenerator[tuple[Client, FakeBackend]]:
    backend = FakeBackend(*answers)
    defaults: dict[str, Any] = {"retry": RetryPolicy(initial_s=0.001), "model": "fake"}
    async with backend.serve(), Client(backend.url, **(defaults | options)) as client:
        yield client, backend
        transport = cast("Any", client._http._route).pool
        assert transport.in_use == 0


async def events_of(client: Client, **options: Any) -> tuple[list[RunEvent], RunResult[Any]]:
    defaults: dict[str, Any] = {"tools": [weather], "max_tokens": 64}
    async with client.run_stream("What is the weather?", **(defaults | options)) as run:
        events = [event async for event in run]
        return events, run.result()


def shown(events: list[RunEvent]) -> str:
    """What a reader of the events has before her at the end."""
    text = ""
    for event in events:
        match event:
            case RoundStarted():
                text = ""
            case TextRetracted():
                assert event.text == text
                text = ""
            case TextDelta():
                text += event.text
            case _:
                pass
    return text


# What is shown


def leaks() -> dict[str, str]:
    rows = [
        from_json(line)
        for name in ("reasoning-cases.jsonl", "reasoning-leaks.jsonl")
        for line in (DATA / name).read_text(encoding="utf-8").splitlines()
    ]
    return {row["id"]: row["input"] for row in rows}


def by_event(text: str, size: int) -> Answer:
    return stream(*(text[at : at + size] for at in range(0, len(text), size)))


def by_byte(text: str) -> Answer:
    """The events of three-character deltas, one byte a chunk of the body."""
    pieces = [text[at : at + 3] for at in range(0, len(text), 3)]
    body = b"".join(
        encode_event({"choices": [{"index": 0, "delta": {"content": piece}}]}) for piece in pieces
    )
    body += encode_event({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    body += encode_event("[DONE]")
    headers = {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}
    return raw(head(200, headers), *(chunk(bytes([byte])) for byte in body), chunk(b""))


@pytest.mark.parametrize("text", leaks().values(), ids=leaks().keys())
async def test_f1_f2_f3_what_was_shown_is_the_result_for_every_leak(text: str) -> None:
    ways = [by_event(text, 1), by_event(text, 3), by_byte(text)]
    async with asking(*ways) as (client, _):
        expected = await outcome_of(FakeBackend(reply(text)))
        for number in range(len(ways)):
            model = f"m{number}"  # of each the client knows nothing yet
            assert await streamed_outcome(client, model) == expected


async def streamed_outcome(client: Client, model: str) -> str:
    """The same of a streamed run, which must have shown just that text."""
    events: list[RunEvent] = []
    async with client.run_stream("hi", model=model, max_tokens=8) as run:
        try:
            async for event in run:
                events.append(event)  # noqa: PERF401 what came before an error counts
        except EmptyReplyError as error:
            thoughts = error.reasoning
        else:
            thoughts = ""
    text = run.result().text
    assert shown(events) == text
    return text or thoughts


async def outcome_of(backend: FakeBackend) -> str:
    """The text of a run that is not streamed, or the thoughts where there is none."""
    async with backend.serve(), Client(backend.url, model="fake") as client:
        try:
            return (await client.run("hi", max_tokens=8)).text
        except EmptyReplyError as error:
            return error.reasoning


async def test_text_is_shown_in_tool_rounds_too() -> None:
    async with asking(stream("let me ", "look", *call_deltas(PARIS)), stream("18 ", "degrees")) as (
        client,
        backend,
    ):
        events, result = await events_of(client)
    assert RAN == ["Paris"]
    rounds = [event for event in events if isinstance(event, TextDelta | RoundStarted)]
    assert rounds == [
        RoundStarted(iteration=1),
        TextDelta(text="let me"),
        TextDelta(text=" look"),
        RoundStarted(iteration=2),
        TextDelta(text="18"),
        TextDelta(text=" degrees"),
    ]
    assert result.text == "18 degrees"
    assert backend.requests[1].json["messages"][-1]["content"] == "18 degrees"
    assert result.usage.total_tokens == 30
    assert [e.usage.total_tokens for e in events if isinstance(e, UsageReported)] == [15, 15]
    assert backend.connections.opened == 2  # one rests while the other is used


async def test_a_streamed_run_is_the_run() -> None:
    streams = [stream("let me", *call_deltas(PARIS)), stream("18 degrees")]
    whole = [reply("let me", tool_calls=[PARIS]), reply("18 degrees")]
    results: list[RunResult[Any]] = []
    for answers, streamed in ((streams, True), (whole, True), (whole, False)):
        async with asking(*answers) as (client, _):
            result = await client.run("hi", tools=[weather], max_tokens=64, stream=streamed)
            results.append(result)
    assert [timeless(result) for result in results] == [timeless(results[0])] * 3


def timeless(result: RunResult[Any]) -> tuple[object, ...]:
    calls = [(one.call, one.content) for one in result.tool_calls]
    return result.text, result.messages, calls, result.usage.total_tokens, result.iterations


async def test_what_the_server_separated_goes_back_inside_the_loop() -> None:
    async with asking(stream({"reasoning_content": "hm"}, *call_deltas(PARIS)), stream("18")) as (
        client,
        backend,
    ):
        await events_of(client)
    [turn] = [m for m in backend.requests[1].json["messages"] if m["role"] == "assistant"]
    assert turn["reasoning_content"] == "hm"


# Faults


FAILURES: dict[str, tuple[list[Any], type[RigError]]] = {
    "cut at max_tokens": ([stream("half", finish_reason="length")], OutputLimitError),
    "a call cut at max_tokens": (
        [stream(*call_deltas(("weather", '{"city": "Par')), finish_reason="length")],
        OutputLimitError,
    ),
    "nothing but a thought": ([stream("<think>", "hm")], EmptyReplyError),
    "the end of the stream is missing": ([faults.cut_stream()], StreamCutError),
    "closed on the way": ([stream("a", Close())], StreamCutError),
    "silent on the way": ([stream("a", Hang())], RequestTimeoutError),
    "cut in the second round": (
        [stream(*call_deltas(PARIS)), stream("a", Close())],
        StreamCutError,
    ),
    "500 calls": ([stream(*call_deltas(*[PARIS] * 500, piece_chars=99))], IterationLimitError),
    "a model that calls for ever": ([repeat(stream(*call_deltas(PARIS)))], IterationLimitError),
    "a server that is down": ([repeat(answer(503))], ServerError),
}


@pytest.mark.parametrize(("answers", "error"), FAILURES.values(), ids=FAILURES.keys())
async def test_a_fault_is_an_error_with_what_was_done(
    answers: list[Any], error: type[RigError]
) -> None:
    async with asking(*answers, timeouts=Timeouts(idle_s=0.1)) as (client, backend):
        with pytest.raises(error) as caught:
            await events_of(client)
    assert caught.value.__context__ is None
    assert caught.value.result is not None
    assert len(caught.value.result.tool_calls) == len(RAN)
    assert backend.unexpected == 0


async def test_cut_arguments_with_a_clean_finish_never_run_and_are_never_told_as_finished() -> None:
    cut = stream(*call_deltas(("weather", '{"city": "Par')))
    async with asking(cut, stream("ok")) as (client, backend):
        events, result = await events_of(client)
    assert RAN == []
    assert not any(isinstance(event, ToolCallFinished | ToolStarted) for event in events)
    assert "NOT executed" in backend.requests[1].json["messages"][-1]["content"]
    assert result.text == "ok"


async def test_retries_are_events_of_the_run_and_told_before_the_wait() -> None:
    events: list[RunEvent] = []
    busy = answer(429, headers=[("retry-after-ms", "1")])
    async with asking(busy, stream("a"), busy, reply("b")) as (client, _):
        streamed, _ = await events_of(client)
        await client.run("hi", max_tokens=8, on_event=events.append)
    for told in (streamed, events):
        assert [event.kind for event in told if isinstance(event, RetryEvent)] == [
            "429",
            "recovered",
        ]
        assert isinstance(told[0], RoundStarted)
        assert isinstance(told[1], RetryEvent)


async def test_a_wait_is_seen_while_it_lasts() -> None:
    async with asking(answer(503), retry=RetryPolicy(initial_s=60)) as (client, _):
        async with client.run_stream("hi", max_tokens=8) as run:
            async for event in run:
                if isinstance(event, RetryEvent):
                    assert event.delay_s >= 30
                    break
            else:
                pytest.fail("no wait was told")


STREAM_ERROR = {"error": {"code": 503, "message": "x"}}
ENDS: dict[str, Any] = {
    "cut": stream("Hel", "lo", finish_reason=None, usage=None, done=False),
    "closed": stream("Hel", "lo", Close()),
    "silent": stream("Hel", "lo", Hang()),
    "an error of the server": sse(
        *({"choices": [{"delta": {"content": text}}]} for text in ("Hel", "lo")),
        STREAM_ERROR,
        done=False,
    ),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
@pytest.mark.parametrize("observed", [True, False], ids=["events", "result"])
async def test_the_text_of_a_reply_that_did_not_end_is_that_of_the_result(
    end: Answer, *, observed: bool
) -> None:
    async with asking(end, timeouts=Timeouts(idle_s=0.1)) as (client, _):
        with pytest.raises(RigError) as caught:
            if observed:
                await events_of(client)
            else:
                await client.run("hi", max_tokens=8, stream=True)
    assert caught.value.result is not None
    assert caught.value.result.text == caught.value.text == "Hello"
    assert [message.role for message in caught.value.result.messages] == ["user"]


async def test_text_that_was_taken_back_is_no_part_of_the_result() -> None:
    async with asking(stream("let me", "</think>", "four", Close())) as (client, _):
        with pytest.raises(StreamCutError) as caught:
            await events_of(client)
    assert caught.value.result is not None
    assert caught.value.result.text == "four"


async def test_a_round_that_showed_nothing_leaves_the_text_of_the_last_one() -> None:
    async with asking(stream("look", *call_deltas(PARIS)), repeat(answer(400))) as (client, _):
        with pytest.raises(RigError) as caught:
            await events_of(client)
    assert caught.value.result is not None
    assert caught.value.result.text == "look"


# A model that repeats itself


def endless() -> Answer:
    def steps() -> Iterator[bytes]:
        yield head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
        while True:
            yield chunk(encode_event({"choices": [{"delta": {"content": BLOCK}}]}))

    return Answer(LazySteps(steps))


async def test_a_loop_is_cut_and_the_model_asked_again_without_it() -> None:
    async with asking(endless(), endless(), stream("ok")) as (client, backend):
        events, result = await events_of(client)
        for request in backend.requests[:2]:
            await request.disconnected.wait()
    assert [type(event) for event in events].count(RepetitionCut) == 2
    assert result.text == shown(events) == "ok"
    assert b"repeating" in backend.requests[1].body
    assert (BLOCK * 2).encode() not in backend.requests[1].body


async def test_a_third_loop_in_a_row_is_an_error() -> None:
    async with asking(repeat(endless())) as (client, backend):
        with pytest.raises(OutputLimitError) as caught:
            await events_of(client)
    assert caught.value.reason == "repetition"
    assert len(backend.requests) == 3
    assert caught.value.result is not None
    assert caught.value.result.termination is Termination.BUDGET_EXHAUSTED


# Leaving


async def test_leaving_the_block_closes_the_request_at_once() -> None:
    async with asking(stream("a", Hang())) as (client, backend):
        async with client.run_stream("hi", max_tokens=8) as run:
            async for event in run:
                if isinstance(event, TextDelta):
                    break
        assert cast("Any", client._http._route).pool.in_use == 0
        await backend.requests[0].disconnected.wait()
    assert run.result().termination is None
    assert run.result().text == "a"


async def test_a_run_left_at_any_event_leaks_no_connection_and_no_slot() -> None:
    def two_rounds(request: ReceivedRequest) -> Answer:
        if request.json["messages"][-1]["role"] == "tool":
            return stream("18 ", "degrees")
        return stream("so ", *call_deltas(PARIS))

    async with asking(repeat(two_rounds), slots=1) as (client, _):
        total, _ = await events_of(client)
        for count in range(len(total)):
            async with client.run_stream("hi", tools=[weather], max_tokens=64) as run:
                events = aiter(run)
                for _ in range(count):
                    await anext(events)
            assert cast("Any", client._http._route).pool.in_use == 0
        assert (await events_of(client))[1].text == "18 degrees"


async def test_a_run_cancelled_at_any_step_leaks_no_connection_and_no_slot() -> None:
    def two_rounds(request: ReceivedRequest) -> Answer:
        if request.json["messages"][-1]["role"] == "tool":
            return stream("18 ", "degrees")
        return stream("so ", *call_deltas(PARIS))

    async with asking(repeat(two_rounds), slots=1) as (client, _):
        finished = False
        for steps in range(500):
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(cancel_after, scope, steps)
                    await events_of(client)
                    finished = True
                    tasks.cancel_scope.cancel()
            assert cast("Any", client._http._route).pool.in_use == 0
            if finished and not scope.cancelled_caught:
                break
            finished = False
        assert finished
        assert (await events_of(client))[1].text == "18 degrees"


async def cancel_after(scope: anyio.CancelScope, steps: int) -> None:
    for _ in range(steps):
        await anyio.lowlevel.checkpoint()
    scope.cancel()


async def test_two_hundred_streamed_runs_at_once() -> None:
    results: dict[int, str] = {}

    def two_rounds(request: ReceivedRequest) -> Answer:
        last = request.json["messages"][-1]
        if last["role"] == "tool":
            return stream(
                "It is ", last["content"], f" in {request.json['messages'][0]['content']}"
            )
        return stream(*call_deltas(PARIS))

    async def one(client: Client, number: int) -> None:
        async with client.run_stream(str(number), tools=[weather], max_tokens=8) as run:
            events = [event async for event in run]
        results[number] = run.result().text
        assert shown(events) == results[number]
        assert sum(isinstance(event, ToolFinished) for event in events) == 1

    async with asking(repeat(two_rounds)) as (client, _):
        async with anyio.create_task_group() as tasks:
            for number in range(200):
                tasks.start_soon(one, client, number)
    assert results == {number: f"It is 18 degrees in {number}" for number in range(200)}


# Keywords


async def test_a_run_is_given_as_one_value_too_and_streams_in_any_case() -> None:
    async with asking(stream("a")) as (client, backend):
        async with client.run_stream(RunRequest[None]("hi", max_tokens=8)) as run:
            assert [event async for event in run]
        assert run.result().text == "a"
    assert backend.requests[0].json["stream"] is True
    assert backend.requests[0].json["model"] == "fake"


async def test_skills_and_every_other_keyword_work_as_for_run() -> None:
    skill = Skill(name="refunds", description="How to refund.", body="Ask for the order number.")
    told: list[RunEvent] = []
    async with asking(
        stream(*call_deltas(("load_skill", {"name": "refunds"}))), stream('{"value": 3}')
    ) as (client, backend):
        events, result = await events_of(
            client, skills=[skill], system="Be kind.", output=int, on_event=told.append
        )
    assert result.output == 3
    assert events == told
    assert backend.requests[0].json["messages"][0]["content"].startswith("Be kind.")


async def test_what_is_missing_is_told_at_once() -> None:
    async with Client("http://127.0.0.1:9") as client:
        with pytest.raises(NotConfiguredError):
            client.run_stream("hi", max_tokens=8)


async def test_a_model_without_stream_says_so() -> None:
    class Plain(RunMixin):
        default_model = "m"

        async def complete(self, request: ChatRequest, /) -> Reply:
            return Reply(text="a")

    assert (await Plain().run("hi", max_tokens=8)).text == "a"
    with pytest.raises(NotConfiguredError):
        await Plain().run("hi", max_tokens=8, stream=True)


async def test_a_generator_around_a_run_can_be_closed_while_it_goes_on() -> None:
    """What a web framework does when the browser leaves."""
    async with asking(stream("Hello", " there", Hang())) as (client, backend):

        async def relayed() -> AsyncGenerator[RunEvent]:
            async with client.run_stream("hi", max_tokens=8) as run:
                async for event in run:
                    yield event

        async with aclosing(relayed()) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    break
        await backend.wait_until(lambda: backend.connections.open == 0)


async def test_a_second_reader_of_a_run_is_told_so_instead_of_waiting_for_ever() -> None:
    async with (
        asking(stream(Hang())) as (client, backend),
        client.run_stream("hi", max_tokens=8) as run,
        anyio.create_task_group() as tasks,
    ):

        async def read() -> None:
            async for _ in run:
                pass

        tasks.start_soon(read)
        await backend.wait_for_requests(1)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(InvalidRequestError):
            await anext(run)
        tasks.cancel_scope.cancel()
