"""Streams of llama.cpp's own server: what no fake can prove."""

from typing import Literal

import anyio
import pytest
from pydantic import BaseModel

from rig import (
    ChatOptions,
    ChatRequest,
    Client,
    Delta,
    InputTooLargeError,
    InvalidRequestError,
    Message,
    OutputLimitError,
    Reply,
    RetryPolicy,
    RunEvent,
    RunResult,
    TextDelta,
    ToolCallArguments,
    ToolCallFinished,
    ToolCallStarted,
    UsageReported,
    tool,
)
from rig.testing import LocalModel, example_exchanges


@tool
async def get_price(item: str) -> str:
    """Get the price of an item in a shop."""
    return "3 dollars" if "apple" in item else "not for sale"


@tool
async def get_weather(city: str) -> str:
    """Get the current weather in a city."""
    return "18 degrees and sunny" if city == "Paris" else "unknown"


def question(text: str, *, max_tokens: int = 40, **options: object) -> ChatRequest:
    return ChatRequest(
        model="smollm2",
        messages=(Message(role="user", content=text),),
        max_tokens=max_tokens,
        options=ChatOptions(temperature=0, seed=1, **options),  # type: ignore[arg-type]  # of a test
    )


async def streamed(client: Client, request: ChatRequest) -> tuple[Reply, list[Delta]]:
    async with client.stream(request) as replies:
        deltas = [delta async for delta in replies]
        return replies.reply(), deltas


async def run(client: Client, text: str) -> tuple[RunResult[None], list[RunEvent]]:
    async with client.run_stream(
        text,
        system="You call functions to answer.",
        tools=[get_weather, get_price],
        history=example_exchanges(),
        max_tokens=100,
        temperature=0.2,
        options=ChatOptions(seed=1),
    ) as events:
        told = [event async for event in events]
        return events.result(), told


async def test_a_streamed_reply_is_the_reply(client: Client) -> None:
    request = question("What is the capital of Japan?")
    reply, deltas = await streamed(client, request)
    whole = await client.complete(request)
    assert reply.text == whole.text == "".join(delta.text for delta in deltas)
    assert len(deltas) > 5
    assert reply.finish_reason == whole.finish_reason
    assert reply.usage.completion_tokens == whole.usage.completion_tokens
    assert reply.usage.time_to_first_token_s is not None
    assert reply.usage.time_to_first_token_s < reply.usage.latency_s
    assert deltas[-1].usage is not None


async def test_tools_are_called_in_a_stream(client: Client) -> None:
    result, events = await run(client, "How much does an apple cost?")
    assert [(one.call.name, one.content) for one in result.tool_calls] == [
        ("get_price", "3 dollars")
    ]
    kinds = [type(event) for event in events]
    assert kinds.index(ToolCallStarted) < kinds.index(ToolCallArguments)
    assert kinds.index(ToolCallArguments) < kinds.index(ToolCallFinished)
    [finished] = [event for event in events if isinstance(event, ToolCallFinished)]
    fragments = [event.arguments for event in events if isinstance(event, ToolCallArguments)]
    assert "".join(fragments) == finished.arguments == result.tool_calls[0].call.arguments
    assert kinds.count(UsageReported) == 2
    assert "3 dollars" in result.text


async def test_a_stop_string_ends_a_stream(client: Client) -> None:
    whole, _ = await streamed(client, question("What is the capital of Japan?"))
    word = whole.text.split()[1]
    reply, _ = await streamed(client, question("What is the capital of Japan?", stop=[word]))
    assert reply.finish_reason == "stop"
    assert reply.text
    assert word not in reply.text


async def test_a_stream_cut_at_max_tokens_says_so(client: Client) -> None:
    reply, deltas = await streamed(client, question("Tell me a long story.", max_tokens=5))
    assert reply.finish_reason == deltas[-1].finish_reason == "length"
    with pytest.raises(OutputLimitError) as caught:
        async with client.run_stream("Tell me a long story.", max_tokens=5) as events:
            async for _ in events:
                pass
    assert caught.value.text
    assert events.result() is caught.value.result


async def test_a_prompt_beyond_the_window_is_refused_before_anything_is_streamed(
    client: Client,
) -> None:
    with pytest.raises(InputTooLargeError) as caught:
        async with client.stream(question("word " * 3000)):
            pytest.fail("the block was entered")
    assert caught.value.context_tokens == 2048


async def test_a_grammar_is_obeyed_and_a_broken_one_refused(client: Client) -> None:
    reply, _ = await streamed(client, question("Is the sky blue?", grammar='root ::= "yes" | "no"'))
    assert reply.text in {"yes", "no"}
    with pytest.raises(InvalidRequestError):
        await streamed(client, question("hello", grammar="root ::= (("))


class Answer(BaseModel):
    blue: bool
    why: Literal["air", "water"]


async def test_a_schema_is_obeyed(client: Client) -> None:
    schema = {"type": "json_schema", "json_schema": {"schema": Answer.model_json_schema()}}
    sky = question("Is the sky blue?", max_tokens=100, response_format=schema)
    reply, _ = await streamed(client, sky)
    assert Answer.model_validate_json(reply.text).why in {"air", "water"}


@pytest.mark.parametrize("whole_run", [False, True], ids=["stream", "run_stream"])
async def test_leaving_a_stream_frees_the_slot(whole_run: bool) -> None:
    endless = ChatOptions(extra_body={"ignore_eos": True})
    text = "Count to ten thousand."
    async with LocalModel(slots=1) as local, Client(local.url, model=local.model) as client:
        if whole_run:
            async with client.run_stream(text, max_tokens=4000, options=endless) as events:
                async for event in events:
                    if isinstance(event, TextDelta):
                        break
        else:
            request = ChatRequest(
                model="smollm2",
                messages=(Message(role="user", content=text),),
                max_tokens=4000,  # half a minute at the 140 tokens a second of a fast machine
                options=endless,
            )
            async with client.stream(request) as replies:
                await anext(aiter(replies))
        # The one slot is free when another request gets it.
        with anyio.fail_after(15):
            reply, _ = await streamed(client, question("What is the capital of Japan?"))
        assert reply.usage.completion_tokens > 0


async def test_streams_one_behind_the_other_need_no_second_try(local: LocalModel) -> None:
    """The server closes behind each stream, although it says that it keeps the connection."""
    async with Client(local.url, model=local.model, retry=RetryPolicy.off()) as client:
        for _ in range(5):
            await streamed(client, question("hello", max_tokens=5))
            await client.complete(question("hello", max_tokens=5))


async def test_a_model_that_repeats_itself_is_cut_long_before_its_limit(client: Client) -> None:
    text = "Repeat this sentence for ever: The quick brown fox jumps over the lazy dog."
    endless = question(text, max_tokens=1500, extra_body={"ignore_eos": True})
    reply, _ = await streamed(client, endless)
    assert reply.finish_reason == "repetition"
    assert reply.repetition is not None
    assert len(reply.repetition.trimmed(reply.text)) < len(reply.text) < 4000
