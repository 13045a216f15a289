"""Makes the history of a run smaller when it does not fit the context window. It awaits.

What may go is decided in `rig.agent.compaction`; here the window is found out, a summary is asked for, and
whatever fails ends in leaving rounds out instead: nothing of this ends a run.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final, cast

from rig.agent.budget import (
    BYTES_PER_TOKEN,
    Counted,
    estimate_tokens,
    prompt_size,
    prompt_tokens,
    usage_of,
)
from rig.agent.compaction import (
    LEAST_WINDOW_TOKENS,
    TARGET_SHARE,
    Compaction,
    History,
    old_rounds,
    reduced,
    summarised,
)
from rig.agent.history import Prepared, prepare
from rig.agent.ledger import SharedBudget
from rig.agent.request import RunRequest
from rig.agent.state import NOTHING_USED, RunState
from rig.agent.summary import Summary, read_summary, summary_request
from rig.errors import BudgetExceededError, InputTooLargeError, RigError
from rig.events import CompactionStep, HistoryCompacted, RunEvent, event_listener
from rig.late_dataclass import dataclass
from rig.messages import Message
from rig.model import ChatRequest, Model, Reply, StreamingModel

ASK_FROM_TOKENS: Final = 1500
"""Size of a prompt below which the server is not asked for its window: whatever it is, that fits."""

MIN_INPUT_CHARS: Final = 2_000
"""Characters of old rounds a summary is made of at least."""

MIN_SUMMARISED_TOKENS: Final = 2
"""A summary is worth a request where what it replaces is so many times as long as it may be."""

ONE_SHRINK: Final = 0.5
"""Share of a refused prompt that is aimed for where the server did not say how large its window is."""

LEAST_SHARE: Final = 0.5
"""Share of our estimate that a prompt is taken for at least, whatever was counted: eight bytes to a token is
the most seen in ordinary text, and several servers leave out of their count what was in their cache."""

Emit = Callable[[RunEvent], Awaitable[None]]


def compaction_of(request: RunRequest[Any]) -> Compaction | None:
    """How a run makes its history smaller; None where it does not.

    A run that has to end with an answer does so without being told, but asks nobody for the window.

    Args:
        request: the run's.
    """
    chosen = request.compaction
    if chosen is None and request.on_limit == "answer":
        chosen = Compaction(ask_server=False)
    return chosen if chosen is not None and chosen.max_times else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One way of making a history smaller, as far as it came.

    Attributes:
        state: the run.
        request: what it would send.
        size: of its prompt.
    """

    state: RunState
    request: ChatRequest
    size: int


