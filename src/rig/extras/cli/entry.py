"""Where the command `rig` begins: with what it needs, or with a sentence about what is missing."""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Final

NEEDED: Final = ("typer", "rich")
"""The packages of the extra."""

MISSING: Final = 2
"""Exit code where they are not installed."""

INSTALL: Final = "pip install 'rig-agents[cli]'"
"""What installs them."""


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        args: what follows the command's name; None takes the process's own.

    Returns:
        The exit code: what the command says, and 2 where the extra is not installed.
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        given = sys.argv[1:] if args is None else list(args)
        machine = import_module("rig.extras.cli.machine")
        if machine.wants_json(given):
            failure = machine.missing_extra(f"The extra cli is not installed: {INSTALL}")
            sys.stdout.write(machine.document(given, failure, MISSING))
        sys.stderr.write(
            f"The command rig needs {' and '.join(missing)}, which the extra cli brings:\n"
            f"  {INSTALL}\n"
            "or, in a clone of the project: pip install '.[cli]'\n"
        )
        return MISSING
    code: int = import_module("rig.extras.cli.app").run(args)
    return code
