"""What is shown while an endpoint is probed: a bar on a terminal, a line for each probe elsewhere."""

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from rig.client.probes.survey import OnProbe


def progress(console: Console, *, quiet: bool) -> AbstractContextManager[OnProbe]:
    """Show probes as they come.

    Args:
        console: where to; the standard error, so that the report can be piped.
        quiet: write no lines where there is no terminal for a bar.
    """
    if console.is_terminal:
        return _bar(console)
    return _lines(console, quiet=quiet)


@contextmanager
def _bar(console: Console) -> Generator[OnProbe]:
    columns = (
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as shown:
        task = shown.add_task("asking what it is", total=None)

        def on_probe(name: str, number: int, total: int) -> None:
            shown.update(task, description=name, completed=number - 1, total=total)

        yield on_probe


@contextmanager
def _lines(console: Console, *, quiet: bool) -> Generator[OnProbe]:
    def on_probe(name: str, number: int, total: int) -> None:
        if not quiet:
            console.print(f"{number:>2}/{total} {name}", markup=False, highlight=False)

    yield on_probe
