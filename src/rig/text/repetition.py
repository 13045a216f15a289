"""Loops of a model that repeats itself for ever, found while the text arrives. No I/O, stdlib only.

A loop is scale, not repetition: table rules, blank lines and near-equal rows repeat in every honest
text. So several exact copies, of a block that is not tiny, over a large span, are asked for.
All sizes are bytes of UTF-8, because a byte is what a token costs on the wire and in a prompt.
"""

from typing import Final

from rig.errors import InvalidRequestError
from rig.late_dataclass import dataclass

DEFAULT_MIN_REPS: Final = 3
"""Copies that make a loop. One copy, or none, is no repetition: such settings mean this number."""

DEFAULT_MAX_WHITESPACE: Final = 8192
"""Bytes of whitespace in a row that are not a loop yet. Models run into it in constrained JSON
(vllm-project/vllm 4093, mlc-ai/xgrammar 212) and stop at the token limit only; but layouts of
thousands of tabs or blank lines are honest, 8000 among the cases that must pass."""

MAX_SAMPLE_BYTES: Final = 200
"""Bytes of the repeated block that are shown."""

MAX_CHANNELS: Final = 64
"""Channels of one reply that are watched, each with a window of some KiB. A reply may hold 32 calls."""

WHITESPACE: Final = b" \t\n\r\x0b\x0c"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepetitionGuard:
    """What counts as a loop. On by default: the failure is expensive and silent.

    Attributes:
        enabled: False watches nothing.
        min_period: shortest block that counts, in bytes; the shortest honest repetitions (rules,
            blank lines) are below it.
        max_period: longest block that is looked for, in bytes.
        min_reps: copies in a row; 1 and less mean 3.
        min_span: bytes that all copies together must cover.
        check_every: bytes of new text between two scans.
        max_whitespace: bytes of nothing but whitespace in a row that are let pass, one more is a
            loop; None lets any number pass.

    Raises:
        InvalidRequestError: a size is below 1, or max_period is below min_period.
    """

    enabled: bool = True
    min_period: int = 24
    max_period: int = 1024
    min_reps: int = DEFAULT_MIN_REPS
    min_span: int = 512
    check_every: int = 256
    max_whitespace: int | None = DEFAULT_MAX_WHITESPACE

    def __post_init__(self) -> None:
        for name in ("min_period", "min_span", "check_every", "max_whitespace"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InvalidRequestError(
                    f"RepetitionGuard: {name} must be at least 1 byte", reason=name
                )
        if self.max_period < self.min_period:
            raise InvalidRequestError(
                "RepetitionGuard: max_period must be at least min_period", reason="max_period"
            )
        if self.min_reps <= 1:
            object.__setattr__(self, "min_reps", DEFAULT_MIN_REPS)

    @classmethod
    def off(cls) -> "RepetitionGuard":
        """A guard that finds nothing."""
        return cls(enabled=False)

    @property
    def window_bytes(self) -> int:
        """Bytes of the text's end that have to be kept to tell."""
        return max(self.max_period * self.min_reps, self.min_span + self.max_period)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """A loop that was found.

    Attributes:
        period: bytes of the repeated block; 1 for a run of whitespace.
        reps: copies of it at the end of the text, as far as the window shows.
        trailing: bytes at the end that say nothing new: all copies but the first. Cut them off before
            the text goes into a history, which would teach the loop.
        sample: the block, at most 200 bytes of it.
        where: the channel: content, reasoning, or `tool:NAME arguments`.
    """

    period: int
    reps: int
    trailing: int
    sample: str
    where: str

    def trimmed(self, text: str) -> str:
        """The text without what says nothing new; whole characters only.

        Args:
            text: the text the loop was found at the end of, exactly as it was watched.
        """
        data = text.encode("utf-8", "surrogatepass")
        end = max(0, len(data) - self.trailing)
        # One long delta can hold more copies than the window in which they are counted.
        block = data[max(0, end - self.period) : end]
        while len(block) == self.period and data.endswith(block, 0, end - self.period):
            end -= self.period
        while 0 < end < len(data) and data[end] & 0xC0 == 0x80:
            end -= 1  # inside a character
        return data[:end].decode("utf-8", "surrogatepass")

    def __str__(self) -> str:
        return f"{self.where} repeats a block of {self.period} bytes {self.reps} times"


class RepetitionWatcher:
    """Watches one channel of one reply.

    Args:
        guard: what counts as a loop.
        where: the channel's name, for the report.

    Attributes:
        work: bytes searched, compared or kept so far; grows with the text and no faster.
    """

    def __init__(self, guard: RepetitionGuard | None = None, *, where: str = "content") -> None:
        self._guard = guard or RepetitionGuard()
        self._where = where
        self._window = self._guard.window_bytes
        self._end = bytearray()
        self._unscanned = 0
        self._blank = 0
        self.work = 0

    def feed(self, text: str | bytes) -> Repetition | None:
        """Add text and look for a loop at its end, once enough is new.

        Args:
            text: what arrived, of any length.

        Returns:
            The loop that the text ends in, else None.
        """
        guard = self._guard
        if not guard.enabled:
            return None
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        end = self._end
        end += data[-self._window :]
        if len(end) > 2 * self._window:
            self.work += self._window
            del end[: -self._window]
        self.work += len(data)
        self._count_whitespace(data)
        if guard.max_whitespace is not None and self._blank > guard.max_whitespace:
            return self._whitespace()
        self._unscanned += len(data)
        if self._unscanned < guard.check_every:
            return None
        self._unscanned = 0
        return self._scan(bytes(end[-self._window :]))

    def _count_whitespace(self, data: bytes) -> None:
        body = len(data.rstrip(WHITESPACE))
        self._blank = len(data) - body + (0 if body else self._blank)

    def _whitespace(self) -> Repetition:
        return Repetition(
            period=1,
            reps=self._blank,
            trailing=self._blank - 1,
            sample=_sample(bytes(self._end[-min(self._blank, MAX_SAMPLE_BYTES) :])),
            where=self._where,
        )

    def _scan(self, end: bytes) -> Repetition | None:
        """The loop at the end of the window. Only the shortest block that occurs twice is judged."""
        self.work += len(end)
        first = self._first_period(end)
        if first == 0:
            return None
        period = _minimal_period(end[-first:])
        if period < self._guard.min_period:
            return None
        reps = self._copies(end, period)
        if reps < self._guard.min_reps or reps * period < self._guard.min_span:
            return None
        return Repetition(
            period=period,
            reps=reps,
            trailing=(reps - 1) * period,
            sample=_sample(end[-period:][:MAX_SAMPLE_BYTES]),
            where=self._where,
        )

    def _first_period(self, end: bytes) -> int:
        """The smallest admissible p for which the last p bytes equal the p before; 0 when none does.

        Candidates are the places where the last min_period bytes occur once more: a search in C
        instead of a thousand comparisons.
        """
        least = self._guard.min_period
        longest = min(self._guard.max_period, len(end) // self._guard.min_reps)
        tail = end[-least:]
        place = len(end) - 2 * least
        while place >= 0:
            place = end.rfind(tail, max(0, len(end) - longest - least), place + least)
            if place < 0:
                return 0
            period = len(end) - least - place
            self.work += period
            if end.endswith(end[-2 * period : -period]):
                return period
            place -= 1
        return 0

    def _copies(self, end: bytes, period: int) -> int:
        block = end[-period:]
        start = len(end) - period
        reps = 1
        while start >= period and end.startswith(block, start - period):
            start -= period
            reps += 1
        self.work += reps * period
        return reps


class RepetitionWatch:
    """Watches all channels of one reply, each on its own.

    Args:
        guard: what counts as a loop.
    """

    def __init__(self, guard: RepetitionGuard | None = None) -> None:
        self._guard = guard or RepetitionGuard()
        self._channels: dict[object, RepetitionWatcher] = {}
        self._text = self._open("content", "content")
        self._reasoning = self._open("reasoning", "reasoning")

    def text(self, text: str) -> Repetition | None:
        """Add visible text; see `RepetitionWatcher.feed`."""
        return self._text.feed(text)

    def reasoning(self, text: str) -> Repetition | None:
        """Add reasoning; see `RepetitionWatcher.feed`."""
        return self._reasoning.feed(text)

    def arguments(self, index: int, name: str, text: str) -> Repetition | None:
        """Add a fragment of a call's arguments.

        Args:
            index: tells the calls of one reply apart.
            name: the tool's name, for the report.
            text: the fragment.

        Returns:
            The loop these arguments end in, else None; also None for calls beyond `MAX_CHANNELS`.
        """
        watcher = self._channels.get(index)
        if watcher is None:
            if len(self._channels) >= MAX_CHANNELS:
                return None
            watcher = self._open(index, f"tool:{name} arguments")
        return watcher.feed(text)

    def _open(self, key: object, where: str) -> RepetitionWatcher:
        watcher = self._channels[key] = RepetitionWatcher(self._guard, where=where)
        return watcher


def _minimal_period(block: bytes) -> int:
    """The smallest d for which the block is copies of its first d bytes: its first rotation onto itself."""
    return (block + block).find(block, 1)


def _sample(block: bytes) -> str:
    return block.decode("utf-8", "replace")
