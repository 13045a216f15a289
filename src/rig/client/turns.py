"""Whose turn it is among requests that wait: a line for each tenant, tenants in a ring. No I/O.

Tenants take turns, one request each; the requests of one tenant keep their order. So while a request
waits at the head of its tenant's line, every other tenant gets one turn at most. A tenant that comes,
or comes back, stands last in the ring. Interactive requests go before batch requests, except for every
`BATCH_EVERY`th turn; each of the two has a ring of its own.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Final, Generic, TypeVar

from rig.model import Priority

ItemT = TypeVar("ItemT")
Accepts = Callable[[ItemT], bool]

BATCH_EVERY: Final = 8
"""While batch requests wait, at least every eighth turn is one of theirs: with no share an endless
stream of interactive requests would starve them, and with this one it waits a seventh longer at most.
Linux's mq-deadline scheduler guards its writes in the same way, with every third turn
(`writes_starved`): more than work nobody waits for needs."""


class Place(Generic[ItemT]):
    """Where an item stands; the handle to take it out again.

    Attributes:
        item: what waits.
        tenant: whose it is.
        priority: which ring it stands in.
        waits: until it has its turn, or leaves.
        number: counts the places of its line.
    """

    __slots__ = ("item", "number", "priority", "tenant", "waits")

    def __init__(self, item: ItemT, tenant: str, priority: Priority) -> None:
        self.item = item
        self.tenant = tenant
        self.priority: Priority = priority
        self.waits = True
        self.number = 0


class Turns(Generic[ItemT]):
    """Items that wait, and whose turn it is. Methods are O(1), but for what a predicate skips."""

    def __init__(self) -> None:
        self._interactive: _Ring[ItemT] = _Ring()
        self._batch: _Ring[ItemT] = _Ring()
        self._passed = 0  # interactive turns since batch requests began to wait, or had one

    def __len__(self) -> int:
        return len(self._interactive) + len(self._batch)

    def __iter__(self) -> Iterator[ItemT]:
        """All that wait, in no order that matters."""
        for ring in (self._interactive, self._batch):
            yield from ring

    def join(
        self, item: ItemT, tenant: str = "", priority: Priority = "interactive"
    ) -> Place[ItemT]:
        """Let an item wait, behind those of its tenant.

        Args:
            item: what waits.
            tenant: whose line it joins.
            priority: its ring.
        """
        place = Place(item, tenant, priority)
        self._ring(place).join(place)
        return place

    def leave(self, place: Place[ItemT]) -> None:
        """Take an item out of its line; nothing happens if it had its turn.

        Args:
            place: where it stands.
        """
        if place.waits:
            self._ring(place).leave(place)
        if not self._batch:
            self._passed = 0

    def take(self, accepts: Accepts[ItemT] | None = None) -> Place[ItemT] | None:
        """The next in turn, which waits no longer; those who are passed over keep their places.

        Args:
            accepts: whether an item can use this turn; every one can where None. It costs a call for
                each item that is passed over.

        Returns:
            Its place, None when nobody who waits can use the turn.
        """
        rings = (self._interactive, self._batch)
        for ring in rings if self._passed < BATCH_EVERY - 1 else reversed(rings):
            place = ring.take(accepts)
            if place is not None:
                self._count(ring)
                return place
        return None

    def position(self, place: Place[ItemT]) -> int:
        """In at most how many turns the item has its own, from 1, if nobody else comes.

        Exact while nobody has left a line before its turn, all can use every turn, and tenants wait
        with equally many requests each or there is only one; else it may be less.

        Args:
            place: where it waits.
        """
        ahead = self._ring(place).position(place)
        if place.priority == "batch":
            return ahead + min(len(self._interactive), ahead * (BATCH_EVERY - 1) - self._passed)
        passed = self._passed + ahead - 1
        return ahead + min(len(self._batch), passed // (BATCH_EVERY - 1))

    def _ring(self, place: Place[ItemT]) -> "_Ring[ItemT]":
        return self._batch if place.priority == "batch" else self._interactive

    def _count(self, ring: "_Ring[ItemT]") -> None:
        """A turn was taken; what batch requests are owed stops growing at one turn."""
        if ring is self._batch or not self._batch:
            self._passed = 0
        else:
            self._passed = min(self._passed + 1, BATCH_EVERY - 1)


class _Line(Generic[ItemT]):
    """The items of one tenant, in order, and its own place in the ring.

    Ordered dicts, since the first key of a dict is found behind all that were deleted before it.
    """

    __slots__ = ("joined", "places", "turn")

    def __init__(self, turn: int) -> None:
        self.places: OrderedDict[Place[ItemT], None] = OrderedDict()
        self.joined = 0
        self.turn = turn

    def join(self, place: Place[ItemT]) -> None:
        place.number = self.joined
        self.joined += 1
        self.places[place] = None

    def ahead(self, place: Place[ItemT]) -> int:
        """How many of the line come before, at most: those who left from between are still counted."""
        return min(place.number - next(iter(self.places)).number, len(self.places) - 1)


class _Ring(Generic[ItemT]):
    """Tenants in the order of their turns; those with nobody in line are not in it."""

    __slots__ = ("_lines", "_turns", "_waiting")

    def __init__(self) -> None:
        self._lines: OrderedDict[str, _Line[ItemT]] = OrderedDict()
        self._turns = 0
        self._waiting = 0

    def __len__(self) -> int:
        return self._waiting

    def __iter__(self) -> Iterator[ItemT]:
        for line in self._lines.values():
            for place in line.places:
                yield place.item

    def join(self, place: Place[ItemT]) -> None:
        line = self._lines.get(place.tenant)
        if line is None:
            line = self._lines[place.tenant] = _Line(self._next_turn())
        line.join(place)
        self._waiting += 1

    def leave(self, place: Place[ItemT]) -> _Line[ItemT] | None:
        """Take it out; its line, if there is more of it."""
        line = self._lines[place.tenant]
        del line.places[place]
        place.waits = False
        self._waiting -= 1
        if not line.places:
            del self._lines[place.tenant]
            return None
        return line

    def take(self, accepts: Accepts[ItemT] | None) -> Place[ItemT] | None:
        place = self._find(accepts)
        if place is None:
            return None
        line = self.leave(place)
        if line is not None:
            self._lines.move_to_end(place.tenant)
            line.turn = self._next_turn()
        return place

    def position(self, place: Place[ItemT]) -> int:
        """As of `Turns`, within this ring: whole rounds of all tenants, then the rest of one."""
        line = self._lines[place.tenant]
        tenants = len(self._lines)
        first = next(iter(self._lines.values()))
        rest = min(line.turn - first.turn, tenants - 1)
        return min(line.ahead(place) * tenants + rest + 1, self._waiting)

    def _find(self, accepts: Accepts[ItemT] | None) -> Place[ItemT] | None:
        for line in self._lines.values():
            for place in line.places:
                if accepts is None or accepts(place.item):
                    return place
        return None

    def _next_turn(self) -> int:
        self._turns += 1
        return self._turns
