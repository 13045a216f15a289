"""What goes wrong and what rig does: one test for each row of the table in README.md, over a socket."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from pydantic_core import from_json

from rig import (
    Budget,
    BudgetExceededError,
    Client,
    EmptyReplyError,
    InvalidRequestError,
    IterationLimitError,
    OutputLimitError,
    ProtocolError,
    RateLimitedError,
    RequestTimeoutError,
    ResponseTooLargeError,
    RetryEvent,
    RetryPolicy,
    RigError,
    RunResult,
    ServerError,
    Termination,
    TextDelta,
    Timeouts,
    ToolError,
    TruncatedToolCallError,
    UnauthorizedError,
    tool,
)
from rig.testing import (
    Answer,
    FakeBackend,
    ReceivedRequest,
    answer,
    faults,
    repeat,
    reply,
    stream,
)

MEGABYTE = 1 << 20
RAN: list[dict[str, object]] = []


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    RAN.clear()


@tool
async def weather(city: str) -> str:
    """Look up the weather of a city."""
    RAN.append({"city": city})
    return "18 degrees"


@tool
async def broken(city: str) -> str:
    """Look up the weather, badly."""
    RAN.append({"city": city})
    raise LookupError("the station is offline")


async def run(*answers: Any, **options: Any) -> tuple[RunResult[None], FakeBackend]:
    """One run against scripted answers."""
    backend = FakeBackend(*answers)
    client_options = {
        name: options.pop(name) for name in ("retry", "timeouts", "on_retry") if name in options
    }
    defaults: dict[str, Any] = {"tools": [weather], "max_tokens": 64}
    async with (
        backend.serve(),
        Client(backend.url, "sk-secret", model="fake", **client_options) as client,
    ):
        return await client.run("What is the weather in Paris?", **(defaults | options)), backend


async def fails_with(error: type[RigError], *answers: Any, **options: Any) -> RigError:
    """One run that must raise exactly that error."""
    with pytest.raises(RigError) as caught:
        await run(*answers, **options)
    assert type(caught.value) is error
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    return caught.value


LEAKS = {
    "closed": "<think>secret</think>answer",
    "closed, twice": "<think>secret</think>answer<think>secret</think>",
    "orphan closer": "secret, more secret</think>answer",
    "nested": "<think>secret<think>secret</think>secret</think>answer",
    "unclosed after the answer": "answer<think>secret",
    "another spelling": "<thinking>secret</thinking>answer",
    "square brackets": "[THINK]secret[/THINK]answer",
}


@pytest.mark.parametrize("content", LEAKS.values(), ids=LEAKS.keys())
async def test_f1_f2_leaked_reasoning_is_never_shown_and_never_sent_back(content: str) -> None:
    result, backend = await run(
        reply(content, tool_calls=[("weather", {"city": "Paris"})]), reply(content)
    )
    assert result.text == "answer"
    assert "secret" not in str(result.messages)
    assert b"secret" not in backend.requests[1].body


async def test_f3_reasoning_without_an_answer_is_an_error_that_keeps_it() -> None:
    error = await fails_with(EmptyReplyError, reply("<think>only thoughts"))
    assert isinstance(error, EmptyReplyError)
    assert error.reasoning == "only thoughts"
    assert "only thoughts" not in str(error)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_f4_reasoning_in_a_field_is_kept_apart_and_goes_back_inside_the_loop(
    field: str,
) -> None:
    result, backend = await run(
        reply(
            "", tool_calls=[("weather", {"city": "Paris"})], reasoning="hm", reasoning_field=field
        ),
        reply("18 degrees.", reasoning="so", reasoning_field=field),
    )
    assert result.text == "18 degrees."
    [turn] = [m for m in backend.requests[1].json["messages"] if m["role"] == "assistant"]
    assert turn[field] == "hm"


NEARLY = {
    "trailing comma": '{"city":"Paris",}',
    "python's": "{'city': 'Paris'}",
    "bare key": '{city: "Paris"}',
    "comment": '{"city": "Paris" // the capital\n}',
    "fence": '```json\n{"city": "Paris"}\n```',
}


@pytest.mark.parametrize("arguments", NEARLY.values(), ids=NEARLY.keys())
async def test_f8_arguments_that_are_nearly_json_are_repaired_recorded_and_run(
    arguments: str,
) -> None:
    result, backend = await run(reply(tool_calls=[("weather", arguments)]), reply("ok"))
    assert RAN == [{"city": "Paris"}]
    [outcome] = result.tool_calls
    assert outcome.executed
    assert outcome.call.repairs
    [turn] = [m for m in backend.requests[1].json["messages"] if m["role"] == "assistant"]
    assert from_json(turn["tool_calls"][0]["function"]["arguments"]) == {"city": "Paris"}


SEVERAL = {
    "apostrophe": "{'city': 'L'Aquila'}",
    "inner quotes": '{"city": "the "old" one"}',
    "two objects": '{"city": "Paris"}{"city": "Rome"}',
    "no value": '{"city": }',
    "nan": '{"city": NaN,}',
}


@pytest.mark.parametrize("arguments", SEVERAL.values(), ids=SEVERAL.keys())
async def test_f8_arguments_of_several_readings_are_refused_and_explained(arguments: str) -> None:
    _, backend = await run(reply(tool_calls=[("weather", arguments)]), reply("ok"))
    assert RAN == []
    sent = backend.requests[1].json["messages"]
    assert "NOT executed" in sent[-1]["content"]
    assert isinstance(from_json(sent[-2]["tool_calls"][0]["function"]["arguments"]), dict)


CALLS_AS_TEXT = {
    "hermes": ('<tool_call>\n{"name": "weather", "arguments": {"city": "Paris"}}\n</tool_call>', "hermes"),
    "hermes, behind prose": ('I look.\n<tool_call>{"name": "weather", "arguments": {"city": "Paris"}}</tool_call>', "hermes"),
    "hermes, behind a thought": ('<think>hm</think><tool_call>{"name": "weather", "arguments": {"city": "Paris"}}</tool_call>', "hermes"),
    "qwen coder": ("<tool_call>\n<function=weather>\n<parameter=city>\nParis\n</parameter>\n</function>\n</tool_call>", "qwen_coder"),
    "qwen coder without the wrapper": ("<function=weather>\n<parameter=city>\nParis\n</parameter>\n</function>", "qwen_coder"),
    "fenced json": ('```json\n{"name": "weather", "arguments": {"city": "Paris"}}\n```', "bare_json"),
    "json": ('{"name": "weather", "parameters": {"city": "Paris"}}', "bare_json"),
    "mistral": ('[TOOL_CALLS]weather[ARGS]{"city": "Paris"}', "mistral"),
    "python": ('weather(city="Paris")', "pythonic"),
}  # fmt: skip


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(("content", "dialect"), CALLS_AS_TEXT.values(), ids=CALLS_AS_TEXT.keys())
async def test_f5_f6_f7_a_call_as_text_is_called_and_never_shown(
    content: str, dialect: str, *, streamed: bool
) -> None:
    backend = FakeBackend(
        stream(*content) if streamed else reply(content),
        stream("18 degrees.") if streamed else reply("18 degrees."),
    )
    shown: list[str] = []
    async with backend.serve(), Client(backend.url, model="fake") as client:
        if streamed:
            async with client.run_stream(
                "What is the weather in Paris?", tools=[weather], max_tokens=64
            ) as events:
                shown.extend([event.text async for event in events if isinstance(event, TextDelta)])
                result = events.result()
        else:
            result = await client.run("What is the weather?", tools=[weather], max_tokens=64)
    assert RAN == [{"city": "Paris"}]
    assert result.text == "18 degrees."
    assert result.tool_calls[0].call.origin == dialect
    [turn] = [m for m in backend.requests[1].json["messages"] if m["role"] == "assistant"]
    assert turn["tool_calls"][0]["function"]["name"] == "weather"
    assert turn["content"] in {"", "I look."}
    assert "".join(shown) in {"", "I look.18 degrees.", "18 degrees."}


QUOTED = {
    "an example in a fence": 'Write\n```\n<tool_call>{"name": "weather", "arguments": {"city": "x"}}</tool_call>\n```\nfor it.',
    "another tool": '{"name": "wether", "arguments": {"city": "Paris"}}',
    "a thought": '<think><tool_call>{"name": "weather", "arguments": {"city": "x"}}</tool_call></think>done',
}  # fmt: skip


@pytest.mark.parametrize("content", QUOTED.values(), ids=QUOTED.keys())
async def test_f5_f7_what_only_looks_like_a_call_is_not_called(content: str) -> None:
    result, _ = await run(reply(content))
    assert RAN == []
    assert result.text == content.rpartition("</think>")[2]


LOST: dict[str, tuple[str, type[RigError]]] = {
    "another tool": (
        '<tool_call>{"name": "wether", "arguments": {}}</tool_call>',
        ProtocolError,
    ),
    "cut": ('<tool_call>{"name": "weather", "arguments": {"city": "Par', TruncatedToolCallError),
}


@pytest.mark.parametrize(("content", "kind"), LOST.values(), ids=LOST.keys())
async def test_f5_a_call_as_text_that_nobody_can_make_is_no_answer(
    content: str, kind: type[RigError]
) -> None:
    error = await fails_with(kind, reply(content), tool_format="native")
    assert error.reason == "tool_call"
    assert RAN == []


@pytest.mark.parametrize(("content", "kind"), LOST.values(), ids=LOST.keys())
async def test_f5_a_call_as_text_that_nobody_can_make_is_asked_for_in_another_form(
    content: str, kind: type[RigError]
) -> None:
    result, _ = await run(
        reply(content),
        reply('{"name": "weather", "arguments": {"city": "Paris"}}'),
        reply("18 degrees."),
    )
    assert RAN == [{"city": "Paris"}]
    assert (result.text, result.tool_calls[0].call.origin) == ("18 degrees.", "json")


async def test_f5_a_tool_that_writes_wants_a_proper_call() -> None:
    @tool(effect="write")
    async def record(city: str) -> str:
        """Record a city."""
        RAN.append({"city": city})
        return "recorded"

    content = '<tool_call>{"name": "record", "arguments": {"city": "Paris"}}</tool_call>'
    result, backend = await run(
        reply(content),
        reply(tool_calls=[("record", {"city": "Oslo"})]),
        reply("ok"),
        tools=[record],
    )
    assert RAN == [{"city": "Oslo"}]
    assert "NOT executed" in backend.requests[1].json["messages"][-1]["content"]
    assert [outcome.executed for outcome in result.tool_calls] == [False, True]


async def test_f9_arguments_as_an_object_run() -> None:
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "weather", "arguments": {"city": "Paris"}},
    }
    body = {
        "choices": [
            {"message": {"content": None, "tool_calls": [call]}, "finish_reason": "tool_calls"}
        ]
    }
    result, _ = await run(answer(body=body), reply("ok"))
    assert RAN == [{"city": "Paris"}]
    assert result.text == "ok"


CUTS = {
    "cut": '{"city": "Par',
    "cut before a value": '{"city":',
    "whole": '{"city": "Paris"}',
    "empty object": "{}",
}


@pytest.mark.parametrize("arguments", CUTS.values(), ids=CUTS.keys())
async def test_f10_a_call_of_a_reply_cut_at_the_limit_never_runs(arguments: str) -> None:
    await fails_with(
        OutputLimitError, reply(tool_calls=[("weather", arguments)], finish_reason="length")
    )
    assert RAN == []


@pytest.mark.parametrize("arguments", ['{"city": "Par', "{city: 'Par", '{"city": "Paris",'])
@pytest.mark.parametrize("finish", ["stop", "tool_calls"])
async def test_f10_cut_arguments_with_a_clean_finish_are_refused_and_explained(
    finish: str, arguments: str
) -> None:
    result, backend = await run(
        reply(tool_calls=[("weather", arguments)], finish_reason=finish), reply("ok")
    )
    assert RAN == []
    sent = backend.requests[1].json["messages"]
    assert sent[-1]["content"].startswith("error: ")
    assert "NOT executed" in sent[-1]["content"]
    assert isinstance(from_json(sent[-2]["tool_calls"][0]["function"]["arguments"]), dict)
    assert result.text == "ok"


async def test_f11_an_unknown_tool_is_answered_with_the_names() -> None:
    result, backend = await run(reply(tool_calls=[("wether", {"city": "Paris"})]), reply("ok"))
    assert "weather" in backend.requests[1].json["messages"][-1]["content"]
    assert result.text == "ok"


@pytest.mark.parametrize("ids", [("", ""), ("dup", "dup"), ("null", "")], ids=str)
async def test_f12_calls_without_ids_of_their_own_run_and_are_paired(ids: tuple[str, str]) -> None:
    result, backend = await run(
        reply(
            tool_calls=[
                (ids[0], "weather", {"city": "Rome"}),
                (ids[1], "weather", {"city": "Oslo"}),
            ]
        ),
        reply("ok"),
    )
    assert RAN == [{"city": "Rome"}, {"city": "Oslo"}]
    *_, turn, first, second = backend.requests[1].json["messages"]
    asked = [call["id"] for call in turn["tool_calls"]]
    assert [first["tool_call_id"], second["tool_call_id"]] == asked
    assert len(set(asked)) == 2
    assert all(asked)
    assert result.text == "ok"


async def test_f13_a_cut_answer_is_an_error_with_the_partial_text() -> None:
    error = await fails_with(OutputLimitError, reply("It is 18 deg", finish_reason="length"))
    assert isinstance(error, OutputLimitError)
    assert error.text == "It is 18 deg"
    assert error.result is not None


EMPTY: dict[str, Any] = {
    "empty text": reply(""),
    "blank text": reply(" \n"),
    "null": answer(body={"choices": [{"message": {"content": None}, "finish_reason": "stop"}]}),
    "tool_calls without a call": reply("", finish_reason="tool_calls"),
    "no choices": answer(body={"choices": []}),
    "choices null": answer(body={"choices": None}),
    "reasoning only": reply("", reasoning="hm"),
}


@pytest.mark.parametrize("scripted", EMPTY.values(), ids=EMPTY.keys())
async def test_f14_an_empty_reply_is_an_error(scripted: Answer) -> None:
    await fails_with(EmptyReplyError, scripted)


async def test_f15_a_tool_that_raises_is_fed_back() -> None:
    result, backend = await run(
        reply(tool_calls=[("broken", {"city": "Paris"})]), reply("ok"), tools=[broken]
    )
    assert backend.requests[1].json["messages"][-1]["content"] == "error: the station is offline"
    assert result.tool_calls[0].is_error


async def test_f16_500_calls_in_one_reply_run_none() -> None:
    calls = [("weather", {"city": str(number)}) for number in range(500)]
    await fails_with(IterationLimitError, reply(tool_calls=calls))
    assert RAN == []


@pytest.mark.parametrize(("given", "rounds"), [(0, 8), (1, 1), (12, 12), (32, 32)])
async def test_f17_a_model_that_never_stops_calling_is_stopped(given: int, rounds: int) -> None:
    def another_city(request: ReceivedRequest) -> Answer:
        return reply(tool_calls=[("weather", {"city": str(len(request.json["messages"]))})])

    error = await fails_with(IterationLimitError, repeat(another_city), max_iterations=given)
    assert len(RAN) == rounds
    assert error.result is not None
    assert error.result.iterations == rounds


async def test_f17_more_than_32_rounds_can_not_be_asked_for() -> None:
    await fails_with(InvalidRequestError, max_iterations=33)


async def test_f27_the_same_call_with_the_same_result_is_stopped_at_ten() -> None:
    error = await fails_with(
        IterationLimitError,
        repeat(reply(tool_calls=[("weather", {"city": "Paris"})])),
        max_iterations=32,
    )
    assert error.reason == "repeated_call"
    assert len(RAN) == 10
    assert error.result is not None
    assert error.result.iterations == 12  # refused once, then once more


async def test_f19_a_429_is_waited_out_as_asked_and_narrated() -> None:
    events: list[RetryEvent] = []
    result, _ = await run(
        answer(429, headers=[("Retry-After", "0.01")]), reply("ok"), on_retry=events.append
    )
    assert result.text == "ok"
    assert events[0].server_asked
    assert 0.01 <= events[0].delay_s < 0.02


BOMBS: dict[str, Callable[[], Answer]] = {
    "60 MB reply": lambda: faults.large_reply(60 * MEGABYTE),
    "endless body": faults.endless_body,
    "endless error body": lambda: faults.endless_body(status=400),
    "16 MB gzip bomb": lambda: faults.gzip_bomb(16 * MEGABYTE),
    "10 GB gzip bomb": lambda: faults.gzip_bomb(10 << 30),
    "gzip bomb as an error": lambda: faults.gzip_bomb(1 << 30, status=500),
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS.keys())
async def test_f20_f21_an_answer_over_the_cap_is_refused_with_memory_flat(
    bomb: Callable[[], Answer],
) -> None:
    tracemalloc.start()
    try:
        await fails_with(ResponseTooLargeError, bomb())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 * MEGABYTE


async def test_f22_a_401_that_repeats_the_key_says_so_in_detail_only() -> None:
    body = {"error": {"message": "key sk-secret is wrong for http://host/v1"}}
    error = await fails_with(UnauthorizedError, answer(401, body=body))
    assert "sk-secret" in error.detail
    assert "secret" not in f"{error}{error!r}{error.args}"
    assert "host" not in f"{error}{error!r}"


async def test_f24_a_malformed_call_in_the_history_is_never_sent() -> None:
    call = {"id": "c1", "function": {"name": "weather", "arguments": '{"city": "Par'}}
    history = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "error"},
    ]
    _, backend = await run(reply("ok"), history=history)
    [turn] = [m for m in backend.requests[0].json["messages"] if m["role"] == "assistant"]
    assert isinstance(from_json(turn["tool_calls"][0]["function"]["arguments"]), dict)
    assert turn["content"] == ""


async def test_a_connection_that_breaks_is_tried_again() -> None:
    result, backend = await run(
        faults.reset_before_headers(),
        faults.cut_body(),
        reply("ok"),
        retry=RetryPolicy(initial_s=0.001),
    )
    assert result.text == "ok"
    assert len(backend.requests) == 3


async def test_a_server_that_never_answers_is_left_at_the_first_time_out() -> None:
    error = await fails_with(
        RequestTimeoutError, faults.hang(), timeouts=Timeouts(first_byte_s=0.05)
    )
    assert error.reason == "first_byte"


async def test_a_page_of_html_at_200_is_not_an_answer() -> None:
    error = await fails_with(ProtocolError, answer(200, body="<html>hello</html>"))
    assert "hello" in error.detail
    assert "hello" not in str(error)


async def test_a_model_that_is_loading_is_waited_for() -> None:
    result, _ = await run(faults.loading(), reply("ok"), retry=RetryPolicy(initial_s=0.001))
    assert result.text == "ok"


async def test_a_rate_limit_beyond_the_budget_fails_at_once() -> None:
    await fails_with(
        RateLimitedError,
        answer(429, headers=[("Retry-After", "300")]),
        retry=RetryPolicy(budget_s=60),
    )


async def test_a_template_error_is_not_tried_again() -> None:
    body = {"error": {"code": 500, "message": "Jinja Exception: roles must alternate"}}
    await fails_with(InvalidRequestError, answer(500, body=body))


async def test_a_deadline_ends_a_run_with_what_it_did() -> None:
    error = await fails_with(
        BudgetExceededError,
        reply(tool_calls=[("weather", {"city": "Paris"})]),
        faults.hang(),
        budget=Budget(seconds=0.2),
    )
    assert error.result is not None
    assert error.result.termination == Termination.BUDGET_EXHAUSTED
    assert [outcome.content for outcome in error.result.tool_calls] == ["18 degrees"]


async def test_a_tool_may_end_the_run() -> None:
    @tool
    async def fatal() -> str:
        """Fail for good."""
        raise ToolError("the database is gone", fatal=True)

    error = await fails_with(ToolError, reply(tool_calls=[("fatal", {})]), tools=[fatal])
    assert error.result is not None
    assert error.result.termination == Termination.TOOL_FAILURE


async def test_a_refusal_is_a_result() -> None:
    result, _ = await run(reply("", finish_reason="content_filter"))
    assert result.termination == Termination.REFUSED


async def test_five_server_errors_end_the_run() -> None:
    error = await fails_with(
        ServerError, repeat(faults.html_502()), retry=RetryPolicy(initial_s=0.001)
    )
    assert error.status == 502
