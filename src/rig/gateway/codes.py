"""Errors as a gateway tells them: one of seven codes, and whether to send the same again. No I/O."""

from typing import Final

from rig.errors import (
    InputTooLargeError,
    InvalidRequestError,
    NotConfiguredError,
    NoToolCallingError,
    RateLimitedError,
    RefusedError,
    RequestTimeoutError,
    ResponseTooLargeError,
    RigError,
    TruncatedToolCallError,
    UnauthorizedError,
    UpstreamError,
)
from rig.late_dataclass import dataclass

_FIRST_SERVER_FAULT: Final = 500
_ALWAYS: Final = frozenset({"gateway.rate_limited", "gateway.timeout"})
_CODES: Final[tuple[tuple[tuple[type[RigError], ...], str], ...]] = (
    ((NotConfiguredError,), "gateway.not_configured"),
    ((InvalidRequestError, InputTooLargeError), "gateway.invalid_request"),
    ((UnauthorizedError,), "gateway.unauthorized"),
    ((RateLimitedError,), "gateway.rate_limited"),
    ((RequestTimeoutError,), "gateway.timeout"),
    ((RefusedError,), "gateway.refused"),
    (
        (UpstreamError, ResponseTooLargeError, TruncatedToolCallError, NoToolCallingError),
        "gateway.upstream",
    ),
)
"""The code of each class and of its subclasses. What is not here ends runs, not requests."""


def gateway_code(error: RigError) -> str:
    """The code of an error, for those who branch on it.

    Args:
        error: what a request to a model ended with.

    Returns:
        gateway.not_configured, gateway.invalid_request, gateway.unauthorized, gateway.rate_limited,
        gateway.timeout, gateway.refused or gateway.upstream; for an error of the loop (a budget, a limit of
        rounds, a tool) its own `code`.
    """
    return next((code for kinds, code in _CODES if isinstance(error, kinds)), error.code)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayFault:
    """An error as a value, to be stored, sent on, and branched on.

    Attributes:
        code: one of the seven, see `gateway_code`.
        message: one sentence, without any text of the endpoint.
        status: the HTTP status, None where no answer came.
        category: why the model declined, an open set; "" where it did not.
        retryable: whether the same request could succeed if sent again: rate limits and time-outs always,
            upstream errors with a status of 500 and up, nothing else, and refusals never. The error's own
            `retryable` knows more: it is False for a quota that is used up and for a 500 that came twice.
    """

    code: str
    message: str
    status: int | None = None
    category: str = ""
    retryable: bool = False

    def __str__(self) -> str:
        told = f"{self.code}: {self.message}"
        return f"{told} (http {self.status})" if self.status else told


def gateway_fault(error: RigError) -> GatewayFault:
    """An error as a gateway tells it.

    Args:
        error: what a request to a model ended with.
    """
    code = gateway_code(error)
    is_server = code == "gateway.upstream" and (error.status or 0) >= _FIRST_SERVER_FAULT
    return GatewayFault(
        code=code,
        message=error.message,
        status=error.status,
        category=error.category if isinstance(error, RefusedError) else "",
        retryable=code in _ALWAYS or is_server,
    )
