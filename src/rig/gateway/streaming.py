"""Streams of anything: bridges for models that can't stream, and for callers who want the text alone. It awaits."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from inspect import isawaitable
from typing import cast

from rig.client.running import RunMixin
from rig.client.whole_reply import WholeReply
from rig.model import (
    ChatRequest,
    Delta,
    Model,
    Reply,
    ReplyStream,
    StreamingModel,
)

OnText = Callable[[str], Awaitable[None] | None]
"""Called with a piece of text, and awaited where it returns an awaitable."""


async def stream_complete(
    model: Model | StreamingModel,
    request: ChatRequest,
    on_delta: OnText,
    *,
    on_retract: OnText | None = None,
) -> Reply:
    """Ask a model and hand out the text of its reply while it comes, from whatever can be asked.

    Only text is handed out: a call that is half written is another call than the finished one, and
    thoughts are no text. A model that can't stream is asked for the whole reply, whose text then comes in one
    piece.

    Text may be taken back: a thought whose beginning the server's template has eaten looks like an answer
    until it ends. Then `on_retract` gets all text that was handed out so far, and what comes next begins
    anew. Without `on_retract` nobody is told; the text of the reply that is returned holds in any case.

    Args:
        model: what answers: a client, a pool, a gateway, a script in a test.
        request: what to ask.
        on_delta: called with each piece of text; never with an empty one.
        on_retract: called with text to take back.

    Returns:
        The whole reply, calls included, as `complete` returns it.

    Raises:
        RigError: as `complete`. What a callback raises comes out as it is, and ends the request.
    """
    async with open_stream(model, request) as stream:
        async for delta in stream:
            if delta.retracted and on_retract is not None:
                await _call(on_retract, delta.retracted)
            if delta.text:
                await _call(on_delta, delta.text)
        return stream.reply()


async def _call(callback: OnText, text: str) -> None:
    waiting = callback(text)
    if isawaitable(waiting):
        await waiting


def can_stream(model: object) -> bool:
    """Whether a model has a stream of its own: that of `RunMixin` only says that there is none.

    Args:
        model: anything that answers requests.
    """
    own = getattr(type(model), "stream", None)
    return own is not RunMixin.stream and callable(getattr(model, "stream", None))


@asynccontextmanager
async def open_stream(
    model: Model | StreamingModel, request: ChatRequest
) -> AsyncGenerator[ReplyStream]:
    """A stream of a model; a whole reply as a stream where it has none.

    Args:
        model: anything that answers requests.
        request: what to ask.

    Raises:
        RigError: as the model raises it.
    """
    if can_stream(model):
        opened: AbstractAsyncContextManager[ReplyStream] = cast("StreamingModel", model).stream(
            request
        )
        async with opened as stream:
            yield stream
    else:
        yield WholeReply(await cast("Model", model).complete(request))


class ChangedStream:
    """A stream whose reply is changed at its end.

    Args:
        stream: the stream.
        change: what becomes of its reply.
    """

    def __init__(self, stream: ReplyStream, change: Callable[[Reply], Reply]) -> None:
        self._stream = stream
        self._change = change

    @property
    def text(self) -> str:
        """The visible text of the deltas so far."""
        return self._stream.text

    def reply(self) -> Reply:
        """The changed reply, once the last delta was handed out.

        Raises:
            InvalidRequestError: the stream has not ended yet.
            RigError: what ended it.
        """
        return self._change(self._stream.reply())

    def __aiter__(self) -> AsyncIterator[Delta]:
        return aiter(self._stream)
