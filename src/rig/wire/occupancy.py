"""How busy a server is: where servers say it, as a table, and how each answer is read. No I/O.

Readers take any body, and give None for every one that does not say it.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from rig.late_dataclass import dataclass
from rig.messages import as_array, as_object
from rig.wire.payload import parse_json

MAX_METRICS_LINES: Final = 20_000
"""Lines of a metrics page that are read. vLLM writes some 600, a proxy with many models some thousands."""

MAX_REQUESTS: Final = 1 << 20
"""Requests above which a number is none: no server has a million slots."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """How many requests a server answers, and can; None means it does not say.

    Attributes:
        slots: how many it answers at a time.
        busy: how many it is answering, whoever sent them.
        waiting: how many wait there.
    """

    slots: int | None = None
    busy: int | None = None
    waiting: int | None = None

    @property
    def full(self) -> bool:
        """Whether the next request would have to wait."""
        taken = self.slots is not None and self.busy is not None and self.busy >= self.slots
        return taken or bool(self.waiting)


@dataclass(frozen=True, slots=True, kw_only=True)
class OccupancySource:
    """One place where a server says how busy it is: `path` is below its root."""

    path: str
    read: Callable[[bytes], Occupancy | None]


def read_slots(body: bytes) -> Occupancy | None:
    """llama.cpp's /slots: one object for each."""
    slots = [as_object(item) for item in as_array(_json(body)) or ()]
    if not slots or not all(slot is not None and "is_processing" in slot for slot in slots):
        return None
    busy = sum(slot is not None and slot["is_processing"] is True for slot in slots)
    return Occupancy(slots=len(slots), busy=busy)


def read_props(body: bytes) -> Occupancy | None:
    """llama.cpp's /props, which is there where /slots is switched off."""
    total = _count((as_object(_json(body)) or {}).get("total_slots"))
    return Occupancy(slots=total) if total else None


def read_metrics(body: bytes) -> Occupancy | None:
    """/metrics of vLLM, SGLang and llama.cpp, in Prometheus' text format; summed over models."""
    sums: dict[str, int] = {}
    for name, value in _samples(body):
        field = _GAUGES.get(name)
        if field is not None and 0 <= value < MAX_REQUESTS:
            sums[field] = sums.get(field, 0) + int(value)
    return Occupancy(busy=sums.get("busy"), waiting=sums.get("waiting")) if sums else None


SOURCES: Final = (
    OccupancySource(path="slots", read=read_slots),
    OccupancySource(path="props", read=read_props),
    OccupancySource(path="metrics", read=read_metrics),
)
"""Asked in this order; each adds what the ones before it did not say."""

_GAUGES: Final[Mapping[str, str]] = {
    "vllm:num_requests_running": "busy",
    "vllm:num_requests_waiting": "waiting",
    "sglang:num_running_reqs": "busy",
    "sglang:num_queue_reqs": "waiting",
    "llamacpp:requests_processing": "busy",
    "llamacpp:requests_deferred": "waiting",
}


def merged(first: Occupancy, second: Occupancy | None) -> Occupancy:
    """What two sources say together; the first one wins.

    Args:
        first: what is known.
        second: what came after.
    """
    if second is None:
        return first
    return Occupancy(
        slots=second.slots if first.slots is None else first.slots,
        busy=second.busy if first.busy is None else first.busy,
        waiting=second.waiting if first.waiting is None else first.waiting,
    )


def _samples(body: bytes) -> Iterator[tuple[str, float]]:
    """Names and values: `name{label="x"} 3.0`; comments and what can't be read are skipped."""
    for line in body.split(b"\n", MAX_METRICS_LINES)[:MAX_METRICS_LINES]:
        text = line[:4096].decode("utf-8", "replace").strip()
        name = text.partition("{")[0].partition(" ")[0]
        value = text.rpartition("}")[2].split() if "{" in text else text.split()[1:]
        if not text.startswith("#") and value:
            try:
                yield name, float(value[0])
            except ValueError:
                continue


def _json(body: bytes) -> object:
    try:
        value: object = parse_json(body)
    except ValueError:
        return None
    return value


def _count(value: object) -> int:
    good = isinstance(value, int) and not isinstance(value, bool) and 0 < value < MAX_REQUESTS
    return value if good and isinstance(value, int) else 0
