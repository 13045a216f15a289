"""rig as a model that is asked, without the loop: `client.complete` and `client.stream`."""

from benchmarks.canned import PROMPT, SYSTEM
from benchmarks.drivers.contract import API_KEY
from benchmarks.drivers.rig_client import Rig
from rig import ChatRequest, Client, Message


class RigDeltas(Rig):
    """The same client, one layer down."""

    async def ask(self) -> str:
        """One request."""
        reply = await self._client.complete(_request())
        return reply.text

    async def stream(self) -> int:
        """One streamed request."""
        count = 0
        async with self._client.stream(_request()) as reply:
            async for delta in reply:
                count += bool(delta.text)
        return count


def _request() -> ChatRequest:
    system = Message(role="system", content=SYSTEM)
    return ChatRequest(
        model="m", messages=[system, Message(role="user", content=PROMPT)], max_tokens=16384
    )


def make(url: str) -> RigDeltas:
    """A driver for the endpoint."""
    return RigDeltas(Client(url, API_KEY, model="m"))
