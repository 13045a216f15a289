"""What an error says about the endpoint it came from, and about asking another one. No I/O."""

from typing import Literal

from rig.errors import (
    EmptyReplyError,
    InputTooLargeError,
    ModelNotFoundError,
    ProtocolError,
    RateLimitedError,
    RequestTimeoutError,
    RigError,
    ServerError,
    StreamCutError,
    UpstreamError,
)
from rig.transport.descriptors import TOO_MANY_FILES
from rig.transport.retry_rules import TRANSPORT_REASONS

Fault = Literal[
    "limited", "full", "quota", "loading", "failing", "unreachable", "broken", "silent", "garbled",
    "missing", "overflow", "final", "short", "ours",
]  # fmt: skip
"""What went wrong, as far as it matters where to go next:

| fault | what came |
|---|---|
| limited | 429 without a word of slots |
| full | 429 or 503 that tells of slots or a queue |
| quota | a rate limit that no wait within reason lifts |
| loading | 503, the model is being loaded |
| failing | any other 5xx that may pass, or a reply that the server itself calls failed |
| unreachable | no connection: refused, no such host, no valid certificate, not in time |
| broken | the connection was lost |
| silent | any other time-out |
| garbled | an answer that is no HTTP, no JSON, no chat completion: one without choices neither |
| missing | it has no such model |
| overflow | the prompt does not fit its window |
| final | everything else that it answered: the same everywhere |
| short | no connection, as this process has no descriptor left: it says nothing of the endpoint |
| ours | an error found here; the endpoint was not asked, or can't be blamed |
"""

_NEVER_REACHED = frozenset({"connect_failed", "connect_refused", "dns", "tls"})


def fault_of(error: RigError) -> Fault:
    """The row of the table.

    Args:
        error: how a request to an endpoint ended.
    """
    if error.reason == TOO_MANY_FILES:
        return "short"
    match error:
        case RateLimitedError():
            return _limit(error)
        case ServerError():
            return _server(error)
        case ModelNotFoundError():
            return "missing"
        case InputTooLargeError():
            return "overflow"
        case RequestTimeoutError():
            return "unreachable" if error.reason == "connect" else "silent"
        case StreamCutError(reason="failed"):
            return "failing"
        case StreamCutError():
            return "broken"
        case ProtocolError():
            return "garbled"
        case EmptyReplyError():
            return "garbled" if error.reason == "no_choices" else "final"
        case UpstreamError():
            return _transport(error)
        case _:
            return "ours" if error.status is None else "final"


def _limit(error: RateLimitedError) -> Fault:
    if not error.retryable:
        return "quota"
    return "full" if _tells_of_slots(error) else "limited"


def _server(error: ServerError) -> Fault:
    if not error.retryable:
        return "final"
    if error.reason == "loading":
        return "loading"
    return "full" if _tells_of_slots(error) else "failing"


def _transport(error: UpstreamError) -> Fault:
    if error.status is not None or error.reason not in TRANSPORT_REASONS | _NEVER_REACHED:
        return "ours" if error.reason == "closed" else "garbled"
    return "unreachable" if error.reason in _NEVER_REACHED else "broken"


def _tells_of_slots(error: RateLimitedError | ServerError) -> bool:
    return error.backpressure is not None and error.backpressure.queued
