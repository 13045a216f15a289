"""Calling a tool for a model: whatever happens becomes an answer the model can work with.

The order is fixed: the name, the text of the arguments, their check, the tool, its result. Nothing is
started before the check is passed, and every refusal says that nothing was.
"""

import re
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json, to_json

from rig.agent.apart import apart
from rig.agent.calls import MALFORMED, TRUNCATED, TWICE
from rig.agent.results import MAX_NAME_CHARS, error_text, leaves, one_line, refusal, result_text
from rig.agent.toolbox import Toolbox
from rig.errors import ToolError
from rig.events import ToolOutcome
from rig.late_dataclass import dataclass
from rig.messages import ToolCall

if TYPE_CHECKING:  # loaded where a run has tools, and where calls are not plain
    from rig.agent.tools import Tool, ToolContext
    from rig.text.arguments import Arguments

MAX_NAMES = 50
"""Names listed after an unknown one. A model that got no name right has a prompt with all of them."""


CANCELLED = (
    "error: the tool ended early: something it waited for was cancelled; it may have taken effect"
)
"""Answers a call whose tool was given a cancellation that is not the run's."""


AS_TEXT = (
    "{name} was called in the text of the reply, so the call was NOT executed: "
    "call it again as a proper tool call"
)
"""Answers, after `error: `, a call that came as text and whose tool takes none. Text is what a page or a
file the model has read can put into its mouth most easily."""


UNCLEAR = (
    "the call of {name} {why}, so it was NOT executed: "
    "write it again, exactly in the form you were given, and nothing else in the reply"
)
"""The same for a call in a form that was asked for: that form is the proper one, where nothing is beside it."""

_WHY = {"place": "stood in other text", "form": "was not written exactly in its form"}

