"""Found once, for as long as it is fresh."""

import anyio
import pytest

from rig.client.findings import FOREVER_S, MAX_MODELS, Finding, Findings
from rig.errors import InvalidRequestError


class Looker:
    """Gives what it is told to, and counts how often it was asked."""

    def __init__(self, *findings: Finding[int] | Exception) -> None:
        self.findings = list(findings)
        self.models: list[str] = []
        self.now_s = 0.0
        self.hold: anyio.Event | None = None

    async def look(self, model: str) -> Finding[int]:
        self.models.append(model)
        if self.hold is not None:
            await self.hold.wait()
        finding = self.findings.pop(0) if len(self.findings) > 1 else self.findings[0]
        if isinstance(finding, Exception):
            raise finding
        return finding

    def made(self) -> Findings[int]:
        return Findings(self.look, clock=lambda: self.now_s)


async def test_what_was_found_for_ever_is_never_looked_for_again() -> None:
    looker = Looker(Finding(7, FOREVER_S))
    findings = looker.made()
    assert await findings.get("m") == 7
    looker.now_s = 1e12
    assert await findings.get("m") == 7
    assert looker.models == ["m"]


async def test_a_finding_is_believed_as_long_as_it_is_fresh() -> None:
    looker = Looker(Finding(None, 60), Finding(7, 60), Finding(8, 60))
    findings = looker.made()
    seen = []
    for now_s in (0, 59.9, 60, 119.9, 120.1):
        looker.now_s = now_s
        seen.append(await findings.get("m"))
    assert seen == [None, None, 7, 7, 8]


async def test_a_failure_is_looked_at_again_at_once() -> None:
    looker = Looker(Finding(None), Finding(7, FOREVER_S))
    findings = looker.made()
    assert await findings.get("m") is None
    assert await findings.get("m") == 7


async def test_models_are_apart() -> None:
    looker = Looker(Finding(1, FOREVER_S), Finding(2, FOREVER_S))
    findings = looker.made()
    assert [await findings.get(model) for model in ("a", "b", "a")] == [1, 2, 1]


FAILED: Finding[int] = Finding(None)


@pytest.mark.parametrize("finding", [Finding(7, FOREVER_S), FAILED], ids=["found", "failed"])
async def test_tasks_that_ask_at_once_share_one_look(finding: Finding[int]) -> None:
    looker = Looker(finding)
    looker.hold = anyio.Event()
    findings = looker.made()
    got: list[int | None] = []

    async def ask() -> None:
        got.append(await findings.get("m"))

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        looker.hold.set()
    assert got == [finding.value] * 20
    assert looker.models == ["m"]


async def test_a_look_that_is_cancelled_is_taken_over_by_who_waits() -> None:
    looker = Looker(Finding(7, FOREVER_S))
    looker.hold = anyio.Event()
    findings = looker.made()
    got: list[int | None] = []

    async def ask() -> None:
        got.append(await findings.get("m"))

    async with anyio.create_task_group() as waiting:
        async with anyio.create_task_group() as looking:
            looking.start_soon(findings.get, "m")
            await anyio.wait_all_tasks_blocked()
            waiting.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            looking.cancel_scope.cancel()
        looker.hold.set()
    assert got == [7]
    assert looker.models == ["m", "m"]


async def test_what_looking_raises_is_not_remembered() -> None:
    looker = Looker(InvalidRequestError("no"), Finding(7, FOREVER_S))
    findings = looker.made()
    with pytest.raises(InvalidRequestError):
        await findings.get("m")
    assert await findings.get("m") == 7


async def test_only_so_many_models_are_remembered() -> None:
    looker = Looker(Finding(7, FOREVER_S))
    findings = looker.made()
    for number in range(MAX_MODELS + 1):
        await findings.get(str(number))
    looker.models.clear()
    await findings.get(str(MAX_MODELS))
    assert looker.models == []
    await findings.get("0")
    assert looker.models == ["0"]
