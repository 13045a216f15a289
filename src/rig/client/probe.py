"""The question whether a model calls tools: the request that asks, and how the answer is read."""

from collections.abc import Awaitable, Mapping
from dataclasses import field
from typing import Any

from rig.errors import EmptyReplyError, NoToolCallingError, OutputLimitError
from rig.late_dataclass import dataclass
from rig.messages import Message
from rig.model import ChatRequest, Reply

PROBE_TOOL = "ping"
"""The one tool a probe offers; only a call of this name counts."""

PROBE_MAX_TOKENS = 256
"""Tokens a probe may generate: a call takes 20 to 40, and a model that thinks first gets some room."""


@dataclass(frozen=True, slots=True)
class _Ping:
    name: str = PROBE_TOOL
    description: str = "Check that tool calling works."
    input_schema: Mapping[str, Any] = field(
        default_factory=lambda: {
            "type": "object",
            "properties": {"message": {"type": "string"}},
            "required": ["message"],
        }
    )


def probe_request(model: str) -> ChatRequest:
    """The request of the probe.

    Args:
        model: the model's name.
    """
    return ChatRequest(
        model=model,
        messages=(
            Message(role="system", content="You call tools. You never answer in text."),
            Message(role="user", content='Call the tool ping with the message "hello".'),
        ),
        tools=(_Ping(),),
        max_tokens=PROBE_MAX_TOKENS,
    )


async def check_probe(replying: Awaitable[Reply]) -> None:
    """Judge the reply to a probe; its arguments and its text are not looked at.

    Args:
        replying: the reply to come.

    Raises:
        NoToolCallingError: the tool was not called.
        OutputLimitError: the reply was cut first.
        RigError: there was no reply.
    """
    problem = await _problem(replying)
    if problem:
        raise problem


async def _problem(replying: Awaitable[Reply]) -> NoToolCallingError | OutputLimitError | None:
    try:
        reply = await replying
    except EmptyReplyError as error:
        # A reply without any choice is an endpoint that failed, not a model that can't call tools.
        if error.reason == "no_choices":
            raise
        return NoToolCallingError("the model answered the probe with neither a call nor text")
    if reply.finish_reason == "length":
        return OutputLimitError(
            f"the probe's {PROBE_MAX_TOKENS} tokens were used up before a tool call; "
            "a model that thinks this long needs thinking off, or its own test"
        )
    if all(call.name != PROBE_TOOL for call in reply.tool_calls):
        return NoToolCallingError(
            "the model did not call the tool it was told to call; check that the server was "
            "started with a tool-call parser and a chat template that knows tools"
        )
    return None
