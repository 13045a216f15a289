"""Answers of a chat endpoint, in the shape llama.cpp's server gives them. No I/O."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from rig.testing.answers import Answer, answer, chunked, encode_body, head
from rig.testing.steps import Step

Call = tuple[str, Mapping[str, Any] | str] | tuple[str, str, Mapping[str, Any] | str]
"""A tool call: (name, arguments) or (id, name, arguments); text arguments are sent as they are."""

Counts = tuple[int, int] | Mapping[str, Any] | None
"""Usage: (prompt tokens, completion tokens), or the object itself, or None for no usage."""


def reply(
    text: str | None = "",
    *,
    tool_calls: Sequence[Call] = (),
    reasoning: str | None = None,
    reasoning_field: str = "reasoning_content",
    finish_reason: str | None = None,
    usage: Counts = (10, 5),
    model: str = "fake",
) -> Answer:
    """A whole chat completion.

    Args:
        text: the content; None is sent as null.
        tool_calls: the calls; an id is made from the call where none is given.
        reasoning: sent in its own field where given.
        reasoning_field: that field's name.
        finish_reason: None means tool_calls where there are calls, else stop.
        usage: what it cost, in tokens.
        model: the name the server gives.
    """
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if reasoning is not None:
        message[reasoning_field] = reasoning
    if tool_calls:
        message["tool_calls"] = [_call(index, call) for index, call in enumerate(tool_calls)]
    reason = finish_reason or ("tool_calls" if tool_calls else "stop")
    return answer(body=completion(message, finish_reason=reason, usage=usage, model=model))


def completion(
    message: Mapping[str, Any],
    *,
    finish_reason: str | None = "stop",
    usage: Counts = (10, 5),
    model: str = "fake",
) -> dict[str, Any]:
    """The body of a chat completion around any message.

    Args:
        message: `choices[0].message`, as it is.
        finish_reason: as it is.
        usage: what it cost, in tokens.
        model: the name the server gives.
    """
    body: dict[str, Any] = {
        "choices": [{"finish_reason": finish_reason, "index": 0, "message": dict(message)}],
        "created": 1764500000,
        "model": model,
        "system_fingerprint": "b0-fake",
        "object": "chat.completion",
        "id": "chatcmpl-fake",
    }
    if usage is not None:
        body["usage"] = _usage(usage)
    return body


def models(*names: str) -> Answer:
    """The list of models, for `GET /v1/models`.

    Args:
        names: their ids, in order.
    """
    entries = [{"id": name, "object": "model", "created": 0, "owned_by": "fake"} for name in names]
    return answer(body={"object": "list", "data": entries})


def sse(*events: Mapping[str, Any] | str | Step, done: bool = True, status: int = 200) -> Answer:
    """A stream of server-sent events, one HTTP chunk each.

    Args:
        events: objects are sent as JSON, text as the data of an event, bytes as they are; waits and
            endings stay.
        done: whether `[DONE]` ends it.
        status: HTTP status.
    """
    steps = [encode_event(event) if isinstance(event, str | Mapping) else event for event in events]
    if done:
        steps.append(encode_event("[DONE]"))
    headers = {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}
    return Answer((head(status, headers), *chunked(*steps)))


def encode_event(event: Mapping[str, Any] | str) -> bytes:
    """One server-sent event; every line of text becomes a data line of its own."""
    text = event if isinstance(event, str) else encode_body(event).decode()
    return "".join(f"data: {line}\n" for line in text.split("\n")).encode() + b"\n"


def stream(
    *deltas: str | Mapping[str, Any] | Step,
    finish_reason: str | None = "stop",
    usage: Counts = (10, 5),
    model: str = "fake",
    done: bool = True,
) -> Answer:
    """A streamed chat completion: role, deltas, finish, usage, `[DONE]`.

    Args:
        deltas: text becomes content, objects are deltas as they are, steps stay in their place.
        finish_reason: None sends no finish chunk.
        usage: sent in a chunk of its own with no choices; None sends none.
        model: the name the server gives.
        done: whether `[DONE]` ends it.
    """
    events: list[Mapping[str, Any] | Step] = [
        _chunk({"role": "assistant", "content": None}, None, model)
    ]
    for delta in deltas:
        if isinstance(delta, str):
            events.append(_chunk({"content": delta}, None, model))
        elif isinstance(delta, Mapping):
            events.append(_chunk(delta, None, model))
        else:
            events.append(delta)
    if finish_reason is not None:
        events.append(_chunk({}, finish_reason, model))
    if usage is not None:
        events.append({**_chunk({}, None, model), "choices": [], "usage": _usage(usage)})
    return sse(*events, done=done)


def call_deltas(*calls: Call, piece_chars: int = 8) -> list[dict[str, Any]]:
    """Deltas that stream tool calls as llama.cpp does: the name first, then pieces of arguments.

    Args:
        calls: the calls.
        piece_chars: characters of arguments a delta carries.
    """
    deltas: list[dict[str, Any]] = []
    for index, item in enumerate(calls):
        call = _call(index, item)
        arguments = call["function"]["arguments"]
        opening = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
        deltas.append({"tool_calls": [opening]})
        deltas.extend(
            {
                "tool_calls": [
                    {"index": index, "function": {"arguments": arguments[at : at + piece_chars]}}
                ]
            }
            for at in range(0, len(arguments), piece_chars)
        )
    return deltas


def _chunk(delta: Mapping[str, Any], finish_reason: str | None, model: str) -> dict[str, Any]:
    return {
        "choices": [{"finish_reason": finish_reason, "index": 0, "delta": dict(delta)}],
        "created": 1764500000,
        "id": "chatcmpl-fake",
        "model": model,
        "system_fingerprint": "b0-fake",
        "object": "chat.completion.chunk",
    }


def _usage(counts: tuple[int, int] | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(counts, Mapping):
        return dict(counts)
    prompt, generated = counts
    return {
        "prompt_tokens": prompt,
        "completion_tokens": generated,
        "total_tokens": prompt + generated,
    }


def _call(index: int, call: Call) -> dict[str, Any]:
    given_id, name, arguments = call if len(call) == 3 else (None, *call)
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    if given_id is None:
        seed = f"{index}\0{name}\0{text}".encode("utf-8", "surrogatepass")
        given_id = f"call_{hashlib.sha256(seed).hexdigest()[:24]}"
    return {"type": "function", "function": {"name": name, "arguments": text}, "id": given_id}
