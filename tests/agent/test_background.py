"""Work beside a block never hides what the block did."""

import anyio
import pytest

from rig.agent.background import in_background


class BlockError(Exception):
    """What a failing block raises."""


async def test_work_runs_beside_the_block_and_ends_with_it() -> None:
    started, ended = anyio.Event(), anyio.Event()

    async def work() -> None:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    async with in_background(work):
        await started.wait()
        assert not ended.is_set()
    assert ended.is_set()


@pytest.mark.parametrize("raised", [BlockError, KeyboardInterrupt, pytest.skip.Exception])
async def test_the_exception_of_the_block_comes_out_as_it_is(raised: type[BaseException]) -> None:
    caught: BaseException | None = None
    try:
        async with in_background(anyio.sleep_forever):
            raise raised
    except BaseException as error:  # noqa: BLE001 its type is what is tested
        caught = error
    assert type(caught) is raised


async def test_cancellation_of_the_block_is_cancellation() -> None:
    with anyio.CancelScope() as scope:
        async with in_background(anyio.sleep_forever):
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
