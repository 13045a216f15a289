"""A server that can't make calls is told from a model that didn't."""

import pytest

from rig.client.probes.facts import Facts
from rig.client.probes.judge_tools import (
    judge_lossless,
    judge_named,
    judge_parallel,
    judge_required,
    judge_streamed,
    judge_tools,
)
from rig.client.probes.known import Known
from rig.client.probes.observed import PROBE_TIMEOUT, Failure, Observed
from rig.client.probes.plan import echo_name
from rig.client.probes.questions import PAYLOADS
from rig.client.probes.tool_surface import EchoResult, ToolSurface
from rig.messages import ToolCall, Usage
from rig.model import FinishReason, Reply

REQUIRED = "tool_choice required"
ROW, OTHER_ROW = echo_name("plain"), echo_name("backslashes")
DROPS = {"supports_tools": False, "supports_tool_calls": False}


def said(
    text: str = "", *names: str, tokens: int = 0, finish: FinishReason = "stop", pieces: int = 0
) -> Observed:
    calls = tuple(ToolCall(name=name, arguments='{"text": "x"}') for name in names)
    usage = Usage(prompt_tokens=tokens, reported=tokens > 0)
    reply = Reply(text=text, tool_calls=calls, usage=usage, finish_reason=finish)
    return Observed(reply=reply, pieces=pieces)


CALL, NO_CALL = said("", "echo", tokens=90), said("no", tokens=90)
REFUSED = Observed(failure=Failure(code="invalid_request", status=400, detail="no parser"))
LATE = Observed(failure=Failure(code=PROBE_TIMEOUT))

TOOLS: dict[str, tuple[dict[str, Observed], dict[str, bool], str | None]] = {
    "a call without being required": ({"tools": CALL}, {}, "native"),
    "a call, whatever the server says of its template": ({"tools": CALL}, DROPS, "native"),
    "only required calls": ({"tools": NO_CALL, ROW: CALL}, {}, "forced"),
    "vLLM without a parser": ({"tools": REFUSED, ROW: CALL}, {}, "auto_refused"),
    "refused": ({"tools": REFUSED, ROW: REFUSED}, {}, "refused"),
    "refused as a fault of the server": (
        {"tools": Observed(failure=Failure(code="server_error", status=500))},
        {},
        "refused",
    ),
    "dropped, by the template's own word": ({"tools": NO_CALL, ROW: NO_CALL}, DROPS, "dropped"),
    "dropped, by the count": (
        {"tools": NO_CALL, REQUIRED: said("hi", tokens=40), "without tools": said("h", tokens=40)},
        {},
        "dropped",
    ),
    "shown, by the count": (
        {"tools": NO_CALL, REQUIRED: said("hi", tokens=90), "without tools": said("h", tokens=40)},
        {},
        "none",
    ),
    "counts that nobody reported": (
        {"tools": NO_CALL, REQUIRED: said("hi"), "without tools": said("h")},
        {},
        "none",
    ),
    "a call in text": ({"tools": said('{"name": "echo", "arguments": {}}', tokens=9)}, {}, "text"),
    "a call in tags": ({"tools": NO_CALL, ROW: said("<tool_call>\n{")}, {}, "text"),
    "a call in text of a server that never showed the tools": (
        {"tools": said('{"name": "echo"}')},
        DROPS,
        "dropped",
    ),
    "a word of it in prose": ({"tools": said("I would echo that name.")}, {}, "none"),
    "too late": ({"tools": LATE}, {}, None),
    "not asked": ({}, {}, None),
}


@pytest.mark.parametrize(("seen", "caps", "value"), TOOLS.values(), ids=TOOLS)
def test_how_calls_are_made(
    seen: dict[str, Observed], caps: dict[str, bool], value: str | None
) -> None:
    finding = judge_tools(Known(model="m", facts=Facts(caps=caps), seen=seen))
    assert finding.value == value
    assert "no parser" not in finding.evidence


