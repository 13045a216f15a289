"""Which server answers, found out by asking: at most one GET for each kind, never repeated."""

from rig.client.requester import Requester
from rig.errors import ProtocolError, ResponseTooLargeError, RigError, StreamCutError
from rig.transport.http import Response
from rig.wire.detection import MAX_ANSWER_BYTES, PROBES, Probe, dialect_of_host, recognise
from rig.wire.dialect import Dialect
from rig.wire.dialects import GENERIC
from rig.wire.faults import error_from_response

_NOT_ALLOWED = frozenset({401, 403})


async def detect_dialect(requester: Requester, host: str) -> Dialect:
    """The dialect of the server behind a base URL.

    Args:
        requester: sends one request.
        host: the server's name; a vendor's own host is not asked anything.

    Returns:
        The dialect; generic where no answer told.

    Raises:
        UnauthorizedError: nothing told, and the list of models is not for whoever asks.
        RigError: the server could not be reached, or did not answer in time.
    """
    known = dialect_of_host(host)
    refusal: RigError | None = None
    for probe in PROBES if known is None else ():
        response = await _asked(requester, probe)
        if response is None:
            continue
        if response.status == 200:
            known = recognise(probe, response.body)
        elif response.status in _NOT_ALLOWED and probe is PROBES[0]:
            refusal = error_from_response(response.status, response.headers, response.body)
        if known is not None:
            break
    if known is None and refusal is not None:
        raise refusal
    return known or GENERIC


async def _asked(requester: Requester, probe: Probe) -> Response | None:
    """The answer; None for one that is too large or breaks off, which tells nothing."""
    try:
        return await requester.request("GET", probe.path, max_bytes=MAX_ANSWER_BYTES)
    except (ProtocolError, ResponseTooLargeError, StreamCutError):
        return None
