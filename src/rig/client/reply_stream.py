"""A streamed reply of one endpoint: reads the answer and hands out its deltas. It awaits reads only.

Rules for whoever edits this file: the deltas of one read are handed out without an await between
them; no cancel scope is open while a caller's code runs; errors that were caught are raised where no
exception is being handled.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Self

import anyio

from rig.client.loop_watch import LoopWatch
from rig.errors import (
    InvalidRequestError,
    ProtocolError,
    RequestTimeoutError,
    RigError,
    StreamCutError,
    UpstreamError,
)
from rig.messages import Usage
from rig.model import Delta, Reply
from rig.transport.http import StreamResponse, Timeouts
from rig.transport.sockets import now
from rig.wire.chat_stream import ChatStream

TAIL_S = 1.0
"""Seconds after the last news of a reply that is complete in which its usage and `[DONE]` are waited
for. llama.cpp and vLLM send them together with the finish; servers that announce the finish after each
call begin the next one within this time."""

MAX_TAIL_S = 10.0
"""Seconds after the finish, or after the last fragment of a call behind it, in which such a tail ends
whatever comes: text that drips on begins its `TAIL_S` anew each time. No server is known to send text
behind its finish, several send calls."""

MAX_TAIL_BYTES = 64 * 1024
"""Bytes of such a tail without any news that are read. A usage takes 300, comments a few each."""

END_S = 0.1
"""Seconds after `[DONE]` in which the end of the body is waited for, so that the connection can be used
again. It comes with `[DONE]` or never; a new connection to a server nearby costs less than this."""


class ClientReplyStream:
    """One reply while it arrives, as `rig.ReplyStream` has it.

    Args:
        response: the answer, its head read, status 200.
        chat: reads its body.
        watch: looks for loops.
        resources: what is released when the stream is over: the answer, and the slot.
        model: the name the request gives the model.
        started: when the first request was begun, on the event loop's clock.
        sent: when this one was.
        timeouts: how long nothing of the reply may come while keep-alives do.
        learned: told at the end what the stream told of the model's template.
    """

    def __init__(
        self,
        response: StreamResponse,
        chat: ChatStream,
        watch: LoopWatch,
        resources: AsyncExitStack,
        *,
        model: str,
        started: float,
        sent: float,
        timeouts: Timeouts,
        learned: Callable[[bool | None], None],
    ) -> None:
        self._response = response
        self._chat = chat
        self._assembler = chat.assembler
        self._watch = watch
        self._resources = resources
        self._model = model
        self._started = started
        self._sent = sent
        self._first_token_s: float | None = None
        self._learned = learned
        self._ready: list[Delta] = []  # what was read last
        self._handed = 0  # out, of that
        self._seen = _Seen()  # what was handed out before
        self._outcome: Reply | RigError | None = None
        self._body_over = False
        self._left = False
        self._steady = False  # see `_is_steady`; no word of the reply changes that
        self._raised = False
        self._silence = _Silence(timeouts, sent)
        self._tail_until = 0.0
        self._tail_ends = 0.0
        self._tail_bytes = 0

    @property
    def text(self) -> str:
        """The visible text of the deltas so far, without what was retracted."""
        self._see_handed()
        return self._seen.whole_text()

    def reply(self) -> Reply:
        """The whole reply, once the last delta was handed out: what `complete` would have returned.

        Raises:
            InvalidRequestError: the stream has not ended yet, or was left before it had.
            RigError: what ended it.
        """
        if self._outcome is None or self._handed < len(self._ready):
            raise InvalidRequestError(
                "the reply is not complete: iterate over its stream to the end before asking for it"
            )
        if isinstance(self._outcome, RigError):
            raise self._outcome
        return self._outcome

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delta:
        ready = self._ready
        while self._handed >= len(ready):
            if not self._steady:
                if self._outcome is not None:
                    await self._end()
                await self._advance()
                continue
            # What `_advance` does, for a word: it is one coroutine, and one function for each layer below.
            data: bytes | RigError | None
            try:
                data = await self._response.next_data()
            except RigError as error:
                data = error
            if isinstance(data, bytes) and (delta := self._chat.feed_one(data)) is not None:
                if self._handed:
                    self._see_handed()
                if self._watch.find((delta,)) is None:
                    if delta.text:
                        self._seen.text.append(delta.text)
                    else:
                        self._seen.reasoning.append(delta.reasoning)
                    return delta
                self._steady = False
                self._cut((delta,))
            else:
                self._body_over = data is None
                self._hear(data)
            if self._watch.found is not None:
                await self._resources.aclose()
        delta = ready[self._handed]
        self._handed += 1
        return delta

    async def begin(self) -> None:
        """Read until there is something to hand out; an error before that may be repeated.

        Raises:
            RigError: the answer is no reply, or it broke before anything of it came.
        """
        while not self._ready:
            if isinstance(self._outcome, RigError):
                raise self._outcome
            await self._advance()

    def leave(self) -> None:
        """The block was left: nothing can be read any more."""
        self._left = True
        self._steady = False
        if self._outcome is None:
            self._learn_of_retraction()

    async def _end(self) -> None:
        """Release the answer, then end the iteration.

        Raises:
            RigError: what ended the stream.
            StopAsyncIteration: it ended well.
        """
        outcome = self._outcome
        if self._chat.complete and not self._body_over and not self._left:
            self._tail_bytes = 0
            with anyio.move_on_after(END_S):
                while isinstance(await self._read(), bytes) and self._tail_bytes < MAX_TAIL_BYTES:
                    pass
        self._body_over = True
        await self._resources.aclose()
        if isinstance(outcome, RigError) and not self._raised:
            self._raised = True
            raise outcome
        raise StopAsyncIteration

    async def _advance(self) -> None:
        """Read once, and make ready what came; never raises but for a stream that was left.

        Raises:
            InvalidRequestError: the block was left.
        """
        if self._left:
            raise InvalidRequestError("the stream is closed: iterate over it inside its block")
        data: bytes | RigError | None
        if self._chat.complete:
            data = await self._read_tail()
        elif self._silence.lasts:
            data = await self._read_news()
        else:
            data = await self._read()
        self._hear(data)
        if self._watch.found is not None:
            # before anybody else's turn: the server stops generating
            await self._resources.aclose()

    def _hear(self, data: bytes | RigError | None) -> None:
        """Make of a read what it tells."""
        if isinstance(data, bytes):
            self._take(data)
        elif data is None:
            self._close()
        else:
            self._break(data)
        self._steady = self._is_steady()

    def _is_steady(self) -> bool:
        """Whether the reply is under way, and the last read told of it: the next word changes neither."""
        return (
            self._outcome is None
            and self._first_token_s is not None
            and not (self._silence.lasts or self._left or self._chat.complete)
        )

    def _take(self, data: bytes) -> None:
        """Make what came of the reply ready, up to where the model begins to repeat itself."""
        chat, assembler, watch = self._chat, self._assembler, self._watch
        blank, untold = assembler.blank, chat.untold
        deltas = chat.feed(data)
        if deltas and self._first_token_s is None:
            self._first_token_s = now() - self._sent
        held = assembler.take_held()
        grown = assembler.blank > blank or chat.untold > untold
        blank = assembler.blank
        self._silence.heard(bool(deltas or held or grown), self._response.since)
        cut = watch.find(deltas, held)
        if cut is None and blank > watch.max_blank:
            watch.find_blank(blank, assembler.blank_where)
        self._see_handed()
        if watch.found is not None:
            self._cut(deltas[:cut])
            return
        self._ready += deltas
        if deltas:
            self._tail_until = 0.0
            if self._tail_ends and any(delta.tool_call is not None for delta in deltas):
                self._tail_ends = 0.0
        if chat.ended:
            self._close()

    async def _read(self) -> bytes | RigError | None:
        """The next bytes, None at the end of the body, or what broke it."""
        try:
            data = await self._response.next_data()
        except RigError as error:
            return error
        if data is None:
            self._body_over = True
        else:
            self._tail_bytes += len(data)
        return data

    async def _read_news(self) -> bytes | RigError | None:
        """As `_read` where the last read told nothing new: the wait goes on from before that.

        So only keep-alives cost a scope, and the pauses of whoever reads count for nothing.
        """
        silence = self._silence
        if now() < silence.until:
            with anyio.CancelScope(deadline=silence.until):
                return await self._read()
        return silence.error()

    async def _read_tail(self) -> bytes | None:
        """More of what follows a complete reply, None when that was enough; a fault is an end too."""
        if not self._tail_until:
            at = now()
            self._tail_ends = self._tail_ends or at + MAX_TAIL_S
            self._tail_until = min(at + TAIL_S, self._tail_ends)
            self._tail_bytes = 0
        data: bytes | RigError | None = None
        if self._tail_bytes < MAX_TAIL_BYTES and now() < self._tail_until:
            with anyio.CancelScope(deadline=self._tail_until):
                data = await self._read()
        if not isinstance(data, bytes):
            self._body_over = True
            return None
        return data

    def _close(self) -> None:
        """The body is over, or nothing more of it is wanted."""
        try:
            deltas = self._chat.close()
        except RigError as error:
            self._fail(error)
        else:
            self._complete(deltas)

    def _complete(self, deltas: list[Delta]) -> None:
        """The body was closed without a fault: the reply is what came of it."""
        chat = self._chat
        self._ready.extend(deltas)
        try:
            reply = chat.reply(
                latency_s=self._latency_s(), time_to_first_token_s=self._first_token_s
            )
        except RigError as error:
            self._fail(error)
            return
        self._outcome = reply
        if (
            self._ready and self._ready[-1].usage is not None
        ):  # with the times, which the wire has not
            self._ready[-1] = replace(self._ready[-1], usage=reply.usage)
        thinks = chat.assembler.template_thinks
        if thinks is False and reply.finish_reason == "length":
            thinks = None  # a thought that was cut is open too
        self._learned(thinks)

    def _break(self, error: RigError) -> None:
        """The body broke: harmless where the finish had come, though not the blank line behind it."""
        self._body_over = True
        try:
            deltas = self._chat.close()
        except RigError:
            pass  # what broke the body says more
        else:
            self._complete(deltas)
            return
        if isinstance(error, UpstreamError) and not isinstance(
            error, ProtocolError | StreamCutError
        ):
            error = StreamCutError(error.message, reason=error.reason, detail=error.detail)
        self._fail(error)

    def _fail(self, error: RigError) -> None:
        """The stream ends with an error, and that with what had come of the reply."""
        error.text = self._chat.assembler.text
        error.tool_calls = self._chat.assembler.calls
        self._outcome = error

    def _cut(self, deltas: Sequence[Delta]) -> None:
        """End the stream where the model repeats itself: an outcome. Calls are dropped."""
        seen = self._seen.copy()
        seen.extend([*self._ready, *deltas])
        self._ready.extend(deltas)
        self._ready.append(Delta(finish_reason="repetition"))
        self._outcome = Reply(
            text="".join(seen.text),
            reasoning="".join(seen.reasoning),
            finish_reason="repetition",
            usage=Usage(latency_s=self._latency_s(), time_to_first_token_s=self._first_token_s),
            model=self._model,
            repetition=self._watch.found,
        )
        self._learn_of_retraction()

    def _learn_of_retraction(self) -> None:
        """A stream that was not read to its end tells nothing but this."""
        self._learned(self._chat.assembler.template_thinks or None)

    def _latency_s(self) -> float:
        return now() - self._started

    def _see_handed(self) -> None:
        """Note what was handed out of the last read."""
        if self._handed:
            self._seen.extend(self._ready[: self._handed])
            del self._ready[: self._handed]
            self._handed = 0


class _Silence:
    """How long nothing of the reply has come, whatever else did.

    Comments, events without news and blanks keep a connection alive that has nothing to say: a server
    may send them while it reads a long prompt, and a proxy for ever.

    Args:
        timeouts: before the first news as long as the first byte may take, then `idle_s`.
        since: when the request was sent.

    Attributes:
        until: when it has lasted too long.
        lasts: whether the last read told nothing new.
    """

    __slots__ = ("_begun", "_bound_s", "_idle_s", "lasts", "until")

    def __init__(self, timeouts: Timeouts, since: float) -> None:
        first_s = math.inf if timeouts.first_byte_s is None else timeouts.first_byte_s
        self._idle_s = math.inf if timeouts.idle_s is None else timeouts.idle_s
        self._bound_s = max(first_s, self._idle_s)
        self._begun = False
        self.until = since + self._bound_s
        self.lasts = False

    def heard(self, news: bool, since: float) -> None:
        """Something came.

        Args:
            news: whether that is part of the reply, be it one that no delta tells of yet. While it is, and was
                the last time, it need not be told.
            since: when the wait for it began. News are waited for from there on, the first ones since the
                request was sent.
        """
        if news:
            self._begun, self._bound_s = True, self._idle_s
            self.lasts = False
        elif not self.lasts:
            self.lasts = True
            if self._begun:
                self.until = since + self._bound_s

    def error(self) -> RequestTimeoutError:
        """It has lasted too long."""
        name = "first_byte_s" if self._bound_s > self._idle_s else "idle_s"
        return RequestTimeoutError(
            f"nothing of the reply came for {self._bound_s:g} s, only keep-alives; raise"
            f" Timeouts({name}=...) if the server is just slow",
            reason="idle",
        )


class _Seen:
    """Text and reasoning of the deltas that were handed out."""

    __slots__ = ("reasoning", "text")

    def __init__(self) -> None:
        self.text: list[str] = []
        self.reasoning: list[str] = []

    def extend(self, deltas: Sequence[Delta]) -> None:
        for delta in deltas:
            if delta.retracted:
                self.text.clear()
            if delta.text:
                self.text.append(delta.text)
            elif delta.reasoning:
                self.reasoning.append(delta.reasoning)

    def whole_text(self) -> str:
        """The text; what was joined once is not joined again."""
        if len(self.text) > 1:
            self.text[:] = ["".join(self.text)]
        return self.text[0] if self.text else ""

    def copy(self) -> "_Seen":
        copied = _Seen()
        copied.text, copied.reasoning = [*self.text], [*self.reasoning]
        return copied
