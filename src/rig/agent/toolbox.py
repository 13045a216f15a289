"""The tools of one run: names are unique, the number is bounded, nothing changes. No I/O."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Literal, cast, overload

from rig.agent.sentence import first_sentence
from rig.errors import InvalidRequestError
from rig.kept import Keeps

if TYPE_CHECKING:  # loaded where there is one
    from rig.agent.tools import Tool

MAX_TOOLS = 128
"""Tools one request may offer: the most OpenAI's API takes. Small models lose their way long before
it: select by tag."""


class Toolbox(Keeps, Sequence["Tool"]):
    """An immutable sequence of tools, in the order the model is shown them.

    Args:
        tools: tools with different names.

    Raises:
        InvalidRequestError: something in it is no tool, names are double.
    """

    __slots__ = ("_by_name", "_tools")

    def __init__(self, tools: "Iterable[Tool]" = ()) -> None:
        self._tools = tuple(_only_tools(tools))
        self._by_name = {tool.name: tool for tool in self._tools}
        if len(self._by_name) < len(self._tools):
            names = [tool.name for tool in self._tools]
            double = dict.fromkeys(f'"{name}"' for name in names if names.count(name) > 1)
            raise InvalidRequestError(
                f"tools need different names, {', '.join(double)} is there more than once:"
                " rename one with name="
            )

    def __reduce__(self) -> "tuple[type[Toolbox], tuple[tuple[Tool, ...]]]":
        return type(self), (self.tools,)

    @property
    def tools(self) -> "tuple[Tool, ...]":
        """The tools, in order."""
        return self._tools

    @property
    def names(self) -> tuple[str, ...]:
        """The tools' names, in order."""
        return tuple(self._by_name)

    def get(self, name: str) -> "Tool | None":
        """The tool of that name, None when there is none."""
        return self._by_name.get(name)

    def find(self, name: str) -> "Tool | None":
        """The tool a model means by a name it wrote, None when that is nobody's.

        A name that runs into markup is cut there, `search<|channel|>json` is `search`
        (onnxruntime/mobius 520), if what is left is the name of a tool.
        """
        tools = self._by_name
        return tools.get(name) or tools.get(name.partition("<")[0].strip())

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags the tools carry, in the order they first occur."""
        return tuple(dict.fromkeys(tag for tool in self._tools for tag in tool.tags))

    def select(self, *tags: str, match: Literal["any", "all"] = "any") -> "Toolbox":
        """The tools that carry these tags, in the same order; without tags, all.

        A category is a tag as well: `toolbox.select(category)` is what a task of that kind needs.

        Args:
            tags: what they must carry.
            match: at least one of the tags, or all of them.

        Raises:
            InvalidRequestError: match is something else.
        """
        if match not in {"any", "all"}:
            raise InvalidRequestError('match must be "any" or "all"')
        if not tags:
            return self
        wanted = set(tags)
        least = len(wanted) if match == "all" else 1
        return Toolbox(tool for tool in self._tools if len(wanted.intersection(tool.tags)) >= least)

    def brief(self) -> "Toolbox":
        """The same tools, each described by the first sentence of its description alone.

        For small models, for which every sentence in the prompt is one too many.
        """
        return Toolbox(tool.described(first_sentence(tool.description)) for tool in self._tools)

    def __contains__(self, item: object) -> bool:
        """Whether a tool, or a tool of that name, is in it."""
        return item in self._by_name if isinstance(item, str) else item in self._tools

    @overload
    def __getitem__(self, index: int | str) -> "Tool": ...
    @overload
    def __getitem__(self, index: slice) -> "Toolbox": ...

    def __getitem__(self, index: int | str | slice) -> "Tool | Toolbox":
        """A tool by position or name, or a part of the box.

        Raises:
            IndexError: there is no such position.
            KeyError: there is no such name.
        """
        if isinstance(index, str):
            return self._by_name[index]
        return Toolbox(self._tools[index]) if isinstance(index, slice) else self._tools[index]

    def __iter__(self) -> "Iterator[Tool]":
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def __add__(self, other: "Iterable[Tool]") -> "Toolbox":
        """Both boxes' tools; names must still be different."""
        return Toolbox((*self._tools, *other))

    def __repr__(self) -> str:
        return f"Toolbox({', '.join(self._by_name)})"


def validate_tools(tools: "Iterable[Tool]") -> Toolbox:
    """The tools as a box that may be offered to a model.

    Args:
        tools: a box, or any number of tools.

    Raises:
        InvalidRequestError: something in it is no tool, names are double, or it is more than
            `MAX_TOOLS`.
    """
    if _is_plain(tools):
        box = Toolbox(tools) if tools else _NONE
    else:
        box = tools if isinstance(tools, Toolbox) else Toolbox(tools)
    if len(box.tools) > MAX_TOOLS:
        raise InvalidRequestError(
            f"{len(box)} tools are too many, at most {MAX_TOOLS} can be offered at once: pick those"
            " this run needs, for example with Toolbox.select(tag)"
        )
    return box


def _is_plain(tools: object) -> bool:
    """Whether it is a list or a tuple: to ask whether it is of an abstract class takes half a microsecond."""
    kind = type(tools)
    return kind is list or kind is tuple


def _only_tools(tools: object) -> "Iterator[Tool]":
    if tools == ():
        return
    from rig.agent.tools import Tool  # noqa: PLC0415 loaded by whoever has one

    if not _is_plain(tools) and (isinstance(tools, Tool) or not isinstance(tools, Iterable)):
        raise InvalidRequestError("tools must be a list of tools: put a single one in brackets")
    for item in cast("Iterable[object]", tools):
        if not isinstance(item, Tool):
            kind = "function" if callable(item) else type(item).__name__
            raise InvalidRequestError(
                f"tools holds a {kind} that is no Tool: decorate the function with @tool, or make"
                " a Tool(name, description, input_schema, run)"
            )
        yield item


_NONE: Final = Toolbox()
