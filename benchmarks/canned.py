"""What the fake model says, as bytes: the shape llama.cpp's server writes."""

import functools
import json
import random
from collections.abc import Mapping

ANSWER = "The sum of the two numbers is 42."
"""The text of every answer; whoever gets another one has not done the work."""

PROMPT = "What is 40 + 2?"
SYSTEM = "You are a calculator. Use the tools you have, and answer in one sentence."

USAGE = {
    "prompt_tokens": 63,
    "completion_tokens": 17,
    "total_tokens": 80,
    "prompt_tokens_details": {"cached_tokens": 0},
}
TIMINGS = {"prompt_n": 63, "prompt_ms": 41.2, "predicted_n": 17, "predicted_ms": 211.9}
_FIXED = {"created": 1764500000, "model": "m", "system_fingerprint": "b7031-ab12cd34"}

_WORDS = ("the", "a", "of", "and", "to", "in", "is", "that", "it", "was", "for", "on", "are", "as")


def _completion(message: Mapping[str, object], finish_reason: str) -> bytes:
    choice = {"finish_reason": finish_reason, "index": 0, "message": message}
    completion = {
        "choices": [choice],
        **_FIXED,
        "object": "chat.completion",
        "usage": USAGE,
        "id": "chatcmpl-rL3xGBJ0k1Nq8vXzYwUo5tKsM7hPfDcE",
        "timings": TIMINGS,
    }
    return json.dumps(completion).encode()


@functools.cache
def answer_body() -> bytes:
    """A final text."""
    return _completion({"role": "assistant", "content": ANSWER}, "stop")


def call_body(name: str, arguments: Mapping[str, object], count: int = 1) -> bytes:
    """Calls of one tool, the last argument of each its own."""
    calls = []
    for index in range(count):
        text = json.dumps({**arguments, "b": 2 + index} if "b" in arguments else arguments)
        function = {"name": name, "arguments": text}
        calls.append({"type": "function", "function": function, "id": f"call{index:05d}abcdef"})
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    return _completion(message, "tool_calls")


@functools.cache
def delta_texts(count: int) -> list[str]:
    """A token each. They vary, because clients look for models that repeat themselves."""
    varied = random.Random(7)  # noqa: S311 the same words in every run
    return [f"{varied.choice(_WORDS)}{varied.randrange(1000)} " for _ in range(count)]


@functools.cache
def delta_events(count: int) -> list[bytes]:
    """The events of a streamed answer of so many deltas, each framed as an HTTP chunk."""
    deltas: list[tuple[dict[str, object], str | None]] = [({"role": "assistant"}, None)]
    deltas += [({"content": text}, None) for text in delta_texts(count)]
    deltas.append(({}, "stop"))
    events = [_event([{"finish_reason": why, "index": 0, "delta": delta}]) for delta, why in deltas]
    return [_chunk(event) for event in (*events, _event([], usage=USAGE), b"data: [DONE]\n\n")]


def _event(choices: list[dict[str, object]], **more: object) -> bytes:
    chunk = {
        "choices": choices,
        **_FIXED,
        "id": "chatcmpl-rL3xGBJ0k1Nq8vXzYwUo5tKsM7hPfDcE",
        "object": "chat.completion.chunk",
        **more,
    }
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)
