"""Watches the deltas of a stream for a model that repeats itself. No I/O."""

from collections.abc import Sequence
from typing import Final

from rig.model import CallDelta, Delta
from rig.text.repetition import Repetition, RepetitionGuard, RepetitionWatch
from rig.wire.assembly import Blank

BLANK_SAMPLE = " "
"""Shown for a run of whitespace: no delta told of it, so which characters they were is not known."""


_NO_BLANK: Final = Blank(0)


class LoopWatch:
    """Looks at each delta once, and at its text as soon as enough is there to be scanned.

    Args:
        guard: what counts as a loop.

    Attributes:
        found: the loop, None while there is none.
    """

    def __init__(self, guard: RepetitionGuard) -> None:
        self.found: Repetition | None = None
        self._guard = guard
        self._held_watch = RepetitionWatch(guard)
        self._held: list[str] = []
        self._held_chars = 0
        self._start()

    def _start(self) -> None:
        self._watch = RepetitionWatch(self._guard)
        self._text: list[str] = []
        self._text_chars = 0
        self._thought: list[str] = []
        self._thought_chars = 0

    def find(self, deltas: Sequence[Delta], blank: Blank = _NO_BLANK, held: str = "") -> int | None:
        """Look for a loop in what is new.

        Args:
            deltas: the next ones, in order.
            blank: whitespace that is held back behind them.
            held: text that is held back because it may be a call; it may come again in a delta.

        Returns:
            How many of the deltas are to be handed out before the stream is cut, None when it goes on.
        """
        if not self._guard.enabled:
            return None
        for index, delta in enumerate(deltas):
            if delta.finish_reason is None and self._is_loop(delta):
                return index + 1
        if held and self._is_held_loop(held):
            return len(deltas)
        limit = self._guard.max_whitespace
        if limit is not None and blank > limit:
            self.found = Repetition(
                period=1, reps=int(blank), trailing=0, sample=BLANK_SAMPLE, where=blank.where
            )
            return len(deltas)
        return None

    def _is_loop(self, delta: Delta) -> bool:
        if delta.retracted:
            self._start()
        if delta.text:
            self._text.append(delta.text)
            self._text_chars += len(delta.text)
            if self._text_chars >= self._guard.check_every:
                self.found = self._watch.text("".join(self._text))
                self._text.clear()
                self._text_chars = 0
        elif delta.reasoning:
            self._thought.append(delta.reasoning)
            self._thought_chars += len(delta.reasoning)
            if self._thought_chars >= self._guard.check_every:
                self.found = self._watch.reasoning("".join(self._thought))
                self._thought.clear()
                self._thought_chars = 0
        elif delta.tool_call is not None:
            self._see_call(delta.tool_call)
        return self.found is not None

    def _is_held_loop(self, text: str) -> bool:
        self._held.append(text)
        self._held_chars += len(text)
        if self._held_chars >= self._guard.check_every:
            self.found = self._held_watch.text("".join(self._held))
            self._held.clear()
            self._held_chars = 0
        return self.found is not None

    def _see_call(self, call: CallDelta) -> None:
        if call.stage == "arguments":
            self.found = self._watch.arguments(call.index, call.name, call.arguments)
