"""The offered tools, as the readers of all dialects ask for them. No I/O."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast

from rig.text.salvage.calls import OfferedTool

NAME_PREFIXES: Final = (
    "functions.",
    "function.",
    "tools.",
    "tool.",
    "default_api.",
    "functions:",
)
"""What models write before a name: harmony and Kimi K2 `functions.`, Gemma `default_api.`. No legal
name of a tool holds a dot or a colon."""

MAX_NAME_CHARS: Final = 128
"""Characters of a name that are read; a legal one has 64, prefix and index come on top."""


class Offer:
    """Tools by name.

    Args:
        tools: what was offered; of two with one name the first counts.
    """

    def __init__(self, tools: Iterable[OfferedTool]) -> None:
        self._schemas: dict[str, Mapping[str, object]] = {}
        for tool in tools:
            self._schemas.setdefault(tool.name, tool.schema)

    def __contains__(self, name: str) -> bool:
        return name in self._schemas

    def __bool__(self) -> bool:
        return bool(self._schemas)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools."""
        return tuple(self._schemas)

    def find(self, written: object) -> str:
        """The tool that a written name means, "" when that is none of them.

        Args:
            written: the name with what models put around it: quotes, a prefix, the `:0` of Kimi K2.
        """
        if not isinstance(written, str) or len(written) > MAX_NAME_CHARS:
            return ""
        if written in self._schemas:
            return written
        name = written.strip().strip("\"'`*").strip()
        for prefix in NAME_PREFIXES:
            name = name.removeprefix(prefix)
        if name not in self._schemas:
            head, colon, index = name.rpartition(":")
            name = head if colon and index.isdecimal() else name
        return name if name in self._schemas else ""

    def may_begin(self, written: str) -> bool:
        """Whether more text could make a tool's name of this.

        Args:
            written: the beginning of a name.
        """
        names = self._schemas
        if any(name.startswith(written) for name in names):
            return True
        for prefix in NAME_PREFIXES:
            if prefix.startswith(written):
                return True
            rest = written.removeprefix(prefix)
            if rest != written and any(name.startswith(rest) for name in names):
                return True
        return False

    def properties(self, name: str) -> Mapping[str, object]:
        """The parameters of a tool with their schemas; none for a tool that is not offered."""
        value = self._schemas.get(name, {}).get("properties")
        return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}

    def required(self, name: str) -> frozenset[str]:
        """The parameters a tool can't do without."""
        value = self._schemas[name].get("required")
        listed = cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()
        return frozenset(item for item in listed if isinstance(item, str))

    def sole_parameter(self, name: str) -> str:
        """The one parameter a value without a name can be meant for, "" when there is no such one."""
        needed = self.required(name)
        if len(needed) == 1:
            return next(iter(needed))
        known = self.properties(name)
        return next(iter(known)) if len(known) == 1 and not needed else ""
