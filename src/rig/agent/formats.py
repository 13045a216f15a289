"""What a form is in which calls travel, and the one that changes nothing: the server's own. No I/O.

Those that are text are in `rig.agent.tool_formats`, loaded where one is used.
"""

from collections.abc import Callable, Sequence
from typing import Final

from rig.events import FormatName
from rig.late_dataclass import dataclass
from rig.model import ChatRequest, Reply, ToolSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFormat:
    """How calls travel.

    Attributes:
        name: what it is called.
        request: the request as it is to be sent; what is no longer part of it stays with the caller.
        reply: the reply with its calls, given the tools of the request before it was changed.
    """

    name: FormatName
    request: Callable[[ChatRequest], ChatRequest]
    reply: Callable[[Reply, Sequence[ToolSpec]], Reply]


def _native_request(request: ChatRequest) -> ChatRequest:
    return request


def _native_reply(reply: Reply, tools: Sequence[ToolSpec]) -> Reply:  # noqa: ARG001  one shape for all formats
    return reply


NATIVE: Final = ToolFormat(name="native", request=_native_request, reply=_native_reply)
