"""What a `Dialect` is: how one kind of server spells each option of a request. Values only, no I/O."""

from collections.abc import Mapping
from dataclasses import field
from typing import Final, Literal

from rig.errors import InvalidRequestError
from rig.late_dataclass import dataclass

Form = Literal["as_is", "texts", "schema", "thinking"]
"""The shape a value is sent in: as it was given, as a list of texts, as Anthropic's object for a JSON
schema, or as its object for a thinking budget."""

ToolChoice = Literal["sent", "default", "without_tools"]
"""How a tool choice is said: sent, not at all since the server does it anyway, or by offering no tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """An option that has a field.

    Attributes:
        path: its name in the body; dots lead into objects.
        form: the shape the value is sent in.
        rewrite: values that are spelled otherwise, and what is sent for them, in pairs.
    """

    path: str
    form: Form = "as_is"
    rewrite: tuple[tuple[object, object], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsent:
    """An option without a field, whose absence takes nothing from the caller.

    Attributes:
        why: half a sentence, for the table of the guide.
    """

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """An option the server can't be told of: asking for it is an error.

    Attributes:
        hint: what to do instead, a sentence without a full stop; may be empty.
        unless: values that ask for nothing the server does not do anyway; they are not sent.
    """

    hint: str = ""
    unless: tuple[object, ...] = ()


Spelling = Sent | Unsent | Refused
"""What becomes of one option."""

NO_FIELD: Final = Refused()
"""An option a dialect says nothing of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one kind of server wants requests written. Variants are made with `dataclasses.replace`.

    Attributes:
        name: what it is chosen by.
        title: what people call it.
        options: the spelling of each option of `ChatOptions`, by its name. `trace_id` and `extra_body`
            are sent everywhere and not among them.
        tool_choices: how auto, none, required and a tool's name (`named`) are said; those missing
            are refused.
        response_formats: the types of `response_format` the server takes, None for any.
        max_tokens_field: the body's limit; None where it depends on the model's name.
        system_role: the role system messages are sent with.
        stream_usage: whether the server knows `stream_options.include_usage`.
        wire: the API spoken: OpenAI's chat completions, or Anthropic's messages.
        key_header: the header the API key goes in; only Authorization says `Bearer`.
    """

    name: str
    title: str
    options: Mapping[str, Spelling] = field(hash=False, repr=False)
    tool_choices: Mapping[str, ToolChoice] = field(hash=False, repr=False)
    response_formats: frozenset[str] | None = None
    max_tokens_field: str | None = "max_tokens"
    system_role: str = "system"
    stream_usage: bool = True
    wire: Literal["chat_completions", "messages"] = "chat_completions"
    key_header: str = "Authorization"

    def refusal(self, option: str, hint: str = "") -> InvalidRequestError:
        """The error for an option this server can't be told of.

        Args:
            option: its name.
            hint: what to do instead.
        """
        rest = (
            f": {hint}" if hint else "; leave it out, or send the server's own field in extra_body"
        )
        return InvalidRequestError(
            f"{self.title} has no way to be told the option {option}{rest}", reason=option
        )
