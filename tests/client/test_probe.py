"""Whether a model calls tools: what one probe request says, and how each answer is read."""

import pytest

from rig import Client, RetryPolicy
from rig.errors import (
    EmptyReplyError,
    InvalidRequestError,
    NoToolCallingError,
    OutputLimitError,
    RigError,
    ServerError,
)
from rig.testing import Answer, FakeBackend, answer, reply

CASES: dict[str, tuple[Answer, type[RigError] | None]] = {
    "a call to ping": (reply(tool_calls=[("ping", {"message": "hello"})]), None),
    "a call without arguments": (reply(tool_calls=[("ping", "{}")]), None),
    "a call among others": (reply(tool_calls=[("pong", {}), ("ping", {})]), None),
    "a call that says stop": (reply(tool_calls=[("ping", {})], finish_reason="stop"), None),
    "text": (reply("I would call ping."), NoToolCallingError),
    "another tool": (reply(tool_calls=[("not_ping", {})]), NoToolCallingError),
    "nothing at all": (reply(""), NoToolCallingError),
    "cut while thinking": (reply("thinking about it", finish_reason="length"), OutputLimitError),
    "cut with a call": (
        reply(tool_calls=[("ping", "{")], finish_reason="length"),
        OutputLimitError,
    ),
    "no choices": (answer(body={"choices": []}), EmptyReplyError),
    "400": (answer(400, body={"error": {"message": "no tools"}}), InvalidRequestError),
    "500": (answer(500, body={"error": {"message": "boom"}}), ServerError),
}


@pytest.mark.parametrize(("scripted", "expected"), CASES.values(), ids=CASES.keys())
async def test_a_probe_is_one_request_and_its_answer_is_read(
    scripted: Answer, expected: type[RigError] | None
) -> None:
    backend = FakeBackend(scripted)
    async with backend.serve(), Client(backend.url, retry=RetryPolicy()) as client:
        if expected is None:
            await client.probe_tool_calling("m")
        else:
            with pytest.raises(RigError) as caught:
                await client.probe_tool_calling("m")
            assert type(caught.value) is expected
            assert "thinking about it" not in str(caught.value)
            assert caught.value.__context__ is None
    assert len(backend.requests) == 1


async def test_a_probe_offers_ping_with_few_tokens_and_no_response_format() -> None:
    backend = FakeBackend(reply(tool_calls=[("ping", {})]))
    async with backend.serve(), Client(backend.url, model="mine") as client:
        await client.probe_tool_calling()
    body = backend.requests[0].json
    assert body["model"] == "mine"
    assert body["max_tokens"] == 256
    assert "response_format" not in body
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    [offered] = body["tools"]
    assert offered["function"]["name"] == "ping"
    assert offered["function"]["parameters"] == {
        "type": "object",
        "properties": {"message": {"type": "string"}},
        "required": ["message"],
    }
