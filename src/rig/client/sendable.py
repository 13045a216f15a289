"""A request ready to be sent. Loaded with the first one, and with it what writes requests and reads replies. No I/O."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from rig.agent.history import prepare
from rig.model import ChatRequest
from rig.text.salvage import OfferedTool
from rig.wire.dialect import Dialect
from rig.wire.encode import request_headers
from rig.wire.salvaged import offered
from rig.wire.wires import Wire, wire_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Sendable:
    """A request ready to be sent.

    Attributes:
        request: with its model named and its messages in order.
        wire: the API it is sent over.
        body: written once for all attempts.
        headers: its own.
    """

    request: ChatRequest
    wire: Wire
    body: bytes
    headers: Mapping[str, str]

    @property
    def offered(self) -> tuple[OfferedTool, ...]:
        """What the model may call in answer, as salvaging asks for it."""
        return offered(self.request)

    @classmethod
    def of(
        cls,
        request: ChatRequest,
        *,
        model: str,
        dialect: Dialect,
        headers: Mapping[str, str],
        stream: bool,
    ) -> Self:
        """The request as it is sent.

        Args:
            request: what is asked.
            model: who is asked.
            dialect: how the server wants it said.
            headers: what all requests carry.
            stream: ask for a stream.

        Raises:
            InvalidRequestError: it can't be sent as it stands.
        """
        messages = prepare(request.messages)
        if model != request.model or messages is not request.messages:
            request = replace(request, model=model, messages=messages)
        wire = wire_of(dialect)
        return cls(
            request=request,
            wire=wire,
            body=wire.encode(request, stream=stream, dialect=dialect),
            headers={**headers, **request_headers(request)},
        )
