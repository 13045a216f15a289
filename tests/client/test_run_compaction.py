"""Histories that do not fit, on the wire: what llama.cpp says, and what it is sent then."""

from typing import Any

import pytest

from rig import (
    Client,
    Compaction,
    HistoryCompacted,
    InputTooLargeError,
    Message,
    RunEvent,
    Session,
)
from rig.agent.summary import START
from rig.testing import FakeBackend, answer, reply
from rig.testing.faults import prompt_too_long
from rig.testing.received import ReceivedRequest

PAGE = "word " * 400
UNASKED = Compaction(ask_server=False)


def history(exchanges: int = 8) -> list[Message]:
    turns = [Message(role="user", content="Read with me.")]
    for at in range(exchanges):
        turns += [
            Message(role="assistant", content=f"page {at} {PAGE}"),
            Message(role="user", content=f"And page {at + 1}?"),
        ]
    return turns[:-1]


def texts(request: ReceivedRequest) -> list[tuple[str, str]]:
    return [(turn["role"], turn["content"]) for turn in request.json["messages"]]


SUMMARY = reply('{"summary": "We read pages 0 to 5."}')


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_a_prompt_the_server_refuses_is_sent_again_with_a_summary(stream: bool) -> None:
    told: list[RunEvent] = []
    async with (
        FakeBackend(prompt_too_long(4300, 2048), SUMMARY, reply("Page 8.")).serve() as backend,
        Client(backend.url, model="m") as client,
    ):
        result = await client.run(
            "And now?",
            system="Be brief.",
            history=history(),
            max_tokens=64,
            compaction=Compaction(keep_rounds=1, ask_server=False),
            on_event=told.append,
            stream=stream,
        )
    assert result.text == "Page 8."
    asked, summary, again = backend.requests
    assert "response_format" not in asked.json
    assert summary.json["response_format"]["json_schema"]["schema"]["required"] == ["summary"]
    assert (summary.json["temperature"], summary.json["max_tokens"]) == (0, 400)
    assert "tools" not in summary.json
    sent = texts(again)
    assert sent[0] == ("system", "Be brief.")
    assert sent[1][0] == "user"
    assert sent[1][1].startswith(f"Read with me.\n\n{START}\nWe read pages 0 to 5.")
    assert sent[-1] == ("user", "And now?")
    assert result.compactions == 1
    (event,) = [event for event in told if isinstance(event, HistoryCompacted)]
    assert event.how == "summarised"
    assert event.before_tokens == 4300
    assert event.after_tokens < 2048


async def test_the_window_the_server_tells_is_kept_to_before_anything_is_refused() -> None:
    window = answer(200, {"default_generation_settings": {"n_ctx": 2048}})

    def serve(request: ReceivedRequest) -> Any:
        if request.method == "GET":
            return window if "props" in request.target else answer(404, {})
        return SUMMARY if "response_format" in request.json else reply("Page 8.")

    backend = FakeBackend(*[serve] * 20)
    async with backend.serve(), Client(backend.url, model="m") as client:
        result = await client.run(
            "And now?", history=history(), max_tokens=64, compaction=Compaction()
        )
    posts = [request for request in backend.requests if request.method == "POST"]
    assert len(posts) == 2
    assert sum(len(text) for _, text in texts(posts[1])) // 4 < 2048
    assert result.compactions == 1


async def test_without_compaction_nothing_is_sent_again() -> None:
    async with (
        FakeBackend(prompt_too_long(4300, 2048)).serve() as backend,
        Client(backend.url, model="m") as client,
    ):
        with pytest.raises(InputTooLargeError):
            await client.run("And now?", history=history(), max_tokens=64)
    assert len(backend.requests) == 1


async def test_a_session_goes_on_with_the_smaller_history() -> None:
    session = Session("Be brief.", messages=history())
    async with (
        FakeBackend(
            prompt_too_long(4300, 2048), SUMMARY, reply("Page 8."), reply("Page 9.")
        ).serve() as backend,
        Client(backend.url, model="m") as client,
    ):
        before = len(session.messages)
        result = await session.run(client, "And now?", max_tokens=64, compaction=UNASKED)
        assert len(session.messages) < before
        session.extend(result)
        kept = len(session.messages)
        assert kept < before
        await session.run(client, "And then?", max_tokens=64, compaction=UNASKED)
    assert len(session.messages) == kept + 2
    assert START in session.messages[1].text
    assert Session.from_json(session.to_json()).messages == session.messages
