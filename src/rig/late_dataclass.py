"""Frozen dataclasses whose methods are written when they are first used. No I/O.

`dataclasses` compiles seven functions for each frozen class, 0.3 ms and 16 kB in Python 3.11. A program loads a
hundred of rig's classes, makes objects of thirty, and hardly ever compares or shows one. So a method is put off
until somebody asks for it; it is then the one `dataclasses` writes, but that a plain `__init__` takes two thirds of its time.

Use it where a class is frozen and has slots; it hands all others on.
"""

import dataclasses
import sys
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
        method = _plain_init(cls) if name == "__init__" else None
        if method is None:
            method = _written(cls, name)
        method.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, method)
        return method.__get__(instance, owner)


def _written(cls: type, name: str) -> Any:  # noqa: ANN401  a function
    """The method as `dataclasses` writes it."""
    # An heir inherits the fields, and is frozen as its parent is.
    named = {"__slots__": (), "__doc__": "", "__module__": cls.__module__}
    heir = type(cls.__name__, (cls,), named)
    wanted = {option: option == _LATE[name] for option in ("init", "repr", "eq")}
    dataclasses.dataclass(heir, frozen=True, **wanted)
    return vars(heir)[name]


def _plain_init(cls: type) -> Any:  # noqa: ANN401  a function, None where the class asks for more
    """The `__init__` that `dataclasses` would write, each field set by its slot.

    `object.__setattr__`, by which a frozen class is filled there, looks for the slot each time: 0.3 us less
    for ten fields (measured). Of fields that anybody can give, with values as defaults.
    """
    fields = dataclasses.fields(cls)
    plain = all(field.init and field.default_factory is dataclasses.MISSING for field in fields)
    of_class = len(vars(cls)["__dataclass_fields__"]) - len(fields)  # or for __post_init__ alone
    if not fields or not plain or of_class or "self" in vars(cls):
        return None
    first = [field for field in fields if not field.kw_only]
    last = [field for field in fields if field.kw_only]
    names = ["self", *(field.name for field in first), *(["*"] if last else ())]
    names += [field.name for field in last]
    setters = {f"_set_{field.name}": vars(cls)[field.name].__set__ for field in fields}
    lines = [f"def write({', '.join(setters)}):", f" def __init__({', '.join(names)}):"]
    lines += [f"  _set_{field.name}(self, {field.name})" for field in fields]
    lines += ["  self.__post_init__()"] if hasattr(cls, "__post_init__") else ()
    written: dict[str, Any] = {}
    # Nothing but names of fields; where the class lives, so that its annotations can be read.
    exec("\n".join([*lines, " return __init__"]), vars(sys.modules[cls.__module__]), written)  # noqa: S102
    init = written["write"](**setters)
    init.__defaults__ = tuple(
        field.default for field in first if field.default is not dataclasses.MISSING
    )
    init.__kwdefaults__ = {
        field.name: field.default for field in last if field.default is not dataclasses.MISSING
    }
    init.__annotations__ = {field.name: field.type for field in (*first, *last)} | {"return": None}
    return init


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
