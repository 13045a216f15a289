"""Asking at one place after the other until one of them knows."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import anyio

from rig.client.findings import ABSENT_S, Finding
from rig.client.requester import Answer

PlaceT = TypeVar("PlaceT")
ValueT = TypeVar("ValueT")


async def first_found(
    places: Iterable[PlaceT],
    ask: Callable[[PlaceT], Awaitable[Answer]],
    read: Callable[[PlaceT, bytes], Finding[ValueT] | None],
    *,
    timeout_s: float,
) -> Finding[ValueT]:
    """What the first place that knows says.

    Args:
        places: where to ask, in order.
        ask: asks at one.
        read: reads the body of an ok; None where it does not say.
        timeout_s: seconds for all of them together.

    Returns:
        What was read. Else nothing: believed for `ABSENT_S` where every place gave a clear no, and not
        at all where one was in trouble, or the time was over. A server that can't be reached at one
        place is not asked at the others.

    Raises:
        RigError: a request can't be sent.
    """
    certain = True
    with anyio.move_on_after(timeout_s) as scope:
        for place in places:
            answer = await ask(place)
            found = read(place, answer.body) if answer.verdict == "ok" else None
            if found is not None:
                return found
            if answer.verdict == "unreachable":
                return Finding(None)
            certain = certain and answer.verdict != "failing"
    return Finding(None, ABSENT_S if certain and not scope.cancelled_caught else 0.0)
