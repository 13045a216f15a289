"""What of a conversation may go when it is too large for the context window. No I/O.

Kept are the system prompt, the user's first question, the newest one, and the last rounds whole. What
stands between is old: it becomes a summary, or is left out, oldest first. Only where that is not enough
are results of tools cut in their middle, then fewer rounds kept, then the summary and the first question
given up. A round is an assistant turn with the results of its calls, and is never taken apart.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Final, Self

from rig.agent.history import Prepared, prepare
from rig.agent.results import cut_middle
from rig.agent.summary import LEFT_OUT, split_summary, summary_turn
from rig.errors import InvalidRequestError
from rig.late_dataclass import dataclass
from rig.messages import Message

Weigh = Callable[[Message], int]
"""The size of one turn, in tokens."""

TARGET_SHARE: Final = 0.6
"""Share of what is allowed that is left in a history that was made smaller. Each time costs a request and
the server's cache of the prompt: after one, several rounds have room."""

MIN_RESULT_CHARS: Final = 400
"""Characters of a result that are kept in any case: less tells a model nothing."""

MAX_TIMES: Final = 8
"""Times one run may make its history smaller: a run has 32 rounds at most, and after each time there is
room for some. One that needs more is not working on a history, but on results larger than the window."""


LEAST_WINDOW_TOKENS: Final = 64
"""Tokens of a window below which nothing is one: no prompt of a run with a system prompt fits, and no server has
so little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """When the history of a run is made smaller, and how.

    Attributes:
        context_tokens: the context window in tokens, prompt and reply together; None to know it from
            `profile`, from the server (`context_window` of the model, asked once a run when the prompt
            is not small), or from its refusal.
        at: share of the window beyond which a prompt is too large.
        keep_rounds: last rounds that are kept whole, at least 1.
        summarise: have a model summarise what goes; else it is left out.
        summary_tokens: limit of a summary, in tokens.
        summary_model: who writes it; "" for the model of the run.
        ask_server: ask for the window where it is not known.
        max_times: how often in one run; 0 is never.

    Raises:
        InvalidRequestError: one of these can't be used.
    """

    context_tokens: int | None = None
    at: float = 0.8
    keep_rounds: int = 2
    summarise: bool = True
    summary_tokens: int = 400
    summary_model: str = ""
    ask_server: bool = True
    max_times: int = MAX_TIMES

    def __post_init__(self) -> None:
        for name, least in (("keep_rounds", 1), ("summary_tokens", 16), ("max_times", 0)):
            _check_count(name, getattr(self, name), least)
        if self.context_tokens is not None:
            _check_count("context_tokens", self.context_tokens, LEAST_WINDOW_TOKENS)
        if not _is_share(self.at):
            raise InvalidRequestError("Compaction(at=...) must be a share of the window, 0 to 1")
        if not isinstance(self.summary_model, str):  # pyright: ignore[reportUnnecessaryIsInstance] callers without a type checker
            raise InvalidRequestError("Compaction(summary_model=...) must be a model's name")

    @classmethod
    def off(cls) -> Self:
        """None at all, also where `on_limit` is answer."""
        return cls(max_times=0)

    def room(self, window: int, max_tokens: int) -> int:
        """How large a prompt may be.

        Args:
            window: the context window, in tokens.
            max_tokens: of the reply. Room for it is kept, but no more than half of the window: many
                give the whole window as the limit of a reply.
        """
        return max(1, min(math.floor(window * self.at), max(window - max_tokens, window // 2)))


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1


def _check_count(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidRequestError(f"Compaction({name}=...) must be a whole number from {least} up")


Round = tuple[Message, ...]
"""A user turn, or an assistant turn with the results of its calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A conversation in its parts.

    Attributes:
        system: the system message, if there is one.
        first: the user's first question; None where the conversation begins otherwise.
        summary: of what was between it and the rounds; "" for none.
        rounds: the rest.
    """

    system: tuple[Message, ...] = ()
    first: Message | None = None
    summary: str = ""
    rounds: tuple[Round, ...] = ()

    @classmethod
    def of(cls, messages: Sequence[Message]) -> Self:
        """The parts of a prepared conversation.

        Args:
            messages: the conversation.
        """
        head = 1 if messages and messages[0].role == "system" else 0
        turns = list(messages[head:])
        first, summary = None, ""
        if turns and turns[0].role == "user":
            first, summary, rest = split_summary(turns.pop(0))
            turns = [rest, *turns] if rest is not None else turns
        return cls(
            system=tuple(messages[:head]), first=first, summary=summary, rounds=_rounds(turns)
        )

    def messages(self) -> Prepared:
        """The conversation, prepared: neighbours of one speaker are one turn."""
        turns = [*self.system]
        if self.first is not None:
            turns.append(self.first)
        if self.summary:
            turns.append(summary_turn(self.summary))
        for one in self.rounds:
            turns.extend(one)
        return prepare(tuple(turns))

    def kept(self, rounds: int) -> frozenset[int]:
        """Which rounds stay: the last ones with what they answer, and the newest question.

        Args:
            rounds: how many assistant turns.
        """
        questions = [at for at, one in enumerate(self.rounds) if one[0].role == "user"]
        answers = [at for at, one in enumerate(self.rounds) if one[0].role != "user"]
        start = answers[-rounds] if 0 < rounds <= len(answers) else len(self.rounds)
        if rounds > len(answers):
            start = 0
        while start > 0 and start - 1 in questions:
            start -= 1
        return frozenset([*range(start, len(self.rounds)), *questions[-1:]])

    def only(self, kept: frozenset[int]) -> "History":
        """The conversation with some of its rounds.

        Args:
            kept: their places.
        """
        rounds = tuple(one for at, one in enumerate(self.rounds) if at in kept)
        return replace(self, rounds=rounds)


def _rounds(turns: Sequence[Message]) -> tuple[Round, ...]:
    rounds: list[list[Message]] = []
    for turn in turns:
        if turn.role == "tool" and rounds:
            rounds[-1].append(turn)
        else:
            rounds.append([turn])
    return tuple(map(tuple, rounds))


def old_rounds(history: History, keep_rounds: int) -> tuple[Round, ...]:
    """The rounds that are not kept.

    Args:
        history: the conversation.
        keep_rounds: how many of the last are.
    """
    kept = history.kept(keep_rounds)
    return tuple(one for at, one in enumerate(history.rounds) if at not in kept)


def summarised(history: History, keep_rounds: int, summary: str) -> History:
    """The conversation with a summary instead of its old rounds.

    Args:
        history: the conversation.
        keep_rounds: how many of the last rounds are kept.
        summary: of the others, and of an older summary.
    """
    return replace(history.only(history.kept(keep_rounds)), summary=summary)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduced:
    """A conversation without what had to go.

    Attributes:
        messages: what is left of it; the very tuple that was given where it fits.
        dropped: rounds that were left out, a first question or summary counted as one.
        shortened: results that were cut in their middle.
        fits: whether that is enough.
        uncut: the messages before results were cut; None where none were.
    """

    messages: Prepared
    dropped: int = 0
    shortened: int = 0
    fits: bool = True
    uncut: Prepared | None = None


def reduced(messages: Prepared, limit: int, weigh: Weigh, keep_rounds: int) -> Reduced:
    """A conversation that weighs no more than a limit, if that is possible.

    Args:
        messages: the conversation.
        limit: what it may weigh.
        weigh: the weight of a turn.
        keep_rounds: how many of the last rounds are not left out unless everything else is tried.

    Returns:
        The first of these that fits: without the oldest rounds that are not kept; with long results cut;
        the same with fewer rounds kept, down to none; without the summary; without the first question.
        Where nothing fits, the last one: the system prompt and the newest question.
    """
    if _weight(messages, weigh) <= limit:
        return Reduced(messages=messages)
    whole = History.of(messages)
    smallest = Reduced(messages=messages, fits=False)
    for keep in range(keep_rounds, -1, -1):
        found = _dropped(whole, limit, weigh, keep)
        if not found.fits:
            found = _shortened(found, limit, weigh)
        if found.fits:
            return found
        smallest = found
    return _given_up(whole, smallest, limit, weigh)


@dataclass(slots=True, kw_only=True)
class _Left:
    """Which rounds are left while the oldest go."""

    weight: int
    gone: set[int] = field(default_factory=set[int])


def _dropped(history: History, limit: int, weigh: Weigh, keep: int) -> Reduced:
    kept = history.kept(keep)
    marked = replace(history, summary=_marked(history.summary))
    weights = [sum(map(weigh, one)) for one in history.rounds]
    head = replace(marked, rounds=()).messages()
    left = _Left(weight=_weight(head, weigh) + sum(weights))
    for at, weight in enumerate(weights):
        if left.weight <= limit:
            break
        if at not in kept:
            left.gone.add(at)
            left.weight -= weight
    rounds = frozenset(range(len(history.rounds))) - left.gone
    messages = (marked if left.gone else history).only(rounds).messages()
    if _weight(messages, weigh) > limit and rounds != kept:
        # Turns of one speaker that became neighbours are joined, which may weigh a token more.
        messages = marked.only(kept).messages()
        left.gone = set(range(len(history.rounds))) - kept
    return Reduced(
        messages=messages, dropped=len(left.gone), fits=_weight(messages, weigh) <= limit
    )


def _shortened(found: Reduced, limit: int, weigh: Weigh) -> Reduced:
    """Long results cut in their middle, all to one length; the longest length that fits."""
    longest = max((len(turn.text) for turn in found.messages if turn.role == "tool"), default=0)
    best, chars = found, longest
    while chars > MIN_RESULT_CHARS and not best.fits:
        chars = max(MIN_RESULT_CHARS, chars // 2)
        turns = [_cut(turn, chars) for turn in found.messages]
        count = sum(one is not other for one, other in zip(turns, found.messages, strict=True))
        messages = Prepared(turns)
        fits = _weight(messages, weigh) <= limit
        best = replace(found, messages=messages, shortened=count, fits=fits, uncut=found.messages)
    return best


def _given_up(whole: History, smallest: Reduced, limit: int, weigh: Weigh) -> Reduced:
    """Without the summary, then without the first question where there is a newer one."""
    question = whole.only(whole.kept(0))
    bare = replace(question, summary="")
    tries = [bare] if whole.summary or smallest.dropped else []
    if whole.first is not None and question.rounds:
        tries.append(replace(bare, first=None))
    for number, history in enumerate(tries, 1):
        messages = history.messages()
        fits = _weight(messages, weigh) <= limit
        dropped = len(whole.rounds) - len(question.rounds) + number
        smallest = Reduced(messages=messages, dropped=dropped, fits=fits)
        if fits:
            break
    return smallest


def _marked(summary: str) -> str:
    """The summary with a word about what is left out, once."""
    if LEFT_OUT in summary:
        return summary
    return f"{summary}\n{LEFT_OUT}" if summary else LEFT_OUT


def _cut(turn: Message, chars: int) -> Message:
    if turn.role != "tool" or len(turn.text) <= chars:
        return turn
    return turn.model_copy(update={"content": cut_middle(turn.text, chars)})


def _weight(messages: Sequence[Message], weigh: Weigh) -> int:
    return sum(map(weigh, messages))
