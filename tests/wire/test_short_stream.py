"""A read that is one word takes a short way; whatever comes before and behind it, and each limit, it gives what the long one gives."""

import json
from typing import Any

import pytest

from rig.errors import RigError
from rig.text.salvage import OfferedTool
from rig.wire.assembly import StreamAssembler
from rig.wire.chat_stream import ChatStream

TOOLS = (OfferedTool("add", {"type": "object"}),)


def event(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {"id": "c", "model": "m", "choices": [choice], **more}
    return b"data: %b\n\n" % json.dumps(chunk, ensure_ascii=False).encode()


def spoken(*words: str) -> list[bytes]:
    """Each word an event: of the thoughts where it begins with a tilde, else of the text."""
    return [
        event({"reasoning_content": word[1:]} if word[:1] == "~" else {"content": word})
        for word in words
    ]


ENDED = [event({}, "stop"), b"data: [DONE]\n\n"]


def heard(pieces: list[bytes], *, short: bool, **settings: Any) -> tuple[list[object], int]:
    """All that can be seen after each read, and how many took the short way."""
    chat = ChatStream(**settings)
    assembler, seen, shorts = chat.assembler, list[object](), 0
    for piece in pieces:
        one = chat.feed_one(piece) if short else None
        shorts += one is not None
        deltas = chat.feed(piece) if one is None else [one]
        seen.append((
            deltas, assembler.text, assembler.blank, assembler.blank_where, chat.raw_bytes,
            chat.complete, chat.ended, chat.untold, assembler.take_held(),
        ))  # fmt: skip
    for end in (chat.close, chat.reply):
        try:
            seen.append(end())
        except RigError as error:
            seen.append((type(error), error.reason, error.text, error.tool_calls))
    return seen, shorts


class InFull(StreamAssembler):
    """Reads each event by itself."""

    def feed_plain(self, block: bytes) -> None:
        return None


def held_equal(pieces: list[bytes], **settings: Any) -> int:
    seen, shorts = heard(pieces, short=True, **settings)
    assert seen == heard(pieces, short=False, assembler=InFull, **settings)[0]
    return shorts


WORDS = spoken("Well", " a", " b\u00e9", " \u4e16\u754c", "c ", " d", "e")
THOUGHTS = spoken("~Well", "~ a", "~ b\u00e9", "~ \u4e16\u754c", "~c ", "~ d", "~e")


@pytest.mark.parametrize("tools", [(), TOOLS], ids=["", "tools"])
@pytest.mark.parametrize("words", [WORDS, THOUGHTS], ids=["text", "thoughts"])
def test_words_take_the_short_way(words: list[bytes], tools: tuple[OfferedTool, ...]) -> None:
    answer = spoken("Yes") if words is THOUGHTS else []
    assert held_equal([*words, *answer, *ENDED], tools=tools) == len(words) - 1


@pytest.mark.parametrize("words", [WORDS, THOUGHTS], ids=["text", "thoughts"])
@pytest.mark.parametrize("name", ["max_response_bytes", "max_raw_bytes", "max_event_bytes"])
def test_each_limit_is_passed_by_the_same_byte(words: list[bytes], name: str) -> None:
    pieces = [*words, *words, *ENDED]
    limits = {
        "max_response_bytes": range(1, 60),
        "max_raw_bytes": [
            len(b"".join(pieces[:count])) + by for count in range(1, 15) for by in (-1, 0)
        ],
        "max_event_bytes": [len(piece) - by for piece in words for by in range(4)],
    }
    for limit in limits[name]:
        held_equal(pieces, **{name: limit})
    more = [words[1]] * 1_000  # the short way is open far from the limit alone
    assert held_equal([*words, *more, *ENDED], max_response_bytes=1_500) > 500


@pytest.mark.parametrize(
    "words",
    [
        ("Well", " a", " b", "</s", " c", " d"),
        ("Well", " a", " b", "</s", ">", " c"),
        ("Well", " a", " b", "<thi", " c", " d"),
        ("Well", " a", " b", "<think>", " c", " d", "</think>", " e", " f"),
        ("Well", " a", " b", "</think>", " c", " d", " e"),
        ("Well", " a", " b", "~hm", "~ x", "~ y", " c", " d"),
        ("~hm", "~ x", "~ y", " a", "</think>", " b", " c"),
        ("~hm", "~ <tool_call", "~ x", " a", " b", " c"),
        ("~hm", "~ x", "~ [TOOL", " a", " b", "~ y", "~ z", " c"),
        ("~hm", "~ x", "~ <|tool", " a", " b"),
        ("Well", " a", "b ", " ", " c", "  ", "d\n", " e"),
        ("~Well", "~ a", "~b ", "~ ", "~ c", "~  ", "~d\n", " e"),
        ("Well", " a", " b", "\n", "call", ":add", "{}"),
        ("Well", " a", " b", "\n", "[add(a=1)]"),
        ("Well", " a:", "\n", "add", '{"a": 1}'),
    ],
)
@pytest.mark.parametrize("tools", [(), TOOLS], ids=["", "tools"])
def test_what_is_held_back_between_words_stays_in_its_place(
    words: tuple[str, ...], tools: tuple[OfferedTool, ...]
) -> None:
    held_equal([*spoken(*words), *ENDED], tools=tools)
    held_equal(spoken(*words), tools=tools)


def test_nothing_is_read_behind_the_end() -> None:
    words = spoken("Well", " a", " b")
    held_equal([*words, *ENDED, *words])
    held_equal([*words, b'data: {"error": {"message": "x"}}\n\n', *words])
    chat = ChatStream()
    for word in words:
        chat.feed(word)
    chat.feed(ENDED[0])
    chat.close()
    assert chat.feed_one(words[1]) is None
