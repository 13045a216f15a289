"""A request ready to be sent. Loaded with the first one, and with it what writes requests and reads replies. No I/O."""

from dataclasses import replace
from typing import NamedTuple

from rig.agent.history import Prepared, prepare
from rig.model import ChatRequest
from rig.text.salvage import OfferedTool
from rig.wire.dialect import Dialect
from rig.wire.encode import request_headers
from rig.wire.salvaged import offered
from rig.wire.wires import Wire, wire_of

Pairs = tuple[tuple[str, str], ...]


class Sendable(NamedTuple):
    """A request ready to be sent.

    Attributes:
        request: with its model named and its messages in order.
        wire: the API it is sent over.
        body: written once for all attempts.
        headers: its own.
        offered: what the model may call in answer, as salvaging asks for it.
    """

    request: ChatRequest
    wire: Wire
    body: bytes
    headers: Pairs
    offered: tuple[OfferedTool, ...]


def sendable(
    request: ChatRequest, *, model: str, dialect: Dialect, headers: Pairs, stream: bool
) -> Sendable:
    """A request as it is sent.

    Args:
        request: what is asked.
        model: who is asked.
        dialect: how the server wants it said.
        headers: what all requests carry; handed on as they are where this one adds none.
        stream: ask for a stream.

    Raises:
        InvalidRequestError: it can't be sent as it stands.
    """
    messages = request.messages
    if type(messages) is not Prepared:
        messages = prepare(messages)
        if messages != request.messages:  # a conversation in order is left as it is
            request = replace(request, messages=messages)
    if model != request.model:
        request = replace(request, model=model)
    wire = wire_of(dialect)
    body = wire.encode(request, stream=stream, dialect=dialect)
    if request.options.trace_id is not None:
        headers = (*headers, *request_headers(request).items())
    return Sendable(request, wire, body, headers, offered(request))
