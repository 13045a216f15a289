"""Which form a server can be held to for a typed answer. Decided as values, no I/O."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from rig.agent.capabilities import Capabilities
from rig.errors import InvalidRequestError
from rig.events import Constraint
from rig.late_dataclass import dataclass
from rig.model import ChatOptions

if TYPE_CHECKING:  # loaded for typed answers
    from rig.agent.output import Output

SCHEMA_NAME: Final = "answer"
"""What a schema is called where the API wants it to have a name (OpenAI's `json_schema.name`)."""

# Fields of a body that constrain an answer; who sends one wants no other beside it.
_FIELDS: Final = frozenset(
    {
        "response_format",
        "json_schema",
        "grammar",
        "ebnf",
        "structured_outputs",
        "guided_json",
        "guided_grammar",
        "format",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A form that the server enforces.

    Attributes:
        by: what holds the answer to it.
        value: the `response_format`, or the grammar.
    """

    by: Constraint
    value: Any

    def within(self, options: ChatOptions) -> ChatOptions:
        """The options with it.

        Args:
            options: of a request without tools.
        """
        if self.by == "schema":
            return replace(options, response_format=self.value)
        return replace(options, grammar=self.value)


def held_output(
    output: "Output[Any] | None", known: Capabilities, options: ChatOptions
) -> Held | None:
    """What holds a typed answer to its type.

    Args:
        output: how the answer is read; None for text.
        known: what the server does.
        options: of the caller; a form of theirs stays the only one.

    Returns:
        The schema where that is enforced, else a grammar where that is; None to ask in words only.
    """
    if output is None or output.shape == "text" or is_constrained(options):
        return None
    if known.json_schema:
        # Not `strict`: OpenAI then refuses schemas with optional fields, and others read it not.
        wanted = {"name": SCHEMA_NAME, "schema": output.schema}
        return Held(by="schema", value={"type": "json_schema", "json_schema": wanted})
    if not known.grammar:
        return None
    from rig.text.grammar import json_grammar  # noqa: PLC0415 of servers that enforce one

    try:
        return Held(by="grammar", value=json_grammar(output.schema))
    except InvalidRequestError:  # too large: the words in the prompt hold all the same
        return None


def is_constrained(options: ChatOptions) -> bool:
    """Whether options have a form for the answer of their own.

    Args:
        options: of the caller.
    """
    named = options.response_format is not None or options.grammar is not None
    return named or not _FIELDS.isdisjoint(options.extra_body)
