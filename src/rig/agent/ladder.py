"""How calls travel in a run, and when it steps down to a form that asks less of model and server. No I/O.

    native --> heredoc, where a grammar is enforced --> json

Only down, one rung at a time, and only on evidence from the run itself. What a tool answers and arguments
that do not fit their parameters are none: such a call travelled well.
"""

import re
from collections.abc import Sequence
from functools import partial
from typing import Final, Literal

from rig.agent.calling import ReadyCall
from rig.agent.calls import MALFORMED, TRUNCATED, TWICE
from rig.agent.capabilities import Capabilities
from rig.agent.constraints import Held
from rig.agent.formats import NATIVE, ToolFormat
from rig.agent.state import Admitted, RunState
from rig.errors import InvalidRequestError, RigError, ServerError
from rig.events import (
    Constraint,
    ConstraintRefused,
    FormatChangeReason,
    FormatName,
    ToolFormatChanged,
    ToolOutcome,
)
from rig.messages import ToolCall

MAX_STRIKES: Final = 2
"""Replies in a row with evidence against a format before it is left. One may be the model's slip, of which
it is told; the second says that being told does not help."""

ToolFormatChoice = Literal["auto", "native", "heredoc", "json"]
"""What a run may be told: one format for all of it, or to choose and step down by itself."""

Evidence = Literal["", "salvaged", "refused"]
"""What a reply's calls say against their format: nothing; they were found in its text, where nobody had asked
for them; or one can't be told whose it is, or has no arguments that can be read."""

_NAME: Final = re.compile(r"[A-Za-z0-9_.\-]{1,128}")
_UNREADABLE: Final = frozenset({TRUNCATED, MALFORMED, TWICE})

# Reasons of errors, see rig.wire.fault_rows and rig.wire.salvaged.
_LOST: Final = frozenset({"tool_call"})
_UNSUPPORTED: Final = frozenset({"tools_off", "template", "schema"})
_NO_REFUSALS: Final = frozenset({"loading", "tool_call"})
_INTERNAL_ERROR: Final = 500


def rungs(
    choice: ToolFormatChoice, known: Capabilities, *, has_tools: bool
) -> tuple[FormatName, ...]:
    """The formats of a run, the one it starts with first.

    Args:
        choice: what the caller wants.
        known: what the server does.
        has_tools: the run offers tools; without any there is nothing to step down for.

    Returns:
        The caller's choice alone; or native, unless it is known not to work, and what is below it:
        heredoc only where a grammar is known to be enforced, then JSON.
    """
    if choice != "auto":
        return (choice,)
    below: tuple[FormatName, ...] = ("heredoc", "json") if known.grammar else ("json",)
    if known.native_tools is False:
        return below
    return ("native", *below) if has_tools else ("native",)


def evidence(calls: Sequence[ToolCall], admitted: Sequence[Admitted]) -> Evidence:
    """What the calls of a reply say against their format.

    Args:
        calls: as they came.
        admitted: the same, each ready or answered.
    """
    for call, one in zip(calls, admitted, strict=True):
        known = isinstance(one, ReadyCall) and one.tool.name == call.name
        if not known and _is_unreadable(call, one):
            return "refused"
    for call in calls:
        if call.origin != "native" and call.salvaged and not call.flaw:
            return "salvaged"
    return ""


def weighed(state: RunState, found: Evidence) -> RunState:
    """The run after a reply with calls, a rung lower when this was the second bad one in a row.

    Args:
        state: the run before.
        found: what the calls say.
    """
    strikes = state.strikes + 1 if found else 0
    if strikes != state.strikes:
        state = state.but(strikes=strikes)
    if found and strikes >= MAX_STRIKES:
        return stepped_down(state, found) or state
    return state


def stepped_down(state: RunState, reason: FormatChangeReason) -> RunState | None:
    """The run a rung lower; None on the lowest, or where the caller chose the format.

    Args:
        state: the run before.
        reason: told by the event.
    """
    formats = state.rules.formats
    place = formats.index(state.format) + 1
    if place >= len(formats):
        return None
    change = ToolFormatChanged(previous=state.format, current=formats[place], reason=reason)
    return state.but(format=formats[place], strikes=0, untold=(*state.untold, change))


