"""How busy a server says it is: bodies in, counts out."""

import pytest
from pydantic_core import to_json

from rig.wire.occupancy import (
    MAX_METRICS_LINES,
    Occupancy,
    merged,
    read_metrics,
    read_props,
    read_slots,
)

# llama.cpp b11549; fields left out.
SLOTS = to_json([{"id": 0, "is_processing": True}, {"id": 1, "is_processing": False}])

VLLM = b"""# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="Qwen/Qwen3-8B"} 3.0
vllm:num_requests_running{engine="1",model_name="Qwen/Qwen3-8B"} 2.0
vllm:num_requests_waiting{engine="0",model_name="a } b"} 1.0
vllm:prompt_tokens_total{engine="0"} 7e+06
"""
LLAMACPP = b"llamacpp:requests_processing 2\nllamacpp:requests_deferred 0\n"

CASES = {
    "slots": (read_slots, SLOTS, Occupancy(slots=2, busy=1)),
    "no slots": (read_slots, b"[]", None),
    "switched off": (read_slots, b'{"error":{"code":501}}', None),
    "slots of something else": (read_slots, b'[{"id":0}]', None),
    "a list of numbers": (read_slots, b"[1]", None),
    "no json": (read_slots, b"<html>", None),
    "props": (read_props, b'{"total_slots":4,"build_info":"b1"}', Occupancy(slots=4)),
    "props without": (read_props, b"{}", None),
    "props with nonsense": (read_props, b'{"total_slots":"many"}', None),
    "props with a flag": (read_props, b'{"total_slots":true}', None),
    "props with too many": (read_props, b'{"total_slots":99999999999}', None),
    "vllm": (read_metrics, VLLM, Occupancy(busy=5, waiting=1)),
    "llama.cpp": (read_metrics, LLAMACPP, Occupancy(busy=2, waiting=0)),
    "sglang": (
        read_metrics, b'sglang:num_queue_reqs{model_name="m"} 4.0 1700000000', Occupancy(waiting=4),
    ),
    "metrics of something else": (read_metrics, b"go_threads 7\n", None),
    "nan and worse": (
        read_metrics,
        b"\n".join(b"vllm:num_requests_running " + value for value in (b"NaN", b"", b"x", b"-1", b"1e300"))
        + b"\n\xff\xfe{} 1",
        None,
    ),
    "nothing": (read_metrics, b"", None),
}  # fmt: skip


@pytest.mark.parametrize(("read", "body", "expected"), CASES.values(), ids=CASES.keys())
def test_a_body_says(read: object, body: bytes, expected: Occupancy | None) -> None:
    assert callable(read)
    assert read(body) == expected


def test_a_page_without_end_is_read_so_far_and_no_further() -> None:
    assert read_metrics(b"x 1\n" * MAX_METRICS_LINES + LLAMACPP) is None


def test_what_was_said_first_wins() -> None:
    both = merged(Occupancy(slots=2, busy=1), Occupancy(slots=4, waiting=3))
    assert both == Occupancy(slots=2, busy=1, waiting=3)
    assert merged(both, None) == both


@pytest.mark.parametrize(
    ("occupancy", "full"),
    [
        (Occupancy(), False),
        (Occupancy(slots=2, busy=1), False),
        (Occupancy(slots=2, busy=2), True),
        (Occupancy(busy=9), False),
        (Occupancy(busy=9, waiting=1), True),
    ],
)
def test_who_would_have_to_wait(occupancy: Occupancy, full: bool) -> None:
    assert occupancy.full is full
