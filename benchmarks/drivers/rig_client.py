"""rig over its own transport; a stream's deltas are the events of `run_stream`."""

from benchmarks.canned import PROMPT, SYSTEM
from benchmarks.drivers.contract import API_KEY, add
from rig import Client, Session, TextDelta, tool

ADD = tool(add)

ROUNDS = 32
"""Rounds of a long conversation: as many as a run may have."""


def long_conversation() -> list[dict[str, object]]:
    """So many calls and their results, and an answer, as the wire has them."""
    turns: list[dict[str, object]] = [{"role": "user", "content": PROMPT}]
    for number in range(ROUNDS):
        function = {"name": "add", "arguments": f'{{"a": {number}, "b": 2}}'}
        call = {"id": f"call{number:05d}", "type": "function", "function": function}
        turns.append({"role": "assistant", "content": "", "tool_calls": [call]})
        turns.append({"role": "tool", "tool_call_id": call["id"], "content": str(number + 2)})
    return [*turns, {"role": "assistant", "content": "The sum is 42."}]


class Rig:
    """A `Client`, and what one does with it.

    Args:
        client: the client.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._kept: list[Session] = []

    async def ask(self) -> str:
        """One run without tools."""
        result = await self._client.run(PROMPT, system=SYSTEM, max_tokens=256)
        return result.text

    async def round(self) -> str:
        """One run with a tool."""
        result = await self._client.run(PROMPT, system=SYSTEM, tools=[ADD], max_tokens=256)
        return result.text

    async def nine_calls(self) -> str:
        """The same, but the model calls the tool nine times in its reply."""
        result = await self._client.run(
            PROMPT, model="nine", system=SYSTEM, tools=[ADD], max_tokens=256
        )
        return result.text

    async def idle(self) -> str:
        """One run with a tool, of a conversation that is kept."""
        return await self._talk(Session(SYSTEM, tools=[ADD]))

    async def long(self) -> str:
        """One more question in a long conversation, which is kept."""
        return await self._talk(Session(SYSTEM, tools=[ADD], messages=long_conversation()))

    async def _talk(self, session: Session) -> str:
        self._kept.append(session)
        result = await session.run(self._client, PROMPT, max_tokens=256)
        return result.text

    async def stream(self) -> int:
        """One streamed run."""
        count = 0
        async with self._client.run_stream(PROMPT, system=SYSTEM, max_tokens=16384) as run:
            async for event in run:
                count += isinstance(event, TextDelta)
        return count

    async def close(self) -> None:
        """Close the client."""
        await self._client.aclose()


def make(url: str) -> Rig:
    """A driver for the endpoint."""
    return Rig(Client(url, API_KEY, model="m"))
