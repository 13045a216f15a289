"""Which models there are below: what routers and gateways ask of it. No I/O."""

from collections.abc import Iterable
from typing import Protocol

_DEFAULT_TAG = ":latest"


class HasModels(Protocol):
    """Anything that knows which models it can ask; a pool does."""

    def has_model(self, name: str) -> bool | None:
        """Whether there is a model of that name; None where that is not known yet.

        Args:
            name: the model's name.
        """
        ...

    async def models(self) -> tuple[str, ...]:
        """The names of all models, asked for where they are not known yet.

        Raises:
            RigError: nobody told them.
        """
        ...


def is_listed(name: str, names: Iterable[str]) -> bool:
    """Whether a list of models has one of a name.

    Args:
        name: the model's name.
        names: as a server lists them; Ollama lists `qwen3` as `qwen3:latest` and answers to both.
    """
    listed = frozenset(names)
    return name in listed or f"{name}{_DEFAULT_TAG}" in listed
