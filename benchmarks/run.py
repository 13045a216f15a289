"""Run the benchmarks: `nox -s bench`, or `nox -s bench -- --quick`.

Drivers take turns within each measure and each repetition, so that whatever else the machine does hits
all of them; every cell is a process of its own. Only ratios within one run mean anything.
"""

import argparse
import datetime as dt
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.environments import CLIENTS, ENVIRONMENTS, HIDDEN, ROOT, Client, Environments
from benchmarks.machine import allow_files, described
from benchmarks.measures import (
    IMPORT_FLOOR,
    IMPORT_REPETITIONS,
    MEASURES,
    QUICK_IMPORT_REPETITIONS,
    Measure,
    Size,
)
from benchmarks.plots import draw
from benchmarks.report import as_markdown, page

PAGES = ROOT / "docs" / "benchmarks"

CELL_S = 300
"""Seconds one cell may take. The slowest, 1,000 agents of a framework, needs 40."""

WARM_UP = "stream/50/0/v1"
"""What a client of paced streams does first: what it loads with its first stream is no delta's cost."""

VARIABLES = {
    "PYTHONDONTWRITEBYTECODE": "",  # else each import would compile
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else litellm asks the network for prices at import
    "LANGSMITH_TRACING": "false",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
}
"""What the clients find in their environment, so that they do nothing but the work."""

Cells = dict[str, dict[str, list[dict[str, Any]]]]
"""Results by measure and driver, one a repetition."""


