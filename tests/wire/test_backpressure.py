"""When to come back, and what a busy server says about its queue."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.errors import Backpressure
from rig.wire.backpressure import MAX_WAIT_S, duration_s, read_backpressure, read_retry_after
from rig.wire.fault_text import fault_of

CORRALLM = {
    "error": {
        "capacity": 1,
        "in_flight": 1,
        "message": "backend at capacity; retry after backoff",
        "reason": "queue-timeout",
        "retry_after": 10,
        "type": "backpressure",
        "waiting": 0,
    }
}
DATE = "Wed, 21 Oct 2026 07:28:00 GMT"
MINUTE_BEFORE = 1792567620.0

WAITS: dict[str, tuple[dict[str, str], object, float | None]] = {
    "nothing": ({}, {"error": {"message": "nope"}}, None),
    "plain text": ({}, "backend busy", None),
    "empty": ({}, "", None),
    "whole seconds": ({"retry-after": "3"}, "", 3),
    "zero is an answer": ({"retry-after": "0"}, "", 0),
    "fractions": ({"retry-after": "1.5"}, "", 1.5),
    "blanks": ({"retry-after": " 7 "}, "", 7),
    "a duration": ({"retry-after": "6m0s"}, "", 360),
    "a unit": ({"retry-after": "20 seconds"}, "", 20),
    "milliseconds first": ({"retry-after-ms": "250", "retry-after": "3"}, "", 0.25),
    "bad milliseconds fall through": ({"retry-after-ms": "soon", "retry-after": "3"}, "", 3),
    "negative falls through": ({"retry-after": "-1"}, {"retry_after": 4}, 4),
    "NaN falls through": ({"retry-after": "nan"}, {"retry_after": 4}, 4),
    "infinity falls through": ({"retry-after-ms": "inf"}, "", None),
    "a date": ({"retry-after": DATE}, "", 60),
    "a date by the server's clock": (
        {"retry-after": DATE, "date": "Wed, 21 Oct 2026 07:27:30 GMT"},
        "",
        30,
    ),
    "a bad Date header": ({"retry-after": DATE, "date": "yesterday"}, "", 60),
    "a date in the past": ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, "", 0),
    "an old date form": ({"retry-after": "Wednesday, 21-Oct-26 07:28:00 GMT"}, "", 60),
    "no date": ({"retry-after": "Wed, 99 Foo 2026"}, {"retry_after": 4}, 4),
    "a time stamp is nonsense": ({"retry-after": "1792567680"}, {"retry_after": 4}, 4),
    "a long header": ({"retry-after": "9" * 10_000}, "", None),
    "the header wins": ({"retry-after": "3"}, CORRALLM, 3),
    "the body's field": ({}, CORRALLM, 10),
    "at the top": ({}, {"retry_after": 7}, 7),
    "as a float": ({}, {"error": {"retry_after": 2.5}}, 2.5),
    "as a text": ({}, {"error": {"retry_after": "2.5s"}}, 2.5),
    "in milliseconds": ({}, {"error": {"retry_after_ms": 1500}}, 1.5),
    "camel case": ({}, {"retryAfter": 5}, 5),
    "a flag": ({}, {"retry_after": True}, None),
    "beside metadata": ({}, {"error": {"message": "x", "metadata": {"retry_after_seconds": 5}}}, 5),
    "Google's": (
        {},
        {"error": {"code": 429, "details": [{"@type": "x"}, {"retryDelay": "17s"}]}},
        17,
    ),
    "in words": ({}, {"error": {"message": "Rate limit. Please try again in 1.5s."}}, 1.5),
    "in words, milliseconds": ({}, {"error": "Please try again in 826ms. Visit"}, 0.826),
    "in words, two units": ({}, {"error": "try again in 7m12s"}, 432),
    "in words, spelled out": ({}, {"error": "Please retry in 20 seconds, thank you"}, 20),
    "in words, after": ({}, {"error": "please try again after 1 seconds"}, 1),
    "in words, wait": ({}, {"error": "Please wait 20 seconds before the next request"}, 20),
    "a header that came twice": ({"retry-after": "5, 5"}, "", 5),
    "a header that came twice, bad first": ({"retry-after": "soon, 7"}, "", 7),
    "Hugging Face": ({}, {"error": "Model x is currently loading", "estimated_time": 20.0}, 20),
    "in words, no number": ({}, {"error": "try again in a while"}, None),
    "retry after backoff": ({}, {"error": "retry after backoff"}, None),
}


@pytest.mark.parametrize(("headers", "body", "wait"), WAITS.values(), ids=WAITS)
def test_the_wait_a_server_asks_for(
    headers: dict[str, str], body: object, wait: float | None
) -> None:
    assert read_retry_after(headers, fault_of(body), MINUTE_BEFORE) == pytest.approx(wait)


def test_a_date_needs_a_clock() -> None:
    assert read_retry_after({"retry-after": DATE}, fault_of({"retry_after": 9})) == 9


def test_a_part_of_a_second_is_rounded_up() -> None:
    assert read_retry_after({"retry-after": DATE}, fault_of(""), MINUTE_BEFORE + 0.4) == 60


@pytest.mark.parametrize(
    "text", ["", "s", "1x", "1 2", "1m2", "-1", "1..2", "1e5", "+3", "0x10", "\u0661", "ms5"]
)
def test_what_is_no_duration(text: str) -> None:
    assert duration_s(text) is None


STATES: dict[str, tuple[dict[str, str], object, Backpressure | None]] = {
    "nothing": ({}, "busy", None),
    "an ask alone is no queue": ({"retry-after": "3"}, "", None),
    "the body": (
        {},
        CORRALLM,
        Backpressure(capacity=1, in_flight=1, reason="queue-timeout", retry_after_s=5),
    ),
    "headers": (
        {"x-ratelimit-capacity": "4", "x-ratelimit-inflight": "4", "x-ratelimit-waiting": "2"},
        "",
        Backpressure(capacity=4, in_flight=4, waiting=2, retry_after_s=5),
    ),
    "headers win": (
        {"x-ratelimit-capacity": "4"},
        CORRALLM,
        Backpressure(capacity=4, in_flight=1, reason="queue-timeout", retry_after_s=5),
    ),
    "a zero header does not win": (
        {"x-ratelimit-capacity": "0", "x-ratelimit-inflight": "x"},
        CORRALLM,
        Backpressure(capacity=1, in_flight=1, reason="queue-timeout", retry_after_s=5),
    ),
    "floats and texts": (
        {},
        {"error": {"capacity": 4.0, "in_flight": "3", "waiting": 1.5}},
        Backpressure(capacity=4, in_flight=3, retry_after_s=5),
    ),
    "an error that is a text": (
        {},
        {"error": "busy", "waiting": 3},
        Backpressure(waiting=3, retry_after_s=5),
    ),
    "negative, huge, flags": (
        {"x-ratelimit-waiting": "-1", "x-ratelimit-capacity": "9" * 30},
        {"error": {"in_flight": True}},
        None,
    ),
    "a word nobody knows": ({}, {"error": {"reason": "call +1 555 0100"}}, None),
}


@pytest.mark.parametrize(("headers", "body", "state"), STATES.values(), ids=STATES)
def test_the_queue_a_server_tells_of(
    headers: dict[str, str], body: object, state: Backpressure | None
) -> None:
    assert read_backpressure(headers, fault_of(body), 5) == state


def test_the_state_in_words_holds_no_text_of_the_endpoint() -> None:
    state = read_backpressure({}, fault_of({"error": {"reason": "MARKER", "waiting": 2}}))
    assert str(state) == "2 waiting ahead"


SCALAR = st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=12)


@given(
    st.dictionaries(
        st.sampled_from([
            "retry-after", "retry-after-ms", "date", "x-ratelimit-capacity",
            "x-ratelimit-inflight", "x-ratelimit-waiting",
        ]),
        st.text(max_size=80) | st.integers().map(str) | st.floats().map(str),
    ),
    st.dictionaries(
        st.sampled_from(["retry_after", "retryDelay", "capacity", "waiting", "reason", "details"]),
        SCALAR | st.lists(SCALAR, max_size=2),
    ),
    st.none() | st.floats(),
)  # fmt: skip
def test_whatever_is_sent_the_wait_is_believable(
    headers: dict[str, str], body: dict[str, Any], now: float | None
) -> None:
    fault = fault_of({"error": body})
    wait = read_retry_after(headers, fault, now)
    assert wait is None or 0 <= wait <= MAX_WAIT_S
    state = read_backpressure(headers, fault, wait)
    assert state is None or min(state.capacity, state.in_flight, state.waiting) >= 0
