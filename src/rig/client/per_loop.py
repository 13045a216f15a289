"""State of a client that belongs to one event loop: made anew in each loop the client is used in."""

from collections.abc import Callable
from typing import Generic, TypeVar

from anyio.lowlevel import RunVar

ValueT = TypeVar("ValueT")


class PerLoop(Generic[ValueT]):
    """A value of its own for each event loop.

    A client may be made before any loop runs, and used in several, one after the other. Locks and
    slots are bound to the loop they are made in, and loops have clocks of their own; what a loop held
    when it died goes with it.

    Args:
        make: makes the value, inside the loop that asks for it first.
    """

    def __init__(self, make: Callable[[], ValueT]) -> None:
        self._make = make
        self._values: RunVar[ValueT] = RunVar("rig.client.per_loop")

    def get(self) -> ValueT:
        """The value of the running loop."""
        try:
            return self._values.get()
        except LookupError:
            value = self._make()
            self._values.set(value)
            return value
