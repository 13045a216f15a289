"""The two APIs as values."""

from dataclasses import replace

import pytest

from rig.messages import Message
from rig.model import ChatRequest
from rig.wire.anthropic.assembly import MessageAssembler
from rig.wire.anthropic.wire import MESSAGES
from rig.wire.assembly import StreamAssembler
from rig.wire.dialect import Dialect
from rig.wire.dialects import ANTHROPIC, DIALECTS, GENERIC
from rig.wire.keys import key_headers
from rig.wire.wires import CHAT_COMPLETIONS, wire_of

HI = ChatRequest(model="m", messages=(Message(role="user", content="hi"),), max_tokens=8)


@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect_is_spoken_over_one_of_them(name: str) -> None:
    expected = MESSAGES if name == "anthropic" else CHAT_COMPLETIONS
    assert wire_of(DIALECTS[name]) is expected


def test_where_requests_go_and_what_they_carry() -> None:
    assert (CHAT_COMPLETIONS.path, CHAT_COMPLETIONS.headers) == ("chat/completions", ())
    assert (MESSAGES.path, MESSAGES.headers) == ("messages", (("anthropic-version", "2023-06-01"),))


@pytest.mark.parametrize(
    ("dialect", "key", "headers"),
    [
        (GENERIC, "sk", (("Authorization", "Bearer sk"),)),
        (GENERIC, "", ()),
        (ANTHROPIC, "sk", (("x-api-key", "sk"),)),
        (ANTHROPIC, "", ()),
        (replace(ANTHROPIC, key_header="authorization"), "sk", (("authorization", "Bearer sk"),)),
    ],
)
def test_the_key_goes_where_the_server_looks(
    dialect: Dialect, key: str, headers: tuple[tuple[str, str], ...]
) -> None:
    assert key_headers(dialect, key) == headers


@pytest.mark.parametrize(
    ("dialect", "assembler"), [(GENERIC, StreamAssembler), (ANTHROPIC, MessageAssembler)]
)
def test_each_has_an_assembler_of_its_own(dialect: Dialect, assembler: type) -> None:
    wire = wire_of(dialect)
    stream = wire.stream(content_type="text/event-stream", max_response_bytes=64, thinking=True)
    assert type(stream.assembler) is assembler


def test_each_writes_and_reads_its_own_bodies() -> None:
    assert b'"stream_options"' in CHAT_COMPLETIONS.encode(HI, stream=True, dialect=GENERIC)
    assert b'"stream_options"' not in MESSAGES.encode(HI, stream=True, dialect=ANTHROPIC)
    completion = b'{"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}'
    message = b'{"content": [{"type": "text", "text": "a"}], "stop_reason": "end_turn"}'
    assert CHAT_COMPLETIONS.decode(completion, latency_s=1).text == "a"
    assert MESSAGES.decode(message, latency_s=1).usage.latency_s == 1
