"""What an endpoint does, measured: every property with its evidence. No I/O."""

from datetime import datetime
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from rig.agent.capabilities import Capabilities
from rig.client.probes.facts import Tokenizer
from rig.client.probes.finding import Enforcement, Finding, Honoured
from rig.client.probes.judge_formats import Malformed
from rig.client.probes.judge_limits import LongPrompts, StreamUsage
from rig.client.probes.judge_replies import Reasoning, State, SystemRole
from rig.client.probes.judge_tools import ToolSupport
from rig.client.probes.tool_surface import ToolSurface

PROFILE_FORMAT: Final = 1
"""The form of a profile as JSON. It grows when a field's meaning changes; others are then not read."""


class EndpointProfile(BaseModel):
    """What one endpoint does with one model, as it was measured. It goes to JSON and back.

    Attributes:
        format: the form of this value as JSON.
        model: the model that was asked.
        spoken: the dialect the client spoke; what it has no way to say counts as refused.
        measured_at: when.
        took_s: seconds it took.
        state: whether ordinary questions are answered; what follows is not measured where they are not.
        server: the name of the dialect of the server, generic where it can't be told.
        build: the server's version.
        models: the names it lists.
        window_tokens: the context window.
        tokenizer: what it counts.
        tools: whether and how calls are made.
        tool_choice_required: whether a call can be forced.
        tool_choice_named: whether the call of one tool can be.
        parallel_calls: whether several calls come in one reply.
        streamed_calls: whether calls come through streams.
        arguments_lossless: whether texts come back through arguments as they were sent.
        json_schema: whether a schema is enforced.
        json_object: whether JSON is.
        grammar: whether a grammar is.
        grammar_with_tools: whether it is beside tools.
        malformed_grammar: what becomes of one that can't be parsed.
        system_role: what becomes of a system prompt.
        reasoning: where thoughts are.
        thinking_switch: whether `enable_thinking` is honoured.
        stream_usage: when a stream tells its usage.
        stop: whether stop strings are honoured.
        repeatable: whether temperature 0 with a seed repeats itself.
        max_tokens: whether max_tokens is honoured.
        max_completion_tokens: whether its newer name is.
        long_prompts: what becomes of a prompt that does not fit.
        abort_on_close: whether the server stops when the client leaves.
        latency_s: seconds to a short answer.
        time_to_first_token_s: seconds to the first piece of a stream.
        tokens_per_s: tokens generated in a second.
        tool_surface: what came back through arguments, text by text.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, protected_namespaces=()
    )

    format: int = PROFILE_FORMAT
    model: str
    spoken: str
    measured_at: datetime
    took_s: float
    state: Finding[State]
    server: Finding[str]
    build: Finding[str]
    models: Finding[tuple[str, ...]]
    window_tokens: Finding[int]
    tokenizer: Finding[Tokenizer]
    tools: Finding[ToolSupport]
    tool_choice_required: Finding[Honoured]
    tool_choice_named: Finding[Honoured]
    parallel_calls: Finding[bool]
    streamed_calls: Finding[bool]
    arguments_lossless: Finding[bool]
    json_schema: Finding[Enforcement]
    json_object: Finding[Enforcement]
    grammar: Finding[Enforcement]
    grammar_with_tools: Finding[Enforcement]
    malformed_grammar: Finding[Malformed]
    system_role: Finding[SystemRole]
    reasoning: Finding[Reasoning]
    thinking_switch: Finding[Honoured]
    stream_usage: Finding[StreamUsage]
    stop: Finding[Honoured]
    repeatable: Finding[bool]
    max_tokens: Finding[Honoured]
    max_completion_tokens: Finding[Honoured]
    long_prompts: Finding[LongPrompts]
    abort_on_close: Finding[bool]
    latency_s: Finding[float]
    time_to_first_token_s: Finding[float]
    tokens_per_s: Finding[float]
    tool_surface: ToolSurface

    @property
    def capabilities(self) -> Capabilities:
        """What a run has to know of it: give the profile to `run` as `profile`.

        A server that makes calls only where one is required counts as one without tools of its own: in a
        run the model has to choose. What was not measured is not known.
        """
        support = self.tools.value
        return Capabilities(
            native_tools=None if support is None else support == "native",
            grammar=_enforces(self.grammar),
            json_schema=_enforces(self.json_schema),
            context_tokens=self.window_tokens.value,
        )

    def findings(self) -> dict[str, Finding[Any]]:
        """All findings by name, in order: for a table."""
        values = ((name, getattr(self, name)) for name in type(self).model_fields)
        return {name: value for name, value in values if isinstance(value, Finding)}


def _enforces(finding: Finding[Enforcement]) -> bool | None:
    return None if finding.value is None else finding.value == "enforced"
