"""Usage and timings: what is told in either place, and what is nonsense in both."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rig.messages import MAX_COUNT, Usage
from rig.wire.usage import read_any_usage, read_usage

# Of real answers: llama.cpp b1-7e4c0a9 (chat_basic) and b4747 (chat_unicode).
NEW_USAGE = {
    "completion_tokens": 48,
    "prompt_tokens": 37,
    "total_tokens": 85,
    "prompt_tokens_details": {"cached_tokens": 24},
}
NEW_TIMINGS = {
    "cache_n": 24,
    "prompt_n": 13,
    "prompt_ms": 46.5,
    "prompt_per_token_ms": 3.576923076923077,
    "prompt_per_second": 279.5698924731183,
    "predicted_n": 48,
    "predicted_ms": 581.752,
    "predicted_per_token_ms": 12.377702127659573,
    "predicted_per_second": 80.79043991254005,
}
OLD_USAGE = {"completion_tokens": 48, "prompt_tokens": 44, "total_tokens": 92}
OLD_TIMINGS = {"prompt_n": 21, "prompt_ms": 208.0, "predicted_n": 48, "predicted_ms": 557.5}


def counts(usage: Usage) -> tuple[int, int, int, int]:
    return (
        usage.prompt_tokens,
        usage.cached_tokens,
        usage.completion_tokens,
        usage.total_tokens,
    )


def test_both_together() -> None:
    usage = read_usage(NEW_USAGE, NEW_TIMINGS, latency_s=0.75)
    assert counts(usage) == (37, 24, 48, 85)
    assert usage.latency_s == 0.75
    assert usage.prompt_s == pytest.approx(0.0465)
    assert usage.generation_s == pytest.approx(0.581752)
    assert usage.new_prompt_tokens == 13
    assert usage.prompt_tokens_per_s == pytest.approx(NEW_TIMINGS["prompt_per_second"])
    # The server leaves the first token out of its own figure.
    assert usage.completion_tokens_per_s == pytest.approx(82.5, abs=0.1)
    assert usage.reported


TOLD: dict[str, tuple[Any, Any, tuple[int, int, int, int]]] = {
    "usage alone": (NEW_USAGE, None, (37, 24, 48, 85)),
    "timings alone": (None, NEW_TIMINGS, (37, 24, 48, 85)),
    "a usage of zeros": ({"prompt_tokens": 0}, NEW_TIMINGS, (37, 24, 48, 85)),
    "cached tokens in cache_n": (OLD_USAGE, {"prompt_n": 20, "cache_n": 24}, (44, 24, 48, 92)),
    "cached tokens nowhere, but new ones": (OLD_USAGE, OLD_TIMINGS, (44, 23, 48, 92)),
    "nothing cached": (OLD_USAGE, {"prompt_n": 44}, (44, 0, 48, 92)),
    "more new tokens than tokens": (OLD_USAGE, {"prompt_n": 99}, (44, 0, 48, 92)),
    "no new tokens": (OLD_USAGE, {"prompt_n": 0, "cache_n": 0}, (44, 0, 48, 92)),
    "more cached than tokens": (OLD_USAGE, {"prompt_n": 1, "cache_n": 99}, (44, 43, 48, 92)),
    "other timings": (OLD_USAGE, {"total": 3}, (44, 0, 48, 92)),
    "neither": (None, None, (0, 0, 0, 0)),
    "nonsense": ([1], "timings", (0, 0, 0, 0)),
    "nonsense inside": (
        {"prompt_tokens": "x", "completion_tokens": 5},
        {"prompt_n": [], "cache_n": {}, "predicted_n": 1.5},
        (0, 0, 5, 5),
    ),
}


@pytest.mark.parametrize(("usage", "timings", "expected"), TOLD.values(), ids=TOLD)
def test_the_counters(usage: Any, timings: Any, expected: tuple[int, int, int, int]) -> None:
    read = read_usage(usage, timings)
    assert counts(read) == expected
    assert read.reported is any(expected)


@pytest.mark.parametrize(
    "bad", [None, "1", True, -1, float("nan"), float("inf"), 10**400, [], {}], ids=str
)
def test_a_time_that_is_none_is_not_known(bad: Any) -> None:
    usage = read_usage(NEW_USAGE, {**NEW_TIMINGS, "prompt_ms": bad, "predicted_ms": bad})
    assert (usage.prompt_s, usage.generation_s) == (None, None)
    assert (usage.prompt_tokens_per_s, usage.completion_tokens_per_s) == (None, None)


def test_a_time_of_zero_is_a_time_but_gives_no_rate() -> None:
    usage = read_usage(NEW_USAGE, {**NEW_TIMINGS, "prompt_ms": 0})
    assert (usage.prompt_s, usage.prompt_tokens_per_s) == (0.0, None)


def test_what_is_measured_here_is_never_taken_from_the_server() -> None:
    usage = read_usage(
        {**NEW_USAGE, "latency_s": 9, "time_to_first_token_s": 9, "prompt_s": 9, "reported": False},
        latency_s=1.0,
    )
    assert (usage.latency_s, usage.time_to_first_token_s, usage.prompt_s) == (1.0, None, None)
    assert usage.reported


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner)
    ),
    max_leaves=5,
)


@given(
    st.dictionaries(st.sampled_from([*NEW_USAGE, "cached_tokens"]), json_values),
    st.dictionaries(st.sampled_from([*NEW_TIMINGS]), json_values),
)
def test_whatever_is_told_the_parts_fit(usage: object, timings: object) -> None:
    read = read_usage(usage, timings)
    assert all(count >= 0 for count in counts(read))
    assert 0 <= read.new_prompt_tokens <= read.prompt_tokens
    assert Usage.model_validate(read.model_dump()) == read


details = st.dictionaries(
    st.sampled_from(["cached_tokens", "reasoning_tokens", "audio_tokens", "cachedTokens"]),
    st.one_of(json_values, st.integers(0, 99)),
    max_size=3,
)


COUNTERS = [
    "prompt_tokens", "completion_tokens", "total_tokens", "reasoning_tokens", "cached_tokens",
    "cache_creation_tokens",
]  # fmt: skip


@given(
    st.dictionaries(
        st.sampled_from(COUNTERS),
        st.one_of(st.integers(0, 99), st.integers(1, 99), json_values),
    ),
    st.dictionaries(
        st.sampled_from(["prompt_tokens_details", "completion_tokens_details"]),
        st.one_of(json_values, details),
    ),
    st.none()
    | json_values
    | st.dictionaries(
        st.sampled_from(["prompt_n", "prompt_ms", "predicted_n", "predicted_ms", "cache_n"]),
        st.one_of(json_values, st.integers(0, 99), st.floats(0, 99)),
    ),
)
@example({"cached_tokens": 3}, {}, {"prompt_n": 5, "prompt_ms": 1.5, "predicted_ms": 2.5})
@example(
    {"reasoning_tokens": 3, "cached_tokens": 4, "cache_creation_tokens": 5},
    {
        "prompt_tokens_details": {"cached_tokens": 1},
        "completion_tokens_details": {"reasoning_tokens": 2},
    },
    {"prompt_n": 5, "prompt_ms": 1.5, "predicted_ms": 2.5},
)
def test_a_plain_usage_is_read_as_any_other(
    counters: dict[str, Any], parts: dict[str, Any], timings: object
) -> None:
    plain = {"prompt_tokens": 7, "completion_tokens": 8, "total_tokens": 15, **counters, **parts}
    read, any_read = read_usage(plain, timings), read_any_usage(plain, timings)
    assert read == any_read
    assert repr(read) == repr(any_read)


def test_no_usage_is_read_as_any_other() -> None:
    read, any_read = read_usage(None, latency_s=0.5), read_any_usage(None, latency_s=0.5)
    assert repr(read) == repr(any_read)


COUNTS = [0, 1, 5, MAX_COUNT, MAX_COUNT + 1, 1 << 70, -1]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", ["prompt_tokens", "completion_tokens", "total_tokens"])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"cached_tokens": 2},
        {"cache_read_input_tokens": 2},
        {"prompt_tokens_details": {"cachedTokens": 2}},
        {"completion_tokens_details": {"reasoning_tokens": 1 << 70}},
    ],
)
def test_every_count_of_a_plain_usage_is_checked(
    name: str, count: int, more: dict[str, Any]
) -> None:
    plain = {"prompt_tokens": 7, "completion_tokens": 8, "total_tokens": 15, name: count, **more}
    read = read_usage(plain)
    assert read == read_usage({**plain, "carbon": None})
    assert max(*counts(read), read.reasoning_tokens) <= 2 * MAX_COUNT


def test_a_count_beside_the_plain_ones_is_read_too() -> None:
    plain = {"prompt_tokens": 7, "completion_tokens": 8, "total_tokens": 15}
    assert read_usage({**plain, "cached_tokens": 2}).cached_tokens == 2
    assert read_usage({**plain, "prompt_tokens_details": {"cachedTokens": 2}}).cached_tokens == 2
