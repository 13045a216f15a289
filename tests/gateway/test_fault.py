"""What an error says about the endpoint it came from."""

import pytest

from rig import (
    Backpressure,
    EmptyReplyError,
    InputTooLargeError,
    InvalidRequestError,
    ModelNotFoundError,
    NotConfiguredError,
    OutputLimitError,
    ProtocolError,
    RateLimitedError,
    RefusedError,
    RequestTimeoutError,
    ResponseTooLargeError,
    RigError,
    ServerError,
    StreamCutError,
    UnauthorizedError,
    UpstreamError,
)
from rig.gateway.fault import Fault, fault_of


def full(error: RateLimitedError | ServerError) -> RigError:
    error.backpressure = Backpressure(capacity=4, in_flight=4)
    return error


CASES: dict[str, tuple[RigError, Fault]] = {
    "429": (RateLimitedError("", status=429), "limited"),
    "429 with its slots": (full(RateLimitedError("", status=429)), "full"),
    "503 with its slots": (full(ServerError("", status=503, reason="unavailable")), "full"),
    "no quota": (RateLimitedError("", status=429, reason="quota", retryable=False), "quota"),
    "loading": (ServerError("", status=503, reason="loading"), "loading"),
    "500": (ServerError("", status=500), "failing"),
    "502": (ServerError("", status=502, reason="unavailable"), "failing"),
    "a 5xx that comes again": (
        ServerError("", status=500, reason="tool_call", retryable=False),
        "final",
    ),
    "a reply the server calls failed": (StreamCutError("", reason="failed"), "failing"),
    "refused": (UpstreamError("", reason="connect_refused"), "unreachable"),
    "no such host": (UpstreamError("", reason="dns"), "unreachable"),
    "certificate": (UpstreamError("", reason="tls"), "unreachable"),
    "connecting took too long": (RequestTimeoutError("", reason="connect"), "unreachable"),
    "reset": (UpstreamError("", reason="reset"), "broken"),
    "eof": (UpstreamError("", reason="eof"), "broken"),
    "cut": (StreamCutError("", reason="eof"), "broken"),
    "no descriptor left": (UpstreamError("", reason="too_many_files"), "short"),
    "none in time": (RequestTimeoutError("", reason="too_many_files"), "short"),
    "closed by us": (UpstreamError("", reason="closed"), "ours"),
    "no first byte": (RequestTimeoutError("", reason="first_byte"), "silent"),
    "stalled": (RequestTimeoutError("", reason="idle"), "silent"),
    "took too long": (RequestTimeoutError("", reason="total"), "silent"),
    "408": (RequestTimeoutError("", status=408, reason="server"), "silent"),
    "no http": (ProtocolError(""), "garbled"),
    "an error in a 200": (UpstreamError("", reason="error_in_reply"), "garbled"),
    "no such model": (ModelNotFoundError("", status=404), "missing"),
    "too long": (InputTooLargeError("", status=400), "overflow"),
    "empty": (EmptyReplyError(""), "final"),
    "without choices": (EmptyReplyError("", reason="no_choices"), "garbled"),
    "400": (InvalidRequestError("", status=400), "final"),
    "401": (UnauthorizedError("", status=401), "final"),
    "404 for the path": (NotConfiguredError("", status=404), "final"),
    "declined": (RefusedError("", status=400), "final"),
    "never sent": (InvalidRequestError(""), "ours"),
    "too large for us": (ResponseTooLargeError(""), "ours"),
    "cut at max_tokens": (OutputLimitError(""), "ours"),
}


@pytest.mark.parametrize(("error", "expected"), CASES.values(), ids=CASES.keys())
def test_the_fault_of_an_error(error: RigError, expected: Fault) -> None:
    assert fault_of(error) == expected
