"""How often the task at hand was asked to end, which anyio does not tell of a task of asyncio. No I/O.

The loop has to know; only `rig.transport.sockets` may know asyncio. So that file says how to find out,
when it is loaded, which `import rig` does.
"""

from collections.abc import Callable


class CancelRequests:
    """Counts the requests to end the task at hand that it has not taken back.

    asyncio's contract: whoever asks his own task, to time something out, takes that back (`uncancel`).
    """

    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count: Callable[[], int | None] | None = None

    def counted_by(self, count: Callable[[], int | None]) -> None:
        """Say how to count.

        Args:
            count: the number; None where nobody is given a cancellation that is not his, as on trio.
        """
        self._count = count

    def __call__(self) -> int | None:
        """The number; None where every cancellation has to be taken for the task's own."""
        return None if self._count is None else self._count()


cancel_requests = CancelRequests()
