"""One property of an endpoint, with what shows it. No I/O."""

from typing import Annotated, Final, Generic, Literal, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from rig.wire.fault_text import clean_line

ValueT = TypeVar("ValueT")

MAX_EVIDENCE_CHARS: Final = 400
"""Characters of evidence: two sentences of ours, with a few numbers in them."""

MAX_ENDPOINT_CHARS: Final = 300
"""Characters kept of what the endpoint itself said: its sentence, not the stack trace behind it."""

NOT_MEASURED: Final = "not measured: "
"""What the evidence begins with where there is no value; the reason follows."""

Honoured = Literal["honoured", "ignored", "refused"]
"""What became of something that was asked for: done, taken without a word and not done, or an error."""

Enforcement = Literal["enforced", "ignored", "refused"]
"""The same for the form of an answer: enforced means that it held against the prompt's own wish."""


def _short(value: object) -> object:
    return clean_line(value)[:MAX_ENDPOINT_CHARS] if isinstance(value, str) else value


class Finding(BaseModel, Generic[ValueT]):
    """One property of an endpoint.

    Attributes:
        value: what was found; None where it was not measured, or could not be told.
        evidence: what shows it, or why there is no value; a sentence of rig's own.
        detail: what the endpoint said to it, one bounded line; for people who want it, never part of
            the representation.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    value: ValueT | None = None
    evidence: str = Field(max_length=MAX_EVIDENCE_CHARS)
    detail: Annotated[str, BeforeValidator(_short)] = Field(default="", repr=False)

    @property
    def measured(self) -> bool:
        """Whether there is a value."""
        return self.value is not None

    @classmethod
    def unmeasured(cls, reason: str, detail: str = "") -> Self:
        """A property nothing can be said of.

        Args:
            reason: why, half a sentence.
            detail: what the endpoint said.
        """
        return cls(evidence=NOT_MEASURED + reason, detail=detail)
