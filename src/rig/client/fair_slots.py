"""Slots for requests: so many under way at a time, the others wait in turn."""

import math
from types import TracebackType

from rig.client import settings
from rig.client.fair_queue import FairQueue, Load, Waiting
from rig.errors import InvalidRequestError
from rig.model import Priority


class FairSlots:
    """So many requests at a time. Tenants take turns, interactive requests go first; see `rig.client.turns`.

    Never more than `count` are held. A slot that is given back goes straight to whose turn it is:
    whoever comes later can't overtake. It is to be used in one event loop.

    Args:
        count: how many.

    Raises:
        InvalidRequestError: count is no whole number from 1.
    """

    def __init__(self, count: int) -> None:
        self._count = settings.whole_number(count, "count")
        self._busy = 0
        self._queue: FairQueue[None] = FairQueue(lambda _: self.give(), load=self._load)

    def __repr__(self) -> str:
        return f"FairSlots({self._count}, busy={self._busy}, waiting={self.waiting})"

    @property
    def count(self) -> int:
        """How many slots there are."""
        return self._count

    @property
    def busy(self) -> int:
        """How many slots are held."""
        return self._busy

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return self._queue.waiting

    def try_take(self) -> bool:
        """Take a slot if one is free; then nobody waits."""
        if self._busy < self._count:
            self._busy += 1
            return True
        return False

    async def take(
        self,
        tenant: str = "",
        priority: Priority = "interactive",
        endpoint: str = "",
        *,
        until: float = math.inf,
    ) -> None:
        """Take a slot, to be given back with `give`; at once, without an await, if one is free.

        Args:
            tenant: whose request it is.
            priority: interactive goes before batch.
            endpoint: a name for events.
            until: when to give up waiting, on the event loop's clock.

        Raises:
            RequestTimeoutError: none was free until then; the reason is queue.
        """
        if not self.try_take():
            who: Waiting[None] = Waiting(
                tenant=tenant, priority=priority, endpoint=endpoint, until=until
            )
            await self._queue.wait(who)

    def give(self) -> None:
        """Give a slot back, to whose turn it is.

        Raises:
            InvalidRequestError: none is held.
        """
        if not self._busy:
            raise InvalidRequestError("a slot was given back that nobody had taken")
        if not self._queue.offer(None):
            self._busy -= 1

    def hold(
        self,
        tenant: str = "",
        priority: Priority = "interactive",
        endpoint: str = "",
        *,
        until: float = math.inf,
    ) -> "Held":
        """Hold a slot for the length of a block.

        Args:
            tenant: whose request it is.
            priority: interactive goes before batch.
            endpoint: a name for events.
            until: when to give up waiting, on the event loop's clock.
        """
        return Held(self, tenant, priority, endpoint, until)

    def _load(self) -> Load:
        return Load(slots=self._count, busy=self._busy)


class Held:
    """The block of `FairSlots.hold`."""

    __slots__ = ("_endpoint", "_priority", "_slots", "_tenant", "_until")

    def __init__(
        self, slots: FairSlots, tenant: str, priority: Priority, endpoint: str, until: float
    ) -> None:
        self._slots = slots
        self._tenant = tenant
        self._priority: Priority = priority
        self._endpoint = endpoint
        self._until = until

    async def __aenter__(self) -> None:
        slots = self._slots
        if not slots.try_take():
            await slots.take(self._tenant, self._priority, self._endpoint, until=self._until)

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._slots.give()
