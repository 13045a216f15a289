"""A conversation that outlives the process: every answer is kept, the next one goes on from there.

python examples/session.py http://127.0.0.1:8080/v1 qwen3
"""

import sys

import anyio

from rig import Client, Session, tool

MAX_MESSAGES = 40
STORE = "session.json"


@tool
async def seats(train: str) -> int:
    """Free seats of a train."""
    return {"ICE 5": 12}.get(train, 0)


async def opened(store: anyio.Path) -> Session:
    if await store.exists():
        return Session.from_json(await store.read_bytes(), tools=[seats])
    return Session("You sell train tickets. Answer in one sentence.", tools=[seats])


async def main(base_url: str, model: str, question: str, path: str = STORE) -> str:
    store = anyio.Path(path)
    session = await opened(store)
    async with Client(base_url, model=model) as client:
        result = await session.run(client, question, max_tokens=512)
    session.trim(max_messages=MAX_MESSAGES)
    await store.write_text(session.to_json(), encoding="utf-8")
    print(result.text)
    return result.text


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2], input("> "))
