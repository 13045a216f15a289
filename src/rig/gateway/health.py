"""How an endpoint is: a value, and what each outcome makes of it. No I/O.

| state | what it means | requests |
|---|---|---|
| unknown | nothing was asked yet | yes |
| healthy | the last answer was one, or failures are few | yes |
| busy | it said that it is full, or limits requests: neither dead nor healthy | after the time it asked for |
| loading | it loads its model: neither dead nor healthy | after a pause, one |
| cooling | it failed too often in a row, or was silent | after a pause, one |
| down | no connection | after a pause, one |

A state with a pause is left by the one request that is let through behind it: an answer makes the
endpoint healthy, a failure begins the next pause, twice as long.
"""

import math
from dataclasses import replace
from typing import Final

from rig.errors import RateLimitedError, RequestTimeoutError, RigError, ServerError
from rig.events import EndpointState
from rig.gateway.fault import Fault
from rig.gateway.policy import PoolPolicy
from rig.late_dataclass import dataclass
from rig.transport.retry import RetryPolicy

QUOTA_S: Final = 300.0
"""Seconds an account without quota is left alone. Quotas come back by the hour or by hand; five minutes
cost an answer of a few bytes each."""

MIN_PAUSE_S: Final = 0.01
"""Seconds of the shortest first pause, whatever `RetryPolicy.initial_s` says: a dead endpoint that is alone
must not be asked in a tight loop until the budget is spent."""

LATENCY_WEIGHT: Final = 0.3
"""Share of the newest measurement in the average time to the first byte: five requests after a change
five sixths of the old value are forgotten."""

_MAX_DOUBLINGS: Final = 60
_SEVERITY: Final = {"unknown": 0, "healthy": 0, "busy": 1, "loading": 2, "cooling": 3, "down": 4}
_BLAMELESS: Final = frozenset({"final", "missing", "overflow"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What is known of an endpoint.

    Attributes:
        state: how it is.
        until: when it may be asked again, on the event loop's clock; 0 for at once.
        failures: in a row.
        rests: pauses in a row.
        asked_at: when it asked for the pause, 0 where it did not.
        silent: it was silent, so a small question goes ahead of the next request.
        latency_s: average seconds until an answer begins; None before the first.
        reason: the fault behind the state, "" for none.
    """

    state: EndpointState = "unknown"
    until: float = 0.0
    failures: int = 0
    rests: int = 0
    asked_at: float = 0.0
    silent: bool = False
    latency_s: float | None = None
    reason: str = ""

    @property
    def resting(self) -> bool:
        """Whether it is, or was, left alone, and no answer has come since."""
        return self.state not in {"unknown", "healthy"}


def answered(
    health: Health,
    latency_s: float | None = None,
    *,
    complete: bool = True,
    sent_at: float = math.inf,
) -> Health:
    """An answer came.

    Args:
        health: so far.
        latency_s: seconds until it began; None for an error that proves life and nothing more.
        complete: all of it came; where it has only begun, failures before it are still counted, since
            streams that all break in their middle begin well.
        sent_at: when the request was sent, on the event loop's clock: the answer to an older one does
            not end a pause that the server asked for.
    """
    known = health.latency_s
    if latency_s is not None:
        known = latency_s if known is None else known + LATENCY_WEIGHT * (latency_s - known)
    if sent_at < health.asked_at:
        return replace(health, latency_s=known)
    if not complete:
        return replace(
            health,
            state="healthy",
            until=0.0,
            asked_at=0.0,
            silent=False,
            latency_s=known,
            reason="",
        )
    return Health(state="healthy", latency_s=known)


def failed(
    health: Health,
    fault: Fault,
    error: RigError,
    *,
    now: float,
    policy: PoolPolicy,
    retry: RetryPolicy,
    random: float = 0.0,
) -> Health:
    """A request failed.

    Args:
        health: so far.
        fault: what kind of failure it is.
        error: the failure.
        now: the event loop's clock.
        policy: the pool's numbers.
        retry: first delay, jitter, and what a server's ask is cut to.
        random: for the jitter, from 0 up to but not including 1.

    Returns:
        The same where it says nothing new: requests that were under way when the pause began fail too.
        Only what the server asks for makes such a pause longer.
    """
    if fault in {"ours", "short"}:
        return health
    if fault in _BLAMELESS:
        return answered(health)
    after = _after(health, fault, error, now, policy, retry, 1 + retry.jitter * random)
    if now < health.until and _SEVERITY[after.state] <= _SEVERITY[health.state]:
        longer = after.asked_at and after.until > health.until
        return replace(health, until=after.until, asked_at=now) if longer else health
    return after


def asked_s(error: RigError, retry: RetryPolicy) -> float:
    """Seconds the server asked for, cut to the policy's ceiling; 0 when it did not ask.

    Args:
        error: how the request failed.
        retry: the ceiling.
    """
    asked = error.retry_after_s if isinstance(error, RateLimitedError | ServerError) else None
    return 0.0 if asked is None or not asked > 0 else min(asked, retry.max_retry_after_s)


def doubled(first_s: float, times: int, most_s: float) -> float:
    """A pause that doubles each time, up to a bound.

    Args:
        first_s: the first one, in seconds.
        times: how many there were.
        most_s: the longest.
    """
    return min(most_s, first_s * 2.0 ** min(times, _MAX_DOUBLINGS))


def _after(
    health: Health,
    fault: Fault,
    error: RigError,
    now: float,
    policy: PoolPolicy,
    retry: RetryPolicy,
    jitter: float,
) -> Health:
    asked = asked_s(error, retry)

    def rest(state: EndpointState, pause_s: float, *, failures: int = health.failures) -> Health:
        return replace(
            health,
            state=state,
            until=now + pause_s * jitter,
            failures=failures,
            rests=health.rests + 1,
            asked_at=now if asked else 0.0,
            silent=isinstance(error, RequestTimeoutError),
            reason=fault,
        )

    short_s = doubled(max(retry.initial_s, MIN_PAUSE_S), health.rests, policy.max_cooling_s)
    long_s = doubled(policy.cooling_s, health.rests, policy.max_cooling_s)
    failures = health.failures + 1
    match fault:
        case "limited" | "full":
            return rest("busy", asked or short_s)
        case "loading":
            return rest("loading", asked or policy.loading_s)
        case "quota":
            return rest("cooling", asked or QUOTA_S)
        case "unreachable":
            return rest("down", short_s, failures=failures)
        case "silent":
            return rest("cooling", long_s, failures=failures)
        case _ if failures >= policy.failures or health.resting:
            return rest("cooling", max(asked, long_s), failures=failures)
        case _:
            return replace(health, failures=failures, reason=fault)
