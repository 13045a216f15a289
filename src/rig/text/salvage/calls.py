"""What is offered to a model, and what salvaging its text gives. Values only, no I/O."""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from rig.late_dataclass import dataclass

Problem = Literal["", "unknown_tool", "no_arguments", "malformed", "truncated"]
"""Why the markup of a call is no call: it names no tool that is offered, it has no arguments where the
tool needs some, they can't be read, or the end is missing."""


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool the model may call.

    Attributes:
        name: its name, exactly as offered.
        schema: JSON schema of its input.
    """

    name: str
    schema: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True, kw_only=True)
class SalvagedCall:
    """One call that a model wrote as text.

    Attributes:
        name: the name of an offered tool.
        arguments: JSON text of one object.
        dialect: how it was written, a name of the table.
        repairs: what had to be mended to read it, in order; empty when nothing had.
    """

    name: str
    arguments: str
    dialect: str
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvaged:
    """A text without its calls.

    Attributes:
        text: what the reader sees: no calls, no remains of their markup, no thoughts.
        reasoning: the thoughts that stood in the text.
        calls: the calls, in order.
        problem: why markup was no call; "" when all of it was, or there was none.
    """

    text: str
    reasoning: str = ""
    calls: tuple[SalvagedCall, ...] = ()
    problem: Problem = ""
