"""Which endpoint is asked: candidates in, a decision out. No I/O.

The order is: what did not fail this request before; fewer requests under way; priority; latency; the order
they were given in. Two things go before it: an endpoint that is to be tried again after a pause, by one
request, where no better priority is at hand, since it would never be found healthy otherwise (while that
request is under way, others go there only if there is nobody else); and the endpoint whose cache holds the conversation, while it is not much busier than the least busy one.
"""

import math
from collections.abc import Sequence
from typing import Final, Literal

from rig.late_dataclass import dataclass

UNMEASURED_S: Final = 0.05
"""Seconds in which an endpoint that has not answered yet is taken to begin: quicker than models at work,
whose first token takes a few tenths of a second, so that it is found out once; slower than anything that
has its answers ready, so that the order given decides there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An endpoint as one request sees it.

    Attributes:
        index: its place in the pool.
        ready_at: when it may be asked, on the event loop's clock.
        resting: it was left alone for a while: the next request tries it.
        tried: one is trying it.
        in_flight: requests it is answering.
        slots: how many it may at a time, None for no bound.
        priority: lower goes first.
        latency_s: average seconds until an answer begins, None when not known.
        has_model: whether it has the model, None when not known.
        excluded: why this request must not go there, "" when it may.
        failures: how often this request has failed there.
    """

    index: int
    ready_at: float = 0.0
    resting: bool = False
    tried: bool = False
    in_flight: int = 0
    slots: int | None = None
    priority: int = 0
    latency_s: float | None = None
    has_model: bool | None = None
    excluded: str = ""
    failures: int = 0

    @property
    def full(self) -> bool:
        """Whether all its slots are taken."""
        return self.slots is not None and self.in_flight >= self.slots


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Ask this endpoint now; `trial` when that tries one that was left alone."""

    index: int
    trial: bool = False


WaitReason = Literal["slots", "resting"]
"""Whether a slot is waited for, or a pause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitUntil:
    """Look again then, or when anything changed: `at` is infinite where only that helps."""

    at: float
    reason: WaitReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Nobody:
    """No endpoint can ever answer this request.

    Attributes:
        reason: missing_model where none has the model, else excluded.
    """

    reason: Literal["missing_model", "excluded"]


Choice = Ask | WaitUntil | Nobody


def choose(
    candidates: Sequence[Candidate],
    *,
    now: float,
    prefer: int | None = None,
    max_imbalance: int | None = 2,
) -> Choice:
    """Choose who answers. One pass over the candidates, and one over those that are free.

    Args:
        candidates: all endpoints.
        now: the event loop's clock.
        prefer: who has the conversation in its cache, or has just been waited for.
        max_imbalance: requests it may have more under way than the least busy one; None never prefers.
    """
    allowed = [each for each in candidates if not each.excluded and each.has_model is not False]
    if not allowed:
        known = all(each.has_model is False for each in candidates)
        return Nobody(reason="missing_model" if known else "excluded")
    ready = [each for each in allowed if each.ready_at <= now]
    free = [each for each in ready if not each.full]
    if not free:
        at = min((each.ready_at for each in allowed if each.ready_at > now), default=math.inf)
        return WaitUntil(at=at, reason="slots" if ready else "resting")
    return _best(free, prefer, max_imbalance)


def _best(free: Sequence[Candidate], prefer: int | None, max_imbalance: int | None) -> Ask:
    fewest_failures = min(each.failures for each in free)
    priority = min(each.priority for each in free if each.failures == fewest_failures)
    trials = [
        each
        for each in free
        if each.resting
        and not each.tried
        and each.failures == fewest_failures
        and each.priority <= priority
    ]

    def rank(each: Candidate) -> tuple[int, bool, int, int, float, int]:
        latency_s = UNMEASURED_S if each.latency_s is None else each.latency_s
        # Beside one that is well, one that was left alone comes last.
        return each.failures, each.resting, each.in_flight, each.priority, latency_s, each.index

    best = min(trials or free, key=rank)
    if not trials:
        best = _preferred(free, best, prefer, max_imbalance)
    return Ask(index=best.index, trial=best.resting)


def _preferred(
    free: Sequence[Candidate], best: Candidate, prefer: int | None, max_imbalance: int | None
) -> Candidate:
    """Who is preferred, unless it failed this request, is much busier than the best, or of less priority."""
    for each in free:
        if (
            each.index == prefer
            and max_imbalance is not None
            and not each.failures
            and each.in_flight - best.in_flight <= max_imbalance
            and (each.resting, each.priority) <= (best.resting, best.priority)
        ):
            return each
    return best
