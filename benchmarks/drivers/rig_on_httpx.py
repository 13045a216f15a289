"""rig on a caller's own, stock `httpx.AsyncClient`."""

import httpx

from benchmarks.drivers.contract import API_KEY, LONG_S
from benchmarks.drivers.rig_client import Rig
from rig import Client


class RigOnHTTPX(Rig):
    """The same, and the caller closes his client."""

    def __init__(self, url: str) -> None:
        self._http = httpx.AsyncClient(timeout=LONG_S)
        super().__init__(Client(url, API_KEY, model="m", http_client=self._http))

    async def close(self) -> None:
        """Close both."""
        await super().close()
        await self._http.aclose()


def make(url: str) -> RigOnHTTPX:
    """A driver for the endpoint."""
    return RigOnHTTPX(url)
