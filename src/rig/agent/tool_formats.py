"""How calls travel when a server knows no tools: as text, both ways. No I/O.

A format is a pair of functions around a model: one makes the request a server without tools can answer,
the other finds the calls in what came back. Between them nothing of a run changes: the transcript holds
calls and results as ever, so a run can change its format from one request to the next.

What a model wrote that is no arguments goes on as it is: `rig.agent.calling.admit` mends it, or tells the
model why not, and runs the other calls. A call that was cut comes as the beginning of a JSON text, which
is refused there and nowhere completed.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from rig.agent.calls import UniqueIds
from rig.agent.formats import ToolFormat
from rig.agent.history import Prepared
from rig.agent.prompt import is_said, with_instructions
from rig.late_dataclass import dataclass
from rig.messages import CallFlaw, Content, ContentPart, Message, TextPart, ToolCall
from rig.model import ChatOptions, ChatRequest, Reply, ToolSpec
from rig.text.duplicate_keys import duplicate_keys
from rig.text.grammar import MAX_BATCH, Text, grammar_for, json_call_grammar
from rig.text.heredoc import HeredocCall, HeredocReply, parse_heredoc, render_call
from rig.text.heredoc_instructions import heredoc_prompt
from rig.text.json_calls import json_calls_prompt, parse_json_calls, render_json_call
from rig.text.json_scanner import scan_json
from rig.text.salvage import OfferedTool, salvage


def heredoc_request(
    request: ChatRequest, *, grammar: bool = True, text: Text = "any", bodies: bool = True
) -> ChatRequest:
    """The request with its tools in the system prompt and its calls as `@@call` text.

    The tools are told by the prompt, a GBNF grammar lets the model write nothing but calls of them and
    prose, and `tools` is empty: llama.cpp refuses both together. A request that has a grammar or a
    `response_format` of its own keeps it, and gets none. No stop sequence is set: it would end every
    reply at its first call.

    Args:
        request: with tools and calls as everywhere in rig; `tool_choice` and `parallel_tool_calls` hold.
        grammar: False for servers that know none; they ignore it, or refuse the request.
        text: what may stand beside calls; a `tool_choice` that forces one allows nothing.
        bodies: False for the smallest models, which forget to close them.

    Raises:
        InvalidRequestError: the grammar would be too large.
    """
    offer = _Offer.of(request)
    asked = _as_text(request, render_call)
    if not offer.tools:
        return asked
    max_calls = MAX_BATCH if request.options.parallel_tool_calls is not False else 1
    options = asked.options
    if grammar and options.grammar is None and options.response_format is None:
        beside: Text = "none" if offer.is_forced else text
        rules = grammar_for(offer.tools, max_calls=max_calls, text=beside, bodies=bodies)
        options = replace(options, grammar=rules)
    prompt = heredoc_prompt(offer.tools, max_calls=max_calls, bodies=bodies)
    return replace(asked, messages=with_instructions(asked.messages, prompt), options=options)


def heredoc_reply(reply: Reply, tools: Sequence[ToolSpec], *, held: bool = False) -> Reply:
    """The reply with the calls of its text.

    Args:
        reply: the answer to what `heredoc_request` made.
        tools: the tools of the request before that.
        held: a grammar is known to have held the reply to the form.

    Returns:
        The reply with prose as its text and calls of origin `heredoc`, with ids of their own. Those that
        can't be run are among them, in order, and are refused with the reason where calls are admitted.
        Calls past `MAX_BATCH` are refused, with the flaw surplus, and so are those that name a key twice
        with different values, with the flaw keys. Where the reply was not held, a call that had to be
        mended has the flaw form, and one with more text around it than a leading paragraph the flaw
        place: tools that take no salvaged calls take neither.
        Exact copies of a call in one reply are left out: a small model that is held to a grammar writes
        its call as often as there is room (measured: four times, where the grammar allowed four).
        Where there are none, calls in a form the model was trained to write are taken, with that as their
        origin. The same reply where it has calls already, or was cut for its repetition.
    """
    return _with_calls(reply, tools, "heredoc", parse_heredoc, held=held)


def json_request(request: ChatRequest, *, grammar: bool = False) -> ChatRequest:
    """The request with its tools in the system prompt and its calls as JSON objects.

    Args:
        request: with tools and calls as everywhere in rig; a `tool_choice` that names a tool leaves the
            others out.
        grammar: True adds a GBNF grammar, unless the request has one or a `response_format`. An answer
            then can't begin with a brace.

    Raises:
        InvalidRequestError: the grammar would be too large.
    """
    offer = _Offer.of(request)
    asked = _as_text(request, render_json_call)
    if not offer.tools:
        return asked
    options = asked.options
    if grammar and options.grammar is None and options.response_format is None:
        rules = json_call_grammar(offer.tools, text=not offer.is_forced)
        options = replace(options, grammar=rules)
    prompt = json_calls_prompt(offer.tools)
    return replace(asked, messages=with_instructions(asked.messages, prompt), options=options)


def json_reply(reply: Reply, tools: Sequence[ToolSpec], *, held: bool = False) -> Reply:
    """The reply with the calls of its text, origin `json`; see `heredoc_reply`.

    Args:
        reply: the answer to what `json_request` made.
        tools: the tools of the request before that.
        held: a grammar is known to have held the reply to the form.
    """
    return _with_calls(reply, tools, "json", parse_json_calls, held=held)


HEREDOC: Final = ToolFormat(name="heredoc", request=heredoc_request, reply=heredoc_reply)
JSON: Final = ToolFormat(name="json", request=json_request, reply=json_reply)


# The request


@dataclass(frozen=True, slots=True, kw_only=True)
class _Offer:
    """The tools a model is told of, and whether it has to call one."""

    tools: tuple[ToolSpec, ...]
    is_forced: bool = False

    @classmethod
    def of(cls, request: ChatRequest) -> "_Offer":
        tools = tuple(tool for tool in request.tools if tool.name)
        match request.options.tool_choice:
            case None | "auto":
                return cls(tools=tools)
            case "none":
                return cls(tools=())
            case "required":
                return cls(tools=tools, is_forced=True)
            case name:
                named = tuple(tool for tool in tools if tool.name == name)
                return cls(tools=named or tools, is_forced=True)


def _as_text(request: ChatRequest, render: Callable[[str, str], str]) -> ChatRequest:
    """The request without tools, its calls and results as text."""
    options: ChatOptions = replace(request.options, tool_choice=None, parallel_tool_calls=None)
    messages = Prepared(_joined(_turn_as_text(turn, render) for turn in request.messages))
    return replace(request, messages=messages, tools=(), options=options)


def _turn_as_text(turn: Message, render: Callable[[str, str], str]) -> Message:
    if turn.role == "tool":
        return Message.made(role="user", content=_result(turn))
    if not turn.tool_calls:
        return turn
    written = [render(call.name, call.arguments) for call in turn.tool_calls]
    text = "\n".join([turn.text, *written] if is_said(turn.text) else written)
    # Without its thoughts: a result is a user turn here, and servers drop thoughts before the last one.
    return Message.made(role="assistant", content=text)


def _result(turn: Message) -> Content:
    """A result as the user tells it, because templates without tools know no other speaker."""
    head = f"Result of {turn.name}: " if turn.name else "Result: "
    if isinstance(turn.content, str):
        return head + turn.content
    return (TextPart(text=head), *turn.content)


def _joined(turns: Iterable[Message]) -> list[Message]:
    """Results, and what the user says behind them, as one turn: many templates refuse two in a row."""
    joined: list[Message] = []
    for turn in turns:
        if joined and turn.role == joined[-1].role == "user":
            content = _both(joined[-1].content, turn.content)
            joined[-1] = joined[-1].model_copy(update={"content": content})
        else:
            joined.append(turn)
    return joined


def _both(first: Content, second: Content) -> Content:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return (*_parts(first), *_parts(second))


def _parts(content: Content) -> tuple[ContentPart, ...]:
    return (TextPart(text=content),) if isinstance(content, str) else content


# The reply


def _with_calls(
    reply: Reply,
    tools: Sequence[ToolSpec],
    origin: str,
    parse: Callable[..., HeredocReply],
    *,
    held: bool,
) -> Reply:
    if reply.tool_calls or reply.repetition is not None:
        return reply
    read = parse(reply.text, names=frozenset(tool.name for tool in tools))
    if not read.written:
        found = _salvaged(reply, tools, bare=not read.shows)
        return found or (replace(reply, text=read.text) if read.text != reply.text else reply)
    ids = UniqueIds((), reserved=())
    calls = tuple(
        ToolCall(
            id=ids.take(""),
            name=call.name,
            arguments=call.arguments,
            origin=origin,
            repairs=call.repairs,
            flaw=_flaw(call, number, sure=held, alone=held or read.alone),
        )
        for number, call in enumerate(dict.fromkeys(read.written))
    )
    return _calling(reply, read.text, calls)


def _flaw(call: HeredocCall, number: int, *, sure: bool, alone: bool) -> CallFlaw:
    """What speaks against running a call.

    Args:
        call: the call.
        number: of those before it in its reply.
        sure: its form was held to.
        alone: it has no text around it.
    """
    if number >= MAX_BATCH:
        return "surplus"
    if call.kind == "malformed" and _is_ambiguous(call.arguments):
        return "keys"
    if not sure and (call.repairs or call.kind == "malformed"):
        return "form"
    return "" if alone else "place"


def _is_ambiguous(arguments: str) -> bool:
    scan = scan_json(arguments)
    whole = scan.kind == "complete" and scan.end == len(arguments)
    return whole and duplicate_keys(arguments) == "different"


def _salvaged(reply: Reply, tools: Sequence[ToolSpec], *, bare: bool) -> Reply | None:
    """The reply with calls in the form its model was trained to write, if it fell back into that.

    Args:
        reply: without calls in the form that was asked for.
        tools: the tools that were offered.
        bare: False where the reply shows such calls: they are no calls without any form either.
    """
    found = salvage(reply.text, offered_tools(tools), separated=True)
    if not found.calls or reply.finish_reason == "length":
        return None
    if not bare and any(call.dialect == "bare_json" for call in found.calls):
        return None
    ids = UniqueIds((), reserved=())
    calls = tuple(
        ToolCall(
            id=ids.take(""),
            name=call.name,
            arguments=call.arguments,
            origin=call.dialect,
            repairs=call.repairs,
        )
        for call in found.calls
    )
    return _calling(reply, found.text, calls)


def _calling(reply: Reply, text: str, calls: tuple[ToolCall, ...]) -> Reply:
    reason = "tool_calls" if reply.finish_reason == "stop" else reply.finish_reason
    return replace(reply, text=text, tool_calls=calls, finish_reason=reason)


def offered_tools(tools: Iterable[ToolSpec]) -> tuple[OfferedTool, ...]:
    """Tools as salvaging asks for them.

    Args:
        tools: what the model was told of.
    """
    return tuple(OfferedTool(tool.name, tool.input_schema) for tool in tools if tool.name)
