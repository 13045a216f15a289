"""Tiers, and what a deployment buys for them."""

from typing import Any

import pytest

from rig import ChatOptions, ChatRequest, InvalidRequestError, Message, NotConfiguredError
from rig.gateway.tiers import DEFAULT_TIER_TOKENS, Deployment, Tier, TierModel, merged, parse_tier

PARSED: dict[object, tuple[Tier, bool]] = {
    "fast": (Tier.FAST, True),
    "balanced": (Tier.BALANCED, True),
    "deep": (Tier.DEEP, True),
    "FAST": (Tier.FAST, True),
    "  Deep\t\n": (Tier.DEEP, True),
    "": (Tier.BALANCED, True),
    "   ": (Tier.BALANCED, True),
    "turbo": (Tier.BALANCED, False),
    "fast ish": (Tier.BALANCED, False),
    "qwen3-4b": (Tier.BALANCED, False),
    "Tier.FAST": (Tier.BALANCED, False),
    None: (Tier.BALANCED, True),
    5: (Tier.BALANCED, False),
    True: (Tier.BALANCED, False),
    b"fast": (Tier.BALANCED, False),
    ("fast",): (Tier.BALANCED, False),
}


@pytest.mark.parametrize(("raw", "parsed"), PARSED.items(), ids=repr)
def test_a_declared_tier_is_read_and_never_an_error(raw: object, parsed: tuple[Tier, bool]) -> None:
    assert parse_tier(raw) == parsed


@pytest.mark.parametrize("tier", Tier)
def test_a_tier_declares_itself(tier: Tier) -> None:
    assert parse_tier(tier) == (tier, True)


ALL = {Tier.FAST: "small", Tier.BALANCED: "middle", Tier.DEEP: "large"}


def deployment(*tiers: Tier, default: Any = Tier.BALANCED) -> Deployment:
    chosen: Any = {tier: ALL[tier] for tier in tiers or Tier}
    return Deployment(tiers=chosen, default=default)


CHOICES: dict[str, tuple[Deployment, str, Tier, str | None]] = {
    "as asked": (deployment(), "deep", Tier.DEEP, None),
    "nothing is the default": (deployment(), "", Tier.BALANCED, None),
    "nothing is the deployment's default": (deployment(default="fast"), " ", Tier.FAST, None),
    "an unknown word": (deployment(), "turbo", Tier.BALANCED, "unknown"),
    "an unknown word elsewhere": (deployment(default="fast"), "turbo", Tier.FAST, "unknown"),
    "a model's name is an unknown word": (deployment(), "large", Tier.BALANCED, "unknown"),
    "no deep one": (deployment(Tier.FAST, Tier.BALANCED), "deep", Tier.BALANCED, "missing"),
    "nothing but fast": (deployment(Tier.FAST), "deep", Tier.FAST, "missing"),
    "no fast one": (deployment(Tier.BALANCED, Tier.DEEP), "fast", Tier.BALANCED, "missing"),
    "nothing but deep": (deployment(Tier.DEEP), "fast", Tier.DEEP, "missing"),
    "no balanced one: the cheaper": (
        deployment(Tier.FAST, Tier.DEEP),
        "balanced",
        Tier.FAST,
        "missing",
    ),
    "the default is missing": (deployment(Tier.DEEP), "", Tier.DEEP, "missing"),
    "unknown, and the default is missing": (deployment(Tier.DEEP), "x", Tier.DEEP, "unknown"),
}


@pytest.mark.parametrize(("there", "raw", "tier", "fell_back"), CHOICES.values(), ids=CHOICES)
def test_some_tier_always_answers(
    there: Deployment, raw: str, tier: Tier, fell_back: str | None
) -> None:
    choice = there.choose(raw)
    assert (choice.tier, choice.fell_back) == (tier, fell_back)
    assert choice.model.model == ALL[tier]


def test_what_was_asked_for_is_told_in_bounds() -> None:
    assert len(deployment().choose("x" * 5000).asked) == 64
    assert deployment().choose("").asked == "balanced"


def test_a_name_alone_is_a_model_with_defaults() -> None:
    model = deployment().choose("fast").model
    assert model == TierModel(model="small", max_tokens=DEFAULT_TIER_TOKENS)


