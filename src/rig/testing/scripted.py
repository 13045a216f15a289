"""A model without a wire, for tests of agents: it answers what it was told to answer."""

from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from inspect import isawaitable
from typing import Self

import anyio.lowlevel

from rig.client.running import RunMixin
from rig.errors import InvalidRequestError, RigError, StreamCutError
from rig.messages import ToolCall
from rig.model import CallDelta, ChatRequest, Delta, Reply

PIECE_CHARS = 3
"""Characters of a streamed delta: short enough that nothing an agent looks for comes in one piece."""

ScriptedReply = (
    Reply | str | RigError | Callable[[ChatRequest], "Reply | str | Awaitable[Reply | str]"]
)
"""One answer: a reply, its text, an error to raise, or a function of the request."""


class ScriptedModel(RunMixin):
    """Answers requests from a script, in order, and remembers them; runs agents like a client.

    ```python
    model = ScriptedModel(
        Reply(tool_calls=(ToolCall(id="1", name="add", arguments='{"a": 1, "b": 2}'),)),
        "The sum is 3.",
    )
    result = await model.run("add 1 and 2", max_tokens=100, tools=[add])
    ```

    Args:
        replies: one for each request.

    Attributes:
        requests: what was asked, in order.
        default_model: the model's name where a call names none.
    """

    def __init__(self, *replies: ScriptedReply) -> None:
        self.default_model = "scripted"
        self.requests: list[ChatRequest] = []
        self._waiting = deque(replies)

    @property
    def unused(self) -> int:
        """Replies that no request has asked for."""
        return len(self._waiting)

    async def complete(self, request: ChatRequest, /) -> Reply:
        """Give the next reply.

        Args:
            request: recorded; a callable reply is given it.

        Raises:
            AssertionError: the script has run out.
            RigError: the next reply is that error.
        """
        reply = await self._next(request)
        if isinstance(reply, RigError):
            raise reply
        return reply

    @asynccontextmanager
    async def stream(self, request: ChatRequest, /) -> AsyncGenerator["ScriptedStream"]:
        """Give the next reply in deltas of three characters.

        Args:
            request: recorded; a callable reply is given it.

        Raises:
            AssertionError: the script has run out.
            RigError: the next reply is that error; a `StreamCutError` comes behind its text.
        """
        reply = await self._next(request)
        if isinstance(reply, RigError) and not isinstance(reply, StreamCutError):
            raise reply
        yield ScriptedStream(reply)

    async def _next(self, request: ChatRequest) -> Reply | RigError:
        """The next reply or error.

        Raises:
            AssertionError: the script has run out.
        """
        self.requests.append(request)
        await anyio.lowlevel.checkpoint()
        if not self._waiting:
            raise AssertionError(
                f"ScriptedModel was asked {len(self.requests)} times and had "
                f"{len(self.requests) - 1} replies: give it one more, or find out why it is asked"
            )
        reply = self._waiting.popleft()
        if callable(reply):
            made = reply(request)
            reply = await made if isawaitable(made) else made
        return Reply(text=reply, model=request.model) if isinstance(reply, str) else reply


class ScriptedStream:
    """One scripted reply, piece by piece. Made by `ScriptedModel.stream`.

    Args:
        outcome: the reply, or the error its stream ends with.
    """

    def __init__(self, outcome: Reply | StreamCutError) -> None:
        self._outcome = outcome
        self._deltas = iter(_deltas(outcome))
        self._text = ""
        self._ended = False

    @property
    def text(self) -> str:
        """The visible text of the deltas so far."""
        return self._text

    def reply(self) -> Reply:
        """The reply, once the last delta was handed out.

        Raises:
            InvalidRequestError: the stream has not ended yet.
            StreamCutError: the scripted error.
        """
        if not self._ended:
            raise InvalidRequestError("iterate over the stream to its end before asking for it")
        if isinstance(self._outcome, StreamCutError):
            raise self._outcome
        return self._outcome

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delta:
        await anyio.lowlevel.checkpoint()
        delta = next(self._deltas, None)
        if delta is None:
            ended, self._ended = self._ended, True
            if isinstance(self._outcome, StreamCutError) and not ended:
                raise self._outcome
            raise StopAsyncIteration
        self._ended = delta.finish_reason is not None
        self._text += delta.text
        return delta


def _deltas(outcome: Reply | StreamCutError) -> Iterator[Delta]:
    if isinstance(outcome, Reply):
        yield from (Delta(reasoning=piece) for piece in _pieces(outcome.reasoning))
    yield from (Delta(text=piece) for piece in _pieces(outcome.text))
    for index, call in enumerate(outcome.tool_calls):
        yield from (Delta(tool_call=news) for news in _begun(index, call))
    if not isinstance(outcome, Reply):
        return
    if outcome.finish_reason != "length":
        for index, call in enumerate(outcome.tool_calls):
            yield Delta(
                tool_call=CallDelta(
                    stage="finished",
                    index=index,
                    id=call.id,
                    name=call.name,
                    arguments=call.arguments,
                )
            )
    usage = outcome.usage if outcome.usage.reported else None
    yield Delta(finish_reason=outcome.finish_reason, usage=usage)


def _begun(index: int, call: ToolCall) -> Iterator[CallDelta]:
    yield CallDelta(stage="started", index=index, id=call.id, name=call.name)
    for piece in _pieces(call.arguments):
        yield CallDelta(stage="arguments", index=index, id=call.id, name=call.name, arguments=piece)


def _pieces(text: str) -> Iterator[str]:
    return (text[at : at + PIECE_CHARS] for at in range(0, len(text), PIECE_CHARS))
