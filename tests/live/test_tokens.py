"""Counts, windows and limits against llama.cpp's own server: what it says is what it then does."""

from typing import Any

import pytest

from rig import ChatRequest, Client, Message, tool
from rig.agent.history import prepare
from rig.agent.truncation import truncated_prompt
from rig.client.requester import HTTPRequester
from rig.client.tokens import TokenCounter
from rig.errors import InputTooLargeError, NotConfiguredError
from rig.testing import LocalModel, example_exchanges
from rig.transport.http import HTTP, Response

PROSE = "The committee met on Tuesday to discuss the annual report, and agreed to publish it. "


@tool
async def get_price(item: str) -> str:
    """Get the price of an item in a shop."""
    return "3 dollars"


def user(text: str) -> list[Message]:
    return [Message(role="user", content=text)]


PROMPTS: dict[str, tuple[list[Message | dict[str, Any]], bool]] = {
    "a word": ([*user("Hi")], False),
    "other scripts": ([*user("\u4f60\u597d, \u043c\u0438\u0440 \U0001f600 \ud83d")], False),
    "a system prompt": ([Message(role="system", content="Be brief."), *user("Hi")], False),
    "tools": ([*user("How much is an apple?")], True),
    "calls and results": ([*example_exchanges(), *user("And a pear?")], True),
    "a page": ([*user(PROSE * 60)], False),
}


@pytest.mark.parametrize(("messages", "with_tools"), PROMPTS.values(), ids=PROMPTS.keys())
async def test_a_prompt_counts_as_many_tokens_as_its_reply_reports(
    client: Client, messages: list[Message | dict[str, Any]], with_tools: bool
) -> None:
    tools = (get_price,) if with_tools else ()
    counted = await client.count_prompt(messages, tools)
    sent = prepare([message for message in messages if isinstance(message, Message)])
    reply = await client.complete(
        ChatRequest(model="smollm2", messages=sent, tools=tools, max_tokens=1)
    )
    assert counted == reply.usage.prompt_tokens
    assert truncated_prompt(sent, reply.usage) is None
    assert truncated_prompt(sent, reply.usage, counted_tokens=counted) is None


class OlderServer(HTTPRequester):
    """llama.cpp as it was before it counted chats itself."""

    async def request(
        self, method: str, path: str, body: bytes = b"", *, max_bytes: int
    ) -> Response:
        if path.endswith("input_tokens"):
            return Response(404, {}, b"")
        return await super().request(method, path, body, max_bytes=max_bytes)


@pytest.mark.parametrize(("messages", "with_tools"), PROMPTS.values(), ids=PROMPTS.keys())
async def test_rendering_and_counting_gives_the_same(
    local: LocalModel, client: Client, messages: list[Message | dict[str, Any]], with_tools: bool
) -> None:
    tools = (get_price,) if with_tools else ()
    sent = prepare([message for message in messages if isinstance(message, Message)])
    http = HTTP(local.url + "/")
    try:
        count = await TokenCounter(OlderServer(http, local.url + "/")).count_prompt(
            sent, tools, "smollm2"
        )
    finally:
        await http.aclose()
    assert count is not None
    assert count.exact
    assert count.tokens == await client.count_prompt(messages, tools)


async def test_a_text_is_counted_without_its_template(client: Client) -> None:
    assert await client.has_tokenizer()
    assert await client.count_tokens("Hello, world!") == 4
    assert await client.count_tokens("") == 0
    assert await client.count_tokens("word " * 1000) == 1001


async def test_the_window_is_that_of_a_slot() -> None:
    async with LocalModel(slots=2) as local, Client(local.url, model=local.model) as client:
        assert await client.context_window() == 2048
        counted = await client.count_prompt([], system="Be brief.")
        assert counted is not None
        budget = await client.reasoning_budget(reserve=500, system="Be brief.")
        assert budget == (2048 - counted - 500) * 2 // 3
    async with LocalModel(slots=1) as local, Client(local.url, model=local.model) as client:
        assert await client.context_window() == 4096


async def test_a_prompt_of_more_than_the_window_is_refused_as_counted(client: Client) -> None:
    messages = user(PROSE * 200)
    with pytest.raises(InputTooLargeError) as caught:
        await client.complete(ChatRequest(model="smollm2", messages=messages, max_tokens=1))
    assert caught.value.context_tokens == await client.context_window()
    assert caught.value.prompt_tokens == await client.count_prompt(messages)


async def test_the_limit_that_is_found_by_trying_is_just_below_the_window(client: Client) -> None:
    window = await client.context_window()
    assert window is not None
    found = await client.discover_context()
    assert window - 300 <= found < window


async def test_a_server_without_embeddings_says_how_to_start_it(client: Client) -> None:
    with pytest.raises(NotConfiguredError) as caught:
        await client.embed(["hello"])
    assert caught.value.reason == "embeddings_off"
