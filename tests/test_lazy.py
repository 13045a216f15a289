"""What `import rig` leaves for later, and that nobody can tell."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import rig
from rig.lazy import lazy_names

PACKAGE = Path(rig.__file__)

LATER = [
    "rig.client.embeddings",
    "rig.client.inquiry",
    "rig.client.probes.judge",
    "rig.client.session",
    "rig.gateway.pool",
    "rig.testing",
]
"""A program that only chats needs none of these."""


def blocks() -> tuple[ast.If, ast.Call]:
    tree = ast.parse(PACKAGE.read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    (assigned,) = block.orelse
    assert isinstance(assigned, ast.Assign)
    assert isinstance(assigned.value, ast.Call)
    return block, assigned.value


def test_type_checkers_are_told_of_the_very_names_that_are_loaded_late() -> None:
    block, call = blocks()
    told = {
        node.module: tuple(alias.name for alias in node.names)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
    }
    assert told == ast.literal_eval(call.args[1])


def test_every_public_name_is_there() -> None:
    assert [name for name in rig.__all__ if not hasattr(rig, name)] == []


def test_a_name_that_does_not_exist_is_no_attribute() -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(rig, "Nonsense")  # noqa: B009 what a typo does
    assert caught.value.name == "Nonsense"


def test_a_late_name_is_found_once() -> None:
    find = lazy_names("rig.lazy", {"rig.errors": ("RigError",)})
    assert find("RigError") is rig.RigError
    assert vars(sys.modules["rig.lazy"]).pop("RigError") is rig.RigError


@pytest.mark.parametrize("module", LATER)
def test_what_few_programs_need_is_not_loaded_by_the_import(module: str) -> None:
    code = f"import sys, rig; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
