"""What a run may spend, what that costs, and how large a request is. No I/O.

Nothing here measures time or keeps books: those are `rig.agent.ledger`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

from pydantic_core import to_json

from rig.errors import BudgetExceededError, InvalidRequestError
from rig.late_dataclass import dataclass
from rig.messages import Message, TextPart, Usage
from rig.model import ChatRequest, Reply, ToolSpec
from rig.text.finite import is_finite

BYTES_PER_TOKEN = 4
"""Bytes of UTF-8 text counted as one token where the server reported no usage, rounded up. The usual
estimate for English and code; other scripts have fewer bytes a token, so it counts them too low."""

MEDIA_PART_TOKENS = 1000
"""Tokens one image or audio part counts for in an estimate. A 1024 x 1024 image is 576 tokens for
LLaVA 1.5 and about 1,300 for Qwen2.5-VL; its base64 text would be counted a hundred times as high."""

MAX_SCALE = 8.0
"""How far a server's count may lie above our estimate and be believed of what was added since: eight
tokens for four bytes is beyond every script. Below one there is no such bound: a server that does not
count what is in its cache is taken at its word, as its report is what is paid."""

MIN_SCALED_TOKENS = 256
"""Estimated tokens of a prompt below which its count tells of the chat template and the form of tools more
than of the texts, and is not expected to grow as they do."""

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a model costs, in the money of whoever made the price list.

    Attributes:
        prompt_per_million: for a million tokens of prompt.
        completion_per_million: for a million tokens of reply, thoughts included.
        cached_per_million: for a million tokens of prompt out of the server's cache; None is the
            price of any other.

    Raises:
        InvalidRequestError: a price is no number, or below 0.
    """

    prompt_per_million: float = 0.0
    completion_per_million: float = 0.0
    cached_per_million: float | None = None

    def __post_init__(self) -> None:
        for name in ("prompt_per_million", "completion_per_million", "cached_per_million"):
            value = getattr(self, name)
            missing = value is None and name == "cached_per_million"
            if not missing and (not is_finite(value) or value < 0):
                raise InvalidRequestError(f"Price({name}=...) must be a number, 0 or more")

    def of(self, usage: Usage) -> float:
        """What a request cost.

        Args:
            usage: its tokens.
        """
        cached, written = usage.cached_tokens, usage.cache_creation_tokens
        beside = cached + written > usage.prompt_tokens  # see Usage.total
        fresh = usage.prompt_tokens + written if beside else usage.prompt_tokens - cached
        each = (
            self.prompt_per_million if self.cached_per_million is None else self.cached_per_million
        )
        completion = max(usage.completion_tokens, usage.total_tokens - usage.prompt_tokens)
        return (
            fresh * self.prompt_per_million
            + cached * each
            + completion * self.completion_per_million
        ) / _MILLION


PriceOf = Callable[[str], Price | None]
"""The price of a model by its name; None where it has none."""


