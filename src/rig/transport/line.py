"""Who waits for a connection, first come first served. Pure bookkeeping, O(log n) for each call."""

from heapq import heappop, heappush

import anyio

from rig.transport.origin import Origin
from rig.transport.sockets import Connection


class Place:
    """One that waits.

    Args:
        number: its place; whoever has a lower one came first.
        origin: where it wants to go.

    Attributes:
        has_turn: it may try now, and nobody else is called on its behalf.
        connection: what it was handed with its turn.
        left: it waits no more.
    """

    __slots__ = ("_called", "connection", "has_turn", "left", "number", "origin")

    def __init__(self, number: int, origin: Origin) -> None:
        self.number = number
        self.origin = origin
        self.has_turn = False
        self.connection: Connection | None = None
        self.left = False
        self._called = anyio.Event()

    def call(self, connection: Connection | None = None) -> None:
        """Give it its turn.

        Args:
            connection: one it can have, None where it has to open one.
        """
        self.has_turn = True
        self.connection = connection
        self._called.set()

    async def called(self) -> None:
        """Wait for the turn."""
        await self._called.wait()

    def step_back(self) -> None:
        """The turn was of no use: there will be another."""
        self.has_turn = False
        self._called = anyio.Event()


class Line:
    """Those that wait, in the order they came in. Who steps back keeps the place."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, Place]] = []
        self._last = 0

    def place(self, origin: Origin) -> Place:
        """The last place so far.

        Args:
            origin: where it wants to go.
        """
        self._last += 1
        return Place(self._last, origin)

    def wait(self, place: Place) -> None:
        """Put one in line.

        Args:
            place: it.
        """
        heappush(self._waiting, (place.number, place))

    def next(self) -> Place | None:
        """Take the first one out of the line, None where nobody waits."""
        while self._waiting:
            _, place = heappop(self._waiting)
            if not place.left:
                return place
        return None
