"""Coverage-guided fuzzing of everything that reads what an endpoint wrote: nothing but RigError comes out.

nox -s fuzz                       # 100,000 inputs
nox -s fuzz -- -runs=5000000      # libFuzzer's own options
"""

import sys
from collections.abc import Callable, Sequence

import atheris

with atheris.instrument_imports():
    from rig.errors import RigError
    from rig.gateway.classify import read_category
    from rig.model import Reply
    from rig.text import (
        decode_json_object,
        parse_heredoc,
        read_arguments,
        repair_json,
        separate_reasoning,
        strip_reasoning,
    )
    from rig.text.salvage import OfferedTool, salvage
    from rig.transport.http1 import ResponseReader
    from rig.wire.chat_stream import ChatStream
    from rig.wire.decode import decode_chat, decode_models
    from rig.wire.faults import error_from_response

TOOLS = (
    OfferedTool(name="search", schema={"type": "object", "properties": {"q": {"type": "string"}}}),
    OfferedTool(name="read_file", schema={"type": "object", "properties": {}}),
)
CATEGORIES = ("code", "code review", "chat")


def text_of(data: bytes) -> str:
    """The input as a model's text."""
    return data.decode("utf-8", "replace")


def stream(data: bytes) -> None:
    """The input as the body of a stream, read in two pieces."""
    chat = ChatStream()
    chat.feed(data[: len(data) // 2])
    chat.feed(data[len(data) // 2 :])
    chat.close()
    chat.reply()


def http(data: bytes) -> None:
    """The input as an HTTP answer."""
    reader = ResponseReader()
    reader.feed(data)
    reader.eof()


def fault(data: bytes) -> None:
    """The input as an error body; the error it becomes must show nothing of it."""
    error = error_from_response(400 + (data[0] if data else 0) % 200, {}, data)
    assert "planted" not in f"{error}{error!r}"


READERS: Sequence[Callable[[bytes], object]] = (
    lambda data: strip_reasoning(text_of(data)),
    lambda data: separate_reasoning(text_of(data)),
    lambda data: decode_json_object(text_of(data)),
    lambda data: read_arguments(text_of(data)),
    lambda data: repair_json(text_of(data)),
    lambda data: parse_heredoc(text_of(data), names=["search"]),
    lambda data: salvage(text_of(data), TOOLS),
    lambda data: read_category(Reply(text=text_of(data)), CATEGORIES),
    decode_chat,
    decode_models,
    stream,
    http,
    fault,
)


def read_one(data: bytes) -> None:
    """Give the input to the reader its first byte names."""
    if not data:
        return
    reader = READERS[data[0] % len(READERS)]
    try:
        reader(data[1:])
    except RigError:
        pass


if __name__ == "__main__":
    atheris.Setup(sys.argv, read_one)
    atheris.Fuzz()