class Prices:
    """A price list.

    ```python
    prices = Prices({"qwen3-32b": Price(prompt_per_million=0.1, completion_per_million=0.3)})
    ```

    Args:
        by_model: the price of each model, by the name it is asked by.
        default: the price of all others; None for none, so that a cost can't be told and a budget
            with a `cost` refuses them.

    Raises:
        InvalidRequestError: something in it is no name, or no price.
    """

    __slots__ = ("_by_model", "_default")

    def __init__(self, by_model: Mapping[str, Price], *, default: Price | None = None) -> None:
        listed = [*by_model.values()] if default is None else [*by_model.values(), default]
        names = all(isinstance(name, str) for name in by_model)  # pyright: ignore[reportUnnecessaryIsInstance] callers without a type checker
        if not names or not all(isinstance(price, Price) for price in listed):  # pyright: ignore[reportUnnecessaryIsInstance] the same
            raise InvalidRequestError(
                'Prices(...) needs names and prices: Prices({"model": Price(prompt_per_million=1)})'
            )
        self._by_model = MappingProxyType(dict(by_model))
        self._default = default

    def __call__(self, model: str) -> Price | None:
        """The price of a model, None where it has none."""
        return self._by_model.get(model, self._default)

    def __repr__(self) -> str:
        return f"Prices({len(self._by_model)} models, default={self._default!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What may be spent; `None` is no limit.

    Exactly the limit passes. A run with history starts at zero. To let several runs spend out of one
    budget, make a `SharedBudget` of it.

    Attributes:
        tokens: prompt and completion tokens of all requests together, as `Usage.total` counts them, at
            least 1. What a server did not report is estimated from the bytes sent and received.
        seconds: wall-clock seconds from the start of the run to its end, above 0; at the deadline the
            request or tool in flight is cancelled.
        calls: requests to models, at least 1: each round is one, and so is the request for a summary.
            What the client sends again after a failure is no call of its own.
        tool_calls: tool calls that are executed, at least 0.
        cost: what all requests may cost together, above 0; needs `prices`.
        prices: what models cost: `Prices`, a mapping, or a function of the model's name.

    Raises:
        InvalidRequestError: a limit is no number or too small, or there is a cost without prices.
    """

    tokens: int | None = None
    seconds: float | None = None
    calls: int | None = None
    tool_calls: int | None = None
    cost: float | None = None
    prices: PriceOf | Mapping[str, Price] | None = None

    def __post_init__(self) -> None:
        for name, unit, least in _COUNTS:
            value = getattr(self, name)
            if value is not None and (not _is_number(value, int) or value < least):
                raise InvalidRequestError(
                    f"Budget({name}=...) must be a whole number of {unit} from {least} up,"
                    " or None for no limit"
                )
        for name, unit in (("seconds", "number of seconds"), ("cost", "number")):
            value = getattr(self, name)
            if value is not None and (not is_finite(value) or value <= 0):
                raise InvalidRequestError(
                    f"Budget({name}=...) must be a {unit} above 0, or None for no limit"
                )
        object.__setattr__(self, "prices", _checked_prices(self.prices))
        if self.cost is not None and self.prices is None:
            raise InvalidRequestError(
                "Budget(cost=...) needs prices: Budget(cost=1, prices=Prices({...}))"
            )

    def price_of(self, model: str) -> Price | None:
        """The price of a model, None where it has none or there is no price list.

        Args:
            model: the model's name.

        Raises:
            InvalidRequestError: the caller's function gave something else.
        """
        prices = cast("Callable[[str], object] | None", self.prices)
        price = prices(model) if prices is not None else None
        if price is None or isinstance(price, Price):
            return price
        raise InvalidRequestError("prices must give a Price(...) for a model's name, or None")


_COUNTS = (("tokens", "tokens", 1), ("calls", "requests", 1), ("tool_calls", "calls", 0))


def _checked_prices(prices: object) -> PriceOf | None:
    if isinstance(prices, Mapping):
        return Prices(cast("Mapping[str, Price]", prices))
    if prices is None or callable(prices):
        return cast("PriceOf | None", prices)
    raise InvalidRequestError(
        "prices must be Prices(...), a mapping of names to prices, or a function"
    )


_WORDS = {
    "tokens": "the token budget is used up",
    "calls": "the budget of requests is used up",
    "tool_calls": "the budget of tool calls is used up, and the model asked for more; none of that reply ran",
    "cost": "the money of the budget is used up",
    "seconds": "the run took longer than its budget",
}


def out_of(reason: str) -> BudgetExceededError:
    """The error of a budget that ran out.

    Args:
        reason: which limit, by its name.
    """
    return BudgetExceededError(_WORDS[reason], reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What is left of a budget; None where there is no limit, below 0 where more was spent.

    Attributes:
        tokens: prompt and completion tokens.
        seconds: seconds to the deadline; all of them before the budget is used first.
        calls: requests to models.
        tool_calls: tool calls.
        cost: money.
    """

    tokens: int | None = None
    seconds: float | None = None
    calls: int | None = None
    tool_calls: int | None = None
    cost: float | None = None

    @property
    def used_up(self) -> str:
        """What forbids another request, "" when nothing does: calls, tokens or cost."""
        if self.calls is not None and self.calls <= 0:
            return "calls"
        if self.tokens is not None and self.tokens <= 0:
            return "tokens"
        return "cost" if self.cost is not None and self.cost <= 0 else ""

    @property
    def overdrawn(self) -> str:
        """What more was spent of than there was, "" for nothing: tokens or cost."""
        if self.tokens is not None and self.tokens < 0:
            return "tokens"
        return "cost" if self.cost is not None and self.cost < 0 else ""

    def within(self, other: "Left") -> "Left":
        """The less of both, limit by limit.

        Args:
            other: what is left of another budget.
        """
        return Left(
            tokens=_less(self.tokens, other.tokens),
            seconds=_less(self.seconds, other.seconds),
            calls=_less(self.calls, other.calls),
            tool_calls=_less(self.tool_calls, other.tool_calls),
            cost=_less(self.cost, other.cost),
        )


UNLIMITED = Left()
"""What is left where there is no budget."""


