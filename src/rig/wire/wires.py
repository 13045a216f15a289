"""The two APIs a model is asked over, as values: where requests go and how both sides are read. No I/O."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, Protocol

from rig.late_dataclass import dataclass
from rig.model import ChatRequest, Reply
from rig.text.salvage import OfferedTool
from rig.wire.decode import decode_chat
from rig.wire.dialect import Dialect
from rig.wire.encode import encode_chat

if TYPE_CHECKING:  # loaded with the first stream
    from rig.wire.assembly import StreamAssembler
    from rig.wire.chat_stream import ChatStream


class Encode(Protocol):
    """Writes the body of a request."""

    def __call__(self, request: ChatRequest, /, *, stream: bool = False, dialect: Dialect) -> bytes:
        """The body.

        Args:
            request: what is asked.
            stream: ask for a stream.
            dialect: how the server spells the options.

        Raises:
            InvalidRequestError: it can't be sent as it stands.
        """
        ...


class Decode(Protocol):
    """Reads the body of a reply."""

    def __call__(
        self, body: bytes, /, *, latency_s: float = 0.0, tools: Sequence[OfferedTool] = ()
    ) -> Reply:
        """The reply.

        Args:
            body: the whole decoded body.
            latency_s: seconds the answer took.
            tools: what was offered; where there are any, calls that came as text are read too.

        Raises:
            RigError: it is none.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """One API.

    Attributes:
        path: where requests go, below `/v1/`.
        headers: sent with every request.
        encode: writes a request.
        decode: reads a reply that came whole.
        assembler: gives what puts one together that is streamed; loaded with the first stream.
    """

    path: str
    headers: tuple[tuple[str, str], ...] = ()
    encode: Encode
    decode: Decode
    assembler: "Callable[[], type[StreamAssembler]]"

    def stream(
        self,
        *,
        content_type: str = "",
        max_response_bytes: int,
        thinking: bool = False,
        tools: Sequence[OfferedTool] = (),
    ) -> "ChatStream":
        """What reads the body of a streamed reply.

        Args:
            content_type: the answer's media type.
            max_response_bytes: limit for text, reasoning and calls together, in bytes.
            thinking: the reply begins inside a thought.
            tools: what was offered; calls that come as text are held back and read at the end.
        """
        return _chat_stream()(
            content_type=content_type,
            max_response_bytes=max_response_bytes,
            thinking=thinking,
            tools=tools,
            assembler=self.assembler(),
            decode=self.decode,
        )


@cache
def _chat_stream() -> "type[ChatStream]":
    from rig.wire.chat_stream import ChatStream  # noqa: PLC0415 a dozen modules only streams need

    return ChatStream


@cache
def _chat_assembler() -> "type[StreamAssembler]":
    from rig.wire.assembly import StreamAssembler  # noqa: PLC0415 as above

    return StreamAssembler


@cache
def _messages() -> Wire:
    from rig.wire.anthropic.wire import MESSAGES  # noqa: PLC0415 few clients speak it

    return MESSAGES


CHAT_COMPLETIONS: Final = Wire(
    path="chat/completions",
    encode=encode_chat,
    decode=decode_chat,
    assembler=_chat_assembler,
)


def wire_of(dialect: Dialect) -> Wire:
    """The API a dialect is spoken over."""
    return _messages() if dialect.wire == "messages" else CHAT_COMPLETIONS
