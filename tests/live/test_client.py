"""The client against llama.cpp's own server: what no fake can prove."""

import anyio
import pytest

from rig import ChatOptions, ChatRequest, Client, Message, RunResult, tool
from rig.errors import (
    InputTooLargeError,
    InvalidRequestError,
    NoToolCallingError,
    OutputLimitError,
    UnauthorizedError,
)
from rig.testing import LocalModel, example_exchanges

SYSTEM = "You call functions to answer."


@tool
async def get_price(item: str) -> str:
    """Get the price of an item in a shop."""
    return "3 dollars" if "apple" in item else "not for sale"


@tool
async def get_weather(city: str) -> str:
    """Get the current weather in a city."""
    return "18 degrees and sunny" if city == "Paris" else "unknown"


async def ask(client: Client, question: str, *, seed: int = 1) -> RunResult[None]:
    return await client.run(
        question,
        system=SYSTEM,
        tools=[get_weather, get_price],
        history=example_exchanges(),
        max_tokens=100,
        temperature=0.2,
        options=ChatOptions(seed=seed),
    )


def question(text: str, **limits: int) -> ChatRequest:
    return ChatRequest(
        model="smollm2", messages=(Message(role="user", content=text),), max_tokens=limits["max"]
    )


async def test_a_plain_question_is_answered(client: Client) -> None:
    result = await client.run(
        "What is the capital of Japan?",
        system="You are a helpful assistant.",
        max_tokens=60,
        temperature=0,
    )
    assert "Tokyo" in result.text
    assert result.iterations == 1
    assert result.model == "smollm2"
    assert result.usage.reported
    assert result.usage.prompt_tokens > 10
    assert result.usage.completion_tokens > 3
    assert result.usage.latency_s > 0


@pytest.mark.parametrize(
    ("text", "name", "found"),
    [
        ("How much does an apple cost?", "get_price", "3 dollars"),
        ("What is the weather in Paris?", "get_weather", "18 degrees and sunny"),
    ],
)
async def test_a_tool_is_called_natively_and_its_result_is_answered(
    client: Client, text: str, name: str, found: str
) -> None:
    result = await ask(client, text)
    assert [outcome.call.name for outcome in result.tool_calls] == [name]
    assert result.tool_calls[0].call.origin == "native"
    assert result.tool_calls[0].content == found
    assert found in result.text
    assert result.iterations == 2


async def test_the_transcript_of_a_run_goes_on_in_the_next(client: Client) -> None:
    first = await ask(client, "How much does an apple cost?")
    second = await client.run(
        "What is the weather in Paris?",
        system=SYSTEM,
        tools=[get_weather, get_price],
        history=[message for message in first.messages if message.role != "system"],
        max_tokens=100,
        temperature=0.2,
        options=ChatOptions(seed=1),
    )
    assert [outcome.call.name for outcome in second.tool_calls] == ["get_weather"]


async def test_a_prompt_beyond_the_window_says_how_large_both_are(client: Client) -> None:
    with pytest.raises(InputTooLargeError) as caught:
        await ask(client, "word " * 3000)
    assert caught.value.prompt_tokens is not None
    assert caught.value.prompt_tokens > 3000
    assert caught.value.context_tokens == 2048


async def test_a_reply_cut_at_max_tokens_is_an_error_with_the_partial_text(client: Client) -> None:
    with pytest.raises(OutputLimitError) as caught:
        await client.run("Tell me a long story.", max_tokens=5, temperature=0)
    assert caught.value.text
    assert caught.value.result is not None
    assert caught.value.result.usage.completion_tokens == 5


async def test_models_are_listed(client: Client) -> None:
    assert await client.models() == ("smollm2",)


async def test_a_grammar_the_server_cannot_read_is_an_invalid_request(client: Client) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        await client.run("hello", max_tokens=10, options=ChatOptions(grammar="root ::= (("))
    assert caught.value.status == 400


async def test_a_grammar_is_obeyed(client: Client) -> None:
    result = await client.run(
        "Is the sky blue?", max_tokens=10, options=ChatOptions(grammar='root ::= "yes" | "no"')
    )
    assert result.text in {"yes", "no"}


async def test_a_wrong_key_is_unauthorized_and_the_right_one_is_not() -> None:
    async with LocalModel(api_key="right-key") as local:
        async with Client(local.url, "wrong-key", model=local.model) as client:
            with pytest.raises(UnauthorizedError) as caught:
                await client.complete(question("hello", max=5))
        async with Client(local.url, "right-key", model=local.model) as client:
            assert (await client.complete(question("hello", max=5))).usage.completion_tokens > 0
    assert "wrong-key" not in repr(caught.value) + str(caught.value)


async def test_a_model_too_small_to_call_tools_unasked_fails_the_probe(client: Client) -> None:
    with pytest.raises((NoToolCallingError, OutputLimitError)):
        await client.probe_tool_calling()


async def test_cancelling_a_request_frees_its_slot() -> None:
    endless = ChatRequest(
        model="smollm2",
        messages=(Message(role="user", content="Count to ten thousand."),),
        max_tokens=4000,  # half a minute at the 140 tokens a second measured on a fast machine
        options=ChatOptions(extra_body={"ignore_eos": True}),
    )
    async with LocalModel(slots=1) as local, Client(local.url, model=local.model) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.complete, endless)
            with anyio.fail_after(10):
                while await local.busy_slots() == 0:  # noqa: ASYNC110 another process: no event
                    await anyio.sleep(0.05)
            tasks.cancel_scope.cancel()
        # The one slot is free when another request gets it. Asking for the state of the slots
        # instead would keep the server from looking whether its clients are still there.
        with anyio.fail_after(15):
            reply = await client.complete(question("What is the capital of Japan?", max=20))
        assert reply.usage.completion_tokens > 0
