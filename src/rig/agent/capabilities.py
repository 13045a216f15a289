"""What a run has to know of a model and its server to choose how calls and answers travel. Values only."""

from typing import Protocol, runtime_checkable

from rig.late_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a model and its server are known to do; None is not known.

    Attributes:
        native_tools: calls come as calls, and without one being required.
        grammar: a GBNF grammar is enforced.
        json_schema: the schema of a `response_format` is enforced.
        context_tokens: the context window, prompt and reply together.
    """

    native_tools: bool | None = None
    grammar: bool | None = None
    json_schema: bool | None = None
    context_tokens: int | None = None

    @property
    def capabilities(self) -> "Capabilities":
        """Itself: a run takes these, and whatever has them."""
        return self


@runtime_checkable
class Profiled(Protocol):
    """Anything that knows capabilities: `Capabilities`, and what `Client.profile` returns."""

    @property
    def capabilities(self) -> Capabilities:
        """What is known."""
        ...
