"""Asking a server how large its context window is."""

from collections.abc import Callable

import anyio

from rig.client.findings import Finding, Findings
from rig.client.places import first_found
from rig.client.requester import Answer, Requester, ask
from rig.wire.encode import to_body
from rig.wire.model_path import model_path
from rig.wire.windows import WINDOW_SOURCES, Window, WindowSource, read_window

MAX_WINDOW_BYTES = 8 << 20
"""Decoded bytes of an answer that may tell a window. The list of a proxy with thousands of models is
some megabytes; llama.cpp's /props holds the chat template, 20 KB."""

FRESH_S = 60.0
"""Seconds a window is believed. A server restarted with another one is noticed within a minute, and an
agent that asks in every round costs it nothing."""

FIND_TIMEOUT_S = 30.0
"""Seconds for asking at all places together."""


class WindowFinder:
    """Finds out how large the window of a model is, for one endpoint.

    A window is kept for `FRESH_S`, a clear no as long, and neither a failure nor the window of
    a model that is not loaded yet. Nothing is repeated, and no slot is taken.

    Args:
        requester: who sends.
        clock: monotonic seconds.
    """

    def __init__(
        self, requester: Requester, *, clock: Callable[[], float] = anyio.current_time
    ) -> None:
        self._requester = requester
        self._windows = Findings(self._find, clock=clock)
        self._last: WindowSource | None = None

    async def find(self, model: str) -> int | None:
        """The window in tokens, prompt and reply together; None where the server does not say.

        Args:
            model: its name, or "".

        Raises:
            RigError: the request can't be sent.
        """
        window = await self._windows.get(model)
        return None if window is None else window.tokens

    async def _find(self, model: str) -> Finding[Window]:
        def read(source: WindowSource, body: bytes) -> Finding[Window] | None:
            window = read_window(source, body, model)
            if window is None:
                return None
            self._last = source if window.settled else None
            return Finding(window, FRESH_S if window.settled else 0.0)

        return await first_found(
            self._sources(),
            lambda source: self._ask(source, model),
            read,
            timeout_s=FIND_TIMEOUT_S,
        )

    def _sources(self) -> list[WindowSource]:
        """The table, what answered last first: one request then does where there were nine."""
        return sorted(WINDOW_SOURCES, key=lambda source: source is not self._last)

    async def _ask(self, source: WindowSource, model: str) -> Answer:
        path = model_path(source.path, model)
        if path is None or (source.method == "POST" and not model):
            return Answer("absent")
        body = to_body({"model": model}) if source.method == "POST" else b""
        return await ask(self._requester, source.method, path, body, max_bytes=MAX_WINDOW_BYTES)
