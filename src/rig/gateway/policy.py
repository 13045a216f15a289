"""The numbers a pool decides by. No I/O."""

import math
from dataclasses import fields

from rig.errors import InvalidRequestError
from rig.late_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPolicy:
    """When a pool asks the same endpoint again, another one, or none for a while. Times are seconds.

    Attributes:
        retries: how often the endpoint that failed is asked again before another one is: a blip then
            costs a pause and not the prompt that the server has already read.
        patience_s: the longest such pause; for a longer one another endpoint is asked, or whoever is
            ready first is waited for.
        failures: failures in a row after which an endpoint is left alone.
        cooling_s: for how long at first; each time that it fails again this doubles.
        max_cooling_s: for how long at most: what came back is found out in this time and one request.
        loading_s: pause between two looks at a server that loads its model.
        missing_s: how long it is believed that an endpoint has not got a model.
        probe_s: how long a small question to an endpoint that was silent may take; also how long one
            request that tries a doubtful endpoint keeps others off it.
        first_token_s: until the first piece of a streamed reply, whatever else the server sends before
            it; None takes `Timeouts.first_byte_s` for that.
        restarts: how often a streamed reply that broke is begun anew.
        max_imbalance: requests an endpoint may have more under way than the least busy one, and still
            be given the next turn of a conversation it has in its cache; None never prefers it.

    Raises:
        InvalidRequestError: a number is out of its range.
    """

    retries: int = 2
    patience_s: float = 5.0
    failures: int = 3
    cooling_s: float = 5.0
    max_cooling_s: float = 20.0
    loading_s: float = 2.0
    missing_s: float = 60.0
    probe_s: float = 2.0
    first_token_s: float | None = None
    restarts: int = 2
    max_imbalance: int | None = 2

    def __post_init__(self) -> None:
        for field in fields(self):
            _check(field.name, getattr(self, field.name))
        if self.max_cooling_s < self.cooling_s:
            raise InvalidRequestError("PoolPolicy: max_cooling_s must not be below cooling_s")


_OPTIONAL = frozenset({"first_token_s", "max_imbalance"})
_POSITIVE = frozenset({"failures", "cooling_s", "loading_s", "probe_s", "first_token_s"})


def _check(name: str, value: object) -> None:
    """Refuse what is no such number.

    Raises:
        InvalidRequestError: it is negative, no number, or 0 where there must be something.
    """
    if value is None and name in _OPTIONAL:
        return
    kinds = int | float if name.endswith("_s") else int
    least = "above 0" if name in _POSITIVE else "0 or more"
    what = "seconds" if name.endswith("_s") else "a whole number"
    if (
        isinstance(value, bool)
        or not isinstance(value, kinds)
        or not 0 <= value < math.inf
        or (name in _POSITIVE and value == 0)
    ):
        raise InvalidRequestError(f"PoolPolicy: {name} must be {what}, {least}")
