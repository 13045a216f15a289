"""Tool calls that a reply holds as text, to `ToolCall`. No I/O."""

from collections.abc import Sequence
from typing import Final

from rig.errors import ProtocolError, RigError, TruncatedToolCallError
from rig.late_dataclass import dataclass
from rig.messages import ToolCall
from rig.model import ChatRequest
from rig.text.salvage import OfferedTool, Problem, SalvagedCall
from rig.wire.calls import unique_ids
from rig.wire.encode import sent_tools

_PROBLEMS: Final[dict[Problem, str]] = {
    "unknown_tool": "the reply asks, as text, for a tool that was not offered",
    "no_arguments": "the reply holds the text of a tool call without the arguments the tool needs",
    "malformed": "the reply holds the text of a tool call whose arguments can't be read",
    "truncated": "the reply ends in the middle of the text of a tool call",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TextCalls:
    """What a content says when its calls are read.

    Attributes:
        text: the visible text, without calls.
        reasoning: the thoughts, without calls.
        calls: the calls, `origin` the dialect they were written in.
        problem: why the markup of a call is none.
    """

    text: str
    reasoning: str
    calls: tuple[ToolCall, ...] = ()
    problem: Problem = ""


def offered(request: ChatRequest) -> tuple[OfferedTool, ...]:
    """The tools that the model may call in answer to a request, as salvaging asks for them."""
    if request.options.tool_choice == "none":
        return ()
    return sent_tools(request.tools).offered


def read_text_calls(
    content: str, thoughts: str, tools: Sequence[OfferedTool], *, seed: bytes
) -> TextCalls:
    """Read the calls that a reply without calls of its own holds as text.

    Args:
        content: its content, thoughts and all.
        thoughts: what the server sent apart as thoughts; "" when it did not.
        tools: what was offered.
        seed: what the calls' ids are made from, see `unique_ids`.

    Returns:
        Calls only where they name an offered tool; in the thoughts only at their end, when there is
        no text.
    """
    from rig.text.salvage import (  # noqa: PLC0415 for replies to requests with tools alone
        salvage,
        salvage_thought,
    )

    found = salvage(content, tools, separated=bool(thoughts))
    reasoning = thoughts or found.reasoning
    calls = found.calls
    if thoughts and not (found.text or calls or found.problem):
        in_thoughts = salvage_thought(thoughts, tools)
        calls, reasoning = in_thoughts.calls, in_thoughts.reasoning
    return TextCalls(
        text=found.text,
        reasoning=reasoning.strip(),
        calls=_tool_calls(calls, seed),
        problem="" if calls else found.problem,
    )


def unread_call(problem: Problem, detail: str) -> RigError:
    """The error of a reply that is a call nobody can make: it is no answer either.

    Args:
        problem: why.
        detail: what the server sent, bounded.
    """
    kind = TruncatedToolCallError if problem == "truncated" else ProtocolError
    return kind(_PROBLEMS[problem], reason="tool_call", detail=detail)


def _tool_calls(calls: Sequence[SalvagedCall], seed: bytes) -> tuple[ToolCall, ...]:
    ids = unique_ids([""] * len(calls), seed=seed)
    return tuple(
        ToolCall.made(
            id=call_id,
            name=call.name,
            arguments=call.arguments,
            origin=call.dialect,
            repairs=call.repairs,
        )
        for call_id, call in zip(ids, calls, strict=True)
    )
