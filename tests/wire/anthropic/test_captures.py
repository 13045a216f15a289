"""Answers of real servers to Anthropic's API, byte for byte (see tests/data/anthropic/README.md)."""

from pathlib import Path

import pytest

from rig.errors import InputTooLargeError, NotConfiguredError, RigError, ServerError
from rig.model import Reply
from rig.transport.http1 import Data, Head, ResponseReader
from rig.wire.anthropic.decode import decode_count_tokens, decode_message
from rig.wire.anthropic.wire import MESSAGES
from rig.wire.faults import error_from_response

DATA = Path(__file__).parents[2] / "data" / "anthropic" / "captures"
STEPS = [1, 7, 1 << 20]

B11549 = "llama-server-b11549"


def load(path: Path) -> tuple[int, bytes]:
    """Status and body of an answer."""
    reader = ResponseReader()
    events = [*reader.feed(path.read_bytes()), *reader.eof()]
    [status] = [event.status for event in events if isinstance(event, Head)]
    return status, b"".join(event.data for event in events if isinstance(event, Data))


def whole(name: str) -> Reply:
    return decode_message(load(DATA / f"{name}.txt")[1])


def streamed(name: str, step: int) -> Reply:
    _, body = load(DATA / f"{name}.raw")
    stream = MESSAGES.stream(content_type="text/event-stream", max_response_bytes=1 << 20)
    for start in range(0, len(body), step):
        stream.feed(body[start : start + step])
    stream.close()
    return stream.reply()


TEXTS = {
    "llama-server/message": ("Hello there! My name is Sarah,", "length", 32, 8, 31),
    "llama-server-qwen05/message": ("Hello! How can I assist you today", "length", 31, 8, 30),
    "vllm/message": ("Hello! Usually, I'll think about", "length", 22, 8, 0),
    f"{B11549}/text": ("The capital of Japan is Tokyo.", "stop", 24, 8, 0),
    f"{B11549}/text_cut": ("The capital of", "length", 24, 3, 23),
    f"{B11549}/stop": ("The capital of Japan", "stop", 24, 5, 23),
    f"{B11549}/tool_cut_in_name": ('<tool_call>\n{"name', "length", 497, 8, 496),
    f"{B11549}/thinking": ("Tokyo.", "stop", 122, 16, 0),
    f"{B11549}/thinking_cut": ("", "length", 122, 3, 121),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_and_its_cost(name: str) -> None:
    text, finish, prompt, completion, cached = TEXTS[name]
    reply = whole(name)
    assert (reply.text, reply.finish_reason, reply.tool_calls) == (text, finish, ())
    usage = reply.usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (prompt, completion)
    assert usage.cached_tokens == cached
    assert usage.reported


CALLS = {
    f"{B11549}/tool": ("tool_calls", '{"city":"Paris"}'),
    f"{B11549}/tool_cut": ("length", "{}"),
    f"{B11549}/tool_cut_late": ("length", '{"city":"Paris"}'),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call(name: str) -> None:
    finish, arguments = CALLS[name]
    reply = whole(name)
    assert [(one.name, one.arguments) for one in reply.tool_calls] == [("get_weather", arguments)]
    assert reply.finish_reason == finish
    assert reply.tool_calls[0].id


STREAMS = {
    "text": ("The capital of Japan is Tokyo.", "", "stop", ""),
    "text_cut": ("The capital of", "", "length", ""),
    "stop": ("The capital of Japan", "", "stop", ""),
    "tool": ("", '{"city": "Paris"}', "tool_calls", ""),
    "tool_cut": ("", "{", "length", ""),
    "tool_cut_in_name": ("", "", "length", ""),
    "tool_cut_late": ("", '{"city": "Paris"}', "length", ""),
    "thinking": ("Tokyo.", "", "stop", "The user asks for a capital."),
    "thinking_cut": ("", "", "length", "The user asks"),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", STREAMS)
def test_a_stream(name: str, step: int) -> None:
    text, arguments, finish, reasoning = STREAMS[name]
    reply = streamed(f"{B11549}/{name}", step)
    assert (reply.text, reply.finish_reason, reply.reasoning) == (text, finish, reasoning)
    assert "".join(one.arguments for one in reply.tool_calls) == arguments
    assert reply.usage.prompt_tokens == whole(f"{B11549}/{name}").usage.prompt_tokens


def test_a_thought_is_kept_to_be_sent_back_streamed_or_not() -> None:
    one, other = whole(f"{B11549}/thinking"), streamed(f"{B11549}/thinking", 64)
    assert one.thoughts == other.thoughts
    assert [thought.thinking for thought in one.thoughts] == ["The user asks for a capital.\n"]


FAULTS: dict[str, type[RigError]] = {
    "llama-server-b4747/message": NotConfiguredError,
    f"{B11549}/err_too_long": InputTooLargeError,
    f"{B11549}/err_no_messages": ServerError,
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault(name: str) -> None:
    status, body = load(DATA / f"{name}.txt")
    assert type(error_from_response(status, {}, body)) is FAULTS[name]


COUNTS = {
    "llama-server/count_tokens": 31,
    "llama-server-qwen05/count_tokens": 30,
    f"{B11549}/count_tokens": 195,
    "vllm/count_tokens": 21,
}


@pytest.mark.parametrize("name", COUNTS)
def test_a_count(name: str) -> None:
    assert decode_count_tokens(load(DATA / f"{name}.txt")[1]) == COUNTS[name]


def test_every_capture_takes_part() -> None:
    asked = {*TEXTS, *CALLS, *FAULTS, *COUNTS, *(f"{B11549}/{name}" for name in STREAMS)}
    assert {str(path.relative_to(DATA).with_suffix("")) for path in DATA.glob("*/*.*")} == asked


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_that_was_cut_anywhere_is_the_reply_or_an_error(name: str) -> None:
    _, body = load(DATA / f"{B11549}/{name}.raw")
    reply = streamed(f"{B11549}/{name}", 1 << 20)
    for end in range(0, len(body), 5):
        stream = MESSAGES.stream(max_response_bytes=1 << 20)
        stream.feed(body[:end])
        try:
            stream.close()
        except RigError:
            continue
        assert stream.reply().finish_reason == reply.finish_reason
