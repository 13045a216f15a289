"""A class whose methods are written late is what `dataclasses` makes of it."""

import copy
import dataclasses
import inspect
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar, get_type_hints

import pytest

from rig import late_dataclass

T = TypeVar("T")
FROZEN = {"frozen": True, "slots": True, "kw_only": True}


def fields_of() -> type:
    class Point:
        """A place."""

        x: int
        y: int = 2
        seen: list[int] = dataclasses.field(default_factory=list, compare=False)
        secret: str = dataclasses.field(default="s", repr=False)
        tag: str = dataclasses.field(default="t", hash=False)

    return Point


def plain_fields() -> type:
    class Point:
        """A place whose fields have values as defaults, or none."""

        x: int
        y: int = 2
        label: "str | None" = None
        z: int = dataclasses.field(default=3, kw_only=True)

    return Point


def for_its_making() -> type:
    class Point:
        """A place that is told more than it keeps."""

        x: int
        scale: dataclasses.InitVar[int] = 2  # type: ignore[assignment]  # it is decorated later

        def __post_init__(self, scale: int) -> None:
            object.__setattr__(self, "x", self.x * scale)

    return Point


def named_self() -> type:
    class Point:
        """A place with an odd field."""

        self: int = 1
        x: int = 2

    return Point


def no_fields() -> type:
    class Nothing:
        """Nothing."""

    return Nothing


def own_methods() -> type:
    class Point:
        """A place with its own ways."""

        x: int

        def __repr__(self) -> str:
            return "somewhere"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

        def __post_init__(self) -> None:
            object.__setattr__(self, "x", self.x + 1)

    return Point


def generic() -> type:
    class Box(Generic[T]):
        """A box."""

        x: T

    return Box


def of_a_parent() -> type:
    @late_dataclass.dataclass(frozen=True, slots=True, kw_only=True)
    class Parent:
        """A parent."""

        x: int = 0

    class Child(Parent):
        """Its child."""

        y: int = 2

    return Child


SHAPES: list[tuple[Callable[[], type], dict[str, Any]]] = [
    (fields_of, {"x": 1}),
    (fields_of, {"x": 3, "y": 1, "seen": [1], "secret": "a", "tag": "b"}),
    (plain_fields, {"x": 1}),
    (plain_fields, {"x": 1, "y": 0, "label": "a", "z": 5}),
    (for_its_making, {"x": 1, "scale": 3}),
    (named_self, {"x": 1}),
    (no_fields, {}),
    (own_methods, {"x": 1}),
    (generic, {"x": 1}),
    (of_a_parent, {"x": 1}),
]
ASKED: dict[str, Callable[[Any, dict[str, Any]], object]] = {
    "how it is shown": lambda cls, values: repr(cls(**values)),
    "what is equal": lambda cls, values: (
        cls(**values) == cls(**values),
        cls(**values) == 1,
        cls(**values) != cls(**values),
    ),
    "its hash": lambda cls, values: hash(cls(**values)) == hash(cls(**values)),
    "hash of the class": lambda cls, _values: callable(cls.__hash__),
    "how it is called": lambda cls, _values: str(inspect.signature(cls)),
    "its fields": lambda cls, _values: [
        (one.name, one.kw_only, one.repr, one.compare) for one in dataclasses.fields(cls)
    ],
    "its slots": lambda cls, values: (cls.__slots__, hasattr(cls(**values), "__dict__")),
    "what matches": lambda cls, _values: cls.__match_args__,
    "its settings": lambda cls, _values: repr(cls.__dataclass_params__),
    "as a dict": lambda cls, values: dataclasses.asdict(cls(**values)),
    "replaced": lambda cls, values: repr(dataclasses.replace(cls(**values))),
    "a copy": lambda cls, values: [
        repr(copy.copy(cls(**values))),
        repr(copy.deepcopy(cls(**values))),
    ],
    "names of methods": lambda cls, _values: [
        (cls.__init__.__qualname__.rpartition(".")[2], cls.__init__.__annotations__.keys())
    ],
    "too many values": lambda cls, values: refusal(lambda: cls(**values, nonsense=1)),
    "too few values": lambda cls, _values: refusal(cls),
    "its types": lambda cls, _values: repr(get_type_hints(cls.__init__)),
    "its module": lambda cls, _values: cls.__init__.__module__,
    "values by place": lambda cls, values: refusal(lambda: cls(*values.values())),
    "a place": lambda cls, _values: refusal(lambda: cls(1)),
    # Of no fields there is none to set: dataclasses has a TypeError of its own for that in Python 3.11.
    "setting": lambda cls, values: values and refusal(lambda: setattr(cls(**values), "x", 1)),
    "deleting": lambda cls, values: values and refusal(lambda: delattr(cls(**values), "x")),
}


