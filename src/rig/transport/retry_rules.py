"""When a failed request is sent again, as values. Loaded with the first that fails. No I/O.

| what failed | sent again |
|---|---|
| 429 | until the budget is spent; an exhausted quota never |
| 5xx | `max_5xx` requests that fail so, within the budget; not if the same request must fail again |
| a reply that the server itself calls failed | as a 5xx, unless anything of it was delivered |
| the same plain 500 as before, of a request at temperature 0 | never: it will fail again |
| no connection, connection lost, no answer | until the budget is spent; a TLS fault never |
| a body cut before anything of it was delivered | until the budget is spent |
| time-out of the connection attempt, or of the wait for a descriptor | until the budget is spent |
| everything else, other time-outs too | never: the model may be at work on it, or (queue) the time is up |

The schedule doubles at every turn, whatever failed and whoever set the delay before. A wait that
would outlast the budget is not begun. What is not decided here: what an answer means (the caller
raises it as a `RigError`), and anything once a stream has delivered (nothing is sent again then).
"""

import copy
from dataclasses import replace
from typing import Final, Literal

from rig.errors import (
    Backpressure,
    RateLimitedError,
    RequestTimeoutError,
    RigError,
    ServerError,
    StreamCutError,
    UpstreamError,
)
from rig.events import RetryEvent
from rig.late_dataclass import dataclass
from rig.transport.descriptors import TOO_MANY_FILES
from rig.transport.retry import RetryPolicy

Fault = Literal["429", "5xx", "transport"]

TRANSPORT_REASONS: Final = frozenset({
    "connect_failed", "connect_refused", "dns", "eof", "reset", "write_failed", TOO_MANY_FILES,
})  # fmt: skip
"""Faults without an answer that may pass: a server restarts, its container's name with it (hence
dns). Certificates (tls) don't mend themselves in five minutes."""

FINAL_REASONS: Final = frozenset({"no_events", "quota"})
"""Rate limits that no wait within reason lifts, and a stream that ended in good order without a word:
an endpoint that answers so will do it again."""

MAX_DETAIL_CHARS = 200
"""Characters of the endpoint's first line on an event: one line of a log."""

_SAME_AGAIN = "since the same request at temperature 0 had failed with the same answer before"
_MAX_DOUBLINGS = 60  # 2.0 ** 1024 overflows; any ceiling in seconds is reached long before 2 ** 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What of a call lies behind.

    Attributes:
        attempts: requests that failed.
        attempts_5xx: those among them that failed with a 5xx.
        said_500: what the plain 500s among them said, each once.
    """

    attempts: int = 0
    attempts_5xx: int = 0
    said_500: frozenset[str] = frozenset()


NOTHING_YET: Final = Progress()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Sleep `delay_s` seconds, then send again."""

    delay_s: float
    event: RetryEvent
    progress: Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp:
    """Raise `error`; `event` is None when there is nothing to tell: no wait was told, or none possible."""

    error: RigError
    event: RetryEvent | None
    progress: Progress


def decide(
    policy: RetryPolicy,
    progress: Progress,
    error: RigError,
    *,
    elapsed_s: float,
    random: float,
    greedy: bool = False,
) -> Wait | GiveUp:
    """Decide what follows a failed request.

    Args:
        policy: the rules.
        progress: what failed before this.
        error: how the request failed.
        elapsed_s: seconds since the first request was begun.
        random: for the jitter, from 0 up to but not including 1.
        greedy: the request is at temperature 0, so a plain 500 that came before would come again.

    Returns:
        `Wait`, or `GiveUp` with the error to raise: the same where it is final by itself, else a
        copy whose sentence also says what ran out.
    """
    if isinstance(error, RequestTimeoutError) and error.reason == "queue":  # it was never sent
        return _final(policy, progress, error, elapsed_s, told=progress.attempts > 0)
    fault = _fault(error)
    said = {error.detail} if greedy and _is_plain_500(error) else set[str]()
    repeated = bool(said & progress.said_500)
    progress = Progress(
        attempts=progress.attempts + 1,
        attempts_5xx=progress.attempts_5xx + (fault == "5xx"),
        said_500=progress.said_500 | said,
    )
    if policy.max_tries == 1:
        return GiveUp(error=error, event=None, progress=progress)
    if fault is None:
        return _final(policy, progress, error, elapsed_s, told=progress.attempts > 1)
    if repeated:
        return _exhausted(policy, progress, _lasting(error), fault, elapsed_s, _SAME_AGAIN)

    asked_s = _asked_s(policy, error)
    delay_s = (asked_s or _scheduled_s(policy, progress)) * (1 + policy.jitter * random)
    spent = _spent(policy, progress, fault, elapsed_s + delay_s, asked_s)
    if spent:
        return _exhausted(policy, progress, error, fault, elapsed_s, spent)
    pause = (
        f"the provider asked for {_format(asked_s)} s"
        if asked_s
        else f"waiting {_format(delay_s)} s"
    )
    event = replace(
        _event(policy, progress, error, fault, elapsed_s),
        kind=fault,
        delay_s=delay_s,
        server_asked=bool(asked_s),
        reason=f"{_what(error, fault)}: {pause}, {_count(policy, progress, fault)}",
    )
    return Wait(delay_s=delay_s, event=event, progress=progress)


