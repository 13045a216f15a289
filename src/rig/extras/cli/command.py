"""`rig doctor` between the shell and the examination: consoles, the question for a model, the way out."""

import os
import sys
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Final

from rich.console import Console

from rig.extras.cli.choosing import Offer
from rig.extras.cli.clean import shown_url
from rig.extras.cli.doctor import TIMEOUT_S, Settings, examine, read_key
from rig.extras.cli.failures import Failure
from rig.extras.cli.page import write_page
from rig.extras.cli.progress import progress
from rig.extras.cli.report import Report
from rig.late_dataclass import dataclass

TRIES: Final = 3
"""Times a person is asked for a model before the first one is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What stands on the command line.

    Attributes:
        url: the endpoint.
        model: the model's name, None to choose one.
        api_key_env: the variable that holds the key, None for no key.
        dialect: the name of a dialect, None for the client's own choice.
        as_json: write one JSON document.
        details: show what the endpoint said.
        no_color: write without colours.
        timeout_s: seconds for everything but a person's thinking.
        cache: the file profiles are kept in.
        refresh: measure although the file knows.
    """

    url: str = field(repr=False)
    model: str | None = None
    api_key_env: str | None = None
    dialect: str | None = None
    as_json: bool = False
    details: bool = False
    no_color: bool = False
    timeout_s: float = TIMEOUT_S
    cache: Path | None = None
    refresh: bool = False


def run_doctor(options: Options) -> int:
    """Examine an endpoint and write the report.

    Args:
        options: what stands on the command line.

    Returns:
        The exit code.
    """
    out = _console(options)
    errors = _console(options, stderr=True)
    report = _examined(options, errors)
    if options.as_json:
        sys.stdout.write(report.to_json() + "\n")
        sys.stdout.flush()
    else:
        write_page(out, report, details=options.details)
    return report.exit_code


def _examined(options: Options, errors: Console) -> Report:
    key = read_key(options.api_key_env, os.environ)
    if isinstance(key, Failure):
        return Report.of_failure(shown_url(options.url), key)
    settings = Settings(
        url=options.url,
        model=options.model,
        key=key,
        dialect=options.dialect,
        timeout_s=options.timeout_s,
        cache=options.cache,
        refresh=options.refresh,
    )
    return examine(
        settings,
        partial(_ask, errors, quiet=options.as_json),
        partial(progress, errors, quiet=options.as_json),
    )


def _ask(errors: Console, offer: Offer, *, quiet: bool) -> str | None:
    """Show the models, and let the person choose if there is one."""
    if quiet:
        return None
    _say(errors, "The endpoint lists several models:")
    for line in offer.lines():
        _say(errors, line)
    if not (errors.is_terminal and sys.stdin.isatty()):
        return None
    for _ in range(TRIES):
        try:
            answer = errors.input("Which one, by number or name [1]? ", markup=False)
        except EOFError:
            return None
        picked = offer.pick(answer)
        if picked is not None:
            return picked
        _say(errors, "There is none of that name or number.")
    return None


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, emoji=False, soft_wrap=True)


def _console(options: Options, *, stderr: bool = False) -> Console:
    """A console that takes everything as it stands: no markup, no emoji codes, no highlighting."""
    return Console(
        stderr=stderr,
        no_color=True if options.no_color else None,  # None: NO_COLOR says
        markup=False,
        emoji=False,
        highlight=False,
    )
