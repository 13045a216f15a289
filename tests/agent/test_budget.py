import math
from typing import Any

import pytest

from rig.agent.budget import MEDIA_PART_TOKENS, Budget, estimate_tokens, tokens_spent
from rig.agent.tools import Tool
from rig.errors import InvalidRequestError
from rig.messages import ImagePart, Message, TextPart, ToolCall, Usage
from rig.model import ChatRequest, Reply


@pytest.mark.parametrize("limits", [{}, {"tokens": 1}, {"seconds": 0.5}, {"seconds": 60}])
def test_a_budget_takes_limits_above_zero_or_none(limits: dict[str, Any]) -> None:
    assert Budget(**limits) == Budget(**limits)


@pytest.mark.parametrize(
    "limits",
    [
        {"tokens": 0},
        {"tokens": -1},
        {"tokens": 1.5},
        {"tokens": True},
        {"tokens": "10"},
        {"seconds": 0},
        {"seconds": -1.0},
        {"seconds": math.inf},
        {"seconds": math.nan},
        {"seconds": True},
        {"seconds": "60"},
    ],
    ids=str,
)
def test_a_budget_of_anything_else_is_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError):
        Budget(**limits)


SIZES = {
    "nothing": (Message(role="user", content=""), 0),
    "rounded up": (Message(role="user", content="abcde"), 2),
    "bytes of utf-8": (Message(role="user", content="\u00e4\u00f6"), 1),
    "lone surrogates": (Message.model_construct(role="user", content="\ud800abc"), 1),
    "calls": (
        Message(role="assistant", tool_calls=(ToolCall(name="f", arguments='{"a":1}'),)),
        2,
    ),
    "thoughts": (Message(role="assistant", content="abcd", reasoning="efgh"), 2),
    "an image counts for what it is, not for its base64 text": (
        Message(
            role="user",
            content=(TextPart(text="abcd"), ImagePart.from_bytes("image/png", bytes(100_000))),
        ),
        1 + MEDIA_PART_TOKENS,
    ),
}


@pytest.mark.parametrize(("message", "tokens"), SIZES.values(), ids=SIZES.keys())
def test_the_size_of_a_message_is_estimated(message: Message, tokens: int) -> None:
    assert estimate_tokens([message, message]) == 2 * tokens


def request(**changes: Any) -> ChatRequest:
    return ChatRequest(
        model="m", messages=[Message(role="user", content="a" * 400)], max_tokens=10, **changes
    )


def test_what_was_reported_counts() -> None:
    usage = Usage(prompt_tokens=7, completion_tokens=3)
    assert usage.reported
    assert tokens_spent(request(), Reply(text="b" * 4000, usage=usage)) == 10


def test_what_was_not_reported_is_estimated_from_both_sides() -> None:
    assert tokens_spent(request(), Reply(text="b" * 40)) == 100 + 10


@pytest.mark.parametrize("field", [None, "reasoning"])
def test_thoughts_are_part_of_the_estimate_wherever_they_came_from(field: Any) -> None:
    reply = Reply(text="b" * 40, reasoning="c" * 80, reasoning_field=field)
    assert tokens_spent(request(), reply) == 100 + 10 + 20


def test_offered_tools_are_part_of_the_estimate() -> None:
    offered = Tool("look", "Look it up.", {"type": "object"}, str)
    assert tokens_spent(request(tools=[offered]), Reply(text="b")) > 101
