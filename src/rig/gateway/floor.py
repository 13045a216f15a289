"""All endpoints of a pool in one event loop, and the line of requests that wait for one."""

import math
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import anyio

from rig.client.fair_queue import FairQueue, Load
from rig.gateway.affinity import Affinity
from rig.gateway.line import Line
from rig.gateway.policy import PoolPolicy


class Seat:
    """The right to send one request to an endpoint: it counts there until it is left.

    Args:
        floor: whose it is.
        line: the endpoint.
        trial: it tries an endpoint that was left alone.

    Attributes:
        line: the endpoint.
        trial: it tries an endpoint that was left alone.
    """

    __slots__ = ("_floor", "_held", "line", "trial")

    def __init__(self, floor: "Floor", line: Line, *, trial: bool) -> None:
        self._floor = floor
        self.line = line
        self.trial = trial
        self._held = True

    def leave(self) -> None:
        """Count no more, and let somebody else on. Leaving twice does nothing."""
        if self._held:
            self._held = False
            self.line.give(trial=self.trial)
            self._floor.offer(self.line)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.leave()


class Floor:
    """What a pool knows in one event loop: endpoints, conversations, who waits.

    Args:
        lines: the endpoints.
        policy: the pool's numbers.

    Attributes:
        lines: the endpoints.
        affinity: where conversations were answered.
        queue: who waits.
        closed: the pool was closed: nobody waits any longer.
    """

    def __init__(self, lines: Sequence[Line], policy: PoolPolicy) -> None:
        self.lines = lines
        self.affinity = Affinity()
        self.closed = False
        self.queue: FairQueue[Seat] = FairQueue(
            Seat.leave, load=self._load, name=lambda seat: seat.line.name, wake=self.wake
        )
        self._policy = policy

    def sit(self, index: int) -> Seat:
        """Take a seat at an endpoint; the caller has looked that it may.

        Args:
            index: the endpoint.
        """
        line = self.lines[index]
        return Seat(self, line, trial=line.take(anyio.current_time(), self._policy))

    def offer(self, line: Line) -> None:
        """Give what is free at an endpoint to those who wait, as far as they can use it.

        To be called when a seat was left, and when the endpoint is of use to more than before. Where it
        had been free all the time, nobody who waits can use it: that was found out when they came, or
        when it became free. So it costs a question to each who waits and is passed over, once.

        Args:
            line: the endpoint.
        """
        if not line.shut:
            return
        now = anyio.current_time()
        while line.is_free(now):
            line.shut = False
            seat = Seat(self, line, trial=False)
            if not self.queue.offer(seat):
                return
            seat.trial = line.take(now, self._policy)

    def paused(self, line: Line) -> None:
        """An endpoint is left alone for a while: let those who wait look again when that is over.

        Args:
            line: the endpoint.
        """
        if line.health.resting:
            self.queue.hurry(line.health.until)

    def wake(self) -> None:
        """Offer what time has made free: endpoints whose pause is over. O(lines) where anybody waits."""
        if self.queue.waiting:
            for line in self.lines:
                self.offer(line)

    def changed(self) -> None:
        """Endpoints were looked at: they may be of use to others than before, or be left alone."""
        for line in self.lines:
            line.shut = True
            self.offer(line)
            self.paused(line)

    def close(self) -> None:
        """Let nobody wait any longer."""
        self.closed = True
        self.queue.hurry(-math.inf)

    def _load(self) -> Load:
        return Load(
            slots=sum(line.slots or 0 for line in self.lines),
            busy=sum(line.in_flight for line in self.lines),
        )
