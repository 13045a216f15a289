"""All endpoints of a pool in one event loop, and the line of requests that wait for one."""

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
            self._floor.offer()

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
    """

    def __init__(self, lines: Sequence[Line], policy: PoolPolicy) -> None:
        self.lines = lines
        self.affinity = Affinity()
        self.queue: FairQueue[Seat] = FairQueue(
            Seat.leave, load=self._load, name=lambda seat: seat.line.name
        )
        self._policy = policy

    def sit(self, index: int) -> Seat:
        """Take a seat at an endpoint; the caller has looked that it may.

        Args:
            index: the endpoint.
        """
        line = self.lines[index]
        trial = line.take(anyio.current_time(), self._policy.probe_s)
        return Seat(self, line, trial=trial)

    def offer(self) -> None:
        """Give what is free to those who wait, as far as they can use it.

        To be called when a seat was left, and when an endpoint is of use to more than before. O(lines),
        and one question to each who waits and is passed over.
        """
        if not self.queue.waiting:
            return
        now = anyio.current_time()
        for line in self.lines:
            while self.queue.waiting and _is_free(line, now):
                trial = line.take(now, self._policy.probe_s)
                if not self.queue.offer(Seat(self, line, trial=trial)):
                    line.give(trial=trial)
                    break

    def _load(self) -> Load:
        return Load(
            slots=sum(line.slots or 0 for line in self.lines),
            busy=sum(line.in_flight for line in self.lines),
        )


def _is_free(line: Line, now: float) -> bool:
    """Whether anybody at all might be let on."""
    full = line.slots is not None and line.in_flight >= line.slots
    return not full and line.ready_at <= now
