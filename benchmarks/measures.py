"""What is measured: each row is a scenario of the server and a number of agents."""

from dataclasses import dataclass

from benchmarks.canned import ANSWER
from benchmarks.environments import (
    AIOHTTP,
    DELTAS,
    FLOOR,
    ON_HTTPX,
    PROTOCOL,
    RIG,
    TARGETED,
    TRANSPORT,
    WITH_PYDANTIC,
)

BURST_DELTAS = 5000


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much of a measure is done.

    Attributes:
        runs: operations of each agent.
        repetitions: cells of each driver.
        of_targets: the same for those the targets speak of; 0 for no more than the others.
        deltas: of a streamed answer, 0 for none.
    """

    runs: int
    repetitions: int
    of_targets: int = 0
    deltas: int = 0

    def repetitions_of(self, driver: str) -> int:
        """Cells of a driver."""
        return self.of_targets or self.repetitions if driver in TARGETED else self.repetitions


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One column of the tables.

    Attributes:
        key: its name in the results.
        title: its name in the tables.
        operation: the method of the drivers.
        scenario: the path of the base URL.
        agents: how many at a time.
        warm_up: operations that are not counted.
        full: how much is done.
        quick: how much in the quick run; None for nothing.
        drivers: only these; empty for all.
    """

    key: str
    title: str
    operation: str
    agents: int = 1
    delay_ms: int = 0
    interval_ms: int = 0
    warm_up: int = 50
    full: Size
    quick: Size | None = None
    drivers: tuple[str, ...] = ()

    def scenario(self, size: Size) -> str:
        """The path of the base URL."""
        if size.deltas:
            return f"stream/{size.deltas}/{self.interval_ms}/v1"
        return f"delay/{self.delay_ms}/v1"

    def expects(self, size: Size) -> str | int:
        """What each operation returns."""
        return size.deltas or ANSWER


SHARES = (RIG, TRANSPORT)

