"""Which models there are below: what routers and gateways ask of it. No I/O."""

from typing import Protocol


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