@contextmanager
def server() -> Iterator[int]:
    """The fake server as a process; its port."""
    command = [sys.executable, "-m", "benchmarks.server"]
    with subprocess.Popen(  # noqa: S603 our own arguments
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, encoding="ascii"
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield int(process.stdout.readline().split()[1])
        process.stdin.close()


@contextmanager
def kept_awake() -> Iterator[None]:
    """The core of the clients does not sleep while they wait.

    Waking a core, and how deep it slept, is charged to the process that is woken: up to half of what a paced
    delta costs, and twice as much in one repetition as in the next (58 to 94 us for aiohttp, 41 to 52 awake).
    """
    command = [sys.executable, "-m", "benchmarks.awake"]
    with subprocess.Popen(command, cwd=ROOT) as process:  # noqa: S603 our own arguments
        try:
            yield
        finally:
            process.kill()


class Bench:
    """One run of all measures.

    Args:
        environments: where the clients are installed.
        quick: the short one.
        only: the keys of the measures that are wanted; empty for all, and the imports.
    """

    def __init__(
        self, environments: Environments, *, quick: bool, only: Sequence[str] = ()
    ) -> None:
        self._environments = environments
        self._quick = quick
        self._only = only
        self._measures = [one for one in MEASURES if not only or one.key in only]
        drivers = {driver for one in self._measures for driver in one.drivers}
        everybody = not all(one.drivers for one in self._measures)
        self._clients = [
            client
            for client in CLIENTS
            if (client.quick or not quick) and (everybody or client.driver in drivers)
        ]
        self.versions: dict[str, str] = {}
        self.cells: Cells = defaultdict(lambda: defaultdict(list))
        self.imports: dict[str, list[float]] = defaultdict(list)
        self.failures: dict[str, str] = {}

    def prepare(self) -> None:
        """Make the environments; clients whose environment can't be made are left out."""
        for environment in ENVIRONMENTS:
            if not any(client.environment == environment.name for client in self._clients):
                continue
            try:
                self._environments.prepare(environment)
                self.versions |= self._environments.versions(environment)
            except subprocess.CalledProcessError:
                self.failures[environment.name] = "can't be installed"
        self._clients = [one for one in self._clients if one.environment not in self.failures]

    def run(self, port: int) -> None:
        """Measure everything."""
        if not self._only:
            self._run_imports()
        for measure in self._measures:
            size = measure.quick if self._quick else measure.full
            if size is None:
                continue
            with kept_awake() if measure.interval_ms else nullcontext():
                self._run_cells(measure, size, port)
            print(f"{measure.key:14}", *self._shown(measure, size), flush=True)

    def _run_cells(self, measure: Measure, size: Size, port: int) -> None:
        clients = self._clients_of(measure)
        for repetition in range(max(size.repetitions, size.of_targets)):
            turn = repetition % len(clients)
            for client in (*clients[turn:], *clients[:turn]):
                if repetition < size.repetitions_of(client.driver):
                    self._run_cell(measure, size, client, port)

    def _clients_of(self, measure: Measure) -> list[Client]:
        if not measure.drivers:
            return self._clients
        known = {client.driver: client for client in (*self._clients, *HIDDEN)}
        return [known[driver] for driver in measure.drivers if driver in known]

    def _run_cell(self, measure: Measure, size: Size, client: Client, port: int) -> None:
        base = f"http://127.0.0.1:{port}"
        plan = {
            "driver": client.driver,
            "operation": measure.operation,
            "url": f"{base}/{measure.scenario(size)}",
            "agents": measure.agents,
            "runs": size.runs,
            "warm_up": measure.warm_up,
            "warm_up_url": f"{base}/{WARM_UP}" if measure.interval_ms else "",
            "expects": measure.expects(size),
        }
        out = self._python(client.environment, "-m", "benchmarks.cell", json.dumps(plan))
        if out is None:
            self.failures[f"{client.driver} {measure.key}"] = "failed"
            return
        cell: dict[str, Any] = json.loads(out)
        cell["cpu_us"] = 1e6 * cell["cpu_s"] / cell["operations"] / (size.deltas or 1)
        cell["p50_ms"], cell["p99_ms"] = 1e3 * cell["p50_s"], 1e3 * cell["p99_s"]
        self.cells[measure.key][client.driver].append(cell)

    def _run_imports(self) -> None:
        wanted = [
            (one.driver, one.environment, one.imports) for one in self._clients if one.imports
        ]
        wanted.append(("floor", "rig", IMPORT_FLOOR))
        for _ in range(QUICK_IMPORT_REPETITIONS if self._quick else IMPORT_REPETITIONS):
            for driver, environment, statement in wanted:
                code = f"import time; t = time.process_time(); {statement}; print(time.process_time() - t)"
                out = self._python(environment, "-c", code)
                if out is not None:
                    self.imports[driver].append(1e3 * float(out))

    def _python(self, environment: str, *arguments: str) -> str | None:
        """What a program printed, None when it failed."""
        command = [self._environments.python(environment), *arguments]
        variables = {**os.environ, **VARIABLES}
        try:
            done = subprocess.run(  # noqa: S603 our own arguments
                command,
                cwd=ROOT,
                env=variables,
                capture_output=True,
                encoding="utf-8",
                timeout=CELL_S,
                check=True,
            )
        except subprocess.TimeoutExpired:
            print(f"{environment}: took longer than {CELL_S} s", file=sys.stderr)
            return None
        except subprocess.CalledProcessError as error:
            print(f"{environment}: {error.stderr[-2000:]}", file=sys.stderr)
            return None
        return done.stdout

    def _shown(self, measure: Measure, size: Size) -> Iterator[str]:
        for driver, cells in self.cells[measure.key].items():
            yield f"{driver} {median(cell['cpu_us'] for cell in cells):.{1 if size.deltas else 0}f}"

    def results(self) -> dict[str, Any]:
        """Everything that was measured, as JSON has it."""
        return {
            "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
            "machine": described(),
            "quick": self._quick,
            "versions": self.versions,
            "imports_ms": dict(self.imports),
            "cells": {key: dict(drivers) for key, drivers in self.cells.items()},
            "failures": self.failures,
        }


def main() -> None:
    """Run, print, and write what a full run finds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two minutes, printed only")
    parser.add_argument("--environments", type=Path, default=ROOT / ".nox" / "bench-environments")
    parser.add_argument(
        "--only", nargs="+", default=(), metavar="KEY", help="these measures, into the last results"
    )
    arguments = parser.parse_args()
    allow_files(20_000)
    environments = Environments(arguments.environments)
    bench = Bench(environments, quick=arguments.quick, only=arguments.only)
    bench.prepare()
    with server() as port:
        bench.run(port)
    results = bench.results()
    if arguments.only:
        last = json.loads((PAGES / "results.json").read_text(encoding="utf-8"))
        results = {**last, "cells": last["cells"] | results["cells"]}
    print(as_markdown(results))
    if not arguments.quick:
        PAGES.mkdir(exist_ok=True)
        (PAGES / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        (PAGES / "results.md").write_text(page(results), encoding="utf-8")
        draw(results, PAGES)


if __name__ == "__main__":
    main()