MEASURES = (
    Measure(
        key="ask",
        title="single shot, us",
        operation="ask",
        full=Size(runs=1000, repetitions=3, of_targets=5),
        quick=Size(runs=300, repetitions=2),
    ),
    Measure(
        key="round",
        title="agent round, us",
        operation="round",
        full=Size(runs=500, repetitions=3, of_targets=5),
        quick=Size(runs=200, repetitions=2),
    ),
    Measure(
        key="round_100",
        title="100 agents, us",
        operation="round",
        agents=100,
        full=Size(runs=10, repetitions=2, of_targets=5),
        quick=Size(runs=3, repetitions=1),
    ),
    Measure(
        key="round_1000",
        title="1,000 agents, 200 ms, us",
        operation="round",
        agents=1000,
        delay_ms=200,
        warm_up=2,
        full=Size(runs=1, repetitions=2, of_targets=3),
        quick=Size(runs=1, repetitions=1),
    ),
    Measure(
        key="burst",
        title="delta, burst, us",
        operation="stream",
        warm_up=1,
        full=Size(runs=5, repetitions=3, deltas=BURST_DELTAS),
        quick=Size(runs=2, repetitions=2, deltas=BURST_DELTAS),
    ),
    Measure(
        key="paced",
        title="delta, 1 paced stream, us",
        operation="stream",
        interval_ms=2,
        warm_up=0,
        full=Size(runs=1, repetitions=2, of_targets=5, deltas=2000),
        quick=Size(runs=1, repetitions=2, deltas=500),
    ),
    Measure(
        key="paced_200",
        title="delta, 200 paced streams, us",
        operation="stream",
        interval_ms=40,
        agents=200,
        warm_up=0,
        full=Size(runs=1, repetitions=2, of_targets=4, deltas=100),
        quick=Size(runs=1, repetitions=1, deltas=30),
    ),
    Measure(
        key="share_ask",
        title="the transport alone, us",
        operation="ask",
        full=Size(runs=1000, repetitions=3),
        quick=Size(runs=300, repetitions=2),
        drivers=(TRANSPORT,),
    ),
    Measure(
        key="nine_calls",
        title="agent round with nine calls, us",
        operation="nine_calls",
        full=Size(runs=300, repetitions=3),
        quick=Size(runs=100, repetitions=2),
        drivers=(RIG,),
    ),
    *(
        Measure(
            key=f"scale_{agents}",
            title=f"{agents:,} agents, us",
            operation="round",
            agents=agents,
            full=Size(runs=max(2, 2000 // agents), repetitions=2),
            drivers=(RIG, AIOHTTP, PROTOCOL),
        )
        for agents in (1, 10, 100, 1000, 5000)
    ),
    *(
        Measure(
            key=f"memory_{agents}",
            title=f"memory of {agents:,} agents, MB",
            operation="round",
            agents=agents,
            delay_ms=delay_ms,
            warm_up=2,
            full=Size(runs=1, repetitions=1),
            drivers=(WITH_PYDANTIC,),
        )
        for agents, delay_ms in ((1, 0), (1000, 200))
    ),
    Measure(
        key="ten_thousand",
        title="10,000 runs in a row, MB",
        operation="round",
        warm_up=1000,
        full=Size(runs=10_000, repetitions=1),
        drivers=(RIG,),
    ),
    Measure(
        key="idle",
        title="1,000 conversations kept after a run, MB",
        operation="idle",
        full=Size(runs=1000, repetitions=3),
        drivers=(RIG,),
    ),
    Measure(
        key="long",
        title="1,000 conversations of 32 rounds kept after one more, MB",
        operation="long",
        full=Size(runs=1000, repetitions=3),
        drivers=(RIG,),
    ),
)

MEMORY = ("memory_1", "memory_1000")
"""What tells the memory of who is measured for nothing else."""

IMPORT_REPETITIONS, QUICK_IMPORT_REPETITIONS = 9, 3
IMPORT_FLOOR = "import httpx, anyio, asyncio; from pydantic import BaseModel, TypeAdapter"
"""What every program that uses them loads: httpx, anyio and pydantic load their larger halves later."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """What rig is held to.

    Attributes:
        title: what it says.
        bound: the most that is allowed.
        unit: "x" for a ratio.
        key: the measure.
        driver: whose number it is.
        floor: the driver it is divided by; "" for a number of its own.
        field: what of the cell is meant.
    """

    title: str
    bound: float
    unit: str = "x"
    key: str
    driver: str = RIG
    floor: str = FLOOR
    field: str = "cpu_us"


TARGETS = (
    Target(title="single shot, one at a time, to httpx", bound=0.40, key="ask"),
    Target(
        title="agent round (2 requests, 1 tool), one at a time, to httpx", bound=0.40, key="round"
    ),
    Target(title="the same, 100 agents, to httpx", bound=0.15, key="round_100"),
    Target(title="the same, 100 agents, to aiohttp", bound=1.2, key="round_100", floor=AIOHTTP),
    Target(title="the same, 1,000 agents, 200 ms server, to httpx", bound=0.05, key="round_1000"),
    Target(title="the same, 1,000 agents, to aiohttp", bound=1.2, key="round_1000", floor=AIOHTTP),
    Target(
        title="p50 of these, ideal 400",
        bound=700,
        unit="ms",
        key="round_1000",
        floor="",
        field="p50_ms",
    ),
    Target(title="p99 of these", bound=1000, unit="ms", key="round_1000", floor="", field="p99_ms"),
    Target(
        title="peak memory of these, to httpx",
        bound=1.1,
        key="round_1000",
        field="peak_rss_mb",
    ),
    Target(title="streamed delta as an event of a run, burst, to httpx", bound=0.30, key="burst"),
    Target(title="the same as a `Delta`", bound=0.30, key="burst", driver=DELTAS),
    Target(title="event, one paced stream, to httpx", bound=0.60, key="paced"),
    Target(title="the same as a `Delta`", bound=0.60, key="paced", driver=DELTAS),
    Target(title="event, 200 paced streams, to httpx", bound=0.40, key="paced_200"),
    Target(title="the same as a `Delta`", bound=0.40, key="paced_200", driver=DELTAS),
    Target(title="single shot on a stock httpx client", bound=1.1, key="ask", driver=ON_HTTPX),
    Target(title="agent round on a stock httpx client", bound=1.1, key="round", driver=ON_HTTPX),
    Target(title="100 agents on a stock httpx client", bound=1.1, key="round_100", driver=ON_HTTPX),
    Target(title="burst on a stock httpx client", bound=1.1, key="burst", driver=ON_HTTPX),
    Target(
        title="1,000 agents on a stock httpx client", bound=1.1, key="round_1000", driver=ON_HTTPX
    ),
    Target(title="paced stream on a stock httpx client", bound=1.1, key="paced", driver=ON_HTTPX),
    Target(
        title="200 paced streams on a stock httpx client",
        bound=1.1,
        key="paced_200",
        driver=ON_HTTPX,
    ),
)