@pytest.mark.parametrize(
    "text",
    [
        "[TOOL_CALLS]echo[ARGS]{}",
        "<|python_tag|>echo.call()",
        '```json\n{"tool": "echo"}\n```',
        "<function=echo>",
        'functools[{"name"',
        "echo(text='green tea')",
        '{"function" : "echo"}',
    ],
)
def test_calls_are_known_in_every_frame(text: str) -> None:
    assert judge_tools(Known(model="m", seen={"tools": said(text)})).value == "text"


CHOICES: dict[str, tuple[Observed, str | None]] = {
    "called": (said("", "echo"), "honoured"),
    "text": (said("4"), "ignored"),
    "rambled to the limit": (said("well", finish="length"), "ignored"),
    "refused": (REFUSED, "refused"),
    "no way to say it": (
        Observed(failure=Failure(code="invalid_request", reason="tool_choice")),
        "refused",
    ),
    "too late": (LATE, None),
}


@pytest.mark.parametrize(("observed", "value"), CHOICES.values(), ids=CHOICES)
def test_a_forced_call_comes_or_not(observed: Observed, value: str | None) -> None:
    required = Known(model="m", seen={"tool_choice required": observed})
    named = Known(model="m", seen={"tool_choice by name": observed})
    assert judge_required(required).value == value
    assert judge_named(named).value == value


def test_the_tool_that_was_asked_for_is_not_the_tool_that_was_demanded() -> None:
    known = Known(model="m", seen={"tool_choice by name": said("", "reverse")})
    assert judge_named(known).value == "ignored"


PARALLEL: dict[str, tuple[Observed, bool | None]] = {
    "two": (said("", "echo", "echo"), True),
    "one": (said("", "echo"), False),
    "none": (said("north"), None),
    "a template that refuses two": (REFUSED, False),
    "too late": (LATE, None),
}


@pytest.mark.parametrize(("observed", "value"), PARALLEL.values(), ids=PARALLEL)
def test_several_calls_come_in_one_reply_or_not(observed: Observed, value: bool | None) -> None:
    assert judge_parallel(Known(model="m", seen={"parallel calls": observed})).value is value


STREAMED: dict[str, tuple[dict[str, Observed], bool | None]] = {
    "the same call": ({"tools": CALL, "tools, streamed": said("", "echo", pieces=4)}, True),
    "a payload's call": ({"tools": NO_CALL, ROW: CALL}, True),
    "lost": ({"tools": CALL, "tools, streamed": NO_CALL}, False),
    "refused": ({"tools": CALL, "tools, streamed": REFUSED}, False),
    "a weak model alone proves nothing": (
        {"tools": NO_CALL, ROW: NO_CALL, OTHER_ROW: NO_CALL},
        None,
    ),
    "too late": ({"tools": CALL, "tools, streamed": LATE}, None),
}


@pytest.mark.parametrize(("seen", "value"), STREAMED.values(), ids=STREAMED)
def test_calls_come_through_streams_or_get_lost(
    seen: dict[str, Observed], value: bool | None
) -> None:
    assert judge_streamed(Known(model="m", seen=seen)).value is value


def surface(*received: str | None) -> ToolSurface:
    rows = zip(PAYLOADS.items(), (*received, *(None,) * 6), strict=False)
    return ToolSurface(
        model="m",
        echoes=tuple(
            EchoResult(name=name, sent=sent, error="no call")
            if got is None
            else EchoResult(name=name, sent=sent, received=got, lossy=got != sent)
            for (name, sent), got in rows
        ),
    )


def test_arguments_are_lossless_by_the_calls_that_came() -> None:
    texts = list(PAYLOADS.values())
    assert judge_lossless(surface(*texts)).value is True
    assert judge_lossless(surface(*texts[:2])).value is True
    assert judge_lossless(surface(texts[0], "changed")).value is False
    assert judge_lossless(surface()).value is None
