"""A run whose events are iterated while it goes on. It awaits; the loop itself is `rig.agent.run`."""

from collections import deque
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Generic, Self, TypeVar

import anyio

from rig.agent.background import in_background
from rig.agent.request import RunRequest
from rig.agent.run import Run
from rig.errors import InvalidRequestError, RigError
from rig.events import RunEvent, RunFinished, RunResult
from rig.model import StreamingModel

MAX_WAITING_EVENTS = 1024
"""Events a run is ahead of who reads them before it waits: a read of 64 KiB holds 300 deltas. A reader
that stops for good stops the run, and through it the model."""

OutputT = TypeVar("OutputT")


class RunStream(Generic[OutputT]):
    """The events of a run while it goes on, and its result at the end. Made by `run_stream`.

    The text of one reply is what its `TextDelta`s add up to, where a `TextRetracted` takes back all of
    it; a `RoundStarted` begins the next reply. After the last one it is `RunResult.text`.

    Args:
        feed: what the run puts its events into.
    """

    def __init__(self, feed: "Feed") -> None:
        self._feed = feed

    def result(self) -> RunResult[OutputT]:
        """The result of the run.

        Returns:
            The answer, once iterating has come to its end. When the run ended with an error, or its
            block was left before, how far it had come: the same as `error.result`, its `termination`
            None where no word fits.

        Raises:
            InvalidRequestError: the run goes on.
        """
        if self._feed.result is None:
            raise InvalidRequestError(
                "the run has not ended: iterate over its events to the end before asking for its result"
            )
        return self._feed.result

    def __aiter__(self) -> Self:
        return self

    def __anext__(self) -> Coroutine[Any, Any, RunEvent]:
        return self._feed.take()


class Feed:
    """Events on their way from a run to who reads them, handed over in batches.

    Attributes:
        result: what the reader may know of the result, None until the end was read.
    """

    def __init__(self) -> None:
        self.result: RunResult[Any] | None = None
        self._waiting: deque[RunEvent] = deque()
        # One semaphore, where an event would have to be made for each wait: for each token of a slow model.
        self._news = anyio.Semaphore(0, fast_acquire=True)
        self._awaited = False
        self._room: anyio.Event | None = None
        self._final: RunResult[Any] | None = None
        self._error: Exception | None = None

    def put(self, event: RunEvent) -> Coroutine[Any, Any, None] | None:
        """Add an event.

        Args:
            event: what happened in the run.

        Returns:
            What to await while the reader is too far behind; None where it is not.
        """
        self._waiting.append(event)
        if self._awaited:
            self._awaited = False
            self._news.release()
        return None if len(self._waiting) < MAX_WAITING_EVENTS else self._wait_for_room()

    async def _wait_for_room(self) -> None:
        while len(self._waiting) >= MAX_WAITING_EVENTS:
            self._room = anyio.Event()
            await self._room.wait()

    async def take(self) -> RunEvent:
        """The next event.

        Raises:
            Exception: what ended the run, once.
            StopAsyncIteration: it has ended.
            InvalidRequestError: another task is waiting for the next event.
        """
        waiting = self._waiting
        while not waiting:
            if self._final is not None:
                self._end(self._final)
            if self._awaited:
                raise InvalidRequestError("the events of a run are read by one task at a time")
            self._awaited = True
            try:
                await self._news.acquire()
            finally:
                self._awaited = False
        event = waiting.popleft()
        if self._room is not None and len(waiting) <= MAX_WAITING_EVENTS // 2:
            self._room.set()
            self._room = None
        if isinstance(event, RunFinished):
            self.result = event.result
        return event

    def finish(self, final: RunResult[Any], error: Exception | None = None) -> None:
        """The run has ended.

        Args:
            final: its result, or how far it came.
            error: what ended it, to be raised where the events are read.
        """
        self._final = final
        self._error = error
        if self._awaited:
            self._awaited = False
            self._news.release()

    def leave(self, so_far: RunResult[Any]) -> None:
        """Nobody reads any more.

        Args:
            so_far: how far the run came.
        """
        self._waiting.clear()
        self._error = None
        self._final = self.result = self.result or self._final or so_far

    def _end(self, final: RunResult[Any]) -> None:
        """End the reading.

        Raises:
            Exception: what ended the run, once.
            StopAsyncIteration: it has ended.
        """
        self.result = final
        error, self._error = self._error, None
        if error is not None:
            raise error
        raise StopAsyncIteration


@asynccontextmanager
async def stream_run(
    model: StreamingModel, request: RunRequest[OutputT]
) -> AsyncGenerator[RunStream[OutputT]]:
    """Run an agent beside the block, which iterates its events; leaving the block ends the run.

    Args:
        model: what answers the requests.
        request: the task and its bounds; its `stream` is set.

    Raises:
        NotConfiguredError: the model can't stream.
        Exception: what the block raises. Errors of the run come out of the iteration.
    """
    feed = Feed()
    run = Run(model, request, feed.put)

    async def drive() -> None:
        error: Exception | None = None
        try:
            final: RunResult[Any] = await run.result()
        except Exception as fault:  # noqa: BLE001 raised again where the events are read
            error = fault
            partial = fault.result if isinstance(fault, RigError) else None
            final = partial or run.so_far(fault)
        feed.finish(final, error)

    try:
        async with in_background(drive):
            yield RunStream(feed)
    finally:
        feed.leave(run.so_far())