SURPLUS = (
    "a reply may hold at most {most} calls, so this one was NOT executed: "
    "write it again in your next reply"
)
"""Answers, after `error: `, a call as text that is one too many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyCall:
    """A call that passed every check and may be run.

    Attributes:
        tool: the tool it is for.
        call: the call, with its arguments as they were read and what was mended in them.
        value: the input for `Tool.invoke`.
    """

    tool: "Tool"
    call: ToolCall
    value: Any


async def execute(tools: "Iterable[Tool]", call: ToolCall, context: "ToolContext") -> ToolOutcome:
    """Answer one call: check it, run its tool, and turn what comes out into text.

    Args:
        tools: what the model was offered; pass a `Toolbox`, anything else is made one every time.
        call: the model's call.
        context: passed to tools that take it.

    Raises:
        ToolError: the tool raised a fatal one.
    """
    ready = admit(tools, call)
    return ready if isinstance(ready, ToolOutcome) else await run_ready(ready, context)


def admit(tools: "Iterable[Tool]", call: ToolCall) -> ReadyCall | ToolOutcome:
    """Decide everything about a call that can be decided before its tool runs.

    Args:
        tools: what the model was offered.
        call: the model's call.

    Returns:
        the call ready to run, or its answer when it must not run.
    """
    box = tools if isinstance(tools, Toolbox) else Toolbox(tools)
    tool = box.find(call.name)
    if tool is None:
        return _refused(call, _unknown(call.name, box))
    if call.name != tool.name:
        call = call.model_copy(update={"name": tool.name})
    if call.origin != "native" and call.salvaged and not call.flaw and not tool.accept_salvaged:
        return _refused(call, AS_TEXT.format(name=tool.name))
    if not _is_object(call.arguments):
        from rig.text.arguments import read_arguments  # noqa: PLC0415 of broken calls

        arguments = read_arguments(call.arguments)
        if arguments.kind != "object":
            return _refused(call, _unreadable(arguments))
        call = _amended(call, arguments.text, arguments.repairs)
    if call.flaw and (why := _flaw(call, tool)):
        return _refused(call, why)
    try:
        ready = _fitted(tool, call)
    except ValueError:
        # What no parser takes: digits without end, NaN, nesting without end, a lone surrogate.
        return _refused(call, MALFORMED)
    except Exception as error:  # noqa: BLE001  a validator of the tool's author failed
        return _refused(call, error_text(error))
    return ready if isinstance(ready, ReadyCall) else _refused(call, _unfit(tool.name, ready))


async def run_ready(ready: ReadyCall, context: "ToolContext") -> ToolOutcome:
    """Run the tool of a call that was admitted.

    Args:
        ready: what `admit` gave.
        context: passed to tools that take it.

    Raises:
        ToolError: the tool raised a fatal one.
    """
    outcome, failure = await ran(ready, context)
    if failure is not None:
        raise failure
    return outcome


async def ran(ready: ReadyCall, context: "ToolContext") -> tuple[ToolOutcome, ToolError | None]:
    """Run the tool of a call that was admitted; an error that is fatal is its outcome as well.

    Args:
        ready: what `admit` gave.
        context: passed to tools that take it.
    """
    tool, call = ready.tool, ready.call
    try:
        ended = await apart(partial(_answer, ready, context), tool.timeout_s)
    except ToolError as error:
        failure = error
    else:
        content, is_error = ended.value or (CANCELLED, True)
        # A tool may turn its cancellation into an error of its own: the reason is still the time.
        if is_error and ended.time_is_up:
            content = refusal(_timed_out(tool))
        took_s = ended.duration_s
        return ToolOutcome(call=call, content=content, is_error=is_error, duration_s=took_s), None
    return ToolOutcome(call=call, content=error_text(failure), is_error=True), failure


async def _answer(ready: ReadyCall, context: "ToolContext") -> tuple[str, bool]:
    """The answer, and whether it is an error.

    Raises:
        ToolError: the tool raised a fatal one, alone or in a group.
    """
    tool = ready.tool
    try:
        value = await tool.invoke(ready.value, context)
        text = result_text(
            value, max_chars=tool.max_result_chars, keep_special_tokens=tool.keep_special_tokens
        )
    except Exception as error:  # noqa: BLE001  every failure of a tool is an answer
        failure: Exception = error
    else:
        return text, False
    # Outside of the handler, so that a fatal error does not get a group as its context.
    for leaf in leaves(failure):
        if isinstance(leaf, ToolError) and leaf.fatal:
            raise leaf
    return error_text(failure), True


def _fitted(tool: "Tool", call: ToolCall) -> ReadyCall | tuple[str, ...]:
    """The call with an input that fits, as it came or as the schema lets it be read; or the problems.

    Raises:
        ValueError: the arguments are not JSON after all.
    """
    checked = tool.check(call.arguments)
    if not checked.problems:
        return ReadyCall(tool=tool, call=call, value=checked.value)
    from rig.agent.inputs import mend_input  # noqa: PLC0415 of calls that do not fit

    plain: object = from_json(call.arguments, allow_inf_nan=False)
    mended, repairs = mend_input(tool.schema, plain)
    if not repairs:
        return checked.problems
    text = to_json(mended).decode()
    again = tool.check(text)
    if again.problems:
        return checked.problems
    return ReadyCall(tool=tool, call=_amended(call, text, repairs), value=again.value)


_EXTREME = re.compile(r"[0-9][eE][+-]?[0-9]|[0-9]{300}")
"""A number that may be past the range of floats: the parser makes an infinity of it."""


def _unreadable(arguments: "Arguments") -> str:
    if arguments.ambiguous:
        return TWICE
    return TRUNCATED if arguments.kind == "truncated" else MALFORMED


def _is_object(text: str) -> bool:
    """Whether nothing has to be mended: `read_arguments` would say the same, in fifty times the time."""
    if not (text.startswith("{") and text.endswith("}")) or _EXTREME.search(text):
        return False
    try:
        value: object = from_json(text, allow_inf_nan=False)
    except (ValueError, TypeError):  # TypeError: a str that holds lone surrogates
        return False
    if not isinstance(value, dict):
        return False
    # Every key has its colon: as many colons as keys, and none stands twice.
    if text.count(":") == len(value):  # pyright: ignore[reportUnknownArgumentType] of whatever
        return True
    from rig.text.duplicate_keys import duplicate_keys  # noqa: PLC0415 of arguments with colons in them

    return duplicate_keys(text) == "none"


def _amended(call: ToolCall, arguments: str, repairs: tuple[str, ...]) -> ToolCall:
    if arguments == call.arguments:
        return call
    update = {"arguments": arguments, "repairs": (*call.repairs, *repairs)}
    return call.model_copy(update=update)


def _refused(call: ToolCall, why: str) -> ToolOutcome:
    return ToolOutcome(
        call=call, content=refusal(why.removeprefix("error: ")), is_error=True, executed=False
    )


def _flaw(call: ToolCall, tool: "Tool") -> str:
    """Why a call as text is not run, "" where it may be all the same."""
    if call.flaw == "keys":
        return TWICE
    if call.flaw == "surplus":
        from rig.text.grammar import MAX_BATCH  # noqa: PLC0415 of calls as text

        return SURPLUS.format(most=MAX_BATCH)
    if tool.accept_salvaged:
        return ""
    return UNCLEAR.format(name=tool.name, why=_WHY[call.flaw])


def _unknown(name: str, box: Toolbox) -> str:
    shown = one_line(name, MAX_NAME_CHARS)
    if not box:
        return f'unknown tool "{shown}", no tools are available'
    names = box.names[:MAX_NAMES]
    more = f" and {len(box) - len(names)} more" if len(box) > len(names) else ""
    return f'unknown tool "{shown}", available tools: {", ".join(names)}{more}'


def _unfit(name: str, problems: tuple[str, ...]) -> str:
    listed = "\n".join(f"- {problem}" for problem in problems)
    return (
        f"the arguments of {name} do not fit its parameters, so the call was NOT executed:\n{listed}\n"
        f"Correct them and call {name} again."
    )


def _timed_out(tool: "Tool") -> str:
    text = f"the tool timed out after {tool.timeout_s:g} s"
    return f"{text}; it could not be stopped and may still take effect" if tool.in_thread else text
