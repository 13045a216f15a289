"""A streamed reply of a pool: where it breaks, it is begun anew at another endpoint.

Begun anew, never continued: many servers refuse a prompt that ends with half an answer, and those that
take it may go on in another way. Rules for whoever edits this file: as in `rig.client.reply_stream`, no
cancel scope is open while a caller's code runs, and errors are raised where no other is being handled.
"""

import math
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from typing import Self

import anyio

from rig.errors import InvalidRequestError, RequestTimeoutError, RigError
from rig.gateway.calling import Call, Failure
from rig.gateway.floor import Seat
from rig.gateway.line import Line
from rig.model import Delta, Reply, ReplyStream


class PoolStream:
    """One reply while it arrives, as `rig.ReplyStream` has it, from whichever endpoint gives it.

    Args:
        call: finds the endpoints.
        ask: streams the reply of one, once.
        first_token_s: seconds until its first piece, None for no bound of the pool's.
    """

    def __init__(
        self,
        call: Call,
        ask: Callable[[Line], AbstractAsyncContextManager[ReplyStream]],
        first_token_s: float | None,
    ) -> None:
        self._call = call
        self._ask = ask
        self._first_token_s = math.inf if first_token_s is None else first_token_s
        self._block = AsyncExitStack()
        self._stream: ReplyStream | None = None
        self._line: Line | None = None
        self._deltas: AsyncIterator[Delta] | None = None
        self._retraction: Delta | None = None
        self._over = False
        self._error: RigError | None = None

    @property
    def text(self) -> str:
        """The visible text of the deltas so far, without what was retracted."""
        if self._retraction is not None:
            return self._retraction.retracted
        return self._stream.text if self._stream is not None else ""

    def reply(self) -> Reply:
        """The whole reply, once the last delta was handed out: the one that came to its end.

        Raises:
            InvalidRequestError: the stream has not ended yet, or was left before it had.
            RigError: what ended it.
        """
        if self._error is not None:
            raise self._error
        if self._stream is None:
            raise InvalidRequestError(
                "the reply is not complete: iterate over its stream to the end before asking for it"
            )
        return with_latency(self._stream.reply(), self._call)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delta:
        while not self._over:  # bounded by PoolPolicy.restarts
            if self._retraction is not None:
                retraction, self._retraction = self._retraction, None
                return retraction
            outcome = await self._next()
            if isinstance(outcome, Delta):
                return outcome
            if outcome is None:
                await self._end()
            else:
                await self._begin_anew(outcome)
        raise StopAsyncIteration

    async def begin(self) -> None:
        """Ask until the first piece of a reply has come.

        Raises:
            RigError: nobody could answer.
        """
        while True:  # bounded as `Call.answer`
            failure = await self._open(await self._call.seat())
            if failure is None:
                return
            await self._call.failed(failure)

    async def aclose(self) -> None:
        """The block was left: end the request, and count it no more."""
        self._over = True
        await self._block.aclose()

    async def _open(self, seat: Seat) -> Failure | None:
        """Ask one endpoint; its seat is kept until the stream is over. None when its reply has begun."""
        line, block, opened = seat.line, AsyncExitStack(), False
        block.enter_context(seat)
        try:
            since = self._call.sent_to(line)
            stream = await self._entered(block, line)
            if isinstance(stream, RigError):
                return self._call.failed_at(line, stream, trial=seat.trial)
            event = self._call.answered_at(line, since, complete=False)
            await self._call.tell(event)
            opened = True
        finally:
            if not opened:
                await block.aclose()
        self._block, self._line = block, line
        self._stream, self._deltas = stream, aiter(stream)
        return None

    async def _entered(self, block: AsyncExitStack, line: Line) -> ReplyStream | RigError:
        with anyio.move_on_after(self._first_token_s):
            try:
                return await block.enter_async_context(self._ask(line))
            except RigError as error:
                return error
        return RequestTimeoutError(
            f"nothing of the reply came within {self._first_token_s:g} s; raise"
            " PoolPolicy(first_token_s=...) if the server is just slow",
            reason="first_byte",
        )

    async def _next(self) -> Delta | RigError | None:
        """The next delta, what broke the stream, or None at its end."""
        if self._deltas is None:
            return None
        try:
            return await anext(self._deltas, None)
        except RigError as error:
            return error

    async def _end(self) -> None:
        """The reply is whole."""
        self._over = True
        event = None
        if self._line is not None:
            event = self._call.answered_at(self._line, None)
        await self._block.aclose()
        await self._call.tell(event)

    async def _begin_anew(self, error: RigError) -> None:
        """The stream broke: have the whole reply from somebody else, and take back what was shown.

        Raises:
            RigError: nobody gives it; what had come stands, and is on the error.
        """
        line, broken = self._line, self._stream
        if line is None or broken is None:
            return
        shown = broken.text
        failure = self._call.failed_at(line, error)
        try:
            await self._block.aclose()
            await self._call.failed(failure, begun=True)
            await self.begin()
        except RigError as fault:
            fault.text = fault.text or shown
            self._error, self._over = fault, True
            raise
        if shown:
            self._retraction = Delta(retracted=shown)


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
