"""One endpoint in one event loop: what it has, and what it is called there."""

from typing import Any

import pytest

from rig import (
    Client,
    Endpoint,
    ModelNotFoundError,
    PoolPolicy,
    RequestTimeoutError,
    RetryPolicy,
    RigError,
    ServerError,
    UpstreamError,
)
from rig.gateway import line as module
from rig.gateway.fault import fault_of
from rig.gateway.line import NEW, Line

URL = "http://127.0.0.1:1"
POLICY = PoolPolicy()
GONE = ModelNotFoundError("", status=404)


def line(**described: Any) -> Line:
    endpoint = Endpoint(URL, name="one", **described)
    return Line(0, endpoint, Client(URL))


def misses(of: Line, model: str, now: float) -> None:
    of.failed(
        GONE, fault_of(GONE), model=model, now=now, policy=PoolPolicy(missing_s=60),
        retry=RetryPolicy(), random=0.0,
    )  # fmt: skip


def test_what_is_declared_is_believed() -> None:
    declared = line(models={"m": "org/M"})
    assert declared.has_model("m", 0) is True
    assert declared.has_model("m:latest", 0) is True
    assert declared.has_model("n", 0) is False
    assert declared.model_there("m:latest") == "org/M"
    assert declared.model_there("n") == "n"


def test_what_is_listed_is_believed_where_somebody_else_has_it() -> None:
    listed = line()
    assert listed.has_model("m", 0) is None
    listed.listed = ("other",)
    assert listed.has_model("other", 0) is True
    assert listed.has_model("m", 0) is False
    assert listed.candidate("m", 0, visit=NEW).has_model is False
    assert listed.candidate("m", 0, visit=NEW, believed=False).has_model is None


@pytest.mark.parametrize("described", [{}, {"models": ["m"]}], ids=["any", "declared"])
def test_a_missing_model_is_remembered_for_a_while(described: dict[str, Any]) -> None:
    one = line(**described)
    misses(one, "m", 100)
    assert one.has_model("m", 159) is False
    assert one.candidate("m", 159, visit=NEW, believed=False).has_model is False
    assert one.status(159).missing == ("m",)
    assert one.has_model("m", 161) in {None, True}
    assert one.status(161).missing == ()


def test_the_memory_of_missing_models_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_MISSING", 2)
    one = line()
    for model in "abc":
        misses(one, model, 100)
    assert one.status(100).missing == ("b", "c")


def test_full_is_shown_as_busy() -> None:
    one = line(slots=1)
    assert one.status(0).state == "unknown"
    assert one.take(0, PoolPolicy()) is False
    assert (one.status(0).state, one.status(0).in_flight) == ("busy", 1)
    one.give(trial=False)
    assert one.status(0).state == "unknown"


def test_a_window_is_that_of_a_model() -> None:
    one = line()
    one.learn_window("small", 4096)
    assert one.window("small:latest") == 4096
    assert one.window("big") is None
    one.learn_window("", 8192)  # what the server says of whatever it has
    one.learn_window("big", None)
    assert (one.window("big"), one.window("small")) == (8192, 4096)
    assert one.status(0).context_tokens == 4096


def test_a_window_that_is_declared_is_that_of_all() -> None:
    one = line(context_tokens=2048)
    one.learn_window("small", 4096)
    assert (one.window("small"), one.window("big")) == (2048, 2048)
    assert one.status(0).context_tokens == 2048


def test_the_memory_of_windows_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WINDOWS", 2)
    one = line()
    for model in "abc":
        one.learn_window(model, 4096)
    assert [one.window(model) for model in "abc"] == [None, 4096, 4096]


def fails(of: Line, error: RigError, now: float) -> None:
    of.failed(
        error, fault_of(error), model="m", now=now, policy=POLICY, retry=RetryPolicy(jitter=0), random=0.0
    )  # fmt: skip


@pytest.mark.parametrize(
    ("error", "held_s"),
    [
        (UpstreamError("", reason="connect_refused"), POLICY.probe_s),
        (RequestTimeoutError("", reason="first_byte"), POLICY.max_cooling_s),
    ],
    ids=["failed", "silent"],
)
def test_one_request_at_a_time_tries_an_endpoint(error: RigError, held_s: float) -> None:
    one = line()
    fails(one, error, 100)
    assert not one.is_free(100)
    assert one.is_free(110)
    assert one.take(110, POLICY) is True
    assert one.candidate("m", 110, visit=NEW).tried
    assert not one.is_free(110 + held_s - 0.1)
    assert one.is_free(110 + held_s)
    one.give(trial=True)
    assert one.is_free(110)
    assert not one.candidate("m", 110, visit=NEW).tried


def test_a_pause_that_ends_says_no_longer_why() -> None:
    one = line()
    fails(one, ServerError("", status=503, reason="loading"), 100)
    event = one.answered(0.5, complete=False)
    assert event is not None
    assert (event.after, event.reason, one.status(100).reason) == ("healthy", "", "")
