"""Waiting in turn for something that one request at a time can have: the driver of `rig.client.turns`.

What is given back goes straight to whose turn it is, so nobody can slip in between. Whoever is
cancelled while it waits is taken out; if it was given something in that very moment, it is passed on.
Where time alone makes something free, whoever waits looks again then, and keeps its place in line.
"""

import math
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import anyio

from rig.client.positions import Positions
from rig.client.turns import Accepts, Place, Turns
from rig.errors import RequestTimeoutError
from rig.events import SlotWait, event_listener
from rig.late_dataclass import dataclass
from rig.model import Priority

GrantT = TypeVar("GrantT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting(Generic[GrantT]):
    """Who waits, for what, and for how long.

    Attributes:
        tenant: whose request it is.
        priority: whether somebody waits for its answer.
        endpoint: a name for events, where it is known what is waited for.
        accepts: what it can use; anything where None. It must not raise.
        until: when it gives up, on the event loop's clock.
        again: when it looks whether time has changed anything.
        look: asked then: when to look again, None where it does not want to wait any longer.
        told: whether the run is told of its turn now; it is where None.
    """

    tenant: str = ""
    priority: Priority = "interactive"
    endpoint: str = ""
    accepts: Accepts[GrantT] | None = None
    until: float = math.inf
    again: float = math.inf
    look: Callable[[], Awaitable[float | None]] | None = None
    told: Callable[[], bool] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How many requests there can be at a time, and how many there are."""

    slots: int
    busy: int


class FairQueue(Generic[GrantT]):
    """Requests that wait for one of several things of a kind, such as slots of any of some endpoints.

    Its owner counts what is free. It takes what is free without asking here: what nobody in line could
    use was offered in vain before. Whatever becomes free, or of use to more than before, it offers.

    Offering and leaving are O(1), but for those that are passed over because they can't use what is
    offered: a call of `accepts` for each.

    Args:
        give: takes back what was handed over to a request that was cancelled in the same moment.
        load: for events: how many there are and how many are in use.
        name: for events: the name of the endpoint something belongs to.
        wake: called when somebody looks again: offers what has become free by time alone, so that it
            goes to whose turn it is and not to who looks first.
    """

    def __init__(
        self,
        give: Callable[[GrantT], None],
        *,
        load: Callable[[], Load],
        name: Callable[[GrantT], str] | None = None,
        wake: Callable[[], None] | None = None,
    ) -> None:
        self._give = give
        self._load = load
        self._name = name
        self._wake = wake
        self._turns: Turns[_Waiter[GrantT]] = Turns()
        self._positions: Positions[Place[_Waiter[GrantT]]] = Positions(self._position)

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._turns)

    def offer(self, grant: GrantT) -> bool:
        """Hand something over to whose turn it is.

        Args:
            grant: what.

        Returns:
            Whether anybody who waits can use it; it is theirs then.
        """
        if not self._turns:
            return False
        place = self._turns.take(lambda waiter: waiter.accepts(grant))
        if place is None:
            return False
        place.item.take(grant)
        self._moved()
        return True

    def hurry(self, at: float) -> None:
        """Let all who wait look again by then: something will be free. O(waiting).

        Args:
            at: when, on the event loop's clock.
        """
        for waiter in self._turns:
            waiter.hurry(at)

    async def wait(self, who: Waiting[GrantT]) -> GrantT:
        """Wait until something is handed over, and tell the run's listener how that goes.

        Args:
            who: who waits.

        Returns:
            What was offered; the caller has to give it back to the owner.

        Raises:
            RequestTimeoutError: nothing was until `who.until`, or until it would not wait; the reason is
                queue.
            BaseException: it was cancelled, or the listener failed.
        """
        waiter = _Waiter(who)
        place = self._turns.join(waiter, who.tenant, who.priority)
        try:
            return await self._granted(place)
        except BaseException:
            if waiter.grants:
                self._give(waiter.grants[0])
            else:
                self._turns.leave(place)
                self._moved()
            raise

    async def _granted(self, place: "Place[_Waiter[GrantT]]") -> GrantT:
        """What is handed over; told before, whenever that is due, and when it has come.

        Raises:
            RequestTimeoutError: it was not in time.
        """
        waiter, listener = place.item, event_listener.get()
        news, told = True, False
        began = anyio.current_time()
        while not waiter.grants:  # bounded: once for each halving of its position, and each look
            if listener is not None and news and waiter.is_told():
                told = True
                await listener(self._event(place, began))
            news = await waiter.woken()
            if not news and not await self._goes_on(waiter):
                raise RequestTimeoutError(
                    "no slot was free in time: allow more of them, or a longer wait with"
                    " RetryPolicy(budget_s=...)",
                    reason="queue",
                )
        if listener is not None and told:
            await listener(self._event(place, began))
        return waiter.grants[0]

    async def _goes_on(self, waiter: "_Waiter[GrantT]") -> bool:
        """It is time to look again, or to give up: whether somebody waits on, or has what it waited for."""
        if self._wake is not None:
            self._wake()
        look = waiter.who.look
        if not waiter.grants and look is not None and anyio.current_time() < waiter.who.until:
            waiter.again = math.inf  # first, so that being hurried while it looks is not forgotten
            again = await look()
            if again is not None:
                waiter.hurry(again)
                return True
        return bool(waiter.grants)

    def _event(self, place: "Place[_Waiter[GrantT]]", began: float) -> SlotWait:
        """What is to be told now; that it is under way to be told is noted."""
        waiter, load = place.item, self._load()
        position, endpoint = 0, waiter.who.endpoint
        if waiter.grants:
            endpoint = endpoint or (self._name(waiter.grants[0]) if self._name else "")
        else:
            position = self._turns.position(place)
            self._positions.told(place, position)
        return SlotWait(
            kind="waiting" if position else "granted",
            position=position,
            slots=load.slots,
            busy=load.busy,
            waited_s=anyio.current_time() - began,
            tenant=place.tenant,
            priority=place.priority,
            endpoint=endpoint,
        )

    def _position(self, place: "Place[_Waiter[GrantT]]") -> int | None:
        return self._turns.position(place) if place.waits else None

    def _moved(self) -> None:
        """One is gone: wake those who are to be told how far they have come."""
        for place in self._positions.moved():
            place.item.wake()
        if not self._turns:
            self._positions.forget()


class _Waiter(Generic[GrantT]):
    """A request that waits, asleep until it is granted or has something to tell.

    Attributes:
        who: what it says of itself.
        grants: what was handed over, as soon as it was.
        again: when it looks again.
    """

    __slots__ = ("_news", "_sleep", "again", "grants", "who")

    def __init__(self, who: Waiting[GrantT]) -> None:
        self.who = who
        self.grants: list[GrantT] = []
        self.again = who.again
        self._news = anyio.Event()
        self._sleep: anyio.CancelScope | None = None

    def accepts(self, grant: GrantT) -> bool:
        accepts = self.who.accepts
        return accepts is None or accepts(grant)

    def is_told(self) -> bool:
        told = self.who.told
        return told is None or told()

    def take(self, grant: GrantT) -> None:
        self.grants.append(grant)
        self._news.set()

    def wake(self) -> None:
        self._news.set()

    def hurry(self, at: float) -> None:
        """Look again by then."""
        self.again = min(self.again, at)
        if self._sleep is not None:
            self._sleep.deadline = min(self._sleep.deadline, at)

    async def woken(self) -> bool:
        """Sleep until there is news; False when it is time to look again, or its time is up."""
        with anyio.CancelScope(deadline=min(self.again, self.who.until)) as self._sleep:
            await self._news.wait()
        self._sleep = None
        if self._news.is_set():
            if not self.grants:
                self._news = anyio.Event()
            return True
        return False
