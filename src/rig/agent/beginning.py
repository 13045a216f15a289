"""What a run begins with: its rules, and its transcript as far as there is one. No I/O."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rig.agent.constraints import held_output, is_constrained
from rig.agent.history import Prepared, prepare, prepare_open
from rig.agent.ladder import rungs
from rig.agent.prompt import opening
from rig.agent.request import RunRequest
from rig.agent.state import Rules, RunState
from rig.messages import Message, ToolCall

if TYPE_CHECKING:  # loaded for typed answers
    from rig.agent.output import Output


def first_state(request: RunRequest[Any]) -> RunState:
    """A run of which nothing is done.

    Args:
        request: the task and its bounds.
    """
    rules = _rules(request)
    return RunState(rules=rules, model=request.model, format=rules.formats[0])


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


def _rules(request: RunRequest[Any]) -> Rules:
    known = request.capabilities
    output: Output[Any] | None = None
    if request.output is not None:
        from rig.agent.output import output_for  # noqa: PLC0415 of typed answers

        output = output_for(request.output)
    has_tools = bool(request.tools)
    return Rules(
        max_iterations=request.max_iterations,
        on_limit=request.on_limit,
        may_ask=request.confirm is not None,
        output=output,
        held=held_output(output, known, request.options),
        has_tools=has_tools,
        formats=rungs(request.tool_format, known, has_tools=has_tools),
        call_grammar=known.grammar is not False,
        json_grammar=bool(known.grammar) and output is None,
        grammar_holds=bool(known.grammar) and not is_constrained(request.options),
    )
