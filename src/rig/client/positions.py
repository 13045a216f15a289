"""When somebody who waits is told again how far it has come: whenever half of the way lies behind. No I/O."""

from collections.abc import Callable
from typing import Generic, TypeVar

WaiterT = TypeVar("WaiterT")


class Positions(Generic[WaiterT]):
    """The positions that were told, each looked at again when it may have halved.

    So a waiter is told once for each halving, ten times for position 1,000, and is looked at about as
    often: both together O(log n) for each one that waits, where telling everyone of every step is O(n).

    Args:
        position: the position of a waiter now, from 1; None when it waits no longer.
    """

    def __init__(self, position: Callable[[WaiterT], int | None]) -> None:
        self._position = position
        self._moves = 0
        self._due: dict[int, list[tuple[WaiterT, int]]] = {}

    def told(self, waiter: WaiterT, position: int) -> None:
        """Look at a waiter again when half as many as it was told of have gone.

        Args:
            waiter: who was told.
            position: what.
        """
        self._look_after(waiter, position, position)

    def moved(self) -> list[WaiterT]:
        """One of those who wait is gone, whoever it was.

        Returns:
            The waiters whose position has halved since they were told one. They are forgotten until
            they are told again.
        """
        self._moves += 1
        halved: list[WaiterT] = []
        for waiter, told in self._due.pop(self._moves, ()):
            position = self._position(waiter)
            if position is None:
                continue
            if position <= told // 2:
                halved.append(waiter)
            else:
                self._look_after(waiter, told, position)
        return halved

    def forget(self) -> None:
        """Nobody waits any more."""
        self._due.clear()

    def _look_after(self, waiter: WaiterT, told: int, position: int) -> None:
        """Nobody can be half as far from its turn before so many have gone."""
        if told > 1:
            due = self._moves + (position + 1) // 2
            self._due.setdefault(due, []).append((waiter, told))
