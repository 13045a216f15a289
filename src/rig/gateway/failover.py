"""What follows when an endpoint failed: the same again, another one, or an error. No I/O.

| fault | what follows |
|---|---|
| limited, failing, broken | the same endpoint again after a pause, `retries` times; then another. Another at once where this one was just tried after a pause |
| full, loading, unreachable | another; where there is none, the same once its pause is over |
| silent, garbled, quota, missing, overflow | another, and never this one again for this request |
| short | another, which may have a connection open; where there is none, the same after a pause |
| final, ours | the error: it would be the same everywhere |

A streamed reply of which something was shown is not begun again where it broke while there is
another endpoint. Whether there is one that can answer, and when, is decided in `rig.gateway.choose`.
"""

from dataclasses import replace
from typing import Final

from rig.errors import RigError, ServerError
from rig.gateway.fault import Fault
from rig.gateway.health import Health, asked_s, doubled
from rig.gateway.policy import PoolPolicy
from rig.late_dataclass import dataclass
from rig.transport.retry import RetryPolicy

_EXCLUDING: Final = frozenset({"silent", "garbled", "quota", "missing", "overflow"})
_REPEATED: Final = frozenset({"limited", "failing", "broken"})
_FINAL: Final = frozenset({"final", "ours"})
_CERTIFICATES: Final = "tls"


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """What of one request lies behind at one endpoint.

    Attributes:
        failures: requests that failed there.
        in_a_row: those since it was chosen.
        failures_5xx: those with a 5xx.
        said: what the plain 500s said, each once.
        not_before: when it may be asked again, on the event loop's clock.
        excluded: why it must not be asked again, "" when it may.
    """

    failures: int = 0
    in_a_row: int = 0
    failures_5xx: int = 0
    said: frozenset[str] = frozenset()
    not_before: float = 0.0
    excluded: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What is known when a request has failed.

    Attributes:
        fault: the kind of failure.
        error: the failure.
        visit: of the endpoint that failed, before this.
        health: of that endpoint, after this.
        now: the event loop's clock.
        elapsed_s: seconds since the call began, waits for slots included.
        attempts: requests in all, this one included.
        trial: it tried an endpoint that had been left alone.
        begun: something of the reply had been handed out.
        restarts: how often such a reply was begun anew.
        greedy: the request is at temperature 0: a plain 500 that came before would come again.
        random: for the jitter, from 0 up to but not including 1.
    """

    fault: Fault
    error: RigError
    visit: Visit
    health: Health
    now: float
    elapsed_s: float = 0.0
    attempts: int = 1
    trial: bool = False
    begun: bool = False
    restarts: int = 0
    greedy: bool = False
    random: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """Ask the same endpoint after a pause."""

    delay_s: float
    visit: Visit


@dataclass(frozen=True, slots=True, kw_only=True)
class GoOn:
    """Choose among the others, and this one as far as its visit allows."""

    visit: Visit


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp:
    """Raise the error; `reason` is final, tries or restarts."""

    reason: str


def next_attempt(
    situation: Situation, policy: PoolPolicy, retry: RetryPolicy
) -> Again | GoOn | GiveUp:
    """Decide what follows.

    Args:
        situation: what is known.
        policy: the pool's numbers.
        retry: the delays, the budget, and how many requests may fail.
    """
    fault, begun = situation.fault, situation.begun
    if fault in _FINAL:
        return GiveUp(reason="final")
    if retry.max_tries is not None and situation.attempts >= retry.max_tries:
        return GiveUp(reason="tries")
    if begun and situation.restarts >= policy.restarts:
        return GiveUp(reason="restarts")
    visit = _counted(situation)
    excluded = _excluded(situation, visit, retry)
    delay_s = _delay_s(situation, visit, retry)
    visit = replace(visit, excluded=excluded, not_before=situation.now + delay_s)
    if _is_repeated_here(situation, visit, delay_s, policy, retry):
        return Again(delay_s=delay_s, visit=visit)
    return GoOn(visit=replace(visit, in_a_row=0))


def _counted(situation: Situation) -> Visit:
    visit, error = situation.visit, situation.error
    plain = isinstance(error, ServerError) and error.status == 500 and not error.reason
    return replace(
        visit,
        failures=visit.failures + 1,
        in_a_row=visit.in_a_row + 1,
        failures_5xx=visit.failures_5xx + (situation.fault == "failing"),
        said=visit.said | {error.detail} if plain and situation.greedy else visit.said,
    )


def _excluded(situation: Situation, visit: Visit, retry: RetryPolicy) -> str:
    """Why this endpoint is not asked again for this request; "" when it may be."""
    fault, error = situation.fault, situation.error
    if fault in _EXCLUDING:
        return fault
    if error.reason == _CERTIFICATES:
        return _CERTIFICATES
    if visit.failures_5xx >= retry.max_5xx:
        return fault
    same = fault == "failing" and situation.greedy and error.detail in situation.visit.said
    return "deterministic" if same else ""


def _delay_s(situation: Situation, visit: Visit, retry: RetryPolicy) -> float:
    """Seconds until the same request may go there again."""
    if situation.fault not in {"failing", "broken", "short"}:
        return max(0.0, situation.health.until - situation.now)
    asked = asked_s(situation.error, retry)
    scheduled = doubled(retry.initial_s, visit.failures - 1, retry.max_s)
    return (asked or scheduled) * (1 + retry.jitter * situation.random)


def _is_repeated_here(
    situation: Situation, visit: Visit, delay_s: float, policy: PoolPolicy, retry: RetryPolicy
) -> bool:
    """Whether the same endpoint is asked again before any other is looked for."""
    if visit.excluded or situation.begun or situation.fault not in _REPEATED:
        return False
    if situation.trial and visit.in_a_row == 1:
        return False
    if situation.health.state == "cooling" or visit.in_a_row > policy.retries:
        return False
    budget_s = retry.budget_s
    if budget_s is not None and situation.elapsed_s + delay_s > budget_s:
        return False
    return delay_s <= policy.patience_s
