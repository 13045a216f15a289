"""A streamed reply of a pool: where it breaks, it is begun anew at another endpoint.

Begun anew, never continued: many servers refuse a prompt that ends with half an answer, and those that
take it may go on in another way. Rules for whoever edits this file: as in `rig.client.reply_stream`, no
cancel scope is open while a caller's code runs, and errors are raised where no other is being handled.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from typing import Self

import anyio

from rig.errors import RequestTimeoutError, RigError
from rig.gateway.calling import Call
from rig.gateway.floor import Seat
from rig.gateway.line import Line
from rig.gateway.outcome import Failure
from rig.late_dataclass import dataclass
from rig.model import Delta, Reply, ReplyStream


@dataclass(frozen=True, slots=True)
class Opened:
    """A stream that has begun.

    Attributes:
        line: the endpoint it comes from.
        stream: the reply.
        deltas: its deltas.
        block: what is released when it is over: the request, and the seat.
    """

    line: Line
    stream: ReplyStream
    deltas: AsyncIterator[Delta]
    block: AsyncExitStack


class Opener:
    """Asks until a reply has begun.

    Args:
        call: finds the endpoints.
        ask: streams the reply of one, once.
        first_token_s: seconds until the first piece from an endpoint, None for no bound of the pool's.
    """

    def __init__(
        self,
        call: Call,
        ask: Callable[[Line], AbstractAsyncContextManager[ReplyStream]],
        first_token_s: Callable[[Line], float | None],
    ) -> None:
        self.call = call
        self._ask = ask
        self._first_token_s = first_token_s

    async def open(self) -> Opened:
        """Ask until the first piece of a reply has come.

        Raises:
            RigError: nobody could answer.
        """
        while True:  # bounded as `Call.answer`
            outcome = await self._open_at(await self.call.seat())
            if isinstance(outcome, Opened):
                return outcome
            await self.call.failed(outcome)

    async def _open_at(self, seat: Seat) -> Opened | Failure:
        """Ask one endpoint; where its reply begins, its seat is kept until that is over."""
        line, block, opened = seat.line, AsyncExitStack(), False
        block.enter_context(seat)
        try:
            since = self.call.sent_to(line)
            stream = await self._entered(block, line)
            if isinstance(stream, RigError):
                return self.call.failed_at(line, stream, trial=seat.trial)
            await self.call.tell(self.call.answered_at(line, since, complete=False))
            opened = True
        finally:
            if not opened:
                await block.aclose()
        return Opened(line, stream, aiter(stream), block)

    async def _entered(self, block: AsyncExitStack, line: Line) -> ReplyStream | RigError:
        limit_s = self._first_token_s(line)
        with anyio.move_on_after(limit_s):
            try:
                return await block.enter_async_context(self._ask(line))
            except RigError as error:
                return error
        return RequestTimeoutError(
            f"nothing of the reply came within {limit_s:g} s; raise PoolPolicy(first_token_s=...), or"
            " Timeouts(first_byte_s=...) where that is None, if the server is just slow",
            reason="first_byte",
        )


class PoolStream:
    """One reply while it arrives, as `rig.ReplyStream` has it, from whichever endpoint gives it.

    Args:
        opener: begins it anew.
        opened: the first one.
    """

    def __init__(self, opener: Opener, opened: Opened) -> None:
        self._opener = opener
        self._call = opener.call
        self._opened = opened
        self._over = False
        self._error: RigError | None = None

    @property
    def text(self) -> str:
        """The visible text of the deltas so far, without what was retracted."""
        return self._opened.stream.text

    def reply(self) -> Reply:
        """The whole reply, once the last delta was handed out: the one that came to its end.

        Raises:
            InvalidRequestError: the stream has not ended yet, or was left before it had.
            RigError: what ended it.
        """
        if self._error is not None:
            raise self._error
        return with_latency(self._opened.stream.reply(), self._call)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delta:
        while not self._over:  # bounded by PoolPolicy.restarts
            outcome = await self._next()
            if isinstance(outcome, Delta):
                return outcome
            if outcome is None:
                await self._end()
            elif shown := await self._begin_anew(outcome):
                return Delta(retracted=shown)
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """The block was left: end the request, and count it no more."""
        self._over = True
        await self._opened.block.aclose()

    async def _next(self) -> Delta | RigError | None:
        """The next delta, what broke the stream, or None at its end."""
        try:
            return await anext(self._opened.deltas, None)
        except RigError as error:
            return error

    async def _end(self) -> None:
        """The reply is whole."""
        self._over = True
        event = self._call.answered_at(self._opened.line, None)
        await self._opened.block.aclose()
        await self._call.tell(event)

    async def _begin_anew(self, error: RigError) -> str:
        """The stream broke: have the whole reply from somebody else.

        Returns:
            The text that was shown, to be taken back.

        Raises:
            RigError: nobody gives it; what had come stands, and is on the error.
        """
        shown = self._opened.stream.text
        failure = self._call.failed_at(self._opened.line, error)
        try:
            await self._opened.block.aclose()
            await self._call.failed(failure, begun=True)
            self._opened = await self._opener.open()
        except RigError as fault:
            fault.text = fault.text or shown
            self._error, self._over = fault, True
            raise
        return shown


def with_latency(reply: Reply, call: Call) -> Reply:
    """The reply with the seconds of the whole call, as a client counts its retries.

    Args:
        reply: of the endpoint that answered.
        call: what led to it.
    """
    if call.attempts == 1:
        return reply
    lost_s = call.last_sent - call.began
    usage = reply.usage.model_copy(update={"latency_s": reply.usage.latency_s + lost_s})
    return replace(reply, usage=usage)
