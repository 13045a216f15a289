"""Sends a failed request again: `retrying` sleeps and tells, `rig.transport.retry_rules` says when."""

import random as randomness
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Self, TypeAlias, TypeVar

import anyio

from rig.errors import InvalidRequestError, RigError
from rig.late_dataclass import dataclass
from rig.text.finite import is_finite
from rig.transport.sockets import now

if TYPE_CHECKING:  # loaded with the first request that fails
    from rig.events import RetryEvent
    from rig.transport.retry_rules import Progress

T = TypeVar("T")
OnRetry: TypeAlias = "Callable[[RetryEvent], None]"
"""What is told of every wait and its end; it is called in line and must not block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and how long a failed request is sent again. Times are seconds.

    Attributes:
        budget_s: wall clock for the whole call, waits and requests; None for no bound. A wait that
            would end later is not begun.
        initial_s: the first delay; each turn doubles it.
        max_s: the longest delay of our own.
        jitter: share of a delay that is added at most, at random, so that clients that failed
            together don't come back together; 0 to 1.
        max_5xx: requests that may fail with a 5xx, the first included; 1 sends none again.
        max_retry_after_s: what a server's ask is cut to; 0 ignores what it asks.
        max_tries: requests in all, whatever fails; None leaves it to the rest.

    Raises:
        InvalidRequestError: a number is out of its range.
    """

    budget_s: float | None = 300.0
    initial_s: float = 1.0
    max_s: float = 30.0
    jitter: float = 0.2
    max_5xx: int = 5
    max_retry_after_s: float = 300.0
    max_tries: int | None = None

    def __post_init__(self) -> None:
        for name in ("initial_s", "max_s", "max_retry_after_s"):
            _check_seconds(name, getattr(self, name))
        if self.budget_s is not None:
            _check_seconds("budget_s", self.budget_s, or_none=True)
        if not (is_finite(self.jitter) and 0 <= self.jitter <= 1):
            raise InvalidRequestError("RetryPolicy: jitter must be a share from 0 to 1")
        _check_count("max_5xx", self.max_5xx)
        if self.max_tries is not None:
            _check_count("max_tries", self.max_tries, or_none=True)

    @classmethod
    def off(cls) -> Self:
        """Exactly one request, whatever happens to it; nothing is told."""
        return cls(max_tries=1)


async def retrying(
    send: Callable[[], Awaitable[T]],
    policy: RetryPolicy,
    *,
    on_retry: "OnRetry | None" = None,
    clock: Callable[[], float] = now,
    greedy: bool = False,
) -> T:
    """Call `send` until it succeeds or the policy gives up.

    Args:
        send: makes one attempt; raises a `RigError` when it fails.
        policy: when to try again.
        on_retry: told of every wait before it, and once how the waiting ended, and so is the
            `event_listener` of the run. What they raise ends the call. A cancelled wait is not told.
        clock: seconds from any beginning.
        greedy: every attempt sends the same request at temperature 0, so the same plain 500 twice is
            enough.

    Returns:
        What `send` returned.

    Raises:
        RigError: the last attempt's; earlier ones are not chained to it.
    """
    started = clock()
    retries: Retries | None = None
    failure: RigError  # kept, and told of where no other exception is being handled
    while True:  # bounded by the policy: attempts or budget, or neither when the caller says so
        try:
            outcome = await send()
        except RigError as error:
            failure = error
        else:
            if retries is not None:
                await retries.recovered()
            return outcome
        if retries is None:
            retries = Retries(policy, started, on_retry=on_retry, clock=clock, greedy=greedy)
        await retries.after(failure)


class Retries:
    """What follows when a request fails; made with its first failure, so that one that succeeds pays nothing.

    For whoever makes the attempts itself; `retrying` says how, and what the arguments are.

    Args:
        policy: when to try again.
        started: when the first attempt began, on the clock.
        on_retry: told of waits.
        clock: seconds from any beginning.
        greedy: every attempt sends the same request at temperature 0.
    """

    def __init__(
        self,
        policy: RetryPolicy,
        started: float,
        *,
        on_retry: "OnRetry | None" = None,
        clock: Callable[[], float] = now,
        greedy: bool = False,
    ) -> None:
        self._policy = policy
        self._started = started
        self._on_retry = on_retry
        self._clock = clock
        self._greedy = greedy
        self._progress: Progress | None = None

    async def after(self, failure: RigError) -> None:
        """Wait until the next attempt may be made; not to be called while the failure is being handled.

        Args:
            failure: of the last attempt.

        Raises:
            RigError: there is to be none, the failure says why.
        """
        from rig.transport import retry_rules as rules  # noqa: PLC0415 most requests do not fail

        decision = rules.decide(
            self._policy,
            self._progress or rules.NOTHING_YET,
            failure,
            elapsed_s=self._clock() - self._started,
            random=randomness.random(),  # noqa: S311 spreads load, guards nothing
            greedy=self._greedy,
        )
        if decision.event is not None:
            await _tell(decision.event, self._on_retry)
        if isinstance(decision, rules.GiveUp):
            decision.error.attempts = decision.progress.attempts
            raise decision.error
        self._progress = decision.progress
        await anyio.sleep(decision.delay_s)

    async def recovered(self) -> None:
        """Tell that an attempt succeeded after all."""
        from rig.transport.retry_rules import recovered  # noqa: PLC0415 loaded by now

        if self._progress is not None:
            elapsed_s = self._clock() - self._started
            await _tell(recovered(self._policy, self._progress, elapsed_s), self._on_retry)


async def _tell(event: "RetryEvent", on_retry: "OnRetry | None") -> None:
    from rig.events import event_listener  # noqa: PLC0415 of a request that failed

    if on_retry is not None:
        on_retry(event)
    if (listener := event_listener.get()) is not None:
        await listener(event)


def _check_seconds(name: str, value: object, *, or_none: bool = False) -> None:
    """Refuse what is no number of seconds.

    Raises:
        InvalidRequestError: it is negative, infinite or not a number.
    """
    if not (is_finite(value) and value >= 0):
        no_bound = ", or None for no bound" if or_none else ""
        raise InvalidRequestError(f"RetryPolicy: {name} must be seconds, 0 or more{no_bound}")


def _check_count(name: str, value: object, *, or_none: bool = False) -> None:
    """Refuse what is no number of requests.

    Raises:
        InvalidRequestError: it is below 1, or no whole number.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        no_bound = ", or None" if or_none else ""
        raise InvalidRequestError(
            f"RetryPolicy: {name} counts requests, the first included: a whole number from 1{no_bound}"
        )
