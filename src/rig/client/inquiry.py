"""What a client finds out about its endpoint beside the chat: counts, windows, probes, profiles.

Loaded with the first such question: most programs ask none, and its modules are a third of a client's.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from rig.client.context_search import discover_context
from rig.client.detection import detect_dialect
from rig.client.occupancy import find_occupancy
from rig.client.probe import check_probe, probe_request
from rig.client.probes.cache import endpoint_name
from rig.client.probes.line import Line
from rig.client.probes.profile import EndpointProfile
from rig.client.probes.profiler import Profiler
from rig.client.probes.survey import OnProbe, survey_tools
from rig.client.probes.tool_surface import ToolSurface
from rig.client.requester import Requester
from rig.client.tokens import TokenCounter
from rig.client.windows import WindowFinder
from rig.model import ChatRequest, Reply, ReplyStream
from rig.wire.dialect import Dialect
from rig.wire.occupancy import Occupancy
from rig.wire.wires import Decode


class Inquiry:
    """Asks one endpoint, and remembers what it said; `Client` says what each question means.

    Args:
        requester: asks at paths beside the chat's.
        url: the base URL, of which only a hash is kept in files.
        host: its host.
        complete: answers a chat request that is sent once.
        search: the same as the client's caller would send it, with retries.
        send: sends a chat request once, and gives the body of its answer and what decodes it.
        stream: answers one piece by piece, sent once.
        dialect_for: the dialect the client speaks to a model.

    Attributes:
        tokens: counts.
        windows: finds context windows.
        line: what the probes ask through.
    """

    def __init__(
        self,
        requester: Requester,
        *,
        url: str,
        host: str,
        complete: Callable[[ChatRequest], Awaitable[Reply]],
        search: Callable[[ChatRequest], Awaitable[Reply]],
        send: Callable[[ChatRequest], Awaitable[tuple[bytes, Decode]]],
        stream: Callable[[ChatRequest], AbstractAsyncContextManager[ReplyStream]],
        dialect_for: Callable[[str], Dialect],
    ) -> None:
        self.tokens = TokenCounter(requester)
        self.windows = WindowFinder(requester)
        self._profiler = Profiler(endpoint_name(url))
        self._requester = requester
        self._host = host
        self._complete = complete
        self._search = search
        self.line = Line(
            send=send,
            stream=stream,
            requester=requester,
            tokens=self.tokens,
            window=self.windows.find,
            detect=self.detect_dialect,
            dialect_for=dialect_for,
        )

    async def detect_dialect(self) -> Dialect:
        """Which server answers.

        Raises:
            RigError: it could not be reached, or tells nothing without the right key.
        """
        return await detect_dialect(self._requester, self._host)

    async def probe_tool_calling(self, model: str) -> None:
        """Check that the model calls a tool it is told to call.

        Raises:
            RigError: it does not, or the endpoint failed.
        """
        await check_probe(self._complete(probe_request(model)))

    async def probe_tool_surface(self, model: str) -> ToolSurface:
        """What the endpoint does with arguments and grammars."""
        return await survey_tools(self.line, model)

    async def profile(
        self,
        model: str,
        *,
        refresh: bool,
        cache: Path | None,
        max_age_s: float,
        budget_s: float,
        on_probe: OnProbe | None,
    ) -> EndpointProfile:
        """What the endpoint does with a model, measured or remembered.

        Raises:
            RigError: it can't be told.
        """
        return await self._profiler.profile(
            self.line,
            model,
            refresh=refresh,
            cache=cache,
            max_age_s=max_age_s,
            budget_s=budget_s,
            on_probe=on_probe,
        )

    async def occupancy(self) -> Occupancy | None:
        """How busy the server is.

        Raises:
            RigError: the request can't be sent.
        """
        return await find_occupancy(self._requester)

    async def discover_context(self, model: str) -> int:
        """How long a prompt the endpoint takes, in words.

        Raises:
            RigError: a request failed for another reason than its length.
        """
        return await discover_context(self._search, model)
