"""aiohttp without its limit of 100 connections: the floor where many agents run at once."""

import aiohttp

from benchmarks.drivers.contract import (
    API_KEY,
    LONG_S,
    Wire,
    ask_once,
    delta_text,
    hand_written_loop,
    question,
)


class RawAiohttp:
    """One `aiohttp.ClientSession`."""

    def __init__(self, url: str) -> None:
        self._url = f"{url}/chat/completions"
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            headers={"Authorization": f"Bearer {API_KEY}"},
            timeout=aiohttp.ClientTimeout(total=LONG_S),
        )

    async def _post(self, body: Wire) -> Wire:
        async with self._session.post(self._url, json=body) as response:
            response.raise_for_status()
            completion: Wire = await response.json()
            return completion

    async def ask(self) -> str:
        """One request."""
        return await ask_once(self._post)

    async def round(self) -> str:
        """Two requests and a tool."""
        return await hand_written_loop(self._post)

    async def stream(self) -> int:
        """One streamed request, by lines."""
        count = 0
        async with self._session.post(self._url, json=question(stream=True)) as response:
            response.raise_for_status()
            async for line in response.content:
                count += bool(delta_text(line))
        return count

    async def close(self) -> None:
        """Close the session."""
        await self._session.close()


def make(url: str) -> RawAiohttp:
    """A driver for the endpoint."""
    return RawAiohttp(url)
