"""Answers have the shape of llama.cpp's server."""

import json
from typing import Any

import httpx
import pytest

from rig.testing import (
    Answer,
    Call,
    FakeBackend,
    Hang,
    call_deltas,
    completion,
    encode_event,
    models,
    reply,
    sse,
    stream,
)


async def body(answer: Answer) -> httpx.Response:
    backend = FakeBackend(answer)
    async with httpx.AsyncClient(transport=backend.transport) as client:
        return await client.get(backend.url)


async def message(answer: Answer) -> dict[str, Any]:
    choice = (await body(answer)).json()["choices"][0]
    return {"finish_reason": choice["finish_reason"], **choice["message"]}


async def test_a_reply_is_a_chat_completion() -> None:
    response = await body(reply("hi", usage=(7, 3), model="m"))
    assert response.json() == {
        "choices": [
            {
                "finish_reason": "stop",
                "index": 0,
                "message": {"role": "assistant", "content": "hi"},
            }
        ],
        "created": 1764500000,
        "model": "m",
        "system_fingerprint": "b0-fake",
        "object": "chat.completion",
        "id": "chatcmpl-fake",
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }


async def test_a_reply_without_usage_has_none() -> None:
    assert "usage" not in (await body(reply("hi", usage=None))).json()


async def test_usage_can_be_any_object() -> None:
    usage = {"prompt_tokens": "many"}
    assert (await body(reply("hi", usage=usage))).json()["usage"] == usage


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_goes_into_its_field(field: str) -> None:
    assert (await message(reply("a", reasoning="b", reasoning_field=field)))[field] == "b"


async def test_tool_calls_get_ids_where_none_is_given() -> None:
    calls: list[Call] = [
        ("add", {"a": 1}),
        ("add", '{"a": 1,}'),
        ("my-id", "add", {}),
        ("", "add", ""),
    ]
    sent = await message(reply(tool_calls=calls))
    assert sent["finish_reason"] == "tool_calls"
    assert sent["content"] == ""
    ids = [call["id"] for call in sent["tool_calls"]]
    assert ids[2:] == ["my-id", ""]
    assert len(set(ids)) == 4
    assert [call["function"]["arguments"] for call in sent["tool_calls"]] == [
        '{"a": 1}',
        '{"a": 1,}',
        "{}",
        "",
    ]


async def test_the_same_call_has_the_same_id_every_time() -> None:
    first, again = [await message(reply(tool_calls=[("add", {"a": 1})])) for _ in range(2)]
    other = await message(reply(tool_calls=[("add", {"a": 2})]))
    assert first == again
    assert first["tool_calls"][0]["id"] != other["tool_calls"][0]["id"]


async def test_a_lone_surrogate_can_be_sent() -> None:
    assert b"\\ud800" in (await body(reply("\ud800"))).content


async def test_any_message_can_be_wrapped() -> None:
    assert completion({"role": "x"}, finish_reason=None)["choices"][0] == {
        "finish_reason": None,
        "index": 0,
        "message": {"role": "x"},
    }


async def test_models_are_listed() -> None:
    listed = (await body(models("a", "b"))).json()
    assert [entry["id"] for entry in listed["data"]] == ["a", "b"]


def events(text: str) -> list[Any]:
    return [
        json.JSONDecoder().decode(line.removeprefix("data: "))
        for line in text.split("\n\n")
        if line and line != "data: [DONE]"
    ]


async def test_a_stream_is_role_deltas_finish_usage_and_done() -> None:
    response = await body(stream("a", {"reasoning_content": "b"}, finish_reason="length"))
    chunks = events(response.text)
    assert response.headers["content-type"] == "text/event-stream"
    assert response.text.endswith("data: [DONE]\n\n")
    assert [chunk["choices"][0]["delta"] for chunk in chunks[:-1]] == [
        {"role": "assistant", "content": None},
        {"content": "a"},
        {"reasoning_content": "b"},
        {},
    ]
    assert chunks[-2]["choices"][0]["finish_reason"] == "length"
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["total_tokens"] == 15


async def test_a_stream_can_leave_out_its_end() -> None:
    response = await body(stream("a", finish_reason=None, usage=None, done=False))
    assert len(events(response.text)) == 2
    assert "DONE" not in response.text


def test_steps_keep_their_place_in_a_stream() -> None:
    steps = list(stream("a", Hang(), "b").steps)
    assert steps.index(Hang()) == 3


async def test_calls_are_streamed_name_first() -> None:
    deltas = call_deltas(("i", "add", '{"a": 1234}'), piece_chars=4)
    opening = deltas[0]["tool_calls"][0]
    assert (opening["id"], opening["function"]) == ("i", {"name": "add", "arguments": ""})
    pieces = [delta["tool_calls"][0]["function"]["arguments"] for delta in deltas]
    assert "".join(pieces) == '{"a": 1234}'
    assert len(deltas) == 4


async def test_events_are_encoded_line_by_line() -> None:
    assert encode_event("a\nb") == b"data: a\ndata: b\n\n"
    response = await body(sse("x", {"y": 1}, b": comment\n\n"))
    assert response.text == 'data: x\n\ndata: {"y":1}\n\n: comment\n\ndata: [DONE]\n\n'
