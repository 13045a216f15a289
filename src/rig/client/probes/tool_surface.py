"""What an endpoint does with the arguments of tool calls and with grammars, as values. No I/O."""

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from rig.client.probes.finding import MAX_ENDPOINT_CHARS
from rig.client.probes.observed import Observed
from rig.client.probes.plan import echo_name
from rig.client.probes.questions import ECHO, GRAMMAR_ANSWER, PAYLOADS
from rig.errors import InvalidJSONError
from rig.messages import ToolCall
from rig.wire.fault_text import clean_line

MAX_RECEIVED_CHARS: Final = 2_000
"""Characters kept of an argument that came back; what was sent is 40 at most."""


def _bounded(value: object) -> object:
    return value[:MAX_RECEIVED_CHARS] if isinstance(value, str) else value


def _line(value: object) -> object:
    return clean_line(value)[:MAX_ENDPOINT_CHARS] if isinstance(value, str) else value


class EchoResult(BaseModel):
    """One text sent through the argument of a tool call.

    Attributes:
        name: what the text holds.
        sent: the text.
        received: the argument that came back; None where no call came that could be read.
        lossy: a call came, and its argument is another text; blanks at both ends do not count.
        error: why nothing can be said, in words of rig's own; "" where a call came.
        detail: what the endpoint said to it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    name: str
    sent: str
    received: Annotated[str | None, BeforeValidator(_bounded)] = Field(default=None, repr=False)
    lossy: bool = False
    error: str = ""
    detail: Annotated[str, BeforeValidator(_line)] = Field(default="", repr=False)

    @property
    def ok(self) -> bool:
        """Whether the text came back as it was sent."""
        return not self.error and not self.lossy


class GrammarResult(BaseModel):
    """What became of a request with a grammar.

    Attributes:
        accepted: no error came.
        obeyed: the answer is what the grammar allows, against what the prompt asked for.
        error: why it was not accepted, in words of rig's own.
        detail: what the endpoint said to it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    accepted: bool = False
    obeyed: bool = False
    error: str = ""
    detail: Annotated[str, BeforeValidator(_line)] = Field(default="", repr=False)


class ToolSurface(BaseModel):
    """What an endpoint really does with tool calls and grammars.

    Attributes:
        model: the model that was asked.
        echoes: one result for each text.
        grammar: a grammar alone.
        grammar_with_tools: a grammar beside a tool.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    model: str
    echoes: tuple[EchoResult, ...]
    grammar: GrammarResult = GrammarResult()
    grammar_with_tools: GrammarResult = GrammarResult()

    @property
    def ok(self) -> bool:
        """Whether every text came back as it was sent; grammars don't count."""
        return all(echo.ok for echo in self.echoes)


def read_surface(model: str, seen: Mapping[str, Observed]) -> ToolSurface:
    """The surface that the probes saw.

    Args:
        model: the model that was asked.
        seen: what they saw, by the names of their steps.
    """
    nothing = Observed(skipped="it was not asked")
    return ToolSurface(
        model=model,
        echoes=tuple(judge_echo(name, seen.get(echo_name(name), nothing)) for name in PAYLOADS),
        grammar=judge_grammar(seen.get("grammar", nothing)),
        grammar_with_tools=judge_grammar(seen.get("grammar with tools", nothing)),
    )


def judge_echo(name: str, observed: Observed) -> EchoResult:
    """What became of a text. Only the first call is looked at.

    Args:
        name: which text.
        observed: what the probe saw.
    """
    sent = PAYLOADS[name]
    reply = observed.reply
    if reply is None:
        return EchoResult(name=name, sent=sent, error=observed.why, detail=observed.detail)
    if not observed.calls:
        cut = " within the limit" if reply.finish_reason == "length" else ""
        return EchoResult(name=name, sent=sent, error=f"no tool call came{cut}")
    call = reply.tool_calls[0]
    received = _text(call)
    if call.name != ECHO:
        return EchoResult(name=name, sent=sent, error="a tool was called that was not offered")
    if received is None:
        return EchoResult(name=name, sent=sent, error="the arguments of the call hold no text")
    return EchoResult(
        name=name, sent=sent, received=received, lossy=received.strip() != sent.strip()
    )


def judge_grammar(observed: Observed) -> GrammarResult:
    """What became of a grammar.

    Args:
        observed: what the probe saw.
    """
    if observed.reply is None:
        return GrammarResult(error=observed.why, detail=observed.detail)
    return GrammarResult(accepted=True, obeyed=obeys_grammar(observed))


def obeys_grammar(observed: Observed) -> bool:
    """Whether a reply is the one answer that the grammar allows."""
    return observed.text.strip() == GRAMMAR_ANSWER


def _text(call: ToolCall) -> str | None:
    try:
        value = call.input.get("text")
    except InvalidJSONError:
        return None
    return value if isinstance(value, str) else None
