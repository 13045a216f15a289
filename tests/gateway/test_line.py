"""One endpoint in one event loop: what it has, and what it is called there."""

from typing import Any

import pytest

from rig import Client, Endpoint, ModelNotFoundError, PoolPolicy, RetryPolicy
from rig.gateway import line as module
from rig.gateway.fault import fault_of
from rig.gateway.line import NEW, Line

URL = "http://127.0.0.1:1"
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
    assert one.take(0, 2) is False
    assert (one.status(0).state, one.status(0).in_flight) == ("busy", 1)
    one.give(trial=False)
    assert one.status(0).state == "unknown"
