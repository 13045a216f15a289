"""What each outcome makes of an endpoint's health: values in, values out."""

from dataclasses import replace

import pytest

from rig import (
    InputTooLargeError,
    ModelNotFoundError,
    PoolPolicy,
    RateLimitedError,
    RequestTimeoutError,
    RetryPolicy,
    RigError,
    ServerError,
    UnauthorizedError,
    UpstreamError,
)
from rig.events import EndpointState
from rig.gateway.fault import fault_of
from rig.gateway.health import QUOTA_S, Health, answered, failed

POLICY = PoolPolicy(failures=3, cooling_s=5, max_cooling_s=20, loading_s=2)
RETRY = RetryPolicy(initial_s=0.5, jitter=0.2, max_retry_after_s=100)
NOW = 1000.0

HEALTHY = Health(state="healthy")
REFUSED = UpstreamError("", reason="connect_refused")
SILENT = RequestTimeoutError("", reason="idle")
BAD = ServerError("", status=503, reason="unavailable")
LIMITED = RateLimitedError("", status=429)
LOADING = ServerError("", status=503, reason="loading")


def asking(error: RateLimitedError | ServerError, seconds: float) -> RigError:
    error.retry_after_s = seconds
    return error


def after(health: Health, error: RigError, now: float = NOW, random: float = 0.0) -> Health:
    return failed(
        health, fault_of(error), error, now=now, policy=POLICY, retry=RETRY, random=random
    )


