"""Who has which model: names as they are compared, and what a router needs to know. No I/O."""

from collections.abc import Iterable
from typing import Protocol, runtime_checkable


@runtime_checkable
class HasModels(Protocol):
    """A model that knows names of models: a pool, or a gateway of pools."""

    def has_model(self, name: str) -> bool | None:
        """Whether it has a model of that name; None where that is not known yet."""
        ...

    async def models(self) -> tuple[str, ...]:
        """The names of all its models.

        Raises:
            RigError: none could be asked.
        """
        ...


def plain_name(model: str) -> str:
    """A name as servers compare it: Ollama's `:latest` says nothing.

    Args:
        model: as a caller or a server writes it.
    """
    return model.strip().removesuffix(":latest")


def lists(names: Iterable[str] | None, model: str) -> bool | None:
    """Whether a list of names has a model; None where there is no list.

    Args:
        names: what an endpoint declares, or told when it was asked.
        model: the name that is looked for.
    """
    if names is None:
        return None
    wanted = plain_name(model)
    return any(plain_name(name) == wanted for name in names)
