"""A run and a stream make the same calls of a text, and none of a tool that writes."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic_core import from_json

from rig import Client, RetryPolicy, RunResult, tool
from rig.testing import FakeBackend, reply, stream

DATA = Path(__file__).parents[1] / "data" / "text"
PLACES: list[dict[str, Any]] = [
    from_json(line)
    for line in (DATA / "salvage-places.jsonl").read_text(encoding="utf-8").splitlines()
]
OBJECT = '{"name": "search", "arguments": {"q": "cats"}}'
FORMS = (OBJECT, f"<tool_call>\n{OBJECT}\n</tool_call>")
ROWS = [(place, FORMS[number % 2]) for number, place in enumerate(PLACES)]
RAN: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    RAN.clear()


@tool
async def search(q: str) -> str:
    """Search the web."""
    RAN.append(q)
    return "none"


@tool(name="search", effect="write")
async def search_and_keep(q: str) -> str:
    """Search the web and keep what is found."""
    RAN.append(q)
    return "none"


async def run(text: str, used: Any, *, streamed: bool) -> RunResult[Any]:
    answers = [
        stream(*(said[at : at + 3] for at in range(0, len(said), 3))) if streamed else reply(said)
        for said in (text, "Done.")
    ]
    backend = FakeBackend(*answers)
    async with (
        httpx.AsyncClient(transport=backend.transport) as http,
        Client(backend.url, http_client=http, model="fake", retry=RetryPolicy.off()) as client,
    ):
        options: dict[str, Any] = {"tools": [used], "max_tokens": 64}
        if not streamed:
            result: RunResult[Any] = await client.run("Look.", **options)
            return result
        async with client.run_stream("Look.", **options) as running:
            async for _ in running:
                pass
            shown: RunResult[Any] = running.result()
            return shown


def made(result: RunResult[Any]) -> list[tuple[str, str, str, tuple[str, ...]]]:
    return [
        (call.name, call.arguments, call.origin, call.repairs)
        for message in result.messages
        for call in message.tool_calls
    ]


@pytest.mark.parametrize(("place", "form"), ROWS, ids=lambda value: ascii(value)[:80])
async def test_a_run_and_a_stream_make_the_same_calls(place: dict[str, Any], form: str) -> None:
    text = place["text"].replace("@", form)
    whole = await run(text, search, streamed=False)
    streamed = await run(text, search, streamed=True)
    assert len(made(whole)) == place["calls"]
    assert made(streamed) == made(whole)
    assert streamed.text == whole.text
    assert len(RAN) == 2 * min(1, place["calls"]) or len(RAN) == 2 * place["calls"]


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("text", [place["text"] for place in PLACES if place["calls"]], ids=ascii)
async def test_a_tool_that_writes_is_never_run_for_a_text(text: str, streamed: bool) -> None:
    result = await run(text.replace("@", FORMS[0]), search_and_keep, streamed=streamed)
    assert made(result) != []
    assert RAN == []
