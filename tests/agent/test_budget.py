import math
from typing import Any

import pytest

from rig.agent.budget import (
    MEDIA_PART_TOKENS,
    Budget,
    Counted,
    Left,
    Price,
    Prices,
    Size,
    counted,
    estimate_tokens,
    prompt_size,
    tokens_spent,
)
from rig.agent.tools import Tool
from rig.errors import InvalidRequestError
from rig.messages import ImagePart, Message, TextPart, ToolCall, Usage
from rig.model import ChatRequest, Reply

LIST = Prices({"m": Price(prompt_per_million=1)})


@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"tokens": 1},
        {"seconds": 0.5},
        {"seconds": 60},
        {"calls": 1},
        {"tool_calls": 0},
        {"cost": 0.01, "prices": LIST},
        {"prices": LIST},
    ],
    ids=str,
)
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
        {"calls": 0},
        {"calls": 1.0},
        {"tool_calls": -1},
        {"tool_calls": True},
        {"cost": 0, "prices": LIST},
        {"cost": math.nan, "prices": LIST},
        {"cost": 1},
        {"prices": 5},
        {"prices": {"m": 5}},
        {"prices": {5: Price()}},
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


# Prices


@pytest.mark.parametrize(
    "fields",
    [
        {"prompt_per_million": -1},
        {"completion_per_million": math.inf},
        {"cached_per_million": math.nan},
        {"prompt_per_million": None},
        {"prompt_per_million": "1"},
        {"cached_per_million": True},
    ],
    ids=str,
)
def test_a_price_of_anything_but_money_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError):
        Price(**fields)


PAID: dict[str, tuple[dict[str, Any], Usage, float]] = {
    "prompt and reply": ({}, Usage(prompt_tokens=10, completion_tokens=5), 10 + 2 * 5),
    "cached like any other": (
        {},
        Usage.of({"prompt_tokens": 10, "completion_tokens": 5, "cached_tokens": 8}),
        20,
    ),
    "cached for less": (
        {"cached_per_million": 0},
        Usage.of({"prompt_tokens": 10, "completion_tokens": 5, "cached_tokens": 8}),
        2 + 10,
    ),
    "cached beside the prompt": (
        {"cached_per_million": 500_000},
        Usage.of({"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 100}),
        10 + 50 + 10,
    ),
    "written to the cache": (
        {},
        Usage.of({"input_tokens": 10, "output_tokens": 0, "cache_creation_input_tokens": 30}),
        40,
    ),
    "thoughts only the total tells of": (
        {},
        Usage.of({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 25}),
        10 + 2 * 15,
    ),
    "nothing": ({}, Usage(), 0),
}


@pytest.mark.parametrize(("more", "usage", "cost"), PAID.values(), ids=PAID)
def test_a_price_times_tokens(more: dict[str, Any], usage: Usage, cost: float) -> None:
    price = Price(prompt_per_million=1_000_000, completion_per_million=2_000_000, **more)
    assert price.of(usage) == pytest.approx(cost)


def test_a_price_is_looked_up_by_name() -> None:
    one, other = Price(prompt_per_million=1), Price(prompt_per_million=2)
    assert Budget(prices={"m": one}).price_of("m") is one
    assert Budget(prices={"m": one}).price_of("n") is None
    assert Budget(prices=Prices({"m": one}, default=other)).price_of("n") is other
    assert Budget(prices=lambda name: other if name else None).price_of("n") is other
    assert Budget().price_of("m") is None
    wrong: Any = Budget(prices=lambda _: 5)  # type: ignore[arg-type,return-value]  # a caller's mistake
    with pytest.raises(InvalidRequestError):
        wrong.price_of("m")


# What is left


@pytest.mark.parametrize(
    ("left", "used_up", "overdrawn"),
    [
        (Left(), "", ""),
        (Left(tokens=1, calls=1, cost=0.1), "", ""),
        (Left(tokens=0), "tokens", ""),
        (Left(tokens=-1), "tokens", "tokens"),
        (Left(calls=0), "calls", ""),
        (Left(cost=-0.5), "cost", "cost"),
        (Left(tool_calls=0), "", ""),
        (Left(seconds=-1), "", ""),
    ],
    ids=str,
)
def test_what_is_left_tells_what_is_used_up(left: Left, used_up: str, overdrawn: str) -> None:
    assert (left.used_up, left.overdrawn) == (used_up, overdrawn)


def test_the_less_of_two_counts_limit_by_limit() -> None:
    one = Left(tokens=5, calls=9)
    assert one.within(Left(tokens=7, calls=1, cost=2)) == Left(tokens=5, calls=1, cost=2)
    assert Left().within(one) == one


# The size of a prompt


def test_before_anything_was_counted_only_what_is_sure_is_the_least() -> None:
    assert prompt_size(request()) == Size(likely=100, least=1)


def test_a_count_is_the_base_of_the_next_estimate() -> None:
    known = counted(request(), Usage(prompt_tokens=150, completion_tokens=3))
    assert known == Counted(tokens=150, estimated=100)
    assert known.size(100) == Size(likely=150, least=150)
    assert known.size(120) == Size(likely=170, least=160)
    assert known.size(90) == Size(likely=140, least=140)
    assert counted(request(), Usage()) is None


@pytest.mark.parametrize(
    ("known", "scale"),
    [
        (Counted(tokens=600, estimated=300), 2.0),
        (Counted(tokens=60, estimated=30), 1.0),
        (Counted(tokens=30, estimated=60), 1.0),
        (Counted(tokens=150, estimated=300), 0.5),
        (Counted(tokens=90_000, estimated=300), 8.0),
    ],
    ids=str,
)
def test_what_is_added_is_scaled_like_what_was_counted(known: Counted, scale: float) -> None:
    assert known.scale == scale
