"""A reply that is known already, as a stream. It awaits."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Self

import anyio.lowlevel

from rig.errors import InvalidRequestError, StreamCutError
from rig.messages import ToolCall
from rig.model import CallDelta, Delta, Reply


class WholeReply:
    """Thoughts, text, calls and the end of a reply, as deltas.

    Args:
        outcome: the reply, or the error its stream ends with.
        piece_chars: most characters of a delta; None for everything at once.
    """

    def __init__(self, outcome: Reply | StreamCutError, *, piece_chars: int | None = None) -> None:
        self._outcome = outcome
        self._deltas = _deltas(outcome, piece_chars)
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
            StreamCutError: the error it ended with.
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
        self._text += delta.text
        self._ended = delta.finish_reason is not None
        return delta


def _deltas(outcome: Reply | StreamCutError, piece_chars: int | None) -> Iterator[Delta]:
    """Thoughts, text, the calls, their ends, the end; calls of a reply that was cut are never finished."""
    if isinstance(outcome, Reply):
        yield from (Delta(reasoning=piece) for piece in _pieces(outcome.reasoning, piece_chars))
    yield from (Delta(text=piece) for piece in _pieces(outcome.text, piece_chars))
    begun = [_begun(index, call) for index, call in enumerate(outcome.tool_calls)]
    for news, call in zip(begun, outcome.tool_calls, strict=True):
        yield Delta(tool_call=news)
        for piece in _pieces(call.arguments, piece_chars):
            yield Delta(tool_call=replace(news, stage="arguments", arguments=piece))
    if not isinstance(outcome, Reply):
        return
    if outcome.finish_reason != "length":
        for news, call in zip(begun, outcome.tool_calls, strict=True):
            yield Delta(tool_call=replace(news, stage="finished", arguments=call.arguments))
    usage = outcome.usage if outcome.usage.reported else None
    yield Delta(finish_reason=outcome.finish_reason, usage=usage)


def _begun(index: int, call: ToolCall) -> CallDelta:
    return CallDelta(stage="started", index=index, id=call.id, name=call.name)


def _pieces(text: str, most: int | None) -> Iterator[str]:
    most = most or max(len(text), 1)
    return (text[at : at + most] for at in range(0, len(text), most))
