"""The command `rig`, of the extra `cli`: `rig doctor URL` measures an endpoint and says what to change."""

from rig.extras.cli.entry import main

__all__ = ["main"]