def test_names_of_tiers_may_be_texts() -> None:
    tiers: Any = {"Deep": "large"}
    assert Deployment(tiers=tiers).choose("deep").model.model == "large"


def test_without_any_tier_there_is_no_gateway() -> None:
    with pytest.raises(NotConfiguredError):
        Deployment(tiers={})


BAD: dict[str, dict[str, Any]] = {
    "a list": {"tiers": ["fast"]},
    "an unknown tier": {"tiers": {"turbo": "m"}},
    "a blank tier": {"tiers": {"": "m"}},
    "a number as tier": {"tiers": {1: "m"}},
    "no model": {"tiers": {"fast": None}},
    "a blank model": {"tiers": {"fast": " "}},
    "an unknown default": {"tiers": {"fast": "m"}, "default": "turbo"},
    "a default that is no text": {"tiers": {"fast": "m"}, "default": None},
}


@pytest.mark.parametrize("fields", BAD.values(), ids=BAD)
def test_a_deployment_that_can_not_work_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError):
        Deployment(**fields)


BAD_MODELS: dict[str, dict[str, Any]] = {
    "a blank name": {"model": ""},
    "no tokens": {"max_tokens": 0},
    "half a token": {"max_tokens": 0.5},
    "options that are none": {"options": {"temperature": 1}},
    "a blank effort": {"effort": " "},
    "an effort that is no word": {"effort": 3},
    "two efforts": {"effort": "low", "options": ChatOptions(reasoning_effort="high")},
}


@pytest.mark.parametrize("fields", BAD_MODELS.values(), ids=BAD_MODELS)
def test_a_model_of_a_tier_that_can_not_work_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError):
        TierModel(**{"model": "m", **fields})


TIER = ChatOptions(temperature=0.5, top_p=0.9, extra_body={"a": 1, "b": 1}, tenant="tier")
MERGED: dict[str, tuple[ChatOptions, ChatOptions]] = {
    "nothing set": (ChatOptions(), ChatOptions(temperature=0.5, top_p=0.9, extra_body={"a": 1, "b": 1})),
    "zero is set": (
        ChatOptions(temperature=0),
        ChatOptions(temperature=0, top_p=0.9, extra_body={"a": 1, "b": 1}),
    ),
    "fields of the body are joined": (
        ChatOptions(extra_body={"b": 2, "c": 2}),
        ChatOptions(temperature=0.5, top_p=0.9, extra_body={"a": 1, "b": 2, "c": 2}),
    ),
    "whose it is says the request": (
        ChatOptions(tenant="acme", priority="batch"),
        ChatOptions(temperature=0.5, top_p=0.9, extra_body={"a": 1, "b": 1}, tenant="acme", priority="batch"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("options", "expected"), MERGED.values(), ids=MERGED)
def test_what_a_request_sets_wins_over_its_tier(
    options: ChatOptions, expected: ChatOptions
) -> None:
    assert merged(TIER, options) == expected


def test_options_without_defaults_stay_the_very_same() -> None:
    options = ChatOptions(seed=1)
    assert merged(ChatOptions(), options) == options


def test_a_tier_says_how_hard_to_think() -> None:
    model = TierModel(
        model="large", effort="high", options=ChatOptions(reasoning_budget_tokens=2048)
    )
    request = ChatRequest(
        model="deep", messages=(Message(role="user", content="Hi"),), max_tokens=9
    )
    sent = model.applied(request)
    assert (sent.model, sent.max_tokens) == ("large", 9)
    assert sent.options.reasoning_effort == "high"
    assert sent.options.reasoning_budget_tokens == 2048
    assert sent.messages is request.messages


@pytest.mark.parametrize(
    ("raw", "why"),
    [(None, "missing"), ("", "missing"), (5, "unknown"), (["deep"], "unknown")],
    ids=repr,
)
def test_whatever_a_request_calls_its_model_a_tier_is_chosen(raw: object, why: str) -> None:
    choice = Deployment(tiers={Tier.FAST: TierModel(model="small")}).choose(raw)
    assert (choice.tier, choice.fell_back) == (Tier.FAST, why)
