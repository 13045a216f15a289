"""Who was asked to end: the task at hand, or nobody."""

import asyncio  # noqa: TID251  there alone a task is asked by others
import subprocess
import sys

import anyio.lowlevel
import pytest

from rig.cancellation import CancelRequests, cancel_requests


async def test_a_task_that_nobody_asked_to_end_has_no_request() -> None:
    assert not cancel_requests()


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_a_request_is_counted_until_it_is_taken_back() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await anyio.lowlevel.checkpoint()
    assert cancel_requests() == 1
    task.uncancel()
    assert cancel_requests() == 0


@pytest.mark.parametrize("anyio_backend", ["trio"], indirect=True)
async def test_on_trio_every_cancellation_is_the_task_s_own() -> None:
    assert cancel_requests() is None


def test_where_nobody_says_how_to_count_every_cancellation_is_the_task_s_own() -> None:
    assert CancelRequests()() is None


def test_the_loop_is_never_loaded_without_somebody_who_counts() -> None:
    code = "import rig.agent.apart, sys; sys.exit('rig.transport.sockets' not in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
