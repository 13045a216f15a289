"""What an answer is made of: bytes, waits, and ways to end badly. Values only, no I/O."""

import anyio

from rig.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait before the next step.

    Attributes:
        seconds: how long.
    """

    seconds: float


@dataclass(frozen=True, slots=True)
class Until:
    """Wait until the test sets an event: the way to pause without a clock.

    Attributes:
        event: the event; one that is set already does not wait.
    """

    event: anyio.Event


@dataclass(frozen=True, slots=True)
class Reset:
    """End the connection with a TCP reset; in process `httpx.ReadError`."""


@dataclass(frozen=True, slots=True)
class Close:
    """End the connection in good order, whatever was promised before."""


@dataclass(frozen=True, slots=True)
class Hang:
    """Send nothing more and keep the connection, until the client goes away."""


Step = bytes | Pause | Until | Reset | Close | Hang
"""One step of an answer. Bytes are written as they are."""
