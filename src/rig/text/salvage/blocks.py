"""What a dialect's reader says of the text at an index. Values only, no I/O."""

from collections.abc import Callable

from rig.late_dataclass import dataclass
from rig.text.salvage.calls import Problem, SalvagedCall
from rig.text.salvage.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A piece of the text that is not to be read any further.

    Without calls and without a problem it is a remainder of markup, which nobody shall see.

    Attributes:
        end: index after it.
        calls: the calls in it.
        problem: why its markup is no call, or not all of it.
        plain: it is text, to be shown as it is: a code block, an object that is no call.
        unfinished: the text ended inside of it, so more text could make something else of it.
        last: what follows it was invented by the model and is to be dropped.
        zone: it is a code block that was not closed, and this would close it.
        weak: any document may hold what it is made of, so that it is a call only where what stands around it
            leads up to one.
        whole: what is opened in it is closed in it; False for text of which only the beginning was read.
    """

    end: int
    calls: tuple[SalvagedCall, ...] = ()
    problem: Problem = ""
    plain: bool = False
    unfinished: bool = False
    last: bool = False
    zone: str = ""
    weak: bool = False
    whole: bool = True


def undecided(source: Source, *, certain: bool = True) -> Block:
    """The block of what the end of the text cut: with more of it, it may be a call.

    Args:
        source: the text.
        certain: it is a call; else it is text if nothing follows.
    """
    end = len(source.text)
    if certain:
        return Block(end=end, problem="truncated", unfinished=True)
    return Block(end=end, plain=True, unfinished=True)


Reader = Callable[[Source, int], Block | None]
"""Reads what begins at an index; None when it is nothing of this dialect's, whatever may follow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """A way to write calls.

    Attributes:
        name: what `SalvagedCall.dialect` says.
        marks: what it begins with, in lower case.
        read: reads what begins with one of them.
        native: its marks are tokens of a model's own, which no prose holds by chance.
    """

    name: str
    marks: tuple[str, ...]
    read: Reader
    native: bool = False