def _less(one: Any, other: Any) -> Any:  # noqa: ANN401  two numbers of one kind, or None
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


def _is_number(value: object, *types: type) -> bool:
    return isinstance(value, types) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How large a prompt is before anybody counted it, in tokens.

    Attributes:
        likely: the estimate.
        least: what it is surely not below, as far as anything is sure.
    """

    likely: int
    least: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A prompt that a server has counted, by which later ones of the conversation are estimated.

    Attributes:
        tokens: the server's count.
        estimated: our estimate of the same prompt.
    """

    tokens: int
    estimated: int

    @property
    def scale(self) -> float:
        """Tokens for one of ours."""
        scale = self.tokens / max(1, self.estimated)
        return 1.0 if self.estimated < MIN_SCALED_TOKENS else min(scale, MAX_SCALE)

    def size(self, estimated: int) -> Size:
        """The size of a later prompt: what was counted, and the rest estimated.

        Args:
            estimated: our estimate of it.
        """
        more = (estimated - self.estimated) * self.scale
        likely = max(1, math.ceil(self.tokens + more))
        return Size(likely=likely, least=likely if more < 0 else math.ceil(self.tokens + more / 2))

    def estimate_for(self, tokens: int) -> int:
        """Our estimate of a prompt that has so many of the server's tokens.

        Args:
            tokens: as the server would count them.
        """
        return math.floor(self.estimated + (tokens - self.tokens) / self.scale)


def prompt_size(request: ChatRequest, known: Counted | None = None) -> Size:
    """How large a request's prompt is.

    Args:
        request: what would be sent.
        known: an earlier prompt of the conversation, None when none was counted.
    """
    likely = prompt_tokens(request)
    if known is not None:
        return known.size(likely)
    from rig.agent.truncation import least_tokens  # noqa: PLC0415 of prompts nobody has counted

    least = sum(least_tokens(message.text) for message in request.messages)
    return Size(likely=likely, least=min(least, likely))


def counted(request: ChatRequest, usage: Usage) -> Counted | None:
    """What a server's count of a prompt tells; None where it gave none.

    Args:
        request: what was sent.
        usage: what the server reported.
    """
    if not usage.reported or usage.prompt_tokens < 1:
        return None
    return Counted(tokens=usage.prompt_tokens, estimated=prompt_tokens(request))


def prompt_tokens(request: ChatRequest) -> int:
    """The size of a request's prompt in tokens, estimated from its bytes.

    Args:
        request: what would be sent.
    """
    return estimate_tokens(request.messages) + sum(_spec_tokens(spec) for spec in request.tools)


def usage_of(request: ChatRequest, reply: Reply) -> Usage:
    """What one exchange took, in tokens: as reported, or estimated where nothing was.

    Args:
        request: what was sent.
        reply: what came back.
    """
    if reply.usage.reported:
        return reply.usage
    prompt = prompt_tokens(request)
    thoughts = len(reply.reasoning.encode("utf-8", "replace"))
    completion = estimate_tokens([reply.message()]) + (
        0 if reply.reasoning_field else -(-thoughts // BYTES_PER_TOKEN)
    )
    return Usage.made(
        prompt_tokens=prompt, completion_tokens=completion, total_tokens=prompt + completion
    )


def tokens_spent(request: ChatRequest, reply: Reply) -> int:
    """What one exchange cost, in tokens.

    Args:
        request: what was sent.
        reply: what came back.

    Returns:
        The reported total, or the estimate of both sides where nothing was reported.
    """
    return usage_of(request, reply).total


def estimate_tokens(messages: Sequence[Message]) -> int:
    """The size of messages in tokens, estimated from their bytes and rounded up.

    Args:
        messages: what would be sent.
    """
    return sum(_message_tokens(message) for message in messages)


def _message_tokens(message: Message) -> int:
    texts = [message.reasoning or ""]
    texts.extend(call.name + call.arguments for call in message.tool_calls)
    media = 0
    if isinstance(message.content, str):
        texts.append(message.content)
    else:
        texts.extend(part.text for part in message.content if isinstance(part, TextPart))
        media = sum(not isinstance(part, TextPart) for part in message.content)
    size = sum(
        len(text) if text.isascii() else len(text.encode("utf-8", "replace")) for text in texts
    )
    return -(-size // BYTES_PER_TOKEN) + media * MEDIA_PART_TOKENS


def _spec_tokens(spec: ToolSpec) -> int:
    size = len(spec.name) + len(spec.description.encode("utf-8", "replace"))
    return -(-(size + len(to_json(dict(spec.input_schema)))) // BYTES_PER_TOKEN)
