"""How much a request is worth, and what a deployment buys for that. No I/O."""

from collections.abc import Mapping
from dataclasses import field, fields, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, Literal, cast

from rig.client.settings import instance_of, whole_number
from rig.errors import InvalidRequestError, NotConfiguredError
from rig.late_dataclass import dataclass
from rig.model import ChatOptions, ChatRequest

DEFAULT_TIER_TOKENS: Final = 4096
"""Limit of a reply, in tokens, of a tier that names none. Long enough for an answer with some thought before
it, and at 30 tokens a second over within the two minutes somebody may wait."""

MAX_ASKED_CHARS: Final = 64
"""Characters of an unknown tier that are told: it may be anything a definition holds."""


class Tier(StrEnum):
    """What a request is worth: a judgement about the work, not the name of a model."""

    FAST = "fast"
    BALANCED = "balanced"
    DEEP = "deep"


DEFAULT_TIER: Final = Tier.BALANCED

# Who stands in: the nearest; of two that are equally near, the cheaper.
_STAND_INS: Final[Mapping[Tier, tuple[Tier, ...]]] = MappingProxyType(
    {
        Tier.FAST: (Tier.BALANCED, Tier.DEEP),
        Tier.BALANCED: (Tier.FAST, Tier.DEEP),
        Tier.DEEP: (Tier.BALANCED, Tier.FAST),
    }
)


def parse_tier(raw: object) -> tuple[Tier, bool]:
    """The tier that a definition declares.

    Blanks and letter case do not count. An unknown word is no error: the tier says what a request may
    cost, not whether it is allowed, and a typo must not become an outage. Who asks is told, so that a
    definition that has drifted is seen.

    Args:
        raw: what is declared; "" or None for nothing.

    Returns:
        The tier, balanced for nothing and for what nobody knows, and whether it was recognised.
    """
    if raw is None:
        return DEFAULT_TIER, True
    if not isinstance(raw, str):
        return DEFAULT_TIER, False
    word = raw.strip().lower()
    if not word:
        return DEFAULT_TIER, True
    try:
        return Tier(word), True
    except ValueError:
        return DEFAULT_TIER, False


@dataclass(frozen=True, slots=True, kw_only=True)
class TierModel:
    """What a tier buys in one deployment.

    Attributes:
        model: the model's name below the gateway.
        max_tokens: limit of a reply that names none, in tokens.
        effort: how hard a reasoning model thinks, short for `options.reasoning_effort`.
        options: what its requests say beyond that; each option of a request wins over that of its tier.

    Raises:
        InvalidRequestError: a field can't be used; the message says what to change.
    """

    model: str
    max_tokens: int = DEFAULT_TIER_TOKENS
    effort: str | None = None
    options: ChatOptions = ChatOptions()

    def __post_init__(self) -> None:
        _check_text("model", self.model)
        whole_number(self.max_tokens, "max_tokens of a tier")
        instance_of(ChatOptions, self.options, "options of a tier")
        if self.effort is None:
            return
        _check_text("effort", self.effort)
        if self.options.reasoning_effort not in {None, self.effort}:
            raise InvalidRequestError(
                "effort and options.reasoning_effort of a tier differ: give one of them"
            )
        options = replace(self.options, reasoning_effort=self.effort)
        object.__setattr__(self, "options", options)

    def applied(self, request: ChatRequest) -> ChatRequest:
        """A request as this tier asks it.

        Args:
            request: what was asked for.
        """
        return replace(request, model=self.model, options=merged(self.options, request.options))


def merged(defaults: ChatOptions, options: ChatOptions) -> ChatOptions:
    """Options over others: what is set wins, and fields of both `extra_body` are sent.

    Whose request it is and who waits for it is said by the request alone.

    Args:
        defaults: what holds where nothing is set.
        options: what was set.
    """
    changes: dict[str, Any] = {}
    for one in fields(ChatOptions):
        value = getattr(options, one.name)
        if value is None:
            changes[one.name] = getattr(defaults, one.name)
    if defaults.extra_body:
        changes["extra_body"] = {**defaults.extra_body, **options.extra_body}
    return replace(options, **changes) if changes else options


@dataclass(frozen=True, slots=True, kw_only=True)
class TierChoice:
    """The tier a request is answered with.

    Attributes:
        tier: the tier that is used.
        model: what it buys.
        asked: what was asked for, cut.
        fell_back: why another tier than that is used; None where it is the one.
    """

    tier: Tier
    model: TierModel
    asked: str = ""
    fell_back: Literal["unknown", "missing"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What each tier buys here.

    Attributes:
        tiers: the model of each tier: `TierModel`, or a name alone; not all of them need to be there.
        default: the tier of requests that name none, or an unknown one.

    Raises:
        NotConfiguredError: there is no tier at all.
        InvalidRequestError: something in it can't be used; the message says what to change.
    """

    tiers: Mapping[Tier, TierModel] = field(hash=False)
    default: Tier = DEFAULT_TIER

    def __post_init__(self) -> None:
        object.__setattr__(self, "tiers", _tiers(self.tiers))
        object.__setattr__(self, "default", _known(self.default))

    def choose(self, raw: object) -> TierChoice:
        """The tier for what a request calls its model.

        Args:
            raw: the name of a tier; "" or None for the default. Anything else is unknown.
        """
        tier, is_known = parse_tier(raw)
        word = "" if raw is None else str(raw).strip()
        if not word or not is_known:
            tier = self.default
        used = next(one for one in (tier, *_STAND_INS[tier]) if one in self.tiers)
        fell_back: Literal["unknown", "missing"] | None = None
        if not is_known:
            fell_back = "unknown"
        elif used is not tier:
            fell_back = "missing"
        asked = word[:MAX_ASKED_CHARS] or tier.value
        return TierChoice(tier=used, model=self.tiers[used], asked=asked, fell_back=fell_back)


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str) or not value.strip():
        raise InvalidRequestError(f"{name} of a tier must be a name or word, and not blank")


def _tiers(given: object) -> Mapping[Tier, TierModel]:
    if not isinstance(given, Mapping):
        raise InvalidRequestError(
            'tiers must be a mapping: {Tier.FAST: "qwen3-4b", Tier.DEEP: TierModel(model="qwen3-32b")}'
        )
    known = cast("Mapping[object, object]", given)
    if not known:
        raise NotConfiguredError("tiers is empty: a gateway needs the model of at least one tier")
    return MappingProxyType({_known(tier): _tier_model(model) for tier, model in known.items()})


def _known(tier: object) -> Tier:
    """A tier of a configuration, where a typo is an error: nobody is waiting yet.

    Raises:
        InvalidRequestError: there is no such tier.
    """
    found, is_known = parse_tier(tier) if isinstance(tier, str) else (DEFAULT_TIER, False)
    if not is_known or not str(tier).strip():
        raise InvalidRequestError(f"a tier must be one of {', '.join(Tier)}")
    return found


def _tier_model(model: object) -> TierModel:
    if isinstance(model, TierModel):
        return model
    if isinstance(model, str):
        return TierModel(model=model)
    raise InvalidRequestError("the model of a tier must be a TierModel(...), or its name")
