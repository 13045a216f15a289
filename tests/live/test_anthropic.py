"""Anthropic's Messages API as llama.cpp's own server speaks it."""

import pytest

from rig import ChatOptions, ChatRequest, Client, Message, tool
from rig.errors import InputTooLargeError, OutputLimitError
from rig.model import Delta, Reply
from rig.testing import LocalModel, example_exchanges

SYSTEM = "You call functions to answer."
THINKS = """{%- for m in messages -%}<|im_start|>{{ m.role }}
{% if m.role == "assistant" %}<think>
{{ m.reasoning_content or "The user asks for a capital." }}
</think>

{% endif %}{{ m.content }}<|im_end|>
{% endfor -%}{%- if add_generation_prompt -%}<|im_start|>assistant
<think>
{% endif -%}"""
"""A template for a model that thinks: it shows each answer with a thought before it."""


@tool
async def get_price(item: str) -> str:
    """Get the price of an item in a shop."""
    return "3 dollars" if "apple" in item else "not for sale"


@tool
async def get_weather(city: str) -> str:
    """Get the current weather in a city."""
    return "18 degrees and sunny" if city == "Paris" else "unknown"


def speaking(local: LocalModel) -> Client:
    return Client(local.url, model=local.model, dialect="anthropic")


def question(text: str, *, max_tokens: int = 40, stop: str | None = None) -> ChatRequest:
    messages = (
        Message(role="system", content="You are a helpful assistant."),
        Message(role="user", content=text),
    )
    options = ChatOptions(temperature=0, stop=stop)
    return ChatRequest(model="", messages=messages, max_tokens=max_tokens, options=options)


async def streamed(client: Client, request: ChatRequest) -> tuple[Reply, list[Delta]]:
    async with client.stream(request) as replies:
        deltas = [delta async for delta in replies]
    return replies.reply(), deltas


async def test_a_plain_question_is_answered(local: LocalModel) -> None:
    async with speaking(local) as client:
        reply = await client.complete(question("What is the capital of Japan?"))
    assert "Tokyo" in reply.text
    assert reply.finish_reason == "stop"
    assert reply.usage.prompt_tokens > 10
    assert reply.usage.completion_tokens > 3
    assert reply.model == "smollm2"


async def test_a_stream_is_the_same_reply(local: LocalModel) -> None:
    asked = question("What is the capital of Japan?")
    async with speaking(local) as client:
        whole = await client.complete(asked)
        reply, deltas = await streamed(client, asked)
    assert reply.text == whole.text
    assert reply.finish_reason == whole.finish_reason
    assert len([delta for delta in deltas if delta.text]) > 3
    assert reply.usage.prompt_tokens == whole.usage.prompt_tokens
    assert reply.usage.completion_tokens == whole.usage.completion_tokens


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_a_tool_is_called_and_its_result_is_answered(local: LocalModel, stream: bool) -> None:
    async with speaking(local) as client:
        result = await client.run(
            "What is the weather in Paris?",
            system=SYSTEM,
            tools=[get_weather, get_price],
            history=example_exchanges(),
            max_tokens=100,
            temperature=0.2,
            stream=stream,
        )
    assert [outcome.call.name for outcome in result.tool_calls] == ["get_weather"]
    assert result.tool_calls[0].content == "18 degrees and sunny"
    assert "18 degrees" in result.text


async def test_a_thought_is_kept_apart_and_signed() -> None:
    shots = tuple(
        message
        for country, city in (("France", "Paris"), ("Italy", "Rome"), ("Spain", "Madrid"))
        for message in (
            Message(role="user", content=f"What is the capital of {country}?"),
            Message(role="assistant", content=f"{city}."),
        )
    )
    last = Message(role="user", content="What is the capital of Japan?")
    async with LocalModel(chat_template=THINKS) as thinking, speaking(thinking) as client:
        asked = ChatRequest(
            model="",
            messages=(*shots, last),
            max_tokens=40,
            options=ChatOptions(temperature=0, reasoning_budget_tokens=64),
        )
        whole = await client.complete(asked)
        reply, _ = await streamed(client, asked)
    assert whole.reasoning
    assert whole.reasoning not in whole.text
    assert [thought.thinking.strip() for thought in whole.thoughts] == [whole.reasoning]
    assert (reply.reasoning, reply.text) == (whole.reasoning, whole.text)
    assert reply.thoughts == whole.thoughts


async def test_a_stop_sequence_ends_the_reply(local: LocalModel) -> None:
    async with speaking(local) as client:
        reply = await client.complete(question("What is the capital of Japan?", stop=" is"))
    assert reply.text == "The capital of Japan"


async def test_limits_are_told(local: LocalModel) -> None:
    async with speaking(local) as client:
        with pytest.raises(OutputLimitError):
            await client.run("Tell me a long story.", max_tokens=5, temperature=0)
        with pytest.raises(InputTooLargeError) as caught:
            await client.complete(question("word " * 3000))
    assert caught.value.context_tokens == 2048


async def test_a_prompt_is_counted(local: LocalModel) -> None:
    asked = question("What is the capital of Japan?")
    async with speaking(local) as client:
        bare = await client.count_prompt(asked.messages)
        offered = await client.count_prompt(asked.messages, [get_weather])
        reply = await client.complete(asked)
    assert bare == reply.usage.prompt_tokens
    assert offered is not None
    assert offered > bare


async def test_the_server_is_recognised(local: LocalModel) -> None:
    async with Client(local.url) as client:
        assert (await client.detect_dialect()).name == "llama.cpp"