class Compactor:
    """Keeps the history of one run within the window.

    Args:
        model: what answers the run, and may know its window.
        request: the run's.
        compaction: when, and how.
        purse: what summaries are paid out of, None for nothing.
        emit: told of every step.
        build: the request a state would send.
    """

    def __init__(
        self,
        model: Model | StreamingModel,
        request: RunRequest[Any],
        compaction: Compaction,
        *,
        purse: SharedBudget | None,
        emit: Emit,
        build: Callable[[RunState], ChatRequest],
    ) -> None:
        self._model = model
        self._request = request
        self._compaction = compaction
        self._purse = purse
        self._emit = emit
        self._build = build
        self._window = compaction.context_tokens or request.capabilities.context_tokens
        self._asked = False
        self._times = 0
        self._overflow: InputTooLargeError | None = None
        self.counted: Counted | None = None

    def overflowed(self, error: RigError, request: ChatRequest) -> bool:
        """Whether a refused request may be sent again, smaller; then the next `fitted` does that.

        Args:
            error: how it was refused.
            request: the request.
        """
        if not isinstance(error, InputTooLargeError) or self._times >= self._compaction.max_times:
            return False
        self._overflow = error
        if error.context_tokens:
            self._window = error.context_tokens
        if error.prompt_tokens:
            self.counted = Counted(tokens=error.prompt_tokens, estimated=prompt_tokens(request))
        return True

    def truncated(self, read_tokens: int) -> None:
        """The server read only so much of a prompt, and did not say so.

        Args:
            read_tokens: of the prompt.
        """
        if self._compaction.context_tokens is None:
            self._window = min(self._window or read_tokens, read_tokens)

    async def fitted(self, state: RunState, request: ChatRequest) -> tuple[RunState, ChatRequest]:
        """The run and its request, the history made smaller where it is too large.

        Args:
            state: the run.
            request: what it would send.

        Raises:
            InputTooLargeError: the server refused the request, and nothing of it can go.
        """
        overflow, self._overflow = self._overflow, None
        if self._times >= self._compaction.max_times:
            return state, request
        before = Attempt(state=state, request=request, size=self._size(request))
        allowed = await self._allowed(before, refused=overflow is not None)
        if allowed is None or before.size <= allowed:
            return state, request
        self._times += 1
        after = await self._compacted(before, max(1, int(allowed * TARGET_SHARE)))
        if after.size < before.size:
            compactions = state.compactions + 1
            return after.state.but(compactions=compactions), after.request
        if overflow is not None:
            raise overflow
        return state, request

    def _size(self, request: ChatRequest) -> int:
        likely = prompt_size(request, self.counted).likely
        return (
            likely
            if self.counted is None
            else max(likely, int(LEAST_SHARE * prompt_tokens(request)))
        )

    async def _allowed(self, now: Attempt, *, refused: bool) -> int | None:
        """How large the prompt may be; None where nobody knows."""
        if self._window is None and not refused and now.size >= ASK_FROM_TOKENS:
            await self._ask_window()
        room = None
        if self._window is not None:
            room = self._compaction.room(self._window, now.request.max_tokens)
        if refused:
            shrunk = int(now.size * ONE_SHRINK / TARGET_SHARE)
            return shrunk if room is None else min(room, shrunk if room >= now.size else room)
        return room

    async def _ask_window(self) -> None:
        """Ask the model's client for the window, once."""
        known = getattr(self._model, "context_window", None)
        if self._asked or not self._compaction.ask_server or not callable(known):
            return
        self._asked = True
        ask = cast("Callable[[str], Awaitable[int | None]]", known)
        try:
            told: object = await ask(self._request.model)
        except RigError:
            return
        # Anybody's model may answer: what is no window tells nothing.
        if isinstance(told, int) and not isinstance(told, bool) and told >= LEAST_WINDOW_TOKENS:
            self._window = told

    async def _compacted(self, before: Attempt, target: int) -> Attempt:
        """The history as small as that, as far as it goes; each step is told."""
        now, problem = before, ""
        keep = self._compaction.keep_rounds
        history = History.of(before.state.messages)
        old = [turn for one in old_rounds(history, keep) for turn in one]
        worth = MIN_SUMMARISED_TOKENS * self._compaction.summary_tokens
        if self._compaction.summarise and estimate_tokens(old) > worth and not self._affords(now):
            problem = BudgetExceededError.code
        elif self._compaction.summarise and estimate_tokens(old) > worth:
            now, summary = await self._summary(now, history, old, target)
            problem = summary.problem
            if summary.text:
                smaller = summarised(history, keep, summary.text).messages()
                now = await self._step(now, smaller, "summarised", len(old_rounds(history, keep)))
        limit = self._limit(now, target)
        less = reduced(prepare(now.state.messages), limit, _weigh, keep)
        if less.dropped:
            uncut = less.uncut or less.messages
            now = await self._step(now, uncut, "dropped", less.dropped, problem)
        if less.shortened:
            now = await self._step(now, less.messages, "shortened", less.shortened, problem)
        return now

    async def _step(
        self, now: Attempt, messages: Prepared, how: CompactionStep, count: int, problem: str = ""
    ) -> Attempt:
        state = now.state.but(messages=messages)
        request = self._build(state)
        after = Attempt(state=state, request=request, size=self._size(request))
        await self._emit(
            HistoryCompacted(
                how=how,
                before_tokens=now.size,
                after_tokens=after.size,
                rounds=count,
                summary_error=problem,
            )
        )
        return after

    def _limit(self, now: Attempt, target: int) -> int:
        """What the messages alone may weigh, by our estimate, so that the prompt has so many tokens."""
        estimated = target
        if self.counted is not None:
            estimated = min(self.counted.estimate_for(target), int(target / LEAST_SHARE))
        beside = prompt_tokens(now.request) - estimate_tokens(now.state.messages)
        return estimated - beside

    # The summary

    def _affords(self, now: Attempt) -> bool:
        """Whether the budget can pay for a summary and for the request it is made for."""
        if self._purse is None:
            return True
        left = self._purse.left
        calls = left.calls is None or left.calls >= _CALLS
        return calls and (left.tokens is None or left.tokens >= _CALLS * now.size)

    async def _summary(
        self, now: Attempt, history: History, old: list[Message], target: int
    ) -> tuple[Attempt, Summary]:
        """A summary of old rounds, and the run with what it cost."""
        compaction = self._compaction
        request = summary_request(
            old,
            earlier=history.summary,
            question=history.first.text if history.first is not None else "",
            model=compaction.summary_model or self._request.model,
            max_tokens=compaction.summary_tokens,
            max_chars=max(MIN_INPUT_CHARS, BYTES_PER_TOKEN * target // 2),
            options=self._request.options,
        )
        try:
            reply = await self._ask(request)
        except RigError as error:
            return now, Summary(problem=error.code)
        before = now.state.usage
        usage = reply.usage if before is NOTHING_USED else before + reply.usage
        state = now.state.but(usage=usage)
        return (
            Attempt(state=state, request=now.request, size=now.size),
            read_summary(reply, compaction.summary_tokens),
        )

    async def _ask(self, request: ChatRequest) -> Reply:
        listener = event_listener.get()
        event_listener.set(self._emit)
        try:
            if self._purse is None:
                return await self._complete(request)
            async with await self._purse.reserve(request) as paid:
                reply = await self._complete(paid.request)
                paid.settle(usage_of(paid.request, reply), reply.model)
                return reply
        finally:
            event_listener.set(listener)

    async def _complete(self, request: ChatRequest) -> Reply:
        if callable(getattr(self._model, "complete", None)):
            return await cast("Model", self._model).complete(request)
        async with cast("StreamingModel", self._model).stream(request) as stream:
            async for _ in stream:
                pass
            return stream.reply()


_CALLS = 2
"""The summary, and the request."""


def _weigh(turn: Message) -> int:
    return estimate_tokens((turn,))
