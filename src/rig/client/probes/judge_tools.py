"""What the probes say of tool calls. Pure.

The order of the tests is the order of what can be trusted: a call that came proves more than any word
of the server; that no call came proves nothing of the server, unless the prompt was as short as without
the tools, or the call stands in the text.
"""

import re
from typing import Final, Literal

from rig.client.probes.finding import Finding, Honoured
from rig.client.probes.known import Known
from rig.client.probes.observed import Observed
from rig.client.probes.plan import echo_name
from rig.client.probes.questions import ECHO, PAYLOADS
from rig.client.probes.tool_surface import ToolSurface

ToolSupport = Literal["native", "forced", "auto_refused", "text", "dropped", "refused", "none"]
"""native: calls come as calls. forced: only where one is required. auto_refused: the same, since the server
refuses to leave it to the model. text: the model writes calls, and the
server leaves them in the text. dropped: the server does not show the tools to the model. refused: it
answers with an error. none: the model knows of the tools, and called none in any of the tries."""

# The frames of calls in text, with the tool's name behind them; bounded, so the work is linear.
_WRITTEN_CALL: Final = re.compile(
    rf"<tool_call>|<function=|\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool_call|functools\["
    rf'|"(?:name|tool|function|action)"\s{{0,4}}:\s{{0,4}}"{ECHO}"|\b{ECHO}\(',
    re.IGNORECASE,
)


def judge_tools(known: Known) -> Finding[ToolSupport]:
    """Whether and how the endpoint makes tool calls.

    Args:
        known: what was found out.
    """
    auto = known["tools"]
    rows = _rows(known)
    called = sum(bool(row.calls) for row in rows)
    if auto.calls:
        return _found("native", "a call came as a call, with examples and without being required")
    if called and auto.refused:
        return _found(
            "auto_refused", f"calls come only where one is required: otherwise {auto.why}", auto
        )
    if called:
        return _found(
            "forced",
            f"{called} of {len(rows)} requests that required a call brought one, the others none",
        )
    if auto.refused:
        return _found("refused", f"to a request with tools {auto.why}", auto)
    if auto.reply is None:
        return Finding[ToolSupport].unmeasured(auto.why, auto.detail)
    dropped = _dropped(known)
    if dropped:
        return _found("dropped", dropped)
    written = [row for row in (auto, *rows) if _WRITTEN_CALL.search(row.text)]
    if written:
        return _found("text", "the model wrote a call, and the server left it in the text")
    tries = 1 + len(rows)
    return _found("none", f"the model was shown the tools and called none in {tries} requests")


def judge_required(known: Known) -> Finding[Honoured]:
    """Whether `tool_choice: required` forces a call against the prompt's wish.

    Args:
        known: what was found out.
    """
    observed = known["tool_choice required"]
    return _choice(observed, called=bool(observed.calls), against="the prompt forbids it")


def judge_named(known: Known) -> Finding[Honoured]:
    """Whether a tool demanded by its name is called although the prompt asks for another.

    Args:
        known: what was found out.
    """
    observed = known["tool_choice by name"]
    calls = observed.reply.tool_calls if observed.reply else ()
    called = bool(calls) and calls[0].name == ECHO
    return _choice(observed, called=called, against="the prompt asks for another tool")


def judge_parallel(known: Known) -> Finding[bool]:
    """Whether several calls come in one reply.

    Args:
        known: what was found out.
    """
    observed = known["parallel calls"]
    if observed.calls > 1:
        return Finding[bool](value=True, evidence=f"{observed.calls} calls came in one reply")
    if observed.refused:
        return Finding[bool](
            value=False,
            evidence=f"to two calls in one turn of the history {observed.why}",
            detail=observed.detail,
        )
    if observed.reply is None:
        return Finding[bool].unmeasured(observed.why, observed.detail)
    if not observed.calls:
        return Finding[bool].unmeasured("the model made no call when it was asked for two")
    if known.facts.caps.get("supports_parallel_tool_calls") is False:
        return Finding[bool](
            value=False,
            evidence="one call came where two were asked for, and the template knows no more",
        )
    return Finding[bool](
        value=False, evidence="one call came where two were asked for; a larger model may make both"
    )


def judge_streamed(known: Known) -> Finding[bool]:
    """Whether calls come through streams.

    Args:
        known: what was found out.
    """
    whole, streamed = known["tools"], known["tools, streamed"]
    called = [row for row in (streamed, *_rows(known)) if row.calls]
    if called:
        pieces = max(row.pieces for row in called)
        return Finding[bool](
            value=True,
            evidence=f"calls came through {len(called)} streams, in up to {pieces} pieces",
        )
    if not whole.calls:
        return Finding[bool].unmeasured("no call came at all")
    if streamed.reply is None and not streamed.refused:
        return Finding[bool].unmeasured(streamed.why, streamed.detail)
    return Finding[bool](
        value=False,
        evidence="a call came whole, and none when the same request was streamed",
        detail=streamed.detail,
    )


def judge_lossless(surface: ToolSurface) -> Finding[bool]:
    """Whether texts come back through arguments as they were sent.

    Args:
        surface: what the payloads brought.
    """
    came = [row for row in surface.echoes if not row.error]
    lossy = [row.name for row in came if row.lossy]
    if not came:
        return Finding[bool].unmeasured("no call came whose arguments could be compared")
    if lossy:
        return Finding[bool](
            value=False,
            evidence=f"{len(lossy)} of {len(came)} texts came back changed: {', '.join(lossy)}; "
            "a weak model may be to blame as well as a parser",
        )
    rest = f", no call came for the other {len(surface.echoes) - len(came)}"
    return Finding[bool](
        value=True,
        evidence=f"{len(came)} texts came back as they were sent"
        + (rest if len(came) < len(surface.echoes) else ""),
    )


def _rows(known: Known) -> list[Observed]:
    """The payloads' probes that brought a reply."""
    rows = (known[echo_name(name)] for name in PAYLOADS)
    return [row for row in rows if row.reply is not None]


def _dropped(known: Known) -> str:
    """What shows that the model never saw the tools, "" when nothing does."""
    caps = known.facts.caps
    if caps.get("supports_tools") is False and caps.get("supports_tool_calls") is False:
        return "the server itself says that the chat template knows no tools"
    bare = known["without tools"].prompt_tokens
    shown = known["tool_choice required"].prompt_tokens
    if bare is not None and shown is not None and shown <= bare:
        return f"the prompt has {shown} tokens with a tool and {bare} without"
    return ""


def _choice(observed: Observed, *, called: bool, against: str) -> Finding[Honoured]:
    if called:
        return Finding[Honoured](value="honoured", evidence=f"the call came although {against}")
    if observed.refused:
        return Finding[Honoured](value="refused", evidence=observed.why, detail=observed.detail)
    if observed.reply is None:
        return Finding[Honoured].unmeasured(observed.why, observed.detail)
    cut = observed.reply.finish_reason == "length"
    return Finding[Honoured](
        value="ignored",
        evidence="the model wrote until the limit without the call"
        if cut
        else "the reply ended without the call",
    )


def _found(
    value: ToolSupport, evidence: str, observed: Observed | None = None
) -> Finding[ToolSupport]:
    return Finding[ToolSupport](
        value=value, evidence=evidence, detail=observed.detail if observed else ""
    )
