"""The request that a run sends next. No I/O."""

from dataclasses import replace
from typing import Any

from rig.agent.ladder import held, offers_tools, tool_format
from rig.agent.prompt import with_instructions, with_notice
from rig.agent.request import RunRequest
from rig.agent.state import RunState
from rig.agent.toolbox import Toolbox
from rig.model import DEFAULT_OPTIONS, ChatOptions, ChatRequest, checked_request


def next_request(request: RunRequest[Any], tools: Toolbox, state: RunState) -> ChatRequest:
    """The request that asks the model how to go on.

    Args:
        request: the task and its bounds.
        tools: those of the task.
        state: where the run stands.

    Raises:
        InvalidRequestError: a grammar would be too large.
    """
    messages = state.messages
    output = state.rules.output
    for instructions in (request.instructions, "" if output is None else output.instructions):
        if instructions and instructions.strip():
            messages = with_instructions(messages, instructions)
    if state.notice:
        messages = with_notice(messages, state.notice)
    offers = offers_tools(state)
    logical = checked_request(
        model=request.model,
        messages=messages,
        max_tokens=request.max_tokens,
        tools=tools if offers else (),
        options=_options(request.options, state, offers=offers),
    )
    return logical if state.format == "native" else tool_format(state).request(logical)


def _options(options: ChatOptions, state: RunState, *, offers: bool) -> ChatOptions:
    """The options of the request.

    A choice that forces a call is for the first round: the model could never answer. Without tools,
    several servers refuse both fields.
    """
    if options is DEFAULT_OPTIONS and state.rules.held is None:
        return options  # there is nothing to be taken out, and nothing to be added
    if state.closing is not None or (state.rules.has_tools and not offers):
        options = replace(options, tool_choice=None, parallel_tool_calls=None)
    form = held(state)
    if form is not None:
        return form.within(options)
    if state.iterations and options.tool_choice not in {None, "auto", "none"}:
        return replace(options, tool_choice=None)
    return options
