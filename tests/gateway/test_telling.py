"""What models below a run tell it, and keep in it."""

from rig.events import RunEvent, TierFellBack, event_listener, run_memory
from rig.gateway.telling import remember, remembered, tell

EVENT = TierFellBack(asked="x", used="fast", reason="unknown")


async def test_whoever_listens_is_told() -> None:
    told: list[RunEvent] = []

    async def listen(event: RunEvent) -> None:
        told.append(event)

    await tell(EVENT)
    token = event_listener.set(listen)
    await tell(EVENT)
    event_listener.reset(token)
    assert told == [EVENT]


def test_things_are_kept_for_one_run_and_nowhere_else() -> None:
    remember("key", 1)
    assert remembered("key") is None
    token = run_memory.set({})
    remember("key", 1)
    assert remembered("key") == 1
    run_memory.reset(token)
    assert remembered("key") is None
