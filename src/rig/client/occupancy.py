"""Asking a server how busy it is."""

from rig.client.requester import Requester, ask
from rig.wire.occupancy import SOURCES, Occupancy, merged

MAX_OCCUPANCY_BYTES = 4 << 20
"""Decoded bytes of an answer: /slots of llama.cpp holds each slot's settings and prompt, some kilobytes
each; metrics of a proxy with hundreds of models some megabytes."""


async def find_occupancy(requester: Requester) -> Occupancy | None:
    """How busy a server is, as far as it says; at most three small requests, none repeated.

    Args:
        requester: who sends.

    Returns:
        None where it says nothing at all.

    Raises:
        RigError: the request can't be sent.
    """
    known = Occupancy()
    for source in SOURCES:
        if known.busy is not None and known.slots is not None:
            break
        answer = await ask(requester, "GET", source.path, max_bytes=MAX_OCCUPANCY_BYTES)
        if answer.verdict == "unreachable":
            break
        known = merged(known, source.read(answer.body) if answer.verdict == "ok" else None)
    return None if known == Occupancy() else known
