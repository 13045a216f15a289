"""Which models are there, as far as what is below tells."""

import anyio
import pytest

from rig import UpstreamError
from rig.gateway.listing import LISTING_S, LISTING_TIMEOUT_S, Listing

AUTOJUMP = pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)


class Lists:
    """Has a list, as a client."""

    def __init__(self, *names: str, error: bool = False, delay_s: float = 0) -> None:
        self.names, self.error, self.delay_s = names, error, delay_s
        self.asked = 0

    async def models(self) -> tuple[str, ...]:
        self.asked += 1
        await anyio.sleep(self.delay_s)
        if self.error:
            raise UpstreamError("no list")
        return self.names


class Knows(Lists):
    """Knows its models once it was asked for them, as a pool."""

    known: tuple[str, ...] | None = None

    def has_model(self, name: str) -> bool | None:
        return None if self.known is None else name in self.known

    async def models(self) -> tuple[str, ...]:
        self.known = await super().models()
        return self.known


async def test_a_list_says_who_is_there() -> None:
    assert await Listing(Lists("a", "b:latest")).known(("a", "b", "c")) == {
        "a": True,
        "b": True,
        "c": False,
    }


async def test_without_any_list_nothing_is_known() -> None:
    assert await Listing(object()).known(("a",)) == {"a": None}


async def test_who_knows_is_not_asked_for_a_list() -> None:
    model = Knows("a")
    model.known = ("a",)
    assert await Listing(model).known(("a", "b")) == {"a": True, "b": False}
    assert model.asked == 0


async def test_who_does_not_know_yet_is_asked_for_one() -> None:
    model = Knows("a")
    assert await Listing(model).known(("a", "b")) == {"a": True, "b": False}
    assert model.asked == 1


async def test_a_list_that_fails_is_as_good_as_none() -> None:
    model = Lists(error=True)
    listing = Listing(model)
    assert await listing.known(("a",)) == {"a": None}
    assert await listing.known(("a",)) == {"a": None}
    assert model.asked == 1


@AUTOJUMP
async def test_a_list_is_believed_for_a_while() -> None:
    model = Lists("a")
    listing = Listing(model)
    for _ in range(3):
        await listing.known(("a",))
    assert model.asked == 1
    await anyio.sleep(LISTING_S)
    await listing.known(("a",))
    assert model.asked == 2


@AUTOJUMP
async def test_those_who_ask_together_ask_once() -> None:
    model = Lists("a", delay_s=1)
    listing = Listing(model)
    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(listing.known, ("a",))
    assert model.asked == 1


@AUTOJUMP
async def test_nobody_waits_long_for_a_list() -> None:
    model = Lists("a", delay_s=1000)
    started = anyio.current_time()
    assert await Listing(model).known(("a",)) == {"a": None}
    assert anyio.current_time() - started == LISTING_TIMEOUT_S


@AUTOJUMP
async def test_who_is_cancelled_while_asking_leaves_the_list_to_the_next() -> None:
    model = Lists("a", delay_s=2)
    listing = Listing(model)
    with anyio.move_on_after(1):
        await listing.known(("a",))
    assert await listing.known(("a",)) == {"a": True}
    assert model.asked == 2
