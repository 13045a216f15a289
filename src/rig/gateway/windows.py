"""The context window of a model below, for runs that make their history fit it. It awaits."""

from collections.abc import Awaitable, Callable
from typing import cast


async def window_of(below: object, model: str) -> int | None:
    """The size of a model's window.

    Args:
        below: a client or pool, which ask their servers for it; or anything else.
        model: the model's name there.

    Returns:
        The size in tokens; None where nobody knows.
    """
    known = getattr(below, "context_window", None)
    if not callable(known):
        return None
    return await cast("Callable[[str], Awaitable[int | None]]", known)(model)
