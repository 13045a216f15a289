"""Whether a request may be sent out of what is left of a budget, and with how many `max_tokens`. No I/O."""

import math
from typing import Final, Literal

from rig.agent.budget import Left, Price, Size
from rig.late_dataclass import dataclass

_MILLION: Final = 1_000_000
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """What is set aside for requests under way.

    Attributes:
        tokens: their prompts, as estimated, and the longest replies they may get.
        cost: what that would cost.
    """

    tokens: float = 0
    cost: float = 0.0

    def __add__(self, other: "Aside") -> "Aside":
        """Both."""
        return Aside(tokens=self.tokens + other.tokens, cost=self.cost + other.cost)

    def __sub__(self, other: "Aside") -> "Aside":
        """The one without the other."""
        return Aside(tokens=self.tokens - other.tokens, cost=self.cost - other.cost)


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What a request needs.

    Attributes:
        size: of its prompt.
        max_tokens: of its reply.
        price: of its model.
    """

    size: Size
    max_tokens: int
    price: Price

    def aside(self, max_tokens: int) -> Aside:
        """What is set aside for it.

        Args:
            max_tokens: that it was granted.
        """
        prompt = self.size.likely
        return Aside(
            tokens=prompt + max_tokens,
            cost=(prompt * self.price.prompt_per_million + max_tokens * self._each) / _MILLION,
        )

    def room(self, left: Left, aside: Aside, prompt_tokens: int) -> tuple[float, str]:
        """How many tokens its reply may have, infinitely many where nothing limits them; and what limits them.

        Args:
            left: what is left of the budget.
            aside: what of that is set aside.
            prompt_tokens: what its prompt is taken for.
        """
        tokens = math.inf if left.tokens is None else left.tokens - aside.tokens - prompt_tokens
        affordable = self._affordable(left, aside, prompt_tokens)
        return min((tokens, "tokens"), (affordable, "cost"))

    @property
    def _each(self) -> float:
        return self.price.completion_per_million

    def _affordable(self, left: Left, aside: Aside, prompt_tokens: int) -> float:
        if left.cost is None:
            return math.inf
        prompt = prompt_tokens * self.price.prompt_per_million / _MILLION
        money = left.cost - aside.cost - prompt
        if money < -_ROUNDING or left.cost <= 0:
            return 0
        return math.floor(money * _MILLION / self._each + _ROUNDING) if self._each else math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a budget says to a request.

    Attributes:
        kind: it may be sent; it has to wait for others to give back what they set aside; or it does not
            fit what is left.
        max_tokens: that it may be sent with.
        reason: what there is not enough of, calls, tokens or cost: where it is refused, or granted fewer
            tokens than it wants.
    """

    kind: Literal["granted", "wait", "refused"]
    max_tokens: int = 0
    reason: str = ""


def grant(need: Need, left: Left, aside: Aside, *, others: bool) -> Grant:
    """Whether a request may be sent.

    Args:
        need: what it needs.
        left: what is left of the budget, not counting what is set aside.
        aside: what is set aside.
        others: it may wait for those who have set something aside.

    Returns:
        All it wants where that is free. Else it waits for the others, where it would fit without them;
        with none to wait for it gets what is left, which is less than its `max_tokens`. Refused is only
        what surely does not fit, as an estimate may be too high.
    """
    if left.calls is not None and left.calls < 1:
        return Grant(kind="refused", reason="calls")
    if need.room(left, aside, need.size.likely)[0] >= need.max_tokens:
        return Grant(kind="granted", max_tokens=need.max_tokens)
    free = Aside() if others else aside
    short = ""
    for prompt_tokens in (need.size.likely, need.size.least):
        room, short = need.room(left, free, prompt_tokens)
        if room >= 1:
            if others:
                return Grant(kind="wait")
            capped = room < need.max_tokens
            granted = int(room) if capped else need.max_tokens
            return Grant(kind="granted", max_tokens=granted, reason=short if capped else "")
    return Grant(kind="refused", reason=short)
