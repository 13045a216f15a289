"""Errors in seven codes."""

import inspect

import pytest

import rig.errors
from rig import RefusedError, RigError
from rig.gateway.codes import GatewayFault, gateway_code, gateway_fault

CODES: dict[str, str] = {
    "InvalidRequestError": "gateway.invalid_request",
    "NotConfiguredError": "gateway.not_configured",
    "UnauthorizedError": "gateway.unauthorized",
    "RateLimitedError": "gateway.rate_limited",
    "RequestTimeoutError": "gateway.timeout",
    "RefusedError": "gateway.refused",
    "UpstreamError": "gateway.upstream",
    "ServerError": "gateway.upstream",
    "ModelNotFoundError": "gateway.upstream",
    "EmptyReplyError": "gateway.upstream",
    "StreamCutError": "gateway.upstream",
    "ProtocolError": "gateway.upstream",
    "ResponseTooLargeError": "gateway.upstream",
    "InputTooLargeError": "gateway.invalid_request",
    "OutputLimitError": "output_limit",
    "IterationLimitError": "iteration_limit",
    "BudgetExceededError": "budget_exceeded",
    "NoToolCallingError": "gateway.upstream",
    "TruncatedToolCallError": "gateway.upstream",
    "NotJSONError": "not_json",
    "InvalidJSONError": "invalid_json",
    "SkillError": "skill",
    "SkillsNotFoundError": "skills_not_found",
    "ToolError": "tool",
}


def test_every_error_has_a_code() -> None:
    errors = {
        name
        for name, value in vars(rig.errors).items()
        if inspect.isclass(value) and issubclass(value, RigError) and value is not RigError
    }
    assert errors == set(CODES)


@pytest.mark.parametrize(("name", "code"), CODES.items())
def test_an_error_is_told_by_its_code(name: str, code: str) -> None:
    assert gateway_code(getattr(rig.errors, name)("x")) == code


RETRYABLE: dict[str, tuple[str, int | None, bool]] = {
    "a rate limit": ("RateLimitedError", 429, True),
    "a time-out": ("RequestTimeoutError", None, True),
    "a server's fault": ("ServerError", 500, True),
    "an overloaded server": ("ServerError", 503, True),
    "no answer at all": ("UpstreamError", None, False),
    "a missing model": ("ModelNotFoundError", 404, False),
    "a reply that is none": ("ProtocolError", 200, False),
    "a stream that broke": ("StreamCutError", None, False),
    "a refusal": ("RefusedError", None, False),
    "a refusal with a status": ("RefusedError", 500, False),
    "a bad request": ("InvalidRequestError", 400, False),
    "a wrong key": ("UnauthorizedError", 401, False),
    "nothing set up": ("NotConfiguredError", None, False),
}


@pytest.mark.parametrize(("name", "status", "retryable"), RETRYABLE.values(), ids=RETRYABLE)
def test_the_same_request_may_succeed_or_not(
    name: str, status: int | None, retryable: bool
) -> None:
    error = getattr(rig.errors, name)("x", status=status)
    assert gateway_fault(error).retryable is retryable


def test_a_fault_reads_as_code_sentence_and_status() -> None:
    fault = GatewayFault(code="gateway.upstream", message="it broke", status=503)
    assert str(fault) == "gateway.upstream: it broke (http 503)"
    assert str(GatewayFault(code="gateway.timeout", message="late")) == "gateway.timeout: late"


def test_a_refusal_has_its_category_and_no_text_of_the_endpoint() -> None:
    error = RefusedError("the model declined", detail="secret words", status=400)
    error.category = "violence"
    fault = gateway_fault(error)
    assert fault == GatewayFault(
        code="gateway.refused", message="the model declined", status=400, category="violence"
    )
    assert "secret" not in repr(fault)
