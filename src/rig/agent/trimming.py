"""Which turns of a conversation to keep when it gets too long: the newest that fit. No I/O.

A conversation is made of exchanges: a user turn and all that follows up to the next one. An exchange is
made of steps: its question, then each assistant turn with the results of its calls. Steps are never
taken apart, so that no result is without its call and no call without its result. Of the oldest exchange
that fits in part, the question and the latest steps stay: templates want a user turn first, and the
model wants to know what the steps were for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rig.messages import Message

Weigh = Callable[[Message], int]
"""What one turn takes of the limit."""


@dataclass(slots=True, kw_only=True)
class _Step:
    """Turns that stay together."""

    turns: list[Message]
    weight: int


@dataclass(slots=True, kw_only=True)
class _Exchange:
    """A question, absent where the conversation begins with something else, and what followed."""

    question: _Step | None
    steps: list[_Step] = field(default_factory=list[_Step])

    @property
    def all(self) -> list[_Step]:
        return [self.question, *self.steps] if self.question else self.steps


def trimmed(turns: Sequence[Message], limit: int, weigh: Weigh) -> tuple[Message, ...]:
    """The newest turns that fit.

    Args:
        turns: a conversation without its system message and without a `pairing_problem`.
        limit: what the turns may weigh together.
        weigh: the weight of a turn, 0 or more; asked once for each.

    Returns:
        What stays, in order. The last question and the last step stay whatever they weigh: without
        them there is nothing to go on from.
    """
    newest_first: list[list[_Step]] = []
    for exchange in reversed(_exchanges(turns, weigh)):
        fitting = _fitting(exchange, limit, last=not newest_first)
        newest_first.append(fitting)
        limit -= sum(step.weight for step in fitting)
        if len(fitting) < len(exchange.all):
            break
    return tuple(
        turn for fitting in reversed(newest_first) for step in fitting for turn in step.turns
    )


def _exchanges(turns: Sequence[Message], weigh: Weigh) -> list[_Exchange]:
    exchanges: list[_Exchange] = []
    for turn in turns:
        step = _Step(turns=[turn], weight=weigh(turn))
        if turn.role == "user":
            exchanges.append(_Exchange(question=step))
            continue
        if not exchanges:
            exchanges.append(_Exchange(question=None))
        steps = exchanges[-1].steps
        if turn.role == "tool" and steps:
            steps[-1].turns += step.turns
            steps[-1].weight += step.weight
        else:
            steps.append(step)
    return exchanges


def _fitting(exchange: _Exchange, limit: int, *, last: bool) -> list[_Step]:
    """The steps of an exchange that stay: all, the question with the latest, or none."""
    if sum(step.weight for step in exchange.all) <= limit:
        return exchange.all
    if exchange.question is None and not last:
        return []
    if exchange.question is not None:
        limit -= exchange.question.weight
    latest: list[_Step] = []
    for step in reversed(exchange.steps):
        limit -= step.weight
        if limit < 0 and (latest or not last):
            break
        latest.append(step)
    if not latest and not last:
        return []
    head = [exchange.question] if exchange.question else []
    return [*head, *reversed(latest)]
