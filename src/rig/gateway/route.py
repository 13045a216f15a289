"""Which models may answer a request of a category, and in which order. No I/O."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from rig.events import RouteBy, RouteChosen
from rig.gateway.categories import AUTO, Categories
from rig.gateway.heuristics import Guess
from rig.late_dataclass import dataclass
from rig.messages import ImagePart, Message, Usage

Reads = Literal["newest", "first"]
"""Which user turn of a conversation says what it is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Who answers, and why.

    Attributes:
        category: what the request is about, "" where a model was named or the default has no category.
        models: who is asked; each one after the first where those before it turn out to be missing.
        by: how it was chosen.
        reason: the same for people.
        usage: what asking the small model cost, where it was asked and said so.
    """

    category: str
    models: tuple[str, ...]
    by: RouteBy
    reason: str = ""
    usage: Usage | None = None

    @property
    def model(self) -> str:
        """Who is asked first."""
        return self.models[0]

    def without_first(self) -> "Route":
        """The route once the first model turned out to be missing."""
        return replace(self, models=self.models[1:])

    def told(self) -> RouteChosen:
        """The event that tells of it."""
        return RouteChosen(
            category=self.category,
            model=self.model,
            by=self.by,
            reason=self.reason,
            usage=self.usage,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """What of a conversation a router looks at.

    Attributes:
        text: what the user says.
        has_images: whether anything in the conversation is an image: all of it is sent again.
    """

    text: str = ""
    has_images: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorting:
    """What a request is about, before anybody looked who is there.

    Attributes:
        category: one of the names, "" for none.
        by: how it was told.
        reason: the same for people.
        usage: what asking the small model cost.
    """

    category: str
    by: RouteBy
    reason: str
    usage: Usage | None = None

    def to(self, models: tuple[str, ...]) -> Route:
        """The route to these models.

        Args:
            models: who is asked, in order.
        """
        return Route(
            category=self.category, models=models, by=self.by, reason=self.reason, usage=self.usage
        )


def without_help(guess: Guess, categories: Categories) -> Sorting:
    """What a request is taken for where the text does not decide and nobody else does.

    Args:
        guess: what the text tells.
        categories: all there are.
    """
    if guess.tied:
        reason = f"the first of {', '.join(guess.tied)}, which fit alike"
        return Sorting(category=guess.tied[0], by="heuristic", reason=reason)
    reason = "nothing tells what it is about"
    return Sorting(category=categories.fallback, by="default", reason=reason)


def is_named(model: str) -> bool:
    """Whether a request names its model, so that there is nothing to choose.

    Args:
        model: the request's.
    """
    return model.strip().lower() not in {"", AUTO}


def topic_of(messages: Sequence[Message], reads: Reads = "newest") -> Topic:
    """What a conversation is about.

    Args:
        messages: the conversation, oldest first.
        reads: which user turn says it. Turns without text say nothing.
    """
    turns = messages if reads == "first" else reversed(messages)
    texts = (turn.text for turn in turns if turn.role == "user")
    return Topic(
        text=next((text for text in texts if text.strip()), ""),
        has_images=any(map(_has_image, messages)),
    )


def _has_image(turn: Message) -> bool:
    if isinstance(turn.content, str):
        return False
    return any(isinstance(part, ImagePart) for part in turn.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The models of a category that may be asked.

    Attributes:
        models: the ones to ask, in order; the default is the last.
        missing: preferred ones that are known not to be there.
    """

    models: tuple[str, ...]
    missing: tuple[str, ...] = ()


def preferences(category: str, categories: Categories) -> tuple[str, ...]:
    """The models of a category, the best first, the default last.

    Args:
        category: its name, "" for none.
        categories: all there are.
    """
    known = categories.by_name.get(category)
    preferred = known.preferences if known is not None else ()
    return tuple(dict.fromkeys((*preferred, categories.default)))


def select(wanted: Sequence[str], there: Mapping[str, bool | None]) -> Selection:
    """Leave out what is known to be missing.

    Args:
        wanted: models in order, the default last.
        there: for each whether it is there; None where nobody knows, which is taken for yes.

    Returns:
        At least the default: where nothing is there, asking it gives the error that says so.
    """
    default = wanted[-1]
    kept = tuple(name for name in wanted if name == default or there.get(name) is not False)
    return Selection(models=kept, missing=tuple(name for name in wanted if name not in kept))
