"""What is told and raised of requests that failed."""

import pytest

from rig import (
    Backpressure,
    EndpointStatus,
    ModelNotFoundError,
    RateLimitedError,
    RetryEvent,
    RigError,
    ServerError,
    UnauthorizedError,
    UpstreamError,
    is_transient,
)
from rig.gateway.choose import Nobody
from rig.gateway.fault import fault_of
from rig.gateway.outcome import (
    Failure,
    final_error,
    no_endpoint_error,
    nobody_error,
    retry_event,
)


def failed(error: RigError) -> Failure:
    return Failure(index=0, name="gpu", error=error, fault=fault_of(error))


def told(error: RigError) -> RetryEvent:
    return retry_event(failed(error), attempts=2, delay_s=1.5, elapsed_s=3.0, budget_s=300.0)


def busy() -> RateLimitedError:
    error = RateLimitedError("busy", status=429, detail="come back\nlater")
    error.retry_after_s = 1.5
    error.backpressure = Backpressure(capacity=4, in_flight=4)
    return error


def test_a_retry_tells_all_a_client_tells() -> None:
    event = told(busy())
    assert (event.kind, event.status, event.server_asked) == ("429", 429, True)
    assert event.backpressure == Backpressure(capacity=4, in_flight=4)
    assert (event.attempt, event.delay_s, event.elapsed_s, event.budget_s) == (2, 1.5, 3.0, 300.0)
    assert event.detail == "come back"
    assert event.error is None
    assert "gpu" in str(event)
    assert "come back" not in str(event)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ServerError("", status=503), "5xx"),
        (RateLimitedError("", status=429), "429"),
        (UpstreamError("", reason="reset"), "transport"),
    ],
)
def test_a_retry_has_the_kind_of_its_fault(error: RigError, kind: str) -> None:
    event = told(error)
    assert event.kind == kind
    assert (event.error is error) == (error.status is None)


def test_the_error_of_one_request_is_raised_as_it_is() -> None:
    error = ServerError("bad", status=503)
    assert final_error(error, attempts=1, asked=["a"]) is error


def test_the_error_of_many_says_how_many_and_where_and_keeps_the_rest() -> None:
    error = busy()
    last = final_error(error, attempts=5, asked=["a", "b"])
    assert isinstance(last, RateLimitedError)
    assert (last.attempts, last.status, last.retry_after_s) == (5, 429, 1.5)
    assert "5 attempts at a, b" in last.message
    assert error.message == "busy"


def test_the_error_of_one_endpoint_of_several_says_which() -> None:
    error = UnauthorizedError("check the API key", status=401, detail="bad key")
    one = final_error(error, attempts=1, asked=["a"], name="a")
    assert (one.message, one.status, one.detail) == ("a: check the API key", 401, "bad key")
    many = final_error(error, attempts=2, asked=["b", "a"], name="a")
    assert many.message == "a: check the API key; gave up after 2 attempts at b, a"
    assert error.message == "check the API key"


def test_a_model_nobody_has_is_not_found() -> None:
    for reason in ("missing_model", "excluded"):
        error = nobody_error(Nobody(reason=reason))
        assert isinstance(error, ModelNotFoundError)
        assert not error.retryable


def test_a_pool_of_which_nobody_can_be_asked_may_come_back() -> None:
    resting = EndpointStatus(name="gpu", state="cooling", reason="quota", pause_s=287.4)
    error = no_endpoint_error([resting, EndpointStatus(name="cpu", state="down")])
    assert "gpu is cooling (quota) for 287 s more, cpu is down" in error.message
    assert is_transient(error)
