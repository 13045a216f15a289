"""Telling the run under way what happens below it. It awaits."""

from rig.events import RunEvent, event_listener, run_memory


async def tell(event: RunEvent) -> None:
    """Tell whoever listens to the request under way; nobody does outside of a run.

    Args:
        event: what happened.
    """
    listener = event_listener.get()
    if listener is not None:
        await listener(event)


def remembered(key: object) -> object | None:
    """What was kept for the run under way; None where there is nothing, or no run.

    Args:
        key: whose it is.
    """
    memory = run_memory.get()
    return None if memory is None else memory.get(key)


def remember(key: object, value: object) -> None:
    """Keep something until the run under way ends; nothing where there is no run.

    Args:
        key: whose it is.
        value: what to keep.
    """
    memory = run_memory.get()
    if memory is not None:
        memory[key] = value
