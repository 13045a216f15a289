"""One cell of the tables: one driver, one scenario, one process. Prints one line of JSON.

python -m benchmarks.cell '{"driver": "raw_httpx", "operation": "round", "url": "http://...",
                            "agents": 100, "runs": 10, "warm_up": 20, "expects": "..."}'
"""

import asyncio
import gc
import importlib
import json
import sys
import time
from dataclasses import dataclass
from typing import Any

from benchmarks.machine import allow_files, peak_rss_mb, pin, rss_mb


@dataclass(frozen=True)
class Plan:
    """What a cell does.

    Attributes:
        driver: name of a module in `benchmarks.drivers`.
        operation: name of one of its driver's methods.
        url: the base URL, with the scenario in its path.
        agents: tasks that run at the same time.
        runs: operations of each of them, one after the other.
        warm_up: operations before anything is counted.
        expects: what each operation must return.
        warm_up_url: the base URL of another client that does one operation first, where those of this one
            take too long; "" for none.
    """

    driver: str
    operation: str
    url: str
    agents: int
    runs: int
    warm_up: int
    expects: str | int
    warm_up_url: str = ""


async def measure(plan: Plan) -> dict[str, Any]:
    """Run the plan."""
    module = importlib.import_module(f"benchmarks.drivers.{plan.driver}")
    if plan.warm_up_url:
        first = module.make(plan.warm_up_url)
        await getattr(first, plan.operation)()
        await first.close()
    began = time.process_time()
    driver = module.make(plan.url)
    construction_s = time.process_time() - began
    operation = getattr(driver, plan.operation)
    latencies: list[float] = []

    async def agent() -> None:
        for _ in range(plan.runs):
            start = time.perf_counter()
            result = await operation()
            latencies.append(time.perf_counter() - start)
            if result != plan.expects:
                raise SystemExit(f"{plan.driver} returned {result!r}, not {plan.expects!r}")

    for _ in range(plan.warm_up):
        await operation()
    gc.collect()
    rss_before_mb = rss_mb()
    wall, cpu = time.perf_counter(), time.process_time()
    if plan.agents == 1:
        await agent()
    else:
        await asyncio.gather(*[agent() for _ in range(plan.agents)])
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    measured = {
        "cpu_s": cpu,
        "wall_s": wall,
        "operations": len(latencies),
        "p50_s": percentile(latencies, 50),
        "p99_s": percentile(latencies, 99),
        "rss_before_mb": rss_before_mb,
        "rss_after_mb": rss_mb(),
        "peak_rss_mb": peak_rss_mb(),
        "construction_s": construction_s,
    }
    await driver.close()
    return measured


def percentile(values: list[float], percent: int) -> float:
    """The smallest value that so many percent of them do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def main() -> None:
    """Run the plan of the first argument."""
    pin(1)
    plan = Plan(**json.loads(sys.argv[1]))
    allow_files(4 * plan.agents + 256)
    print(json.dumps(asyncio.run(measure(plan))), flush=True)


if __name__ == "__main__":
    main()
