"""httpx as it comes, `json=` and `.json()`: the floor."""

import httpx

from benchmarks.drivers.contract import (
    API_KEY,
    LONG_S,
    Wire,
    ask_once,
    delta_text,
    hand_written_loop,
    question,
)


class RawHTTPX:
    """One `httpx.AsyncClient` with its default limits."""

    def __init__(self, url: str) -> None:
        self._url = f"{url}/chat/completions"
        headers = {"Authorization": f"Bearer {API_KEY}"}
        self._client = httpx.AsyncClient(headers=headers, timeout=LONG_S)

    async def _post(self, body: Wire) -> Wire:
        response = await self._client.post(self._url, json=body)
        response.raise_for_status()
        completion: Wire = response.json()
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
        async with self._client.stream("POST", self._url, json=question(stream=True)) as response:
            response.raise_for_status()
            async for line in response.aiter_lines():
                count += bool(delta_text(line))
        return count

    async def close(self) -> None:
        """Close the client."""
        await self._client.aclose()


def make(url: str) -> RawHTTPX:
    """A driver for the endpoint."""
    return RawHTTPX(url)