def _fault(error: RigError) -> Fault | None:
    """The row of the module's table; None for what is never sent again."""
    match error:
        case RateLimitedError():
            return "429" if error.retryable and error.reason not in FINAL_REASONS else None
        case ServerError():
            return "5xx" if error.retryable else None
        case StreamCutError(reason="failed"):
            return "5xx"
        case StreamCutError():
            final = error.text or error.tool_calls or error.reason in FINAL_REASONS
            return None if final else "transport"
        case RequestTimeoutError():
            return "transport" if error.reason in {"connect", TOO_MANY_FILES} else None
        case UpstreamError() if error.status is None and error.reason in TRANSPORT_REASONS:
            return "transport"
        case _:
            return None


def _is_plain_500(error: RigError) -> bool:
    """A 500 that gives no reason to think it will pass: not loading, and no word of when to come back."""
    if not isinstance(error, ServerError) or error.status != 500:
        return False
    return not error.reason and not error.retry_after_s


def _lasting(error: RigError) -> RigError:
    """A copy that says of itself that the same request can't succeed."""
    copied = _with_message(error, error.message)
    copied.reason, copied.retryable = "deterministic", False
    return copied


def _asked_s(policy: RetryPolicy, error: RigError) -> float:
    """Seconds the server asked for, cut to the policy's ceiling; 0 when it did not ask."""
    asked = error.retry_after_s if isinstance(error, RateLimitedError | ServerError) else None
    return 0.0 if asked is None or not asked > 0 else min(asked, policy.max_retry_after_s)


def _scheduled_s(policy: RetryPolicy, progress: Progress) -> float:
    doublings = min(progress.attempts - 1, _MAX_DOUBLINGS)
    return min(policy.max_s, policy.initial_s * 2.0**doublings)


def _spent(
    policy: RetryPolicy, progress: Progress, fault: Fault, until_s: float, asked_s: float
) -> str:
    """What of the policy another attempt at `until_s` would overspend, "" when nothing."""
    if fault == "5xx" and progress.attempts_5xx >= policy.max_5xx:
        return f"the {policy.max_5xx} requests allowed to fail on the server's side have failed"
    if policy.max_tries is not None and progress.attempts >= policy.max_tries:
        return f"the {policy.max_tries} requests allowed have been sent"
    if policy.budget_s is not None and until_s > policy.budget_s:
        wait = "the wait the provider asked for" if asked_s else "the next wait"
        return f"the retry budget of {_format(policy.budget_s)} s does not cover {wait}"
    return ""


def _final(
    policy: RetryPolicy, progress: Progress, error: RigError, elapsed_s: float, *, told: bool
) -> GiveUp:
    """An error that ends the call by itself; told only to those who were told of a wait."""
    if not told:
        return GiveUp(error=error, event=None, progress=progress)
    event = replace(
        _event(policy, progress, error, None, elapsed_s),
        reason=f"gave up at attempt {progress.attempts}: {error.message}",
    )
    return GiveUp(error=error, event=event, progress=progress)


def _exhausted(
    policy: RetryPolicy,
    progress: Progress,
    error: RigError,
    fault: Fault,
    elapsed_s: float,
    spent: str,
) -> GiveUp:
    plural = "s" if progress.attempts > 1 else ""
    end = f"gave up after {progress.attempts} attempt{plural} in {_format(elapsed_s)} s, {spent}"
    event = replace(
        _event(policy, progress, error, fault, elapsed_s),
        reason=f"{_what(error, fault)}: {end}",
    )
    told = _with_message(error, f"{error.message}; {end}")
    return GiveUp(error=told, event=event, progress=progress)


def _with_message(error: RigError, message: str) -> RigError:
    """A copy with another sentence; class, attributes and traceback stay."""
    copied = copy.copy(error)
    copied.args = (message,)
    return copied.with_traceback(error.__traceback__)


def _event(
    policy: RetryPolicy, progress: Progress, error: RigError, fault: Fault | None, elapsed_s: float
) -> RetryEvent:
    """What every event of a failure says; a giveup unless replaced."""
    counted = fault == "5xx"
    return RetryEvent(
        kind="giveup",
        attempt=progress.attempts,
        elapsed_s=elapsed_s,
        budget_s=policy.budget_s,
        status=error.status,
        attempts_5xx=progress.attempts_5xx if counted else 0,
        max_5xx=policy.max_5xx if counted else 0,
        backpressure=_backpressure(error),
        detail=error.detail.strip().partition("\n")[0].rstrip()[:MAX_DETAIL_CHARS],
        error=error if error.status is None else None,
    )


def recovered(policy: RetryPolicy, progress: Progress, elapsed_s: float) -> RetryEvent:
    """What is told when a request succeeds that had failed before.

    Args:
        policy: the rules.
        progress: what failed.
        elapsed_s: seconds since the first request was begun.
    """
    attempt = progress.attempts + 1
    return RetryEvent(
        kind="recovered",
        attempt=attempt,
        elapsed_s=elapsed_s,
        budget_s=policy.budget_s,
        reason=f"the server answered at attempt {attempt}, {_format(elapsed_s)} s after the first",
    )


def _backpressure(error: RigError) -> Backpressure | None:
    return error.backpressure if isinstance(error, RateLimitedError | ServerError) else None


def _what(error: RigError, fault: Fault) -> str:
    """What failed, in our words."""
    said = error.message if fault != "429" else "the server is busy"
    queue = str(_backpressure(error) or "")
    status = f"status {error.status}" if error.status is not None and not queue else ""
    return f"{said} ({queue or status})" if queue or status else said


def _count(policy: RetryPolicy, progress: Progress, fault: Fault) -> str:
    if fault != "5xx":
        return f"attempt {progress.attempts}"
    return f"attempt {progress.attempts}, server error {progress.attempts_5xx} of {policy.max_5xx}"


def _format(seconds: float) -> str:
    return f"{seconds:.1f}".removesuffix(".0")
