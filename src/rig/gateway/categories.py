"""What a router sorts requests into, checked where it is written down. No I/O."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Final, cast

from rig.errors import InvalidRequestError
from rig.gateway.code_language import LANGUAGES, language_named
from rig.late_dataclass import dataclass

AUTO: Final = "auto"
"""The model's name that asks a router to choose."""

MAX_CATEGORIES: Final = 64
"""Categories of a router. All of them stand in the prompt of a small model, which confuses a dozen."""

MAX_NAME_CHARS: Final = 64
"""Characters of a category's name. Names are answers of a small model, which writes them token by token."""

MAX_PATTERNS: Final = 500
"""Patterns of a category. Each is looked for in every request that names no model."""

MAX_PATTERN_CHARS: Final = 100
"""Characters of a pattern: a word or a short phrase."""

_NAME: Final = re.compile(r"[^\W_](?:[\w -]*\w)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """One kind of request, how to tell it, and who is good at it.

    A request is of this kind without anybody being asked where one of `patterns` is in it, or code that
    `code` means, and its length is within the bounds. With neither patterns nor code, bounds alone decide.

    Attributes:
        models: who is to answer, the best first.
        description: one sentence for the small model that sorts what the text does not tell.
        patterns: words and phrases, whole and in any case; `*` at the end stands for any ending.
        code: True for code in any language, or the languages, such as ("python", "sql").
        images: requests with an image go here, whatever they say.
        min_chars: the least length of a text, in characters.
        max_chars: the greatest.

    Raises:
        InvalidRequestError: a field can't be used; the message says what to change.
    """

    models: tuple[str, ...] | str
    description: str = ""
    patterns: tuple[str, ...] = ()
    code: bool | tuple[str, ...] = False
    images: bool = False
    min_chars: int | None = None
    max_chars: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "models", _models(self.models))
        object.__setattr__(self, "patterns", _patterns(self.patterns))
        object.__setattr__(self, "code", _code(self.code))
        if not isinstance(self.description, str):  # pyright: ignore[reportUnnecessaryIsInstance] callers without a type checker
            raise InvalidRequestError("the description of a category must be text")
        for name in ("min_chars", "max_chars"):
            _check_length(name, getattr(self, name))
        if (self.min_chars or 0) > (self.max_chars if self.max_chars is not None else 1 << 62):
            raise InvalidRequestError(
                "min_chars of a category is above its max_chars: no text fits"
            )

    @property
    def preferences(self) -> tuple[str, ...]:
        """Who is to answer, the best first."""
        return cast("tuple[str, ...]", self.models)


@dataclass(frozen=True, slots=True, kw_only=True)
class Categories:
    """All kinds of request a router knows.

    Attributes:
        by_name: the categories, in the order they were given.
        fallback: the category of what nothing tells, "" where that has none.
        default: the model of what has no category, and of categories none of whose models is there.

    Raises:
        InvalidRequestError: a field can't be used; the message says what to change.
    """

    by_name: Mapping[str, Category] = field(hash=False)
    default: str
    fallback: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", _categories(self.by_name))
        if not _is_model(self.default):
            raise InvalidRequestError(
                "default must be the name of the model that answers what no other does, and can't be"
                f' "{AUTO}"'
            )
        if self.fallback and self.fallback not in self.by_name:
            raise InvalidRequestError(
                f"default_category must be one of the categories ({', '.join(self.by_name)}), or None"
            )

    @property
    def descriptions(self) -> dict[str, str]:
        """What each category is, by its name."""
        return {name: one.description for name, one in self.by_name.items()}


def _categories(given: object) -> Mapping[str, Category]:
    if not isinstance(given, Mapping) or not given:
        raise InvalidRequestError(
            'categories must be a mapping with at least one: {"code": Category(models=("qwen-coder",))}'
        )
    known = cast("Mapping[object, object]", given)
    if len(known) > MAX_CATEGORIES:
        raise InvalidRequestError(
            f"{len(known)} categories are too many, at most {MAX_CATEGORIES} can be told apart"
        )
    seen: set[str] = set()
    for name, category in known.items():
        _check_name(name, seen)
        if not isinstance(category, Category):
            raise InvalidRequestError(f'categories["{name}"] must be a Category(models=(...), ...)')
    return MappingProxyType(cast("dict[str, Category]", dict(known)))


def _check_name(name: object, seen: set[str]) -> None:
    """A name that a model can answer with and nobody takes for another.

    Raises:
        InvalidRequestError: it is none.
    """
    good = isinstance(name, str) and len(name) <= MAX_NAME_CHARS and _NAME.fullmatch(name)
    if not good or not isinstance(name, str):
        raise InvalidRequestError(
            f"the name of a category must have 1 to {MAX_NAME_CHARS} letters, digits, blanks, - and _,"
            " and begin and end with a letter or digit"
        )
    if name.casefold() in seen:
        raise InvalidRequestError(
            f'two categories are called "{name}": models do not keep letter case'
        )
    seen.add(name.casefold())


def _is_model(name: object) -> bool:
    return isinstance(name, str) and bool(name.strip()) and name.strip().lower() != AUTO


def _models(models: object) -> tuple[str, ...]:
    if isinstance(models, str):
        models = (models,)
    given = _texts(models)
    if not given or not all(_is_model(model) for model in given):
        raise InvalidRequestError(
            'models of a category must name at least one model, the best first: ("qwen3-coder", "qwen3");'
            f' "{AUTO}" is none'
        )
    return tuple(dict.fromkeys(given))


def _patterns(patterns: object) -> tuple[str, ...]:
    given = _texts(patterns)
    if given is None:
        raise InvalidRequestError(
            'patterns of a category must be a list of words and phrases: ("refactor*", "unit test")'
        )
    if len(given) > MAX_PATTERNS:
        raise InvalidRequestError(f"{len(given)} patterns are too many, at most {MAX_PATTERNS}")
    for pattern in given:
        if not pattern.strip(" *\t\n") or len(pattern) > MAX_PATTERN_CHARS:
            raise InvalidRequestError(
                f"a pattern must be a word or phrase of 1 to {MAX_PATTERN_CHARS} characters; *"
                " stands for any ending and only at its end"
            )
    return given


def _code(code: object) -> bool | tuple[str, ...]:
    if isinstance(code, bool):
        return code
    given = _texts(code)
    names = tuple(map(language_named, given or ()))
    unknown = [name for name in names if name not in LANGUAGES]
    if not names or unknown:
        raise InvalidRequestError(
            "code of a category must be True, or languages out of: " + ", ".join(sorted(LANGUAGES))
        )
    return names


def _check_length(name: str, value: object) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidRequestError(f"{name} of a category must be a number of characters, or None")


def _texts(given: object) -> tuple[str, ...] | None:
    """A list of texts as a tuple; None for anything else, one text included."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        return None
    items = tuple(cast("Iterable[object]", given))
    return cast("tuple[str, ...]", items) if all(isinstance(item, str) for item in items) else None