def after_fault(state: RunState, error: RigError) -> RunState | None:
    """The run as it can go on after a request that failed, if it can.

    Args:
        state: the run as it asked.
        error: what came instead of a reply.

    Returns:
        The run without what was refused; the same a rung lower where tools are what the server does not
        take, or where a reply was lost because its call could not be read. None: the run is over.
    """
    refused = sent_constraint(state)
    if refused is not None and _is_refusal(error):
        told = ConstraintRefused(
            constraint=refused, purpose="output" if held(state) is not None else "tools"
        )
        return state.but(refused=frozenset((*state.refused, refused)), untold=(*state.untold, told))
    if state.format != "native" or not offers_tools(state):
        return None
    if is_lost(error):
        return stepped_down(state, "unreadable")
    return stepped_down(state, "unsupported") if error.reason in _UNSUPPORTED else None


def is_lost(error: RigError) -> bool:
    """Whether an error stands for a reply whose call nobody could read: it cost a round.

    Args:
        error: what came instead of a reply.
    """
    return error.reason in _LOST


def offers_tools(state: RunState) -> bool:
    """Whether the next request offers tools.

    The last one does not; nor does the one that asks for a typed answer again, where the server can be
    held to it: a form for the answer leaves no room for calls.

    Args:
        state: the run before the request.
    """
    if not state.rules.has_tools or state.closing is not None:
        return False
    return not state.rejected or _held_output(state) is None


def held(state: RunState) -> Held | None:
    """What holds the next reply to the type of the answer.

    Args:
        state: the run before the request.

    Returns:
        Nothing while tools are offered: llama.cpp then lets a schema win over the tools, and refuses
        a grammar.
    """
    return None if offers_tools(state) else _held_output(state)


def sent_constraint(state: RunState) -> Constraint | None:
    """What of rig's own the next request holds the reply to; None for nothing.

    Args:
        state: the run before the request.
    """
    form = held(state)
    if form is not None:
        return form.by
    return "grammar" if _has_call_grammar(state) else None


def tool_format(state: RunState) -> ToolFormat:
    """How calls travel with the next request, its grammar where the server takes one.

    Args:
        state: the run before the request.
    """
    if state.format == "native":
        return NATIVE
    from rig.agent import tool_formats as text  # noqa: PLC0415 most servers know tools

    grammar = _has_call_grammar(state)
    is_heredoc = state.format == "heredoc"
    to_text = text.heredoc_request if is_heredoc else text.json_request
    to_calls = text.heredoc_reply if is_heredoc else text.json_reply
    return ToolFormat(
        name=state.format,
        request=partial(to_text, grammar=grammar),
        reply=partial(to_calls, held=grammar and state.rules.grammar_holds),
    )


def _has_call_grammar(state: RunState) -> bool:
    grammar = {"native": False, "heredoc": True, "json": state.rules.json_grammar}[state.format]
    free = state.rules.call_grammar and "grammar" not in state.refused
    return grammar and free and offers_tools(state)


def _held_output(state: RunState) -> Held | None:
    form = state.rules.held
    return form if form is not None and form.by not in state.refused else None


def _is_unreadable(call: ToolCall, one: Admitted) -> bool:
    """A call that did not survive its way: whose it is, or what it says, can't be told.

    A well-formed name that nobody offered is the model's invention, in any format.
    """
    if not _NAME.fullmatch(call.name):
        return not isinstance(one, ToolOutcome) or not one.executed
    return isinstance(one, ToolOutcome) and one.content in _UNREADABLE


def _is_refusal(error: RigError) -> bool:
    """The request itself was refused; llama.cpp says so with a 500 where its sampler finds out."""
    if isinstance(error, InvalidRequestError):
        return True
    internal = isinstance(error, ServerError) and error.status == _INTERNAL_ERROR
    return internal and error.reason not in _NO_REFUSALS