def refusal(work: Callable[[], object]) -> tuple[type[BaseException], str] | None:
    try:
        work()
    except (TypeError, AttributeError) as error:
        return type(error), str(error).replace("Child", "").replace("Parent", "")
    return None


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize(("shape", "values"), SHAPES)
@pytest.mark.parametrize("kw_only", [True, False])
def test_it_is_what_dataclasses_makes(
    kw_only: bool,
    shape: Callable[[], type],
    values: dict[str, Any],
    asked: Callable[[Any, dict[str, Any]], object],
) -> None:
    options = {**FROZEN, "kw_only": kw_only}
    late: Any = late_dataclass.dataclass(**options)(shape())
    early: Any = dataclasses.dataclass(**options)(shape())
    assert asked(late, values) == asked(early, values)


@late_dataclass.dataclass(frozen=True, slots=True)
class Kept:
    """What is pickled: pickle finds it by its name."""

    x: int
    y: str = "a"


def test_it_can_be_pickled_before_anything_was_asked_of_the_copy() -> None:
    assert pickle.loads(pickle.dumps(Kept(1, "b"))) == Kept(1, "b")


def test_a_method_is_written_by_the_first_who_asks_and_once() -> None:
    made: Any = late_dataclass.dataclass(frozen=True, slots=True, kw_only=True)(fields_of())
    late = late_dataclass._LateMethod
    assert [name for name, value in vars(made).items() if isinstance(value, late)] == [
        "__init__",
        "__repr__",
        "__eq__",
        "__hash__",
    ]
    made(x=1)
    written = vars(made)["__init__"]
    made(x=1)
    assert vars(made)["__init__"] is written
    assert [name for name, value in vars(made).items() if isinstance(value, late)] == [
        "__repr__",
        "__eq__",
        "__hash__",
    ]


@pytest.mark.parametrize("first", ["child", "parent"])
def test_a_child_of_any_kind_has_its_own_methods(first: str) -> None:
    parent: Any = late_dataclass.dataclass(**FROZEN)(fields_of())
    child: Any = dataclasses.dataclass(**FROZEN)(
        type("Child", (parent,), {"__annotations__": {"z": int}})
    )
    plain: Any = type("Plain", (parent,), {})
    for cls, values in [(child, {"z": 3}), (parent, {}), (plain, {})][:: 1 if first == "child" else -1]:  # fmt: skip
        assert f"{cls.__name__}(x=1, y=2" in repr(cls(x=1, **values))
        assert cls(x=1, **values) == cls(x=1, **values)
        with pytest.raises(dataclasses.FrozenInstanceError):
            cls(x=1, **values).x = 2


def test_other_dataclasses_are_those_of_dataclasses() -> None:
    made: Any = late_dataclass.dataclass(slots=True)(fields_of())
    point = made(x=1)
    point.x = 2
    assert point == made(x=2)
    assert dataclasses.is_dataclass(late_dataclass.dataclass(no_fields()))


def test_all_frozen_classes_with_slots_are_made_so() -> None:
    early = re.compile(
        r"^from dataclasses import .*\bdataclass\b(?s:.)*^@dataclass\(frozen=True, slots=True(, kw_only=True)?\)$",
        re.MULTILINE,
    )
    folder = Path(late_dataclass.__file__).parent
    found = [
        path for path in folder.rglob("*.py") if early.search(path.read_text(encoding="utf-8"))
    ]
    assert found == []
