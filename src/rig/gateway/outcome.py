"""How a request to an endpoint failed, and what is told and raised of it. No I/O."""

import copy
from collections.abc import Iterable, Mapping
from typing import Final

from rig.errors import ModelNotFoundError, RateLimitedError, RigError, ServerError, UpstreamError
from rig.events import EndpointChanged, RetryEvent, RetryKind
from rig.gateway.choose import Nobody
from rig.gateway.endpoint import EndpointStatus
from rig.gateway.fault import Fault
from rig.late_dataclass import dataclass
from rig.transport.retry_rules import MAX_DETAIL_CHARS

_KINDS: Final[Mapping[Fault, RetryKind]] = {"limited": "429", "full": "429", "failing": "5xx"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """How a request to an endpoint failed.

    Attributes:
        index: the endpoint's place in the pool.
        name: what it is called.
        error: the failure.
        fault: its kind.
        event: what it changed about the endpoint, None for nothing.
        trial: it tried an endpoint that had been left alone.
    """

    index: int
    name: str
    error: RigError
    fault: Fault
    event: EndpointChanged | None = None
    trial: bool = False


def retry_event(
    failure: Failure, *, attempts: int, delay_s: float, elapsed_s: float, budget_s: float | None
) -> RetryEvent:
    """What is told when the same endpoint is asked again.

    Args:
        failure: what goes before.
        attempts: requests that were sent.
        delay_s: seconds until the next one.
        elapsed_s: seconds since the call began.
        budget_s: seconds it may take.
    """
    error = failure.error
    limit = error if isinstance(error, RateLimitedError | ServerError) else None
    return RetryEvent(
        kind=_KINDS.get(failure.fault, "transport"),
        attempt=attempts,
        delay_s=delay_s,
        elapsed_s=elapsed_s,
        budget_s=budget_s,
        status=error.status,
        server_asked=limit is not None and bool(limit.retry_after_s),
        backpressure=limit.backpressure if limit is not None else None,
        reason=f"{failure.name}: {error.message}: waiting {delay_s:.1f} s, attempt {attempts}",
        detail=error.detail.strip().partition("\n")[0].rstrip()[:MAX_DETAIL_CHARS],
        error=error if error.status is None else None,
    )


def final_error(
    error: RigError, *, attempts: int, asked: Iterable[str], name: str = ""
) -> RigError:
    """The error to raise; a copy, where there is more to say: who failed, how many requests were sent where.

    Args:
        error: the last one.
        attempts: requests that were sent.
        asked: the names of who was asked.
        name: of the endpoint it comes from, "" where there is but one.
    """
    message = f"{name}: {error.message}" if name else error.message
    if attempts > 1:
        message = f"{message}; gave up after {attempts} attempts at {', '.join(asked)}"
    if message != error.message:
        copied = copy.copy(error)
        copied.args = (message,)
        error = copied.with_traceback(error.__traceback__)
    error.attempts = attempts
    return error


def nobody_error(nobody: Nobody) -> RigError:
    """The error where no endpoint can ever answer, and none was asked.

    Args:
        nobody: why.
    """
    tags = "" if nobody.reason == "missing_model" else " with these tags"
    return ModelNotFoundError(
        f"no endpoint of the pool{tags} has a model of that name: see pool.models()",
        reason="pool",
        retryable=False,
    )


def no_endpoint_error(states: Iterable[EndpointStatus]) -> RigError:
    """The error where none can be asked within the budget, and none was.

    Args:
        states: how each is.
    """
    listed = ", ".join(_how(status) for status in states)
    return UpstreamError(
        f"no endpoint of the pool can be asked within the retry budget: {listed}",
        reason="no_endpoint",
    )


def _how(status: EndpointStatus) -> str:
    why = f" ({status.reason})" if status.reason else ""
    pause = f" for {status.pause_s:.0f} s more" if status.pause_s else ""
    return f"{status.name} is {status.state}{why}{pause}"