CASES: dict[str, tuple[Health, RigError, EndpointState, float, int]] = {
    "a first 503 leaves it healthy": (HEALTHY, BAD, "healthy", 0, 1),
    "and an unknown one unknown": (Health(), BAD, "unknown", 0, 1),
    "the third in a row opens the circuit": (replace(HEALTHY, failures=2), BAD, "cooling", 5, 3),
    "a lost connection counts": (
        replace(HEALTHY, failures=2), UpstreamError("", reason="reset"), "cooling", 5, 3,
    ),
    "no connection at all takes it down at once": (HEALTHY, REFUSED, "down", 0.5, 1),
    "silence too, and for longer": (HEALTHY, SILENT, "cooling", 5, 1),
    "limits make it busy, and are no failure": (HEALTHY, LIMITED, "busy", 0.5, 0),
    "for as long as it says": (HEALTHY, asking(RateLimitedError("", status=429), 7), "busy", 7, 0),
    "up to a bound": (HEALTHY, asking(RateLimitedError("", status=429), 9999), "busy", 100, 0),
    "loading is no failure": (HEALTHY, LOADING, "loading", 2, 0),
    "an outage that says how long": (
        replace(HEALTHY, failures=2), asking(ServerError("", status=503), 60), "cooling", 60, 3,
    ),
    "no quota": (
        HEALTHY, RateLimitedError("", status=429, reason="quota", retryable=False), "cooling",
        QUOTA_S, 0,
    ),
    "a test that failed doubles the pause": (
        Health(state="cooling", until=NOW - 1, failures=3, rests=1), BAD, "cooling", 10, 4,
    ),
    "up to its longest": (
        Health(state="cooling", until=NOW - 1, failures=9, rests=50), BAD, "cooling", 20, 10,
    ),
    "the same for connections": (
        Health(state="down", until=NOW - 1, failures=3, rests=3), REFUSED, "down", 4, 4,
    ),
    "one failure behind a pause is enough": (
        Health(state="loading", until=NOW - 1, rests=1), BAD, "cooling", 10, 1,
    ),
    "a refusal proves life": (
        Health(state="cooling", until=NOW - 1, failures=3, rests=1),
        UnauthorizedError("", status=401), "healthy", 0, 0,
    ),
    "so does a missing model": (
        replace(HEALTHY, failures=2), ModelNotFoundError("", status=404), "healthy", 0, 0,
    ),
    "and a prompt that is too long": (
        replace(HEALTHY, failures=2), InputTooLargeError("", status=400), "healthy", 0, 0,
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("health", "error", "state", "pause_s", "failures"), CASES.values(), ids=CASES.keys()
)
def test_a_failure_makes_of_an_endpoint(
    health: Health, error: RigError, state: EndpointState, pause_s: float, failures: int
) -> None:
    then = after(health, error)
    assert then.state == state
    assert then.until == (NOW + pause_s if pause_s else 0)
    assert then.failures == failures


@pytest.mark.parametrize("reason", ["closed", "too_many_files"])
def test_an_error_of_our_own_says_nothing_of_the_endpoint(reason: str) -> None:
    resting = Health(state="cooling", until=5, failures=3)
    assert after(resting, UpstreamError("", reason=reason)) is resting


def test_requests_that_fail_during_the_pause_do_not_lengthen_it() -> None:
    open_circuit = after(replace(HEALTHY, failures=2), BAD)
    assert after(open_circuit, BAD, NOW + 1) == open_circuit
    assert after(open_circuit, LIMITED, NOW + 1) == open_circuit
    assert after(open_circuit, REFUSED, NOW + 1).state == "down"


def test_a_dead_endpoint_is_never_asked_in_a_tight_loop() -> None:
    hasty = RetryPolicy(initial_s=0, jitter=0)
    health, pauses = Health(), []
    for _ in range(20):
        then = failed(health, "unreachable", REFUSED, now=NOW, policy=POLICY, retry=hasty)
        pauses.append(then.until - NOW)
        health = replace(then, until=0)
    assert sum(pauses) > 100
    assert max(pauses) == POLICY.max_cooling_s


def test_jitter_only_lengthens_a_pause() -> None:
    assert after(HEALTHY, REFUSED, random=0.999).until == pytest.approx(NOW + 0.6, abs=0.01)


def test_only_what_was_silent_is_asked_something_small_first() -> None:
    assert after(HEALTHY, SILENT).silent
    assert after(HEALTHY, RequestTimeoutError("", reason="connect")).silent
    assert not after(HEALTHY, REFUSED).silent
    assert not after(replace(after(HEALTHY, SILENT), until=0), BAD).silent


def test_an_answer_closes_the_circuit() -> None:
    resting = Health(state="down", until=NOW, failures=9, rests=4, silent=True, reason="silent")
    assert answered(resting) == Health(state="healthy")


def test_an_answer_that_has_only_begun_does_not_forget_the_failures_before_it() -> None:
    begun = answered(Health(state="cooling", until=NOW, failures=3, rests=1), 0.5, complete=False)
    assert begun == Health(state="healthy", failures=3, rests=1, latency_s=0.5)
    assert after(begun, UpstreamError("", reason="eof")).state == "cooling"


def test_latency_is_an_average_that_follows_the_newest() -> None:
    health = answered(Health(), 1.0)
    assert health.latency_s == 1.0
    for _ in range(5):
        health = answered(health, 2.0)
    assert health.latency_s is not None
    assert 1.8 < health.latency_s < 2
    assert answered(health).latency_s == health.latency_s


def test_the_answer_to_an_older_request_does_not_end_a_pause_that_was_asked_for() -> None:
    limited = after(HEALTHY, asking(RateLimitedError("", status=429), 7))
    older = answered(limited, 0.5, sent_at=NOW - 1)
    assert older == replace(limited, latency_s=0.5)
    assert answered(limited, 0.5, complete=False, sent_at=NOW - 1) == older
    assert answered(limited, 0.5, sent_at=NOW + 7) == Health(state="healthy", latency_s=0.5)


@pytest.mark.parametrize("error", [LIMITED, LOADING, REFUSED, SILENT])
def test_but_any_other(error: RigError) -> None:
    assert answered(after(HEALTHY, error), sent_at=NOW - 1) == Health(state="healthy")


def test_a_longer_pause_that_is_asked_for_later_is_kept_too() -> None:
    short = after(HEALTHY, LIMITED)
    long = after(short, asking(RateLimitedError("", status=429), 7), NOW + 0.1)
    assert long.until == pytest.approx(NOW + 7.1)
    assert (long.state, long.rests) == ("busy", 1)
    shorter = after(long, asking(RateLimitedError("", status=429), 1), NOW + 0.2)
    assert shorter == long
    assert answered(long, sent_at=NOW) == long
