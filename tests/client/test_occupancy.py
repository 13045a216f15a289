"""Asking a server how busy it is: few requests, and no error for what it does not say."""

import pytest

from rig import Client, RetryPolicy
from rig.testing import Answer, FakeBackend, answer, refused_url, repeat
from rig.wire.occupancy import Occupancy

SLOTS = answer(200, [{"id": 0, "is_processing": True}])
PROPS = answer(200, {"total_slots": 4})
METRICS = answer(200, "vllm:num_requests_running 3\nvllm:num_requests_waiting 2\n")
ABSENT = answer(404)

CASES: dict[str, tuple[list[Answer], Occupancy | None]] = {
    "llama.cpp": ([SLOTS], Occupancy(slots=1, busy=1)),
    "without /slots": ([ABSENT, PROPS, ABSENT], Occupancy(slots=4)),
    "vllm": ([ABSENT, ABSENT, METRICS], Occupancy(busy=3, waiting=2)),
    "nobody": ([ABSENT, ABSENT, ABSENT], None),
    "failing": ([answer(500), answer(500), answer(500)], None),
}


@pytest.mark.parametrize(("answers", "expected"), CASES.values(), ids=CASES.keys())
async def test_a_server_says(answers: list[Answer], expected: Occupancy | None) -> None:
    async with FakeBackend(*answers).serve() as backend, Client(backend.url) as client:
        assert await client.occupancy() == expected
    assert len(backend.requests) == len(answers)
    assert backend.requests[0].target == "/slots"


async def test_a_server_that_is_gone_says_nothing() -> None:
    with refused_url() as url:
        async with Client(url, retry=RetryPolicy()) as client:
            assert await client.occupancy() is None


async def test_an_answer_without_end_is_none() -> None:
    backend = FakeBackend(repeat(answer(200, b"x 1\n" * (2 << 20))))
    async with backend.serve(), Client(backend.url) as client:
        assert await client.occupancy() is None
