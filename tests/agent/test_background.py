"""Work beside a block never hides what the block did."""

import anyio
import anyio.lowlevel
import pytest

from rig.agent.background import in_background, interrupt_in, task_group


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


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_interrupt_in_a_group_comes_out_bare(
    backend: str, interrupt: type[BaseException]
) -> None:
    async def raising() -> None:
        await anyio.lowlevel.checkpoint()
        raise interrupt

    async def main() -> None:
        async with task_group() as tasks:
            tasks.start_soon(raising)

    with pytest.raises(interrupt):
        anyio.run(main, backend=backend)


async def test_other_exceptions_of_a_group_stay_in_it() -> None:
    with pytest.raises(BaseExceptionGroup) as caught:
        async with task_group():
            raise BlockError
    assert len(caught.value.exceptions) == 1


def group(*errors: BaseException) -> BaseException:
    return BaseExceptionGroup("", errors)


INTERRUPT = KeyboardInterrupt()
EXIT = SystemExit(3)
GROUPS: dict[str, tuple[BaseException, BaseException | None]] = {
    "one": (group(INTERRUPT), INTERRUPT),
    "one, deep": (group(group(EXIT)), EXIT),
    "two": (group(INTERRUPT, group(EXIT)), INTERRUPT),
    "none": (group(BlockError()), None),
    "one among others": (group(INTERRUPT, BlockError()), None),
    "no group": (EXIT, EXIT),
    "another exception": (BlockError(), None),
}


@pytest.mark.parametrize(("error", "found"), GROUPS.values(), ids=GROUPS.keys())
def test_a_group_stands_for_an_interrupt_only_where_nothing_else_is_in_it(
    error: BaseException, found: BaseException | None
) -> None:
    assert interrupt_in(error) is found
