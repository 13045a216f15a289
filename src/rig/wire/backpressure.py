"""When to come back and how long the queue is: headers and body to numbers. No I/O.

Every field is read alone: one that can't be read is as if it were absent, and the next source is
asked. Where no clock is given, dates count from the answer's own Date header.
"""

import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from rig.errors import Backpressure
from rig.messages import as_array, as_object
from rig.wire.fault_text import FaultText

MAX_HEADER_CHARS: Final = 64
"""Characters of a header that are read; an HTTP date has 29."""

MAX_WAIT_S: Final = 366 * 86400.0
"""Seconds beyond which an ask is taken for nonsense (a time stamp, a number of milliseconds)."""

_UNITS: Final[Mapping[str, float]] = {
    "ms": 0.001, "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1,
    "m": 60, "min": 60, "mins": 60, "minute": 60, "minutes": 60,
    "h": 3600, "hour": 3600, "hours": 3600, "d": 86400, "day": 86400, "days": 86400,
}  # fmt: skip

_HINTS: Final = (
    "retry_after", "retry_after_s", "retry_after_seconds", "retryAfter", "retryDelay",
    "estimated_time",  # Hugging Face, of a model that is loading
)  # fmt: skip
_HINTS_MS: Final = ("retry_after_ms", "retryAfterMs")
_PHRASES: Final = (
    "try again in ", "try again after ", "retry in ", "retry after ", "available in ", "please wait ",
    "resets in ", "reset in ",
)  # fmt: skip
MAX_REPEATS: Final = 4
"""Values of a header that came more than once, joined by commas, that are read."""

REASONS: Final = frozenset({"rejected", "queue-timeout", "spill", "exhausted"})
"""The words for a queue's state that are believed; any other text stays in `detail`."""


def read_retry_after(
    headers: Mapping[str, str], fault: FaultText, now: float | None = None
) -> float | None:
    """Seconds the server asked to wait.

    `retry-after-ms`, then `retry-after` as seconds, a duration or a date, then what the body says.

    Args:
        headers: the answer's, names in lower case.
        fault: what its body says.
        now: seconds since the epoch, for dates where the answer has no Date of its own.

    Returns:
        Seconds, 0 or more (a date in the past is 0), None when it did not ask.
    """
    sources = (
        _milliseconds(headers.get("retry-after-ms")),
        _header_wait(headers.get("retry-after"), headers.get("date"), now),
        *_body_hints(fault),
    )
    return next((wait for wait in sources if wait is not None), None)


def read_backpressure(
    headers: Mapping[str, str], fault: FaultText, retry_after_s: float | None = None
) -> Backpressure | None:
    """What a busy server says about its queue; headers win over the body.

    Args:
        headers: the answer's, names in lower case.
        fault: what its body says.
        retry_after_s: the wait it asked for, in seconds.

    Returns:
        The state, None when neither source tells of one.
    """
    reason = fault.fields.get("reason")
    state = Backpressure(
        capacity=_count(headers.get("x-ratelimit-capacity"), fault.fields.get("capacity")),
        in_flight=_count(headers.get("x-ratelimit-inflight"), fault.fields.get("in_flight")),
        waiting=_count(headers.get("x-ratelimit-waiting"), fault.fields.get("waiting")),
        reason=reason if isinstance(reason, str) and reason in REASONS else "",
        retry_after_s=retry_after_s,
    )
    told = state.capacity or state.in_flight or state.waiting or state.reason
    return state if told else None


def duration_s(text: str) -> float | None:
    """Seconds of `30`, `1.5`, `17s`, `6m0s`, `826ms`, `20 seconds`; None for anything else.

    Args:
        text: the duration; read from its start, in one pass.
    """
    total: float | None = None
    rest = text[:MAX_HEADER_CHARS].strip().lower()
    while rest:
        digits = len(rest) - len(rest.lstrip("0123456789."))
        number = _finite(rest[:digits])
        rest = rest[digits:].lstrip()
        letters = len(rest) - len(rest.lstrip("abcdefghijklmnopqrstuvwxyz"))
        unit = rest[:letters]
        rest = rest[letters:].lstrip(" ,")
        if number is None or (unit and unit not in _UNITS) or (not unit and total is not None):
            return None
        total = (total or 0.0) + number * _UNITS.get(unit, 1)
    return _believable(total)


def _header_wait(value: str | None, date: str | None, now: float | None) -> float | None:
    if value is None:
        return None
    repeated = map(duration_s, value[:MAX_HEADER_CHARS].split(",", MAX_REPEATS))
    waits = (duration_s(value), *repeated)
    seconds = next((wait for wait in waits if wait is not None), None)
    if seconds is not None:
        return seconds
    then = _timestamp(value)
    since = _timestamp(date) if date else None
    since = now if since is None else since
    if then is None or since is None:
        return None
    return _believable(float(max(0, math.ceil(then - since))))


def _timestamp(value: str) -> float | None:
    if len(value) > MAX_HEADER_CHARS:
        return None
    try:
        moment: datetime = parsedate_to_datetime(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _body_hints(fault: FaultText) -> Iterator[float | None]:
    scopes = (fault.fields, as_object(fault.fields.get("metadata")) or {}, *_retry_infos(fault))
    for scope in scopes:
        yield from (_milliseconds(scope.get(name)) for name in _HINTS_MS)
        yield from (_seconds(scope.get(name)) for name in _HINTS)
    for phrase in _PHRASES:
        yield _phrase_wait(fault.search.partition(phrase)[2])


def _retry_infos(fault: FaultText) -> Iterator[Mapping[str, object]]:
    """Google's RetryInfo entries: `details: [{"@type": ..., "retryDelay": "17s"}]`."""
    for entry in (as_array(fault.fields.get("details")) or ())[:8]:
        yield as_object(entry) or {}


def _phrase_wait(rest: str) -> float | None:
    """The wait after a phrase such as `try again in`: the longest start that is a duration."""
    words = rest[:MAX_HEADER_CHARS].replace(",", " ").split()[:2]
    candidates = (" ".join(words), words[0] if words else "")
    waits = (duration_s(text.rstrip(".;:)!")) for text in candidates if text[:1].isdecimal())
    return next((wait for wait in waits if wait is not None), None)


def _milliseconds(value: object) -> float | None:
    number = _finite(value)
    return None if number is None else _believable(number / 1000)


def _seconds(value: object) -> float | None:
    if isinstance(value, str):
        return duration_s(value)
    number = _finite(value)
    return None if number is None else _believable(number)


def _believable(seconds: float | None) -> float | None:
    return seconds if seconds is not None and 0 <= seconds <= MAX_WAIT_S else None


def _finite(value: object) -> float | None:
    """A number, or the text of one, as a float; None for what is neither or not finite."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value[:MAX_HEADER_CHARS] if isinstance(value, str) else value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _count(*sources: object) -> int:
    """The first source that is a whole number above 0; 0 when none is."""
    for source in sources:
        number = _finite(source)
        if number is not None and 0 < number < 1 << 31 and number == int(number):
            return int(number)
    return 0
