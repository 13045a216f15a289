"""Names of models as they are compared. No I/O."""

from collections.abc import Iterable


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
