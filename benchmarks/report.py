"""Results as Markdown: the targets, and a table for each kind of number.

python -m benchmarks.report        writes docs/benchmarks/results.md anew from results.json
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.environments import (
    AIOHTTP,
    CLIENTS,
    FLOOR,
    HIDDEN,
    PROTOCOL,
    RIG,
    ROOT,
    TRANSPORT,
    WITH_PYDANTIC,
)
from benchmarks.measures import IMPORT_FLOOR, MEASURES, MEMORY, TARGETS, Target

Results = Mapping[str, Any]
Pick = Callable[[Iterable[float]], float]
"""What stands for the repetitions: their median, or the least."""

CPU_OF_REQUESTS = ("ask", "round", "round_100", "round_1000")
CPU_OF_DELTAS = ("burst", "paced", "paced_200")
KEPT = {
    "idle": "memory of an idle agent: a `Session` after a run with a tool, of 1,000",
    "long": "the same after a run behind 32 rounds",
}
"""What is kept of a thousand operations."""

SCALE = tuple(measure.key for measure in MEASURES if measure.key.startswith("scale_"))

SHARE_US, CALL_US, IMPORT_X, CONSTRUCTION_MS, FLAT_X, AIOHTTP_X = 60.0, 25.0, 1.35, 0.2, 1.3, 1.2


def value(
    results: Results, key: str, driver: str, field: str = "cpu_us", pick: Pick = median
) -> float | None:
    """The median of a number over the repetitions, or what else is picked; None where there is none."""
    cells = results["cells"].get(key, {}).get(driver, ())
    return pick(cell[field] for cell in cells) if cells else None


def page(results: Results) -> str:
    """The whole page."""
    plots = "\n\n".join(
        f"![{text}]({name}.svg)"
        for name, text in (
            ("agent_round", "CPU of an agent round, by client"),
            ("delta", "CPU of a streamed delta, by client"),
            ("scale", "CPU of an agent round, by number of agents"),
        )
    )
    return (
        "# Results\n\n"
        "Written by `nox -s bench`; what the columns mean, and how they are measured, is on"
        f" [the other page](index.md).\n\n{as_markdown(results)}\n## Plots\n\n{plots}\n"
    )


def as_markdown(results: Results) -> str:
    """All tables."""
    versions = ", ".join(f"{name} {number}" for name, number in sorted(results["versions"].items()))
    parts = [
        f"{results['date']}, {results['machine']}.\n\n{versions}.",
        "## Targets\n\n" + _targets(results),
        "## CPU of a request, an agent\n\n" + _cpu(results, CPU_OF_REQUESTS, 0),
        "## CPU of a streamed delta\n\n" + _cpu(results, CPU_OF_DELTAS, 1),
        "## Latency and memory\n\n" + _latency(results),
        "## Start\n\n" + _start(results),
    ]
    if any(key in results["cells"] for key in SCALE):
        parts.append("## Scaling\n\n" + _scale(results))
    if results["failures"]:
        said = "\n".join(f"- {what}: {how}" for what, how in results["failures"].items())
        parts.append("## Not measured\n\n" + said)
    return "\n\n".join(parts) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _targets(results: Results) -> str:
    measured, least = (
        [row for target in TARGETS for row in _target_rows(results, target, pick)]
        + _derived_rows(results, pick)
        for pick in (median, min)
    )
    rows = [
        (title, f"<= {_shown(bound, unit)}", _shown(number, unit), _shown(low, unit), _met(number, bound))
        if bound
        else (title, "", _shown(number, unit), _shown(low, unit), "")
        for (title, number, bound, unit), (_, low, *_) in zip(measured, least, strict=True)
    ]  # fmt: skip
    return _table(("measure", "target", "measured", "by the least", "met"), rows)


Row = tuple[str, float, float, str]
"""What is measured, the number, the most that is allowed or 0 where it is only told, and the unit."""


def _target_rows(results: Results, target: Target, pick: Pick) -> Iterable[Row]:
    measured = value(results, target.key, target.driver, target.field, pick)
    floor = value(results, target.key, target.floor, target.field, pick) if target.floor else 1.0
    if measured is None or not floor:
        return
    yield target.title, measured / floor, target.bound, target.unit
    if target.field == "peak_rss_mb":
        beside = value(results, MEMORY[-1], WITH_PYDANTIC, target.field, pick)
        if beside:
            title = "the same, to httpx in a program that imports pydantic too"
            yield title, measured / beside, 0.0, target.unit


def _met(measured: float, bound: float) -> str:
    return "yes" if measured <= bound else "**no**"


def _shown(number: float, unit: str) -> str:
    digits = 0 if number >= 10 else 2
    return f"{number:,.{digits}f} {unit}"


def _derived_rows(results: Results, pick: Pick) -> list[Row]:
    rows: list[Row] = []
    whole = value(results, "ask", RIG, pick=pick)
    below = value(results, "share_ask", TRANSPORT, pick=pick)
    if whole and below:
        rows.append(("rig's own share of a request", whole - below, SHARE_US, "us"))
    nine = value(results, "nine_calls", RIG, pick=pick)
    one = value(results, "round", RIG, pick=pick)
    if nine and one:
        rows.append(("rig's own share of a tool call", (nine - one) / 8, CALL_US, "us"))
    imports = results["imports_ms"]
    if RIG in imports and "floor" in imports:
        ratio = pick(imports[RIG]) / pick(imports["floor"])
        rows.append(("`import rig`, to httpx, anyio and pydantic", ratio, IMPORT_X, "x"))
    made = value(results, "ask", RIG, "construction_s", pick)
    if made:
        rows.append(("`Client(...)` for http", 1e3 * made, CONSTRUCTION_MS, "ms"))
    rows += _scaling_rows(results, pick)
    grown = _grown(results, "ten_thousand")
    if grown is not None:
        rows.append(("memory after 10,000 more runs", grown, 1.0, "MB"))
    for key, title in KEPT.items():
        grown = _grown(results, key)
        if grown is not None:
            rows.append((title, 1024 * grown / 1000, 0.0, "KB"))
    return rows


def _scaling_rows(results: Results, pick: Pick) -> list[Row]:
    costs = {
        driver: [value(results, key, driver, pick=pick) or 0.0 for key in SCALE]
        for driver in (RIG, AIOHTTP, PROTOCOL)
    }
    if not all(map(all, costs.values())):
        return []
    flat = {driver: max(numbers) / min(numbers) for driver, numbers in costs.items()}
    beside = max(ours / theirs for ours, theirs in zip(costs[RIG], costs[AIOHTTP], strict=True))
    return [
        ("a run at 1 to 5,000 agents, to aiohttp, at the worst of these", beside, AIOHTTP_X, "x"),
        ("cost of a run, most to least, at 1 to 5,000 agents", flat[RIG], FLAT_X, "x"),
        ("the same of a bare asyncio.Protocol", flat[PROTOCOL], 0.0, "x"),
        ("the same of aiohttp", flat[AIOHTTP], 0.0, "x"),
    ]


def _grown(results: Results, key: str) -> float | None:
    before = value(results, key, RIG, "rss_before_mb")
    after = value(results, key, RIG, "rss_after_mb")
    return None if before is None or after is None else after - before


def _cpu(results: Results, keys: Sequence[str], digits: int) -> str:
    titles = [measure.title for measure in MEASURES if measure.key in keys]
    rows: list[list[str]] = []
    for client in CLIENTS:
        cells = [_with_ratio(results, key, client.driver, digits) for key in keys]
        if any(cell != "-" for cell in cells):
            rows.append([client.title, *cells])
    return _table(("client", *titles), rows)


def _with_ratio(results: Results, key: str, driver: str, digits: int) -> str:
    measured, floor = value(results, key, driver), value(results, key, FLOOR)
    if measured is None:
        return "-"
    ratio = f" ({measured / floor:.2f} x)" if floor else ""
    return f"{measured:,.{digits}f}{ratio}"


def _latency(results: Results) -> str:
    rows: list[list[str]] = []
    for client in (*CLIENTS, *HIDDEN):
        keys = MEMORY if client.driver == WITH_PYDANTIC else ("round", "round_1000")
        one, many = (
            [value(results, key, client.driver, field) for field in ("p50_ms", "p99_ms")]
            for key in ("round", "round_1000")
        )
        peaks = [value(results, key, client.driver, "peak_rss_mb") for key in keys]
        cells = [
            " / ".join("-" if number is None else f"{number:,.{digits}f}" for number in pair)
            for pair, digits in ((one, 2), (many, 0), (peaks, 0))
        ]
        if any(number is not None for number in (*one, *many, *peaks)):
            rows.append([client.title, *cells])
    head = (
        "client",
        "agent round: p50 / p99 ms",
        "1,000 agents, 200 ms: p50 / p99 ms",
        "peak memory, MB: 1 / 1,000 agents",
    )
    return _table(head, rows)


def _start(results: Results) -> str:
    rows: list[list[str]] = []
    for client in CLIENTS:
        times = results["imports_ms"].get(client.driver)
        made = value(results, "ask", client.driver, "construction_s")
        if times and made is not None:
            rows.append([f"`{client.imports}`", f"{median(times):.0f}", f"{1e3 * made:.2f}"])
    floor = results["imports_ms"].get("floor")
    if floor:
        rows.append([f"`{IMPORT_FLOOR}`", f"{median(floor):.0f}", ""])
    return _table(("program", "import, ms of CPU", "the first client, ms of CPU"), rows)


def _scale(results: Results) -> str:
    titles = [measure.title for measure in MEASURES if measure.key in SCALE]
    rows: list[list[str]] = []
    for driver, title in (
        (RIG, "**rig**"),
        (AIOHTTP, "aiohttp"),
        (PROTOCOL, "bare asyncio.Protocol"),
    ):
        costs = [value(results, key, driver) for key in SCALE]
        rows.append([title, *("-" if cost is None else f"{cost:,.0f}" for cost in costs)])
    return _table(("client", *titles), rows)


if __name__ == "__main__":
    folder = ROOT / "docs" / "benchmarks"
    kept = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    (folder / "results.md").write_text(page(kept), encoding="utf-8")
