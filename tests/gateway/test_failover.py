"""What follows when an endpoint failed: a table."""

from dataclasses import replace
from typing import Any

import pytest

from rig import (
    Backpressure,
    InputTooLargeError,
    InvalidRequestError,
    ModelNotFoundError,
    PoolPolicy,
    ProtocolError,
    RateLimitedError,
    RefusedError,
    RequestTimeoutError,
    RetryPolicy,
    RigError,
    ServerError,
    StreamCutError,
    UpstreamError,
)
from rig.gateway.failover import Again, GiveUp, GoOn, Situation, Visit, next_attempt
from rig.gateway.fault import fault_of
from rig.gateway.health import Health

NOW = 50.0
POLICY = PoolPolicy(retries=2, patience_s=5, restarts=2)
RETRY = RetryPolicy(initial_s=0.5, jitter=0.2, budget_s=100, max_5xx=5)

BAD = ServerError("", status=503, reason="unavailable")
PLAIN = ServerError("", status=500, detail="oops")
LIMITED = RateLimitedError("", status=429)
BROKEN = StreamCutError("", reason="eof")
REFUSED = UpstreamError("", reason="connect_refused")
WELL = Health(state="healthy", failures=1)


def full() -> RigError:
    error = RateLimitedError("", status=429)
    error.backpressure = Backpressure(capacity=1, in_flight=1)
    return error


def asking(seconds: float) -> RigError:
    error = ServerError("", status=503)
    error.retry_after_s = seconds
    return error


def after(error: RigError, **known: Any) -> Situation:
    base = Situation(fault=fault_of(error), error=error, visit=Visit(), health=WELL, now=NOW)
    return replace(base, **known)


BUSY = Health(state="busy", until=NOW + 2, rests=1)
CASES: dict[str, tuple[Situation, object]] = {
    "a 503 is repeated there": (after(BAD), 0.5),
    "after twice the pause": (after(BAD, visit=Visit(failures=1, in_a_row=1, failures_5xx=1)), 1.0),
    "then another": (after(BAD, visit=Visit(failures=2, in_a_row=2, failures_5xx=2)), ""),
    "not where the circuit is open": (after(BAD, health=Health(state="cooling", until=NOW + 5)), ""),
    "one that tried an endpoint goes to another": (after(LIMITED, health=BUSY, trial=True), ""),
    "but not when it has waited for it": (
        after(LIMITED, health=BUSY, trial=True, visit=Visit(failures=1, in_a_row=1)), 2.0,
    ),
    "a lost connection is repeated": (after(UpstreamError("", reason="reset")), 0.5),
    "a 429 as long as it asks": (after(LIMITED, health=BUSY), 2.0),
    "not beyond patience": (after(LIMITED, health=replace(BUSY, until=NOW + 6)), ""),
    "a 503 as long as it asks": (after(asking(3)), 3.0),
    "not beyond patience either": (after(asking(30)), ""),
    "not beyond the budget": (after(asking(3), elapsed_s=98), ""),
    "who is full is not waited for first": (after(full(), health=BUSY), ""),
    "nor who loads": (after(ServerError("", status=503, reason="loading"), health=BUSY), ""),
    "nor who is down": (after(REFUSED, health=Health(state="down", until=NOW + 1)), ""),
    "where we have no descriptor another may have a connection": (
        after(UpstreamError("", reason="too_many_files")), "",
    ),
    "a stream that broke goes to another": (after(BROKEN, begun=True), ""),
    "also one the server called failed": (after(StreamCutError("", reason="failed"), begun=True), ""),
    "not for ever": (after(BROKEN, begun=True, restarts=2), "restarts"),
    "who was silent is left": (after(RequestTimeoutError("", reason="idle")), "silent"),
    "also in a stream": (after(RequestTimeoutError("", reason="idle"), begun=True), "silent"),
    "who makes no sense is left": (after(ProtocolError("")), "garbled"),
    "who has no quota is left": (
        after(RateLimitedError("", status=429, reason="quota", retryable=False)), "quota",
    ),
    "who has not got the model is left": (after(ModelNotFoundError("", status=404)), "missing"),
    "whose window is too small is left": (after(InputTooLargeError("", status=400)), "overflow"),
    "a bad certificate is left": (after(UpstreamError("", reason="tls")), "tls"),
    "the last 5xx allowed there": (
        after(BAD, visit=Visit(failures=4, in_a_row=0, failures_5xx=4)), "failing",
    ),
    "a plain 500 that came before, at temperature 0": (
        after(PLAIN, greedy=True, visit=Visit(failures=1, said=frozenset({"oops"}))), "deterministic",
    ),
    "not at another": (after(PLAIN, greedy=False, visit=Visit(said=frozenset({"oops"}))), 0.5),
    "a 400 is the caller's": (after(InvalidRequestError("", status=400)), "final"),
    "a refusal is an answer": (after(RefusedError("", status=400)), "final"),
    "a 5xx that comes again": (after(ServerError("", status=500, retryable=False)), "final"),
    "what never left us": (after(UpstreamError("", reason="closed")), "final"),
}  # fmt: skip


@pytest.mark.parametrize(("situation", "expected"), CASES.values(), ids=CASES.keys())
def test_what_follows(situation: Situation, expected: object) -> None:
    """A number: again after so long; a word that ends it; else the reason this one is left for."""
    decision = next_attempt(situation, POLICY, RETRY)
    if isinstance(expected, float):
        assert isinstance(decision, Again)
        assert decision.delay_s == expected
    elif expected in {"final", "tries", "restarts"}:
        assert decision == GiveUp(reason=str(expected))
    else:
        assert isinstance(decision, GoOn)
        assert decision.visit.excluded == expected
        assert decision.visit.in_a_row == 0
        assert decision.visit.failures == situation.visit.failures + 1


def test_with_retries_off_nothing_follows() -> None:
    assert next_attempt(after(BAD), POLICY, RetryPolicy.off()) == GiveUp(reason="tries")


def test_with_no_retries_another_is_asked_at_once_and_this_one_not_too_soon() -> None:
    decision = next_attempt(after(BAD), PoolPolicy(retries=0), RETRY)
    assert isinstance(decision, GoOn)
    assert decision.visit.not_before == NOW + 0.5


def test_jitter_only_lengthens_a_pause() -> None:
    decision = next_attempt(after(BAD, random=0.5), POLICY, RETRY)
    assert isinstance(decision, Again)
    assert decision.delay_s == pytest.approx(0.55)
