"""What a run begins with: its rules, and its transcript as far as there is one. No I/O."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal

from rig.agent.capabilities import Capabilities
from rig.agent.constraints import held_output, is_constrained
from rig.agent.history import Prepared, prepare, prepare_open
from rig.agent.ladder import ToolFormatChoice, rungs
from rig.agent.prompt import opening
from rig.agent.request import RunRequest
from rig.agent.state import Rules, RunState
from rig.messages import Message, ToolCall


def first_state(request: RunRequest[Any]) -> RunState:
    """A run of which nothing is done.

    Args:
        request: the task and its bounds.
    """
    known, options = request.capabilities, request.options
    state = _of_text(
        request.max_iterations,
        request.on_limit,
        request.confirm is not None,
        bool(request.tools),
        request.tool_format,
        known.native_tools,
        known.grammar,
        bool(known.grammar) and not is_constrained(options),
    )
    if request.output is not None:
        from rig.agent.output import output_for  # noqa: PLC0415 of typed answers

        output = output_for(request.output)
        held = held_output(output, known, options)
        rules = replace(state.rules, output=output, held=held, json_grammar=False)
        state = RunState(rules=rules, format=state.format)
    return state.but(model=request.model)


def history_of(request: RunRequest[Any]) -> tuple[tuple[Message, ...], tuple[ToolCall, ...]]:
    """What was said before, under the run's own system prompt, and the calls that wait at its end.

    Args:
        request: the task and its bounds.
    """
    if not request.messages:
        return (), ()
    return prepare_open(opening(request.system, request.messages, ""))


def opened(request: RunRequest[Any], history: Sequence[Message]) -> Prepared:
    """The transcript the first request is about.

    Args:
        request: the task and its bounds.
        history: what was said before, every call of it answered.
    """
    if not history:  # what begins here is in order
        return Prepared(opening(request.system, (), request.content))
    return prepare(opening("", history, request.content))


@lru_cache(maxsize=64)
def _of_text(
    max_iterations: int,
    on_limit: Literal["raise", "answer"],
    may_ask: bool,
    has_tools: bool,
    tool_format: ToolFormatChoice,
    native_tools: bool | None,
    grammar: bool | None,
    grammar_holds: bool,
) -> RunState:
    """A run that ends with a text. Few runs differ in these: 5 us less each, and fewer values alive."""
    known = Capabilities(native_tools=native_tools, grammar=grammar)
    rules = Rules(
        max_iterations=max_iterations,
        on_limit=on_limit,
        may_ask=may_ask,
        has_tools=has_tools,
        formats=rungs(tool_format, known, has_tools=has_tools),
        call_grammar=grammar is not False,
        json_grammar=bool(grammar),
        grammar_holds=grammar_holds,
    )
    return RunState(rules=rules, format=rules.formats[0])
