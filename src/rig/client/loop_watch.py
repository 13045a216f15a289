"""Watches the deltas of a stream for a model that repeats itself. No I/O."""

import math
from collections.abc import Sequence

from rig.model import CallDelta, Delta
from rig.text.repetition import Repetition, RepetitionGuard, RepetitionWatch

BLANK_SAMPLE = " "
"""Shown for a run of whitespace: no delta told of it, so which characters they were is not known."""


class LoopWatch:
    """Looks at each delta once, and at its text as soon as enough is there to be scanned.

    Args:
        guard: what counts as a loop.

    Attributes:
        found: the loop, None while there is none.
        max_blank: characters of whitespace in a row that are no loop yet.
    """

    def __init__(self, guard: RepetitionGuard) -> None:
        self.found: Repetition | None = None
        self._guard = guard
        limited = guard.enabled and guard.max_whitespace is not None
        self.max_blank: float = (guard.max_whitespace or 0) if limited else math.inf
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

    def find(self, deltas: Sequence[Delta], held: str = "") -> int | None:
        """Look for a loop in what is new.

        Args:
            deltas: the next ones, in order.
            held: text that is held back because it may be a call; it may come again in a delta.

        Returns:
            How many of the deltas are to be handed out before the stream is cut, None when it goes on.
        """
        if not self._guard.enabled:
            return None
        for index, delta in enumerate(deltas):
            if delta.finish_reason is not None:
                continue
            if delta.retracted:
                self._start()
            if text := delta.text:  # not in a method: it is nearly every delta
                self._text.append(text)
                self._text_chars += len(text)
                if self._text_chars >= self._guard.check_every:
                    self._scan_text()
            else:
                self._see(delta)
            if self.found is not None:
                return index + 1
        if held and self._is_held_loop(held):
            return len(deltas)
        return None

    def find_blank(self, chars: int, where: str) -> None:
        """Take more than `max_blank` characters of whitespace, which no delta tells of, for a loop.

        Args:
            chars: how many.
            where: the part of the reply that ends with them.
        """
        self.found = Repetition(period=1, reps=chars, trailing=0, sample=BLANK_SAMPLE, where=where)

    def _scan_text(self) -> None:
        self.found = self._watch.text("".join(self._text))
        self._text.clear()
        self._text_chars = 0

    def _see(self, delta: Delta) -> None:
        """Look at what a delta without text tells."""
        if delta.reasoning:
            self._thought.append(delta.reasoning)
            self._thought_chars += len(delta.reasoning)
            if self._thought_chars >= self._guard.check_every:
                self.found = self._watch.reasoning("".join(self._thought))
                self._thought.clear()
                self._thought_chars = 0
        elif delta.tool_call is not None:
            self._see_call(delta.tool_call)

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
