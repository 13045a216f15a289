"""The plots of the results, as SVG.

python -m benchmarks.plots        draws docs/benchmarks/*.svg anew from results.json
"""

import json
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.environments import AIOHTTP, CLIENTS, RIG, ROOT
from benchmarks.measures import MEASURES

OURS, OTHERS = "#1f6f54", "#9aa5b1"


def draw(results: Mapping[str, Any], folder: Path) -> None:
    """Draw all plots.

    Args:
        results: what was measured.
        folder: where the files go.
    """
    _bars(
        results, "round", "CPU of an agent round (2 requests, 1 tool), us", folder / "agent_round"
    )
    _bars(results, "burst", "CPU of a streamed delta, burst, us", folder / "delta")
    _lines(results, folder / "scale")


def _bars(results: Mapping[str, Any], key: str, title: str, path: Path) -> None:
    import matplotlib.pyplot as plt  # noqa: PLC0415 only this session has it

    cells = results["cells"][key]
    shown = [client for client in reversed(CLIENTS) if cells.get(client.driver)]
    values = [median(cell["cpu_us"] for cell in cells[client.driver]) for client in shown]
    figure, axes = plt.subplots(figsize=(8, 0.36 * len(shown) + 0.8))
    colours = [OURS if client.driver.startswith("rig_") else OTHERS for client in shown]
    titles = [client.title.strip("*").replace("`", "") for client in shown]
    bars = axes.barh(titles, values, color=colours)
    axes.bar_label(bars, labels=[_shown(number) for number in values], padding=3)
    axes.set_title(title)
    axes.margins(x=0.12)
    axes.spines[["top", "right"]].set_visible(False)
    _save(figure, path)
    plt.close(figure)


def _lines(results: Mapping[str, Any], path: Path) -> None:
    import matplotlib.pyplot as plt  # noqa: PLC0415 only this session has it

    measures = [measure for measure in MEASURES if measure.key.startswith("scale_")]
    agents = [measure.agents for measure in measures]
    figure, axes = plt.subplots(figsize=(8, 3.2))
    for driver, name, colour in ((RIG, "rig", OURS), (AIOHTTP, "aiohttp", OTHERS)):
        costs = [
            median(cell["cpu_us"] for cell in results["cells"][measure.key][driver])
            for measure in measures
        ]
        axes.plot(agents, costs, "o-", label=name, color=colour)
    axes.set_xscale("log")
    axes.set_xticks(agents, [f"{count:,}" for count in agents])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_xlabel("agents at the same time")
    axes.set_title("CPU of an agent round, us")
    axes.legend()
    axes.spines[["top", "right"]].set_visible(False)
    _save(figure, path)
    plt.close(figure)


def _shown(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.1f}"


def _save(figure: Any, path: Path) -> None:
    # Without a date, so that drawing the same numbers again changes no file.
    figure.savefig(path.with_suffix(".svg"), bbox_inches="tight", metadata={"Date": None})


if __name__ == "__main__":
    pages = ROOT / "docs" / "benchmarks"
    draw(json.loads((pages / "results.json").read_text(encoding="utf-8")), pages)
