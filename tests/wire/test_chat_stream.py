"""Bodies of streamed answers: public reports, real servers' bytes, and bodies that are no streams."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic_core import from_json

from rig.errors import (
    EmptyReplyError,
    InputTooLargeError,
    ProtocolError,
    RateLimitedError,
    ResponseTooLargeError,
    RigError,
    ServerError,
    StreamCutError,
)
from rig.model import Delta, Reply
from rig.transport.http1 import Data, End, ResponseReader
from rig.wire.chat_stream import ChatStream
from rig.wire.decode import decode_chat

DATA = Path(__file__).parents[1] / "data" / "streams"
STEPS = [1, 3, 64, 1 << 20]


def pieces_of(raw: bytes, step: int) -> list[bytes]:
    return [raw[start : start + step] for start in range(0, len(raw), step)]


def read(pieces: list[bytes], **settings: Any) -> tuple[ChatStream, list[Delta]]:
    stream = ChatStream(**settings)
    return stream, [delta for piece in pieces for delta in stream.feed(piece)]


def finish(pieces: list[bytes], **settings: Any) -> tuple[Reply, list[Delta]]:
    stream, deltas = read(pieces, **settings)
    deltas += stream.close()
    assert stream.close() == []
    reply = stream.reply()
    assert standing(deltas) == reply.text
    assert deltas[-1].finish_reason == reply.finish_reason
    return reply, deltas


def failure(pieces: list[bytes], **settings: Any) -> RigError:
    stream, _ = read(pieces, **settings)
    with pytest.raises(RigError) as raised:
        stream.close()
    with pytest.raises(type(raised.value)):
        stream.reply()
    assert stream.ended
    assert not stream.complete
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None
    return raised.value


def standing(deltas: list[Delta]) -> str:
    text = ""
    for delta in deltas:
        text = delta.text if delta.retracted else text + delta.text
    return text


# --- Public reports ---


def cases() -> dict[str, dict[str, Any]]:
    lines = (DATA / "cases.jsonl").read_text(encoding="utf-8").split("\n")
    return {case["id"]: case for case in map(from_json, filter(None, lines))}


CASES = cases()

ERRORS: dict[str, type[RigError]] = {
    "context_overflow": InputTooLargeError,
    "empty_reply": EmptyReplyError,
    "invalid_request": RigError,
    "rate_limited": RateLimitedError,
    "server_error": ServerError,
    "server_unavailable": ServerError,
    "stream_truncated": StreamCutError,
}
"""Errors a stream itself tells. A cut reply (output_limit) and a cut call (truncated_tool_call) come out as
such, and are judged by the loop, which sees the finish_reason and the arguments as they are."""


@pytest.mark.parametrize("step", [None, *STEPS], ids=lambda step: f"by {step or 'reads'}")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_reported_streams_come_out_as_they_should(case: dict[str, Any], step: int | None) -> None:
    raw = case["input"].encode()
    reads = [base64.b64decode(piece) for piece in case.get("chunks", [])] or [raw]
    assert b"".join(reads) == raw
    pieces = pieces_of(raw, step) if step else reads
    expect = case["expect"]
    if expect.get("error") in ERRORS:
        stream, _ = read(pieces)
        with pytest.raises(ERRORS[expect["error"]]) as raised:
            stream.reply()
        error = raised.value
        assert read(pieces)[0].assembler.text == expect.get("partial_text", "")
        assert error.retryable is expect.get("retry", {}).get("retry", error.retryable)
        return
    reply, deltas = finish(pieces)
    check_reply(reply, expect)
    if expect.get("error") == "truncated_tool_call":
        stages = [delta.tool_call.stage for delta in deltas if delta.tool_call]
        assert "finished" not in stages


def check_reply(reply: Reply, expect: dict[str, Any]) -> None:
    if "text" in expect and "tool_calls" not in expect:
        assert reply.text == expect["text"]
    if "partial_text" in expect:
        assert reply.text == expect["partial_text"]
    if "reasoning" in expect:
        assert reply.reasoning == expect["reasoning"]
    if "finish" in expect:
        assert reply.finish_reason == expect["finish"]
    if "usage" in expect:
        usage = reply.usage
        counts = {
            "prompt": usage.prompt_tokens,
            "completion": usage.completion_tokens,
            "total": usage.total_tokens,
        }
        assert counts | expect["usage"] == counts
    if "ids" in expect:
        assert [call.id for call in reply.tool_calls] == expect["ids"]
    if expect.get("tool_calls") and "<tool_call>" not in reply.text:
        calls = [{"name": call.name, "arguments": call.input} for call in reply.tool_calls]
        assert calls == expect["tool_calls"]


def test_a_line_of_200_kb_is_nothing_unusual() -> None:
    """What open-webui/open-webui 24928 reports: readers with a limit for lines fail here."""
    thought = "x" * 200_000
    raw = b'data: {"choices":[{"delta":{"reasoning_content":"%s"}}]}\n\n' % thought.encode()
    raw += b'data: {"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\n'
    reply, _ = finish(pieces_of(raw, 4096))
    assert (reply.text, len(reply.reasoning)) == ("ok", 200_000)


# --- Real servers ---

CAPTURES = sorted(
    str(path.relative_to(DATA / "captures")) for path in DATA.glob("captures/*/*.raw")
)


EMPTY_BODY = "llama-cpp-python/err_too_long.raw"


def bodies(name: str, step: int) -> list[bytes]:
    """The pieces of the body as the transport hands them out, when it reads so many bytes at a time."""
    reader = ResponseReader()
    raw = (DATA / "captures" / name).read_bytes()
    events = [event for piece in pieces_of(raw, step) for event in reader.feed(piece)]
    events += reader.eof()
    assert isinstance(events[-1], End)
    return [event.data for event in events if isinstance(event, Data)]


@pytest.mark.parametrize("step", [1, 13, 1 << 20])
@pytest.mark.parametrize("name", [name for name in CAPTURES if name != EMPTY_BODY])
def test_streams_of_real_servers_are_whole(name: str, step: int) -> None:
    reply, deltas = finish(bodies(name, step))
    at_once, _ = finish([b"".join(bodies(name, 1 << 20))])
    assert reply == at_once
    assert "".join(delta.reasoning for delta in deltas) == reply.reasoning
    assert reply.model
    assert reply.finish_reason in {"stop", "length", "tool_calls", "unknown"}
    assert reply.text or reply.tool_calls or reply.finish_reason == "length"


def test_an_error_that_came_as_an_empty_stream_is_an_error() -> None:
    """What llama-cpp-python 0.3.36 answers to a prompt that is too long."""
    error = failure(bodies(EMPTY_BODY, 1 << 20))
    assert isinstance(error, StreamCutError)
    assert error.reason == "no_events"


REPLIES: dict[str, tuple[str, str, str, int, list[str]]] = {
    # file: start of the text, name and arguments of the call, completion tokens, finish
    "llama-server/chat_unicode": ("You're a helpful AI named Smol", "", "", 19, ["stop"]),
    "llama-server-b4747/chat_unicode": ("\U0001f44b\U0001f3fd caf\u00e9", "", "", 8, ["stop"]),
    "llama-server-b4747/chat": ("The capital of France is Paris", "", "", 8, ["stop"]),
    "llama-server-qwen05/chat_usage": ("The capital of France is Paris", "", "", 8, ["stop"]),
    "llama-server-smol-hermes/shots_auto_usage": ("", "get_weather", '{"city": "Paris"}', 31, ["tool_calls"]),
    "llama-server-smol-hermes/shots_truncated_12": ("", "", "", 12, ["length"]),
    "llama-server-smol-hermes/shots_truncated_20": ("", "get_weather", '{"city":', 20, ["length"]),
    "vllm/shots_auto_usage": ("", "get_weather", '{"city": "Paris"}', 31, ["tool_calls"]),
    "vllm/tools_truncated": ("", "get_weather", "{}", 0, ["length"]),
    "vllm/completions": ("Paris.", "", "", 0, ["length"]),
    "litellm-proxy/shots_auto_usage": ("", "get_weather", '{"city": "Paris"}', 31, ["tool_calls"]),
    "litellm-proxy/chat_usage": ("The capital of France is Paris", "", "", 8, ["stop"]),
    "litellm-proxy/err_n2": ("x = 2", "", "", 0, ["unknown", "length"]),
    "llama-server/err_n2": ("x: a mathematical", "", "", 4, ["length"]),
    "llama-cpp-python/chat": ("L'\u00c9toile, la Marseillaise. Par", "", "", 0, ["stop"]),
}  # fmt: skip


@pytest.mark.parametrize("name", REPLIES)
def test_what_a_real_server_said_is_what_comes_out(name: str) -> None:
    text, tool, arguments, tokens, finishes = REPLIES[name]
    reply, deltas = finish(bodies(f"{name}.raw", 1 << 20))
    assert reply.text.startswith(text)
    assert [(call.name, call.arguments) for call in reply.tool_calls] == (
        [(tool, arguments)] if tool else []
    )
    assert reply.finish_reason in finishes
    assert reply.usage.completion_tokens == tokens
    assert (reply.usage.generation_s is not None) is ("llama-server" in name)
    finished = [d for d in deltas if d.tool_call and d.tool_call.stage == "finished"]
    assert len(finished) == (1 if reply.finish_reason == "tool_calls" else 0)


# --- Bodies that are no streams ---

BODY: dict[str, Any] = {
    "id": "c",
    "model": "m",
    "choices": [
        {
            "message": {
                "content": "<think>hm</think>yes",
                "tool_calls": [{"id": "a", "function": {"name": "get", "arguments": {"a": 1}}}],
            },
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 2},
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("start", [b"", b" \n\t", b"\xef\xbb\xbf"], ids=["bare", "blanks", "bom"])
@pytest.mark.parametrize("content_type", ["application/json", "text/event-stream", ""])
def test_a_whole_body_where_a_stream_was_asked_is_read_whole(
    content_type: str, start: bytes, step: int
) -> None:
    raw = json.dumps(BODY, indent=1).encode()
    reply, deltas = finish(pieces_of(start + raw, step), content_type=content_type)
    assert reply == decode_chat(raw)
    assert reply.text == "yes"
    assert "".join(delta.reasoning for delta in deltas) == "hm"
    news = [(d.tool_call.stage, d.tool_call.arguments) for d in deltas if d.tool_call]
    assert news == [("started", ""), ("arguments", '{"a":1}'), ("finished", '{"a":1}')]
    assert deltas[-1].usage == reply.usage


def test_a_call_of_a_whole_body_that_was_cut_is_not_finished() -> None:
    choice = BODY["choices"][0] | {"finish_reason": "length"}
    _, deltas = finish([json.dumps(BODY | {"choices": [choice]}).encode()])
    assert [d.tool_call.stage for d in deltas if d.tool_call] == ["started", "arguments"]


OTHERS: dict[str, tuple[bytes, str, type[RigError], str]] = {
    "an error object": (b'{"error":{"code":500,"message":"x"}}', "text/event-stream", ServerError, ""),
    "a page": (b"<html><body>502</body></html>", "text/html", ProtocolError, "html"),
    "a page called a stream": (b"\n<!doctype html>", "text/event-stream", ProtocolError, "html"),
    "text": (b"upstream connect error", "text/plain", ProtocolError, "not_json"),
    "text called a stream": (b"upstream connect error", "text/event-stream", ProtocolError, "not_event_stream"),
    "short text called a stream": (b"oops", "", ProtocolError, "not_event_stream"),
    "JSON of no use": (b"[1, 2]", "application/json", ProtocolError, "not_object"),
    "a cut body": (b'{"choices": [{"mess', "application/json", ProtocolError, "not_json"),
    "nothing": (b"", "text/event-stream", StreamCutError, "no_events"),
    "nothing called JSON": (b"", "application/json", ProtocolError, "not_json"),
    "blanks": (b"\n\n", "", StreamCutError, "no_events"),
    "keep-alives": (b": ping\n\n: ping\n\n", "", StreamCutError, "no_events"),
    "a stream called JSON": (b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n', "application/json", StreamCutError, "unfinished"),
    "events of no chat": (b"data: hello\n\ndata: [DONE]\n\n", "", ProtocolError, "unreadable"),
}  # fmt: skip


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("raw", "content_type", "kind", "reason"), OTHERS.values(), ids=OTHERS.keys()
)
def test_a_body_of_another_kind_is_a_typed_error(
    raw: bytes, content_type: str, kind: type[RigError], reason: str, step: int
) -> None:
    error = failure(pieces_of(raw, step), content_type=content_type)
    assert type(error) is kind
    assert error.reason == reason


def test_what_was_sent_instead_of_a_stream_is_in_the_detail_alone() -> None:
    error = failure([b"upstream connect error"], content_type="text/event-stream")
    assert error.detail == "upstream connect error"
    assert "upstream" not in str(error)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    "ending", [b"data: [DONE]", b"data: [DONE]\n", b'data: {"choices":[{"finish_reason":"stop"}]}']
)
def test_a_last_event_without_its_blank_line_counts(ending: bytes, step: int) -> None:
    raw = b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n' + ending
    assert finish(pieces_of(raw, step))[0].text == "a"


def test_a_last_event_that_was_cut_does_not_count() -> None:
    whole = b'data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}'
    for end in range(len(b'data: {"c'), len(whole)):
        assert isinstance(failure([whole[:end]]), StreamCutError | ProtocolError)


# --- Limits ---

CHUNK = b'data: {"choices":[{"delta":{"content":"0123456789"}}]}\n\n'
END = b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


@pytest.mark.parametrize("step", STEPS)
def test_the_cap_is_for_the_reply_and_not_for_its_framing(step: int) -> None:
    reply, _ = finish(pieces_of(CHUNK * 10 + END, step), max_response_bytes=100)
    assert len(reply.text) == 100
    error = failure(pieces_of(CHUNK * 11 + END, step), max_response_bytes=100)
    assert isinstance(error, ResponseTooLargeError)
    assert error.reason == "decoded"


@pytest.mark.parametrize("step", STEPS)
def test_the_cap_holds_for_a_body_that_is_no_stream(step: int) -> None:
    raw = json.dumps(BODY).encode()
    assert finish(pieces_of(raw, step), max_response_bytes=len(raw))[0].text == "yes"
    error = failure(pieces_of(raw, step), max_response_bytes=len(raw) - 1)
    assert isinstance(error, ResponseTooLargeError)


@pytest.mark.parametrize(
    "raw", [b": ping\n\n", b"\n", b"data: {}\n\n"], ids=["pings", "blanks", "empty"]
)
def test_a_stream_of_nothing_but_framing_ends(raw: bytes) -> None:
    error = failure([raw] * 1000, max_raw_bytes=500)
    assert isinstance(error, ResponseTooLargeError)
    assert error.reason == "raw"


@pytest.mark.parametrize("step", STEPS)
def test_one_event_is_bounded(step: int) -> None:
    stream, deltas = read(pieces_of(CHUNK + b"data: " + b"x" * 100, step), max_event_bytes=90)
    assert [delta.text for delta in deltas] == ["0123456789"]
    assert stream.ended
    with pytest.raises(ResponseTooLargeError) as raised:
        stream.close()
    assert raised.value.reason == "event"


def test_nothing_is_read_behind_a_fault() -> None:
    stream, _ = read([b'data: {"error":{"code":500}}\n\n'])
    assert stream.ended
    assert stream.feed(CHUNK) == []
    assert stream.raw_bytes == 30


@pytest.mark.parametrize(
    "tail", [b"x" * 1000, b"data: " + b"x" * 300], ids=["raw bytes", "an event"]
)
def test_a_limit_passed_behind_the_finished_reply_is_no_failure(tail: bytes) -> None:
    done = END.removesuffix(b"data: [DONE]\n\n")
    reply, _ = finish([CHUNK, done, tail, tail], max_raw_bytes=900, max_event_bytes=200)
    assert reply.text == "0123456789"


def test_bounds_follow_the_cap() -> None:
    big = b'data: {"choices":[{"delta":{"content":"%s"}}]}\n\n' % (b"x" * 3_000_000)
    assert finish([big, END], max_response_bytes=4_000_000)[0].text
    assert failure([big, END]).reason == "event"


# --- Any bytes ---

fragments = st.sampled_from([
    b"data: ", b"\n\n", b"\n", b"\r\n\r\n", b"{", b"}", b"[DONE]", b'{"choices":[{"delta":{"content":"<think>a"}}]}',
    b'{"choices":[{"delta":{"content":"b</think>"}}]}', b'{"choices":[{"finish_reason":"stop"}]}', b"event: error\n",
    b'{"error":"x"}', b": ping\n\n", b"\xef\xbb\xbf", b"<html>", b"[", b'"', b"error: {}", b"\xff", b" ",
])  # fmt: skip


@given(st.lists(fragments, max_size=20), st.integers(1, 40), st.sampled_from(["", "text/html", "text/event-stream"]))  # fmt: skip
@example([b"\n\n", b"\xef\xbb\xbf"], 1, "")
def test_any_bytes_give_the_same_however_they_are_split(
    parts: list[bytes], step: int, content_type: str
) -> None:
    raw = b"".join(parts)
    assert outcome(pieces_of(raw, step), content_type) == outcome([raw], content_type)


def outcome(pieces: list[bytes], content_type: str) -> object:
    stream, deltas = read(pieces, content_type=content_type)
    try:
        deltas += stream.close()
        return deltas, stream.reply()
    except RigError as error:
        return deltas, type(error), error.reason


@given(st.binary(max_size=300))
def test_any_bytes_at_all_raise_rig_errors_only(raw: bytes) -> None:
    outcome([raw], "")


WORK: dict[str, Callable[[int], bytes]] = {
    "a body": lambda n: b"{" + b" " * n,
    "blanks": lambda n: b"\n" * n,
    "marks and blanks": lambda n: b"\xef\xbb\xbf " * n,
    "an unfinished word": lambda n: b"dat" + b"a" * n,
}


@pytest.mark.parametrize("build", WORK.values(), ids=WORK.keys())
def test_the_beginning_is_not_searched_over_and_over(build: Callable[[int], bytes]) -> None:
    """Held bytes stay few until the kind of the body is known, so that looking at them is cheap."""
    stream = ChatStream()
    for piece in pieces_of(build(1000), 1):
        stream.feed(piece)
        assert stream._kind is not None or len(stream._held) < 12
