"""What was found out about an endpoint, one finding for each model, found once for all who ask."""

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import anyio

from rig.client.per_loop import PerLoop
from rig.late_dataclass import dataclass

ValueT = TypeVar("ValueT")

MAX_MODELS = 64
"""Models a client remembers findings for; the oldest is forgotten. An endpoint serves few, and each
name is the caller's own word."""

ABSENT_S = 60.0
"""Seconds a clear no is believed. Asking again costs as many requests as there are places to look,
and a proxy answers 404 for a backend that is merely being restarted."""

FOREVER_S = float("inf")
"""Seconds of a finding that can't change while the client lives."""


@dataclass(frozen=True, slots=True)
class Finding(Generic[ValueT]):
    """What looking gave.

    Attributes:
        value: what was found, None for nothing.
        fresh_s: seconds until it must be looked for again; 0 where nobody could say.
    """

    value: ValueT | None
    fresh_s: float = 0.0


class _Entry(Generic[ValueT]):
    __slots__ = ("lock", "looks", "until", "value")

    def __init__(self) -> None:
        self.lock = anyio.Lock()
        self.looks = 0
        self.value: ValueT | None = None
        self.until = -FOREVER_S


class Findings(Generic[ValueT]):
    """Looks things up when they are asked for, and remembers them for as long as they are fresh.

    Tasks that ask at the same time share one look. A failure is shared by those who waited for it and
    remembered for nobody else.

    Args:
        look: finds out about a model; what it raises goes to whoever asked, and is not remembered.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        look: Callable[[str], Awaitable[Finding[ValueT]]],
        *,
        clock: Callable[[], float] = anyio.current_time,
    ) -> None:
        self._look = look
        self._clock = clock
        self._entries: PerLoop[dict[str, _Entry[ValueT]]] = PerLoop(dict)

    async def get(self, model: str) -> ValueT | None:
        """The finding for a model, None when there is none.

        Args:
            model: its name; "" is a name too.

        Raises:
            RigError: looking failed in a way that is the caller's to mend.
        """
        entry = self._entry(model)
        if self._clock() < entry.until:
            return entry.value
        looks = entry.looks
        async with entry.lock:
            if entry.looks == looks:
                finding = await self._look(model)
                entry.value, entry.until = finding.value, self._clock() + finding.fresh_s
                entry.looks += 1
        return entry.value

    def _entry(self, model: str) -> _Entry[ValueT]:
        entries = self._entries.get()
        entry = entries.get(model)
        if entry is None:
            if len(entries) >= MAX_MODELS:
                del entries[next(iter(entries))]
            entry = entries[model] = _Entry()
        return entry
