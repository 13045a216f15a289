"""Runs that change how calls travel, and typed answers held to their schema, over sockets."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic import BaseModel

from rig import (
    Capabilities,
    Client,
    ConstraintRefused,
    RetryPolicy,
    RoundStarted,
    RunEvent,
    RunResult,
    TextDelta,
    TextRetracted,
    ToolFormatChanged,
    tool,
)
from rig.testing import Answer, FakeBackend, ReceivedRequest, answer, call_deltas, reply, stream

STREAMS = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
HEREDOC = 'I look.\n@@call weather\n{city: "Oslo"}\n@@end\n'
JSON = 'I look.\n{"name": "weather", "arguments": {"city": "Oslo"}}'
HERMES = '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call>'


@tool
async def weather(city: str) -> str:
    """Look up the weather of a city."""
    return f"18 degrees in {city}"


class City(BaseModel):
    name: str


@asynccontextmanager
async def asking(*answers: Any, **options: Any) -> AsyncGenerator[tuple[Client, FakeBackend]]:
    backend = FakeBackend(*answers)
    defaults: dict[str, Any] = {"retry": RetryPolicy.off(), "model": "fake"}
    async with backend.serve(), Client(backend.url, **(defaults | options)) as client:
        yield client, backend


def said(text: str, *, streamed: bool) -> Answer:
    size = 3
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return stream(*pieces) if streamed else reply(text)


async def ran(client: Client, **options: Any) -> tuple[RunResult[Any], list[RunEvent]]:
    events: list[RunEvent] = []
    result: RunResult[Any] = await client.run(
        "Weather?", max_tokens=64, on_event=events.append, **options
    )
    return result, events


def shown(events: list[RunEvent]) -> list[str]:
    """What a reader saw of each reply."""
    replies: list[str] = []
    for event in events:
        match event:
            case RoundStarted():
                replies.append("")
            case TextDelta():
                replies[-1] += event.text
            case TextRetracted():
                replies[-1] = ""
            case _:
                pass
    return replies


def body(request: ReceivedRequest) -> dict[str, Any]:
    made: dict[str, Any] = request.json
    return made


@STREAMS
@pytest.mark.parametrize(("form", "text"), [("heredoc", HEREDOC), ("json", JSON)])
async def test_a_run_works_with_a_server_that_knows_no_tools(
    form: Any, text: str, streamed: bool
) -> None:
    answers = (said(text, streamed=streamed), said("It is warm.", streamed=streamed))
    async with asking(*answers) as (client, backend):
        result, events = await ran(client, tools=[weather], tool_format=form, stream=streamed)
    assert (result.text, result.tool_calls[0].content) == ("It is warm.", "18 degrees in Oslo")
    assert result.tool_calls[0].call.origin == form
    if streamed:
        assert shown(events) == ["I look.", "It is warm."]
    for sent in map(body, backend.requests):
        assert "tools" not in sent
        assert {turn["role"] for turn in sent["messages"]} <= {"system", "user", "assistant"}
    assert ("grammar" in body(backend.requests[0])) is (form == "heredoc")


@STREAMS
async def test_calls_in_the_text_of_two_replies_lead_down_a_rung(streamed: bool) -> None:
    answers = [said(text, streamed=streamed) for text in (HERMES, HERMES, HEREDOC, "It is warm.")]
    async with asking(*answers) as (client, backend):
        result, events = await ran(
            client, tools=[weather], stream=streamed, profile=Capabilities(grammar=True)
        )
    assert [outcome.call.origin for outcome in result.tool_calls] == ["hermes", "hermes", "heredoc"]
    changed = [event for event in events if isinstance(event, ToolFormatChanged)]
    assert changed == [ToolFormatChanged(previous="native", current="heredoc", reason="salvaged")]
    assert ["tools" in body(request) for request in backend.requests] == [True, True, False, False]
    assert (result.text, result.tool_format) == ("It is warm.", "heredoc")


@pytest.mark.parametrize(
    ("status", "sentence", "reason"),
    [
        (400, "registry.ollama.ai/library/x does not support tools", "unsupported"),
        (500, "tools param requires --jinja flag", "unsupported"),
        (500, "Failed to parse input at pos 12: <tool_call>", "unreadable"),
    ],
)
@STREAMS
async def test_what_servers_say_of_tools_leads_down_at_once(
    status: int, sentence: str, reason: Any, streamed: bool
) -> None:
    refusal = answer(status, {"error": {"message": sentence, "code": status}})
    answers = (said(JSON, streamed=streamed), said("It is warm.", streamed=streamed))
    async with asking(refusal, *answers) as (client, _):
        result, events = await ran(client, tools=[weather], stream=streamed)
    assert result.text == "It is warm."
    changed = [event for event in events if isinstance(event, ToolFormatChanged)]
    assert changed == [ToolFormatChanged(previous="native", current="json", reason=reason)]


@STREAMS
async def test_a_call_nobody_can_read_leads_down_at_once(streamed: bool) -> None:
    lost = '<tool_call>\n{"name": "weather", "arguments": {"city": \n</tool_call>'
    answers = [said(text, streamed=streamed) for text in (lost, JSON, "It is warm.")]
    async with asking(*answers) as (client, _):
        result, events = await ran(client, tools=[weather], stream=streamed)
    assert result.text == "It is warm."
    changed = [event for event in events if isinstance(event, ToolFormatChanged)]
    assert [(one.current, one.reason) for one in changed] == [("json", "unreadable")]


async def test_honest_native_calls_change_nothing() -> None:
    calls = call_deltas(("weather", {"city": "Rome"}))
    answers = [stream(*calls, finish_reason="tool_calls") for _ in range(3)]
    async with asking(*answers, stream("It is warm.")) as (client, backend):
        result, events = await ran(client, tools=[weather], stream=True)
    assert result.tool_format == "native"
    assert not any(isinstance(event, ToolFormatChanged) for event in events)
    assert all("tools" in body(request) for request in backend.requests)


@STREAMS
@pytest.mark.parametrize("status", [400, 500])
async def test_a_refused_schema_is_asked_for_in_words(status: int, streamed: bool) -> None:
    refusal = answer(status, {"error": {"message": "no such thing", "code": status}})
    async with asking(refusal, said('{"name": "Oslo"}', streamed=streamed)) as (client, backend):
        result, events = await ran(
            client, output=City, stream=streamed, profile=Capabilities(json_schema=True)
        )
    assert (result.output, result.output_source) == (City(name="Oslo"), "prompt")
    first, second = map(body, backend.requests)
    assert first["response_format"]["json_schema"]["schema"]["required"] == ["name"]
    assert "response_format" not in second
    assert ConstraintRefused(constraint="schema", purpose="output") in events


async def test_a_dialect_that_knows_no_grammars_is_told_of_none() -> None:
    """The refusal then is rig's own, and no request was sent for it."""
    async with asking(reply(HEREDOC), reply("It is warm."), dialect="ollama") as (client, backend):
        result, events = await ran(client, tools=[weather], tool_format="heredoc")
    assert (result.text, len(backend.requests)) == ("It is warm.", 2)
    assert ConstraintRefused(constraint="grammar", purpose="tools") in events
