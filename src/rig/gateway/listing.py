"""Which of some models are there, as far as what is below can tell. It awaits."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, cast

import anyio

from rig.client.per_loop import PerLoop
from rig.errors import RigError
from rig.events import event_listener
from rig.gateway.model_names import lists

LISTING_S: Final = 60.0
"""Seconds a list of models, or the want of one, is believed. Models are loaded and removed by people; a
model that went missing meanwhile is found out when it is asked."""

LISTING_TIMEOUT_S: Final = 5.0
"""Seconds a run waits at most to learn which models there are; without, it takes them all to be there."""


@dataclass(slots=True)
class _Here:
    """What belongs to one event loop."""

    lock: anyio.Lock
    names: tuple[str, ...] | None = None
    until: float = float("-inf")


class Listing:
    """Asks what is below for its models: `has_model` where it has that, else its list.

    Args:
        model: a pool, a client, anything. Where it tells of no models, nothing is known of any.
    """

    def __init__(self, model: object) -> None:
        self._has = cast("Callable[[str], bool | None] | None", getattr(model, "has_model", None))
        self._models = cast(
            "Callable[[], Awaitable[tuple[str, ...]]] | None", getattr(model, "models", None)
        )
        self._here = PerLoop(lambda: _Here(anyio.Lock()))

    async def known(self, names: Iterable[str]) -> dict[str, bool | None]:
        """Which models are there.

        Args:
            names: the models asked about.

        Returns:
            For each whether it is; None where nobody knows.
        """
        asked = tuple(names)
        if callable(self._has):
            answers = {name: self._has(name) for name in asked}
            if None not in answers.values():
                return answers
            await self._listed()
            return {name: self._has(name) for name in asked}
        listed = await self._listed()
        return {name: lists(listed, name) for name in asked}

    async def _listed(self) -> tuple[str, ...] | None:
        """The list, asked for once and kept for a while; None where there is none."""
        if not callable(self._models):
            return None
        here = self._here.get()
        if anyio.current_time() < here.until:
            return here.names
        with anyio.move_on_after(2 * LISTING_TIMEOUT_S):  # who asks first may be cancelled
            async with here.lock:
                if anyio.current_time() >= here.until:
                    here.names = await self._asked()
                    here.until = anyio.current_time() + LISTING_S
                return here.names
        return None

    async def _asked(self) -> tuple[str, ...] | None:
        models = cast("Any", self._models)
        listener = event_listener.get()
        event_listener.set(None)  # what happens to the list is no part of the run
        try:
            with anyio.move_on_after(LISTING_TIMEOUT_S):
                return tuple(await models())
        except RigError:
            return None
        finally:
            event_listener.set(listener)
        return None
