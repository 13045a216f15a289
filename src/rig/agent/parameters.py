"""A parameter of a tool's function, as read off its signature. No I/O."""

import functools
import inspect
from typing import Annotated, Any

from pydantic import Field
from pydantic.fields import FieldInfo

from rig.late_dataclass import dataclass

NO_DEFAULT = inspect.Parameter.empty


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter that a model fills in.

    Attributes:
        name: its name.
        hint: its type, resolved.
        default: the function's default, or what pydantic is told instead of one; else `NO_DEFAULT`.
        description: what the docstring says of it, None for nothing.
    """

    name: str
    hint: Any
    default: Any
    description: str | None

    @property
    def has_own_default(self) -> bool:
        """Whether the default is the function's own business."""
        return self.default is not NO_DEFAULT and not isinstance(self.default, FieldInfo)

    def definition(self) -> Any:  # noqa: ANN401  pydantic's field definitions have no type
        """The field for `create_model`; by the alias a parameter may have any name, `json` or `_x`."""
        metadata: list[object] = [Field(alias=self.name)]
        if isinstance(self.default, FieldInfo):
            metadata.insert(0, self.default)
        if self.description and not _is_described(self.hint, self.default):
            metadata.append(Field(description=self.description))
        hint = functools.reduce(lambda inner, item: Annotated[inner, item], metadata, self.hint)
        return (hint, self.default) if self.has_own_default else hint


def _is_described(hint: object, default: object) -> bool:
    metadata = (*getattr(hint, "__metadata__", ()), default)
    return any(isinstance(item, FieldInfo) and item.description for item in metadata)
