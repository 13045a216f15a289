"""An endpoint of a pool as its owner describes it, and as the pool finds it. No I/O."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, field, replace
from types import MappingProxyType
from typing import Any, Final, cast

from rig.client import settings
from rig.errors import InvalidRequestError
from rig.events import EndpointState
from rig.late_dataclass import dataclass
from rig.transport.timeouts import Timeouts
from rig.wire.dialect import Dialect

MAX_NAME_CHARS: Final = 64
"""Characters of an endpoint's name: it is shown in events, logs and tables."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One server of a pool.

    Attributes:
        url: its base URL, as `Client` takes it. It is shown nowhere: not in events, errors or reprs.
        api_key: its own key, "" for none.
        models: the models it has; None for whatever it is asked for, until it says that it has not got it.
            A mapping says what each is called there: `{"qwen3": "Qwen/Qwen3-8B-AWQ"}`.
        slots: how many requests it may be given at a time; None for no bound.
        priority: lower goes first, where as many requests are under way: 0 for what you have, 1 for what
            you would rather not need.
        tags: words of yours; `pool.tagged("gpu")` asks only endpoints that have them.
        name: what it is called in events, errors and tables; endpoint-1, endpoint-2 ... when "".
        dialect: as for `Client`.
        context_tokens: its window, prompt and reply together; None when not known. A prompt that
            does not fit elsewhere goes to an endpoint whose window is known to be larger.
        timeouts: its own; the pool's when None.
        http_client: as for `Client`.

    Raises:
        InvalidRequestError: an argument can't be used.
    """

    url: str = field(repr=False)
    api_key: str = field(default="", repr=False)
    _: KW_ONLY
    models: Iterable[str] | Mapping[str, str] | None = None
    slots: int | None = None
    priority: int = 0
    tags: Iterable[str] = ()
    name: str = ""
    dialect: str | Dialect | None = None
    context_tokens: int | None = None
    timeouts: Timeouts | None = None
    http_client: Any | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.models is not None:
            object.__setattr__(self, "models", _models(self.models))
        object.__setattr__(self, "tags", _words("tags", self.tags))
        for name in ("slots", "context_tokens"):
            if getattr(self, name) is not None:
                settings.whole_number(getattr(self, name), name, ", or None")
        if isinstance(self.priority, bool) or not isinstance(self.priority, int):  # pyright: ignore[reportUnnecessaryIsInstance] callers without a type checker
            raise InvalidRequestError("priority must be a whole number; lower goes first")
        _check_name(self.name)
        if self.timeouts is not None:
            settings.instance_of(Timeouts, self.timeouts, "timeouts", ", or None for the pool's")

    @property
    def names(self) -> Mapping[str, str] | None:
        """What its models are called, here to there; None where it may have any."""
        return cast("Mapping[str, str] | None", self.models)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointStatus:
    """How an endpoint is at the moment.

    Attributes:
        name: its name.
        state: unknown, healthy, busy, loading, cooling or down.
        reason: the fault behind that, a word of rig's; "" for none.
        pause_s: seconds until it may be asked again; 0 when it may now.
        in_flight: requests of this pool that it is answering.
        slots: how many it may be given at a time, None for no bound.
        failures: how often it has failed in a row.
        requests: how many it was sent since the pool was made, in this event loop.
        errors: how many of them failed.
        latency_s: average seconds until its answers begin, None before the first.
        models: what it has, as declared or as it said when it was asked; None when not known.
        missing: models it said it has not got.
        context_tokens: its window, None when not known; the smallest of its models where several are.
        priority: as given.
        tags: as given.
    """

    name: str
    state: EndpointState = "unknown"
    reason: str = ""
    pause_s: float = 0.0
    in_flight: int = 0
    slots: int | None = None
    failures: int = 0
    requests: int = 0
    errors: int = 0
    latency_s: float | None = None
    models: tuple[str, ...] | None = None
    missing: tuple[str, ...] = ()
    context_tokens: int | None = None
    priority: int = 0
    tags: tuple[str, ...] = ()


def named(endpoints: Iterable[Endpoint | str]) -> tuple[Endpoint, ...]:
    """The endpoints of a pool, each with a name of its own.

    Args:
        endpoints: as given; a text is the URL of one.

    Raises:
        InvalidRequestError: there are none, one is none, or two have the same name.
    """
    if isinstance(endpoints, str | bytes | Endpoint) or not isinstance(endpoints, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] callers without a type checker
        raise InvalidRequestError("Pool takes a list of endpoints: put a single one in brackets")
    made: list[Endpoint] = []
    for number, given in enumerate(endpoints, start=1):
        each = Endpoint(given) if isinstance(given, str) else given
        if not isinstance(each, Endpoint):  # pyright: ignore[reportUnnecessaryIsInstance] the same
            raise InvalidRequestError("every endpoint of a pool must be an Endpoint(...) or a URL")
        made.append(each if each.name else replace(each, name=f"endpoint-{number}"))
    if not made:
        raise InvalidRequestError("a pool needs at least one endpoint")
    if len({each.name for each in made}) < len(made):
        raise InvalidRequestError("two endpoints of a pool have the same name")
    return tuple(made)


def _check_name(name: object) -> None:
    """Refuse what can't be shown as a name.

    Raises:
        InvalidRequestError: it is too long, or no text of one line.
    """
    if not isinstance(name, str) or len(name) > MAX_NAME_CHARS or not (name + " ").isprintable():
        raise InvalidRequestError(
            f"name must be text of one line and at most {MAX_NAME_CHARS} characters"
        )


def _models(models: object) -> Mapping[str, str]:
    """Names of models, here to there.

    Raises:
        InvalidRequestError: they are no names, or none at all.
    """
    if isinstance(models, Mapping):
        names = dict(cast("Mapping[str, str]", models))
    else:
        names = {name: name for name in _words("models", models)}
    texts: list[object] = [*names.keys(), *names.values()]
    if not texts or not all(isinstance(text, str) and text for text in texts):
        raise InvalidRequestError("models must be names of models, or None for any")
    return MappingProxyType(names)


def _words(name: str, words: object) -> tuple[str, ...]:
    """Words in their order.

    Raises:
        InvalidRequestError: it is no list of words.
    """
    if isinstance(words, str) or not isinstance(words, Iterable):
        raise InvalidRequestError(f"{name} must be a list of words: put a single one in brackets")
    listed: Sequence[object] = [*cast("Iterable[object]", words)]
    if not all(isinstance(word, str) and word for word in listed):
        raise InvalidRequestError(f"{name} must be a list of words")
    return tuple(cast("Sequence[str]", listed))
