"""Whether a server stopped when its client left, by its own counters."""

import pytest

from rig.client.probes.running import (
    COUNTERS,
    MAX_SLOTS,
    Departure,
    judge_departure,
    read_metrics,
    read_slots,
)

METRICS = b"""# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="smollm2"} 1.0
vllm:num_requests_running{engine="1",model_name="smollm2"} 2.0
vllm:num_requests_waiting{engine="0",model_name="smollm2"} 5.0
"""

SLOTS = {
    "idle": (b'[{"id": 0, "is_processing": false}, {"id": 1, "is_processing": false}]', 0),
    "one": (b'[{"id": 0, "id_task": 7, "is_processing": true}, {"id": 1}]', 1),
    "two": (b'[{"id": 0, "is_processing": true}, {"id": 1, "is_processing": true}]', 2),
    "none at all": (b"[]", 0),
    "odd entries": (b'[1, null, {"is_processing": "yes"}]', 0),
}


@pytest.mark.parametrize(("body", "busy"), SLOTS.values(), ids=SLOTS)
def test_busy_slots_are_counted(body: bytes, busy: int) -> None:
    found = read_slots(body)
    assert found is not None
    assert len(found) == busy


@pytest.mark.parametrize("body", [b"", b"{}", b"null", b"<html>"])
def test_what_is_no_list_of_slots_tells_nothing(body: bytes) -> None:
    assert read_slots(body) is None


def test_requests_are_read_of_prometheus_text() -> None:
    assert read_metrics(METRICS) == frozenset("012")
    assert read_metrics(METRICS.replace(b" 1.0", b" 0.0").replace(b" 2.0", b" 0.0")) == frozenset()
    many = read_metrics(b"vllm:num_requests_running 999999999\n")
    assert many is not None
    assert len(many) == MAX_SLOTS
    assert read_metrics(b"num_requests_running 1\n") is None
    assert read_metrics(b"vllm:num_requests_running{" * 10_000) is None


ONE, OTHERS = frozenset({"0/7"}), frozenset({"0/7", "1/8"})
DEPARTURES: dict[str, tuple[Departure, bool | None]] = {
    "freed": (Departure(during=ONE, rest_s=9), True),
    "freed and taken by another request": (
        Departure(during=ONE, after=frozenset({"0/9"}), rest_s=9),
        True,
    ),
    "still at work": (Departure(during=ONE, after=ONE, rest_s=9), False),
    "others at work too": (Departure(during=OTHERS, after=ONE, rest_s=9), None),
    "never seen": (Departure(rest_s=9), None),
    "too fast to tell": (Departure(during=ONE, rest_s=1), None),
    "not watched": (Departure(why="nobody looked"), None),
}


@pytest.mark.parametrize(("departure", "stopped"), DEPARTURES.values(), ids=DEPARTURES)
def test_a_request_that_goes_on_is_told_from_others(
    departure: Departure, stopped: bool | None
) -> None:
    assert judge_departure(departure).value is stopped


def test_counters_are_known_of_two_servers() -> None:
    assert set(COUNTERS) == {"llama.cpp", "vllm"}
