"""Names, signatures and defaults are a promise: they are compared with a checked-in list.

After a deliberate change: `python tests/test_public_api.py` rewrites the list; tell users in CHANGELOG.md.
"""

import dataclasses
import enum
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pydantic

import rig
import rig.testing
import rig.text

LIST = Path(__file__).parent / "public_api.txt"


def describe(module: ModuleType) -> Iterator[str]:
    for name in module.__all__:
        yield from describe_name(f"{module.__name__}.{name}", getattr(module, name))


def describe_name(path: str, value: object) -> Iterator[str]:
    if inspect.isclass(value):
        yield from describe_class(path, value)
    elif inspect.isroutine(value):
        yield f"{path}{signature(value)}"
    else:
        yield f"{path} = {value!r}" if isinstance(value, str | int | float) else path


def describe_class(path: str, value: type) -> Iterator[str]:
    if issubclass(value, enum.Enum):
        yield f"{path} {[str(member.value) for member in value]}"
        return
    if issubclass(value, pydantic.BaseModel):
        value.model_rebuild()  # made with the first use, its signature too
    yield f"{path}{signature(value)}"
    if issubclass(value, pydantic.BaseModel):
        members = [name for name in vars(value) if not name.startswith(("_", "model_"))]
    else:
        members = [name for name in vars(value) if not name.startswith("_")]
    fields = (
        {field.name for field in dataclasses.fields(value)}
        if dataclasses.is_dataclass(value)
        else set()
    )
    for name in sorted(set(members) - fields):
        member = inspect.getattr_static(value, name)
        if isinstance(member, property):
            yield f"{path}.{name} property"
        elif isinstance(member, classmethod | staticmethod):
            yield f"{path}.{name}{signature(getattr(value, name))}"
        elif inspect.isroutine(member):
            yield f"{path}.{name}{signature(member)}"


def signature(value: object) -> str:
    """Parameters and defaults; annotations are left to the type checkers."""
    assert callable(value)
    try:
        found = inspect.signature(value)
    except ValueError:
        return "(...)"
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty, default=shown(parameter.default))
        for parameter in found.parameters.values()
    ]
    return str(inspect.Signature(parameters))


class Shown:
    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def shown(default: object) -> object:
    """Defaults whose repr holds an address or a version are shown by what they are."""
    if default is inspect.Parameter.empty or isinstance(default, str | int | float | None):
        return Shown("'rig/VERSION'") if str(default).startswith("rig/") else default
    return Shown(f"{type(default).__name__}()" if "0x" in repr(default) else repr(default))


def current() -> str:
    lines = [line for module in (rig, rig.testing, rig.text) for line in describe(module)]
    return "\n".join(lines) + "\n"


def test_the_public_names_signatures_and_defaults_are_the_listed_ones() -> None:
    assert current() == LIST.read_text(encoding="utf-8")


def test_every_public_error_is_exported() -> None:
    errors = {
        name
        for name, value in vars(rig.errors).items()
        if inspect.isclass(value) and issubclass(value, rig.RigError)
    }
    assert errors <= set(rig.__all__)


if __name__ == "__main__":
    LIST.write_text(current(), encoding="utf-8")
