"""rig's transport alone: bytes out, bytes in. What rig costs above it is rig's own share."""

from pydantic_core import from_json, to_json

from benchmarks.drivers.contract import API_KEY, ask_once, hand_written_loop
from rig.transport.http import HTTP


class RigTransport:
    """`HTTP.post` under the hand-written loop."""

    def __init__(self, url: str) -> None:
        self._http = HTTP(url, headers={"Authorization": f"Bearer {API_KEY}"})

    async def _post(self, body: dict[str, object]) -> dict[str, object]:
        response = await self._http.post("chat/completions", to_json(body))
        answer: dict[str, object] = from_json(response.body)
        return answer

    async def ask(self) -> str:
        """One request."""
        return await ask_once(self._post)

    async def round(self) -> str:
        """Two requests and a tool."""
        return await hand_written_loop(self._post)

    async def stream(self) -> int:
        """Not measured.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError

    async def close(self) -> None:
        """Close the client."""
        await self._http.aclose()


def make(url: str) -> RigTransport:
    """A driver for the endpoint."""
    return RigTransport(url)
