"""rig over its own transport; a stream's deltas are the events of `run_stream`."""

from benchmarks.canned import PROMPT, SYSTEM
from benchmarks.drivers.contract import API_KEY, add
from rig import Client, TextDelta, tool

ADD = tool(add)


class Rig:
    """A `Client`, and what one does with it.

    Args:
        client: the client.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

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
