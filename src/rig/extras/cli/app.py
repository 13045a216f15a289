"""The commands: what can be given to them, and what they write where. The work is done elsewhere."""

import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, Final, cast

import typer

from rig.extras.cli.doctor import TIMEOUT_S
from rig.extras.cli.failures import Failure
from rig.extras.cli.machine import STOPPED as INTERRUPTED
from rig.extras.cli.machine import document, own_fault, wants_json, wrong_use
from rig.version import VERSION

USAGE: Final = 3
"""Exit code of wrong use, and of faults of rig's own: nothing was measured. Click's 2 and Python's 1 would
say something of the endpoint."""

STOPPED: Final = 130
"""Exit code after Ctrl-C, as shells give it: 128 and the number of the signal."""

EXIT_CODES_HELP: Final = (
    "Exit codes: 0 nothing has to be changed, 1 warnings, 2 agents don't work there, 3 nothing could be"
    " measured or wrong use, 130 stopped by Ctrl-C."
)

# typer has click inside and exports only one of its exceptions; the parent is the class of all wrong uses.
_WrongUse: Final = cast("type[Exception]", typer.BadParameter.__mro__[1])

app = typer.Typer(
    name="rig",
    help="Agent loops against self-hosted models: what can be done from a shell.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,  # it would print local variables, keys among them
)


def run(args: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        args: what follows the command's name; None takes the process's own.

    Returns:
        The exit code.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that is not UTF-8 must not be the end
            stream.reconfigure(errors="backslashreplace")
    given = sys.argv[1:] if args is None else list(args)
    try:
        code: object = app(given, prog_name="rig", standalone_mode=False)
    except _WrongUse as error:
        show: Any = getattr(error, "show", None)
        show()
        return _failed(given, wrong_use(error), USAGE)
    except typer.Abort:
        code = STOPPED
    except Exception as error:  # noqa: BLE001  a fault of rig's own must not look like a warning
        # Without the message: it may hold what the endpoint said.
        traceback.print_tb(error.__traceback__)
        failure = own_fault(error)
        sys.stderr.write(f"{failure.sentence}\n")
        return _failed(given, failure, USAGE)
    if code == STOPPED:
        sys.stderr.write("\nStopped.\n")
        return _failed(given, INTERRUPTED, STOPPED)
    return code if isinstance(code, int) else 0


def _failed(args: Sequence[str], failure: Failure, exit_code: int) -> int:
    """Tell a machine that waits for a document why there is no report; return the exit code."""
    if wants_json(args):
        with suppress(OSError):  # nobody reads any more
            sys.stdout.write(document(args, failure, exit_code))
            sys.stdout.flush()
    return exit_code


@app.command()
def version() -> None:
    """Say which version of rig this is."""
    typer.echo(f"rig {VERSION}")


@app.command(epilog=EXIT_CODES_HELP)
def doctor(
    url: Annotated[str, typer.Argument(help="The server, for example http://127.0.0.1:8080/v1.")],
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="The model; else one that it lists.")
    ] = None,
    api_key_env: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The environment variable that holds the key."),
    ] = None,
    dialect: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="How to spell options: vllm, llama.cpp, ollama, ..."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Write one JSON document, and ask nothing.")
    ] = False,
    details: Annotated[
        bool, typer.Option("--details", help="Show also what the endpoint said, cleaned.")
    ] = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="Write without colours.")] = False,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="Bound of the whole.")
    ] = TIMEOUT_S,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep the profile there, and believe it for a day."),
    ] = None,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Measure again whatever the cache knows.")
    ] = False,
) -> int:
    """Measure an endpoint, and say what to change.

    It sends some thirty short requests to the server and nothing to anybody else, most of which
    make the model generate a few tokens.
    """
    # Here and not above: rich would make `rig --help` slower.
    from rig.extras.cli.command import Options, run_doctor  # noqa: PLC0415  part of an extra

    return run_doctor(
        Options(
            url=url,
            model=model,
            api_key_env=api_key_env,
            dialect=dialect,
            as_json=as_json,
            details=details,
            no_color=no_color,
            timeout_s=timeout,
            cache=cache,
            refresh=refresh,
        )
    )
