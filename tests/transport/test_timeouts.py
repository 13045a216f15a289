"""Which time-out ends a wait, and when."""

import math

import pytest

from rig.transport.timeouts import Deadline, Timeouts

CASES: dict[str, tuple[Timeouts, tuple[float, str], tuple[float, str]]] = {
    "defaults": (Timeouts(), (1300.0, "first_byte"), (1110.0, "idle")),
    "total is sooner": (Timeouts(total_s=20), (1020.0, "total"), (1020.0, "total")),
    "no total": (Timeouts(total_s=None), (1300.0, "first_byte"), (1110.0, "idle")),
    "no first byte": (Timeouts(first_byte_s=None), (1600.0, "total"), (1110.0, "idle")),
    "no idle": (Timeouts(idle_s=None), (1300.0, "first_byte"), (1600.0, "total")),
    "none": (
        Timeouts(first_byte_s=None, idle_s=None, total_s=None),
        (math.inf, "total"),
        (math.inf, "total"),
    ),
}


@pytest.mark.parametrize(("timeouts", "first", "later"), CASES.values(), ids=CASES)
def test_the_soonest_bound_ends_the_wait(
    timeouts: Timeouts, first: tuple[float, str], later: tuple[float, str]
) -> None:
    deadline = Deadline(timeouts, now=1000.0)
    assert (deadline.at, deadline.reason) == first
    deadline.read_on(now=1050.0)
    assert (deadline.at, deadline.reason) == later


@pytest.mark.parametrize(
    ("timeouts", "expected"),
    [
        (Timeouts(), (1400.0, "first_byte")),
        (Timeouts(total_s=350), (1350.0, "total")),
        (Timeouts(first_byte_s=None), (1600.0, "total")),
        (Timeouts(first_byte_s=None, total_s=None), (math.inf, "total")),
    ],
)
def test_a_request_that_waited_for_a_connection_has_its_time_for_the_first_byte(
    timeouts: Timeouts, expected: tuple[float, str]
) -> None:
    deadline = Deadline(timeouts, now=1000.0)
    deadline.start_over(now=1100.0)
    assert (deadline.at, deadline.reason) == expected


def test_reading_on_can_not_outlast_the_total() -> None:
    deadline = Deadline(Timeouts(idle_s=60, total_s=600), now=0.0)
    for now in range(0, 600, 50):
        deadline.read_on(float(now))
        assert deadline.at <= 600
    assert deadline.reason == "total"
    assert deadline.error().reason == "total"
