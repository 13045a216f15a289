"""Who may send what out of a budget: decided as values."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.agent.allowance import Aside, Grant, Need, grant
from rig.agent.budget import Left, Price, Size

DEAR = Price(prompt_per_million=1_000_000, completion_per_million=2_000_000)


def need(prompt: int = 10, max_tokens: int = 20, **more: Any) -> Need:
    least = more.pop("least", prompt)
    return Need(
        size=Size(likely=prompt, least=least),
        max_tokens=max_tokens,
        price=more.pop("price", Price()),
    )


def granted(max_tokens: int, reason: str = "") -> Grant:
    return Grant(kind="granted", max_tokens=max_tokens, reason=reason)


def refused(reason: str) -> Grant:
    return Grant(kind="refused", reason=reason)


WAIT = Grant(kind="wait")

GRANTS: dict[str, tuple[Need, Left, Aside, bool, Grant]] = {
    "no limit": (need(), Left(), Aside(), False, granted(20)),
    "just enough": (need(), Left(tokens=30), Aside(), False, granted(20)),
    "a shorter reply": (need(), Left(tokens=29), Aside(), False, granted(19, "tokens")),
    "room for one token": (need(), Left(tokens=11), Aside(), False, granted(1, "tokens")),
    "no room for a reply": (need(), Left(tokens=10), Aside(), False, refused("tokens")),
    "nothing left": (need(), Left(tokens=0), Aside(), False, refused("tokens")),
    "overdrawn": (need(), Left(tokens=-5), Aside(), False, refused("tokens")),
    "an estimate alone refuses nothing": (
        need(100, least=5),
        Left(tokens=50),
        Aside(),
        False,
        granted(20),
    ),
    "what surely does not fit is refused": (
        need(100, least=50),
        Left(tokens=50),
        Aside(),
        False,
        refused("tokens"),
    ),
    "beside others": (need(), Left(tokens=100), Aside(tokens=70), True, granted(20)),
    "wait for others": (need(), Left(tokens=100), Aside(tokens=71), True, WAIT),
    "wait even where a shorter reply would fit now": (
        need(),
        Left(tokens=100),
        Aside(tokens=80),
        True,
        WAIT,
    ),
    "nobody to wait for takes what is free": (
        need(),
        Left(tokens=100),
        Aside(tokens=80),
        False,
        granted(10, "tokens"),
    ),
    "no use to wait": (need(), Left(tokens=10), Aside(tokens=5), True, refused("tokens")),
    "no calls": (need(), Left(calls=0), Aside(), False, refused("calls")),
    "the last call": (need(), Left(calls=1), Aside(), False, granted(20)),
    "calls are not waited for": (need(), Left(calls=0), Aside(tokens=5), True, refused("calls")),
    "just enough money": (need(price=DEAR), Left(cost=50.0), Aside(), False, granted(20)),
    "money for a shorter reply": (
        need(price=DEAR),
        Left(cost=49.0),
        Aside(),
        False,
        granted(19, "cost"),
    ),
    "no money for a reply": (need(price=DEAR), Left(cost=11.0), Aside(), False, refused("cost")),
    "no money for the prompt": (need(price=DEAR), Left(cost=9.0), Aside(), False, refused("cost")),
    "what costs nothing needs no money": (need(), Left(cost=0.5), Aside(), False, granted(20)),
    "but some must be left": (need(), Left(cost=0.0), Aside(), False, refused("cost")),
    "wait for the money of others": (
        need(price=DEAR),
        Left(cost=60.0),
        Aside(cost=20.0),
        True,
        WAIT,
    ),
    "the nearer limit is told": (
        need(price=DEAR),
        Left(cost=40.0, tokens=15),
        Aside(),
        False,
        granted(5, "tokens"),
    ),
}


@pytest.mark.parametrize(("wanted", "left", "aside", "others", "said"), GRANTS.values(), ids=GRANTS)
def test_a_request_is_granted_what_is_left(
    wanted: Need, left: Left, aside: Aside, others: bool, said: Grant
) -> None:
    assert grant(wanted, left, aside, others=others) == said


def test_what_is_set_aside_is_prompt_and_granted_reply() -> None:
    assert need(price=DEAR).aside(5) == Aside(tokens=15, cost=20.0)


@given(
    prompt=st.integers(0, 100),
    max_tokens=st.integers(1, 100),
    tokens=st.integers(-50, 300),
    aside=st.integers(0, 300),
)
def test_nothing_is_granted_beyond_what_is_free(
    prompt: int, max_tokens: int, tokens: int, aside: int
) -> None:
    wanted = need(prompt, max_tokens)
    said = grant(wanted, Left(tokens=tokens), Aside(tokens=aside), others=aside > 0)
    if said.kind == "granted":
        assert 1 <= said.max_tokens <= max_tokens
        assert wanted.aside(said.max_tokens).tokens + aside <= tokens
    if said.kind == "refused":
        assert prompt + 1 > tokens
