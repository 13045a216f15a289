"""Whitespace without end in the parts of a reply that no delta tells of, through a whole client."""

from collections.abc import Iterator

import pytest

from rig.client.client import Client
from rig.errors import ResponseTooLargeError
from rig.messages import Message
from rig.model import ChatRequest, Delta, Reply
from rig.testing import Answer, FakeBackend, chunk, encode_event, head
from rig.testing.answers import LazySteps
from rig.text.repetition import RepetitionGuard

HEAD = head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
REQUEST = ChatRequest(model="m", messages=(Message(role="user", content="hi"),), max_tokens=50)


def thinking(text: str) -> dict[str, object]:
    return {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]}


def nameless(text: str) -> dict[str, object]:
    return {"tool_calls": [{"index": 0, "id": "a", "function": {"arguments": text}}]}


BEGUN: dict[str, object] = {"function_call": {"name": "save", "arguments": "{"}}
CASES: dict[str, tuple[dict[str, object], dict[str, object], str]] = {
    "reasoning": ({}, {"reasoning_content": "\n" * 100}, "reasoning"),
    "behind a thought": ({"reasoning_content": "hm"}, {"reasoning_content": "\n" * 100}, "reasoning"),
    "mixed blanks": ({"reasoning": "hm"}, {"reasoning": " \n\t" * 30}, "reasoning"),
    "thinking parts": ({}, thinking(" " * 100), "reasoning"),
    "a legacy call": (BEGUN, {"function_call": {"arguments": " " * 100}}, "tool:save arguments"),
    "a call before its name": ({}, nameless(" " * 100), "tool: arguments"),
}  # fmt: skip


def endless(first: dict[str, object], again: dict[str, object], times: int) -> Answer:
    def steps() -> Iterator[bytes]:
        yield HEAD
        for delta in (first, *[again] * times):
            yield chunk(encode_event({"choices": [{"index": 0, "delta": delta}]}))
        yield chunk(
            encode_event(
                {"choices": [{"index": 0, "delta": {"content": "so"}, "finish_reason": "stop"}]}
            )
        )
        yield b"0\r\n\r\n"

    return Answer(LazySteps(steps))


async def streamed(answer: Answer, guard: RepetitionGuard) -> tuple[Reply, list[Delta]]:
    backend = FakeBackend(answer)
    async with backend.serve(), Client(backend.url, model="m", repetition=guard) as client:
        async with client.stream(REQUEST) as stream:
            deltas = [delta async for delta in stream]
        return stream.reply(), deltas


@pytest.mark.parametrize(("first", "again", "where"), CASES.values(), ids=CASES.keys())
async def test_whitespace_without_end_is_cut(
    first: dict[str, object], again: dict[str, object], where: str
) -> None:
    reply, deltas = await streamed(endless(first, again, 20_000), RepetitionGuard())
    assert deltas[-1] == Delta(finish_reason="repetition")
    assert reply.repetition is not None
    assert (reply.repetition.where, reply.tool_calls) == (where, ())
    assert reply.repetition.reps > 8192


@pytest.mark.parametrize("name", ["reasoning", "behind a thought", "thinking parts"])
async def test_less_of_it_is_not(name: str) -> None:
    first, again, _ = CASES[name]
    reply, _ = await streamed(endless(first, again, 80), RepetitionGuard())
    assert (reply.text, reply.finish_reason) == ("so", "stop")


async def test_without_a_guard_the_cap_ends_it() -> None:
    first, again, _ = CASES["reasoning"]
    with pytest.raises(ResponseTooLargeError):
        await streamed(endless(first, again, 20_000), RepetitionGuard.off())
