"""The document of `rig doctor --json` where the command itself did not get that far. No I/O.

What was typed is not repeated, but for the names of options: a key may have been given where none belongs.
"""

from collections.abc import Sequence
from typing import Final

from rig.extras.cli.clean import shown_name, shown_url
from rig.extras.cli.failures import Failure, usage
from rig.extras.cli.report import EXIT_CODES, Report

_HELP: Final = "; `rig doctor --help` says how it is used."


def wants_json(args: Sequence[str]) -> bool:
    """Whether a command line asks for a document.

    Args:
        args: what follows the command's name.
    """
    before = args[: args.index("--")] if "--" in args else args
    return "--json" in before and "doctor" in before and "--help" not in before


def document(
    args: Sequence[str], failure: Failure, exit_code: int = EXIT_CODES["not_measured"]
) -> str:
    """The document that says why nothing was measured.

    Args:
        args: what follows the command's name; of it only the endpoint is told.
        failure: why.
        exit_code: the exit code of the process.
    """
    url = next((shown_url(word) for word in args if "://" in word), "")
    report = Report.of_failure(url, failure).model_copy(update={"exit_code": exit_code})
    return report.to_json() + "\n"


def wrong_use(error: Exception) -> Failure:
    """Wrong use of the command, as its parser found it.

    Args:
        error: what the parser raised.
    """
    option = getattr(error, "option_name", None)
    if isinstance(option, str):
        return usage(f"There is no option {shown_name(option)}{_HELP}")
    name = _parameter(error)
    missing = "missing" in type(error).__name__.lower()
    if not name:
        return usage(f"The command line can't be read{_HELP}")
    return usage(f"{name} is missing{_HELP}" if missing else f"{name} takes another value{_HELP}")


def own_fault(error: Exception) -> Failure:
    """A fault of rig's own; its message may hold what the endpoint said.

    Args:
        error: what was raised.
    """
    return Failure(
        code="fault", sentence=f"rig failed ({type(error).__name__}); this is a fault of its own."
    )


STOPPED: Final = Failure(code="stopped", sentence="It was stopped before it had measured anything.")
"""Ctrl-C, and what stands for it."""


def missing_extra(sentence: str) -> Failure:
    """The packages of the extra are not installed.

    Args:
        sentence: which, and what installs them.
    """
    return Failure(code="missing_extra", sentence=sentence)


def _parameter(error: Exception) -> str:
    """The option or argument an error is about, as it is written; "" for none."""
    parameter: object = getattr(error, "param", None)
    names: object = getattr(parameter, "opts", None)
    if not isinstance(names, list | tuple) or not names:
        return ""
    longest = max((str(name) for name in names), key=len)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]  not typed by typer
    return longest if longest.startswith("-") else f"The argument {longest.upper()}"
