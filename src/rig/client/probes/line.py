"""How probes reach an endpoint: one request each, never repeated, bounded in time. It awaits; no judgement."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

import anyio

from rig.client.probes.observed import (
    PROBE_TIMEOUT,
    Failure,
    Observed,
    empty_reply,
    failure_of,
    raw_content,
)
from rig.client.requester import Requester
from rig.client.tokens import TokenCounter
from rig.errors import EmptyReplyError, RigError
from rig.late_dataclass import dataclass
from rig.model import ChatRequest, Delta, ReplyStream
from rig.wire.dialect import Dialect
from rig.wire.wires import Decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What probes need of a client.

    Attributes:
        send: sends a request once, and gives the body of its answer and what decodes it.
        stream: the same for a reply that is streamed.
        requester: asks at other paths.
        tokens: counts.
        window: finds the context window of a model.
        detect: finds out which server answers.
        dialect_for: the dialect the client speaks to a model.
    """

    send: Callable[[ChatRequest], Awaitable[tuple[bytes, Decode]]]
    stream: Callable[[ChatRequest], AbstractAsyncContextManager[ReplyStream]]
    requester: Requester
    tokens: TokenCounter
    window: Callable[[str], Awaitable[int | None]]
    detect: Callable[[], Awaitable[Dialect]]
    dialect_for: Callable[[str], Dialect]


Leaving = Callable[[], Awaitable[None]]
"""Awaited when a stream is about to be left, while it still runs."""


async def observe(
    line: Line,
    request: ChatRequest,
    *,
    timeout_s: float,
    streamed: bool = False,
    leave_after: int | None = None,
    leaving: Leaving | None = None,
) -> Observed:
    """Send a request once and see what comes; never raises a `RigError`.

    Args:
        line: reaches the endpoint.
        request: what to send.
        timeout_s: seconds for all of it.
        streamed: whether to stream the reply.
        leave_after: pieces of the stream after which it is left, None for never.
        leaving: awaited just before that.
    """
    started = anyio.current_time()
    observed = Observed(failure=Failure(code=PROBE_TIMEOUT))
    with anyio.move_on_after(timeout_s):
        if streamed:
            observed = await _watch(line, request, leave_after, leaving)
        else:
            observed = await _read(line, request)
    return replace(observed, elapsed_s=anyio.current_time() - started)


async def _read(line: Line, request: ChatRequest) -> Observed:
    body = b""
    try:
        body, decode = await line.send(request)
        return Observed(reply=decode(body), content=raw_content(body))
    except RigError as error:
        return _without_answer(error, body)


async def _watch(
    line: Line, request: ChatRequest, leave_after: int | None, leaving: Leaving | None
) -> Observed:
    pieces, retracted = 0, False
    try:
        async with line.stream(request) as stream:
            async for delta in stream:
                pieces += _carries(delta)
                retracted = retracted or bool(delta.retracted)
                if leave_after is not None and pieces >= leave_after:
                    if leaving is not None:
                        await leaving()
                    return Observed(left=True, pieces=pieces)
            return Observed(reply=stream.reply(), pieces=pieces, retracted=retracted)
    except RigError as error:
        return replace(_without_answer(error, b""), pieces=pieces, retracted=retracted)


def _without_answer(error: RigError, body: bytes) -> Observed:
    """What is seen where decoding gave an error; a reply that holds nothing is a reply here."""
    reply = empty_reply(error, body) if isinstance(error, EmptyReplyError) else None
    if reply is None:
        return Observed(failure=failure_of(error))
    return Observed(reply=reply, content=raw_content(body))


def _carries(delta: Delta) -> bool:
    call = delta.tool_call
    return bool(delta.text or delta.reasoning or (call is not None and call.stage == "arguments"))
