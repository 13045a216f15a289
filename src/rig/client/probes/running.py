"""Whether a server goes on with a request whose client has left: what its own counters say. No I/O."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from rig.client.probes.finding import Finding
from rig.late_dataclass import dataclass
from rig.messages import MAX_COUNT, as_array, as_object
from rig.wire.payload import parse_json

MAX_SLOTS: Final = 1024
"""Slots that are read of llama.cpp's list. It has one for each request at a time, 4 on most machines."""

GONE_S: Final = 1.5
"""Seconds after the connection was closed until the counters are looked at, once: looking restarts the
second after which llama.cpp looks whether a waiting client has gone (measured)."""

_GAUGE: Final = re.compile(
    r"^vllm:num_requests_running(?:\{[^}\n]{0,400}\})? ([0-9]{1,9})(?:\.0*)?\s*$", re.MULTILINE
)

Busy = frozenset[str]
"""The requests a server is working on, by a name of their own each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """Where a server says what it is working on.

    Attributes:
        path: below the server's root.
        read: reads the answer; None where it does not say.
    """

    path: str
    read: Callable[[bytes], Busy | None]


def read_slots(body: bytes) -> Busy | None:
    """The busy slots in llama.cpp's /slots, each with the number of its task.

    Args:
        body: the answer.
    """
    try:
        slots = as_array(parse_json(body))
    except ValueError:
        return None
    if slots is None:
        return None
    wires = [as_object(slot) or {} for slot in slots[:MAX_SLOTS]]
    return frozenset(
        f"{wire.get('id')}/{wire.get('id_task')}"[:80]
        for wire in wires
        if wire.get("is_processing") is True
    )


def read_metrics(body: bytes) -> Busy | None:
    """The requests in vLLM's /metrics: a number, so they are named by counting.

    Args:
        body: the answer, Prometheus text.
    """
    numbers = [int(found) for found in _GAUGE.findall(body.decode("utf-8", "replace"))]
    if not numbers or sum(numbers) > MAX_COUNT:
        return None
    return frozenset(str(number) for number in range(min(sum(numbers), MAX_SLOTS)))


COUNTERS: Final[Mapping[str, Counter]] = MappingProxyType(
    {
        "llama.cpp": Counter(path="slots", read=read_slots),
        "vllm": Counter(path="metrics", read=read_metrics),
    }
)
"""By the name of the dialect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """A stream that was left, as the server's counters saw it.

    Attributes:
        why: why it could not be watched, "" when it was.
        during: what the server worked on while the stream ran.
        after: the same `GONE_S` after it was closed.
        rest_s: seconds the rest of the stream would have taken, by the speed seen so far.
    """

    why: str = ""
    during: Busy = frozenset()
    after: Busy = frozenset()
    rest_s: float = 0.0


def judge_departure(departure: Departure) -> Finding[bool]:
    """Whether the server stopped when the client left.

    Args:
        departure: what was seen.
    """
    if departure.why:
        return Finding[bool].unmeasured(departure.why)
    if not departure.during:
        return Finding[bool].unmeasured("the server's counters did not show the request at all")
    if departure.rest_s < 2 * GONE_S:
        return Finding[bool].unmeasured(
            "the model is so fast that the request may have ended by itself"
        )
    if not departure.during & departure.after:
        return Finding[bool](
            value=True,
            evidence=f"{GONE_S:g} s after the stream was closed the server no longer worked on it",
        )
    if len(departure.during) > 1:
        return Finding[bool].unmeasured(
            "other requests were running, so ours could not be told from them"
        )
    return Finding[bool](
        value=False,
        evidence=f"{GONE_S:g} s after the stream was closed the server still worked on the request",
    )
