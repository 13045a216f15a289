"""One request, one observation: whatever comes, within its time, and never a second request."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from rig import Client
from rig.client.probes.line import observe
from rig.client.probes.observed import PROBE_TIMEOUT, Observed
from rig.messages import Message
from rig.model import ChatRequest
from rig.testing import (
    Answer,
    FakeBackend,
    Hang,
    answer,
    call_deltas,
    faults,
    reply,
    stream,
)

REQUEST = ChatRequest(model="m", messages=(Message(role="user", content="hi"),), max_tokens=8)


@asynccontextmanager
async def serving(scripted: Answer, **options: Any) -> AsyncGenerator[tuple[Client, FakeBackend]]:
    backend = FakeBackend(scripted)
    async with httpx.AsyncClient(transport=backend.transport) as door:
        yield Client(backend.url, http_client=door, **options), backend


async def observed(scripted: Answer, **how: Any) -> tuple[Observed, FakeBackend]:
    async with serving(scripted) as (client, backend):
        seen = await observe(client._inquiry.line, REQUEST, timeout_s=5, **how)
    return seen, backend


async def test_a_reply_is_seen_with_its_raw_content() -> None:
    seen, backend = await observed(reply("<think>hm</think>4"))
    assert seen.reply is not None
    assert (seen.reply.text, seen.reply.reasoning) == ("4", "hm")
    assert seen.content == "<think>hm</think>4"
    assert seen.failure is None
    assert len(backend.requests) == 1


async def test_a_reply_of_nothing_but_thoughts_is_seen_as_one() -> None:
    seen, _ = await observed(reply(None, reasoning="hm"))
    assert seen.reply is not None
    assert seen.reply.reasoning == "hm"
    assert seen.reply.reasoning_field == "reasoning_content"


FAULTS = {
    "refused": (answer(400, {"error": {"message": "no"}}), "invalid_request", 400),
    "broken": (answer(500, {"error": {"message": "boom"}}), "server_error", 500),
    "busy": (faults.rate_limited(60), "rate_limited", 429),
    "a page": (faults.html_502(), "server_error", 502),
    "no choice": (answer(200, {"choices": []}), "empty_reply", None),
    "no JSON": (answer(200, b"hello"), "protocol_error", None),
}


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(("scripted", "code", "status"), FAULTS.values(), ids=FAULTS)
async def test_a_failure_is_seen_and_not_repeated(
    scripted: Answer, code: str, status: int | None, streamed: bool
) -> None:
    seen, backend = await observed(scripted, streamed=streamed)
    assert seen.reply is None
    assert seen.failure is not None
    assert seen.failure.code == code
    assert seen.failure.status == status or status is None
    assert len(backend.requests) == 1


async def test_an_option_the_dialect_can_not_say_is_seen_and_nothing_is_sent() -> None:
    async with serving(reply("4"), dialect="ollama") as (client, backend):
        request = ChatRequest(
            model="m",
            messages=REQUEST.messages,
            max_tokens=8,
            options=type(REQUEST.options)(grammar='root ::= "yes"'),
        )
        seen = await observe(client._inquiry.line, request, timeout_s=5)
    assert seen.failure is not None
    assert seen.failure.unsendable
    assert seen.refused
    assert backend.requests == []


async def test_a_stream_is_seen_with_its_pieces() -> None:
    seen, _ = await observed(stream("a ", "b ", "c"), streamed=True)
    assert (seen.text, seen.pieces, seen.retracted, seen.left) == ("a b c", 3, False, False)


async def test_a_thought_that_was_shown_and_taken_back_is_seen() -> None:
    seen, _ = await observed(stream("hm ", "hm", "</think>", "4"), streamed=True)
    assert seen.retracted
    assert seen.text == "4"


async def test_the_pieces_of_a_streamed_call_are_its_arguments() -> None:
    deltas = call_deltas(("echo", {"text": "hello world"}), piece_chars=8)
    seen, _ = await observed(stream(*deltas, finish_reason="tool_calls"), streamed=True)
    assert seen.calls == 1
    assert seen.pieces == len(deltas) - 1


async def test_a_stream_is_left_after_some_pieces_and_looked_at_before_that() -> None:
    looks: list[int] = []
    async with serving(stream("a ", "b ", "c ", Hang())) as (client, backend):

        async def look() -> None:
            looks.append(len(backend.requests))
            assert not backend.requests[0].disconnected.is_set()

        seen = await observe(
            client._inquiry.line, REQUEST, timeout_s=5, streamed=True, leave_after=2, leaving=look
        )
        assert backend.requests[0].disconnected.is_set()
    assert seen.left
    assert seen.pieces >= 2
    assert looks == [1]


@pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_server_that_says_nothing_costs_the_time_of_a_probe(streamed: bool) -> None:
    seen, backend = await observed(faults.hang(), streamed=streamed)
    assert seen.failure is not None
    assert seen.failure.code == PROBE_TIMEOUT
    assert seen.elapsed_s == pytest.approx(5, abs=0.1)
    assert len(backend.requests) == 1
