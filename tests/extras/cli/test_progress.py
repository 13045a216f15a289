"""Probes are shown while they go on: as a bar, as lines, or not at all."""

import io

import pytest
from rich.console import Console

from rig.extras.cli.progress import progress


def shown(*, terminal: bool, quiet: bool) -> str:
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, width=80)
    with progress(console, quiet=quiet) as on_probe:
        on_probe("server", 1, 30)
        on_probe("[bold]stream", 2, 30)
    return file.getvalue()


def test_without_a_terminal_every_probe_is_a_line() -> None:
    assert shown(terminal=False, quiet=False) == " 1/30 server\n 2/30 [bold]stream\n"


def test_for_machines_there_are_no_lines() -> None:
    assert shown(terminal=False, quiet=True) == ""


@pytest.mark.parametrize("quiet", [True, False])
def test_a_terminal_has_a_bar_that_is_gone_afterwards(quiet: bool) -> None:
    text = shown(terminal=True, quiet=quiet)
    assert "1/30" in text
    assert text.rstrip("\n").endswith("\x1b[2K")


def test_the_cursor_comes_back_when_probing_is_stopped() -> None:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=80)
    with pytest.raises(KeyboardInterrupt), progress(console, quiet=False):
        raise KeyboardInterrupt
    assert file.getvalue().rindex("\x1b[?25h") > file.getvalue().rindex("\x1b[?25l")
