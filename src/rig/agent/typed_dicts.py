"""`typing.TypedDict` for pydantic, which reads only that of typing_extensions before Python 3.12. No I/O."""

import functools
import sys
import typing
from collections.abc import Callable
from types import UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin

import typing_extensions

# Called with a dict of types; type checkers know only its literal use.
_typed_dict = cast("Callable[[str, dict[str, Any]], Any]", typing_extensions.TypedDict)


def with_typed_dicts(hint: Any) -> Any:  # noqa: ANN401  type expressions have no type
    """The type with `typing.TypedDict`s in the form pydantic can read before Python 3.12.

    Args:
        hint: any type.
    """
    if sys.version_info >= (3, 12):
        return hint
    if typing.is_typeddict(hint) and type(hint).__module__ == "typing":
        hints = typing.get_type_hints(hint, include_extras=True)
        fields = {
            name: _required(name, kind, hint.__required_keys__) for name, kind in hints.items()
        }
        return _typed_dict(hint.__name__, fields)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return functools.reduce(
            lambda inner, item: Annotated[inner, item],
            hint.__metadata__,
            with_typed_dicts(arguments[0]),
        )
    if origin in {Union, UnionType}:
        return cast("Any", Union)[tuple(with_typed_dicts(option) for option in arguments)]
    if origin in _CONTAINERS:
        return origin[tuple(with_typed_dicts(argument) for argument in arguments)]
    return hint


_CONTAINERS: frozenset[object] = frozenset({list, dict, set, frozenset, tuple})


def _required(name: str, hint: Any, required: frozenset[str]) -> Any:  # noqa: ANN401  type expressions have no type
    while get_origin(hint) in {typing.Required, typing.NotRequired}:
        hint = get_args(hint)[0]
    hint = with_typed_dicts(hint)
    return hint if name in required else typing.NotRequired[hint]
