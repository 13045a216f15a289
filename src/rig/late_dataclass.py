"""Frozen dataclasses whose methods are written when they are first used. No I/O.

`dataclasses` compiles seven functions for each frozen class, 0.3 ms and 16 kB in Python 3.11. A program loads a
hundred of rig's classes, makes objects of thirty, and hardly ever compares or shows one. So a method is put off
until somebody asks for it; it is then the very one `dataclasses` writes.

Use it where a class is frozen and has slots; it hands all others on.
"""

import dataclasses
from typing import TYPE_CHECKING, Any, Never

_LATE = {"__init__": "init", "__repr__": "repr", "__eq__": "eq", "__hash__": "eq"}
"""The methods that are put off, and the option that has each written."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Frozen:
    """Has the methods for pickle, which are alike for all."""


class _LateMethod:
    """Stands where a method will be, and writes it."""

    __slots__ = ("_cls", "_name")

    def __init__(self, cls: type[object], name: str) -> None:
        self._cls, self._name = cls, name

    def __get__(self, instance: object, owner: type) -> Any:  # noqa: ANN401  a function or a method
        cls, name = self._cls, self._name
        # An heir inherits the fields, and is frozen as its parent is.
        heir = type(cls.__name__, (cls,), {"__slots__": (), "__doc__": ""})
        wanted = {option: option == _LATE[name] for option in ("init", "repr", "eq")}
        dataclasses.dataclass(heir, frozen=True, **wanted)
        method = vars(heir)[name]
        method.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, method)
        return method.__get__(instance, owner)


def _refuse_to_set(self: object, name: str, value: object) -> Never:  # noqa: ARG001  of the protocol
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> Never:  # noqa: ARG001  of the protocol
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


_ALIKE = {
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
    **{name: vars(_Frozen)[name] for name in ("__getstate__", "__setstate__")},
}


def _made_late(cls: type[object], *, kw_only: bool) -> type[object]:
    bare = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)
    made = bare(cls)
    settings = vars(made)["__dataclass_params__"]
    for option in ("init", "repr", "eq", "frozen"):
        setattr(settings, option, True)
    for name in _LATE:
        if vars(made).get(name) is None:  # the class may have its own
            setattr(made, name, _LateMethod(made, name))
    for name, method in _ALIKE.items():
        setattr(made, name, method)
    return made


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414  else it is not to be imported from here
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:  # noqa: ANN401  a class, or what decorates one
        """`dataclasses.dataclass`."""
        if cls is None:
            return lambda cls: dataclass(cls, **options)
        kw_only = options.get("kw_only", False)
        plain = {"kw_only": False, **options} == {"frozen": True, "slots": True, "kw_only": kw_only}
        if plain and not dataclasses.is_dataclass(cls):  # a parent of it would be found first
            return _made_late(cls, kw_only=kw_only)
        return dataclasses.dataclass(cls, **options)
