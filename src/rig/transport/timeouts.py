"""How long each wait of an exchange may last. No I/O."""

import math
from dataclasses import fields

from rig.errors import InvalidRequestError, RequestTimeoutError
from rig.late_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """How long each wait may last, in seconds; None is no bound.

    Attributes:
        connect_s: resolving, connecting and the TLS handshake. With a caller's client, its own pool too.
        first_byte_s: from the start of the request to the first byte of the answer's body. Where descriptors
            are short, waiting for a connection has as long for itself.
        idle_s: between two reads of the body; in a streamed reply also between two pieces of it, whatever
            keep-alives come. Before the first piece those may come for first_byte_s, where that is longer.
        total_s: the whole exchange, the pauses of whoever reads a stream included.

    Raises:
        InvalidRequestError: a bound that is not a positive, finite number.
    """

    connect_s: float | None = 10.0
    first_byte_s: float | None = 300.0
    idle_s: float | None = 60.0
    total_s: float | None = 600.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value: object = getattr(self, field.name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise InvalidRequestError(f"{field.name} must be a number of seconds, or None")
            if not 0 < value < math.inf:
                raise InvalidRequestError(
                    f"{field.name} must be above 0 and finite; None stands for no bound"
                )


class Deadline:
    """When the wait that is going on ends, and which time-out that would be.

    Args:
        timeouts: the bounds.
        now: the clock of the event loop, at the start of the request.

    Attributes:
        at: when the wait ends, on the same clock; infinite without a bound.
        reason: first_byte, idle or total.
    """

    __slots__ = ("_idle_s", "_timeouts", "_total_at", "at", "reason")

    def __init__(self, timeouts: Timeouts, now: float) -> None:
        self._timeouts = timeouts
        self._total_at = math.inf if timeouts.total_s is None else now + timeouts.total_s
        self._idle_s = math.inf if timeouts.idle_s is None else timeouts.idle_s
        first_s = math.inf if timeouts.first_byte_s is None else timeouts.first_byte_s
        self.at = self._total_at
        self.reason = "total"
        if now + first_s < self.at:
            self.at, self.reason = now + first_s, "first_byte"

    def read_on(self, now: float) -> None:
        """Wait for more of the body from here on."""
        at = now + self._idle_s
        if at < self._total_at:
            self.at, self.reason = at, "idle"
        else:
            self.at, self.reason = self._total_at, "total"

    def start_over(self, now: float) -> None:
        """The request begins only now: what it waited for counts for the whole exchange alone.

        Args:
            now: the clock of the event loop.
        """
        first_s = self._timeouts.first_byte_s
        self.at, self.reason = self._total_at, "total"
        if first_s is not None and now + first_s < self.at:
            self.at, self.reason = now + first_s, "first_byte"

    def error(self) -> RequestTimeoutError:
        """The time-out that ended the wait."""
        bound_s: float = getattr(self._timeouts, f"{self.reason}_s")
        sentence = {
            "first_byte": f"no byte of the answer came within {bound_s:g} s",
            "idle": f"the answer stopped for {bound_s:g} s",
            "total": f"the answer was not complete within {bound_s:g} s",
        }[self.reason]
        return RequestTimeoutError(
            f"{sentence}; raise Timeouts({self.reason}_s=...) if the server is just slow",
            reason=self.reason,
        )
