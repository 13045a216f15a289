"""All that a profile's probes found out so far. No I/O."""

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Final

from rig.client.probes.facts import Facts
from rig.client.probes.observed import Observed
from rig.late_dataclass import dataclass
from rig.wire.dialect import Dialect
from rig.wire.dialects import GENERIC

NOT_SENT: Final = Observed(skipped="it was not asked")
"""What is known of a probe that did not run."""

_NOTHING: Final[Mapping[str, Observed]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """All that was found out so far.

    Attributes:
        model: the model's name.
        spoken: the dialect the probes are written in.
        facts: what the endpoint says of itself.
        seen: what the probes saw, by their names.
    """

    model: str
    spoken: Dialect = GENERIC
    facts: Facts = field(default_factory=Facts)
    seen: Mapping[str, Observed] = field(default_factory=lambda: _NOTHING)

    def __getitem__(self, name: str) -> Observed:
        return self.seen.get(name, NOT_SENT)

    @property
    def thinks(self) -> bool:
        """Whether the model thinks without being told to."""
        return self.facts.opens_thought is True or self.thought

    @property
    def thought(self) -> bool:
        """Whether it was seen to think without being told to."""
        return _thought(self["plain"])

    @property
    def hushed(self) -> bool:
        """Whether it stops thinking when it is told to."""
        if not self.thought:
            return self.facts.opens_thought is True and self.facts.opens_hushed is False
        told = self["thinking"]
        return told.reply is not None and not _thought(told)


def _thought(observed: Observed) -> bool:
    return observed.reply is not None and bool(observed.reply.reasoning)
