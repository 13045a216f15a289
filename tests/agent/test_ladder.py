from dataclasses import replace
from typing import Any

import pytest

from rig.agent.calling import admit
from rig.agent.capabilities import Capabilities
from rig.agent.constraints import Held
from rig.agent.history import prepare
from rig.agent.ladder import (
    MAX_STRIKES,
    Evidence,
    ToolFormatChoice,
    after_fault,
    evidence,
    held,
    is_lost,
    offers_tools,
    rungs,
    sent_constraint,
    stepped_down,
    tool_format,
    weighed,
)
from rig.agent.output import output_for
from rig.agent.state import Rules, RunState
from rig.agent.tools import Tool
from rig.agent.turn import refused
from rig.errors import (
    EmptyReplyError,
    InvalidRequestError,
    NotConfiguredError,
    ProtocolError,
    RateLimitedError,
    RigError,
    ServerError,
    TruncatedToolCallError,
)
from rig.events import ConstraintRefused, FormatName, Termination, ToolFormatChanged
from rig.messages import Message, ToolCall
from rig.model import ChatOptions, ChatRequest

USER = Message(role="user", content="a")
LOOK = Tool(
    "look", "Look it up.", {"type": "object", "properties": {"n": {"type": "integer"}}}, str
)
ALL: tuple[FormatName, ...] = ("native", "heredoc", "json")
SCHEMA = Held(by="schema", value={"type": "json_schema"})
GRAMMAR = Held(by="grammar", value="root ::= x")


def state(**changes: Any) -> RunState:
    names = ("held", "has_tools", "formats", "call_grammar", "json_grammar", "output")
    rules: dict[str, Any] = {"has_tools": True, "formats": ALL}
    rules |= {name: changes.pop(name) for name in names if name in changes}
    return RunState(rules=Rules(**rules), messages=prepare((USER,)), **changes)


# Where a run begins


@pytest.mark.parametrize(
    ("choice", "known", "has_tools", "wanted"),
    [
        ("auto", {}, True, ("native", "json")),
        ("auto", {"native_tools": True}, True, ("native", "json")),
        ("auto", {"grammar": True}, True, ("native", "heredoc", "json")),
        ("auto", {"grammar": False}, True, ("native", "json")),
        ("auto", {"native_tools": False}, True, ("json",)),
        ("auto", {"native_tools": False, "grammar": False}, True, ("json",)),
        ("auto", {"native_tools": False, "grammar": True}, True, ("heredoc", "json")),
        ("auto", {"grammar": True}, False, ("native",)),
        ("auto", {"native_tools": False, "grammar": True}, False, ("heredoc", "json")),
        ("native", {"native_tools": False, "grammar": True}, True, ("native",)),
        ("heredoc", {"native_tools": True, "grammar": False}, True, ("heredoc",)),
        ("json", {"grammar": True}, True, ("json",)),
    ],
)
def test_a_run_begins_with_what_is_known_to_work(
    choice: ToolFormatChoice, known: dict[str, bool], has_tools: bool, wanted: tuple[str, ...]
) -> None:
    assert rungs(choice, Capabilities(**known), has_tools=has_tools) == wanted


# What counts as evidence


def call(name: str = "look", arguments: str = "{}", origin: str = "native") -> ToolCall:
    return ToolCall.model_construct(
        id="1", name=name, arguments=arguments, origin=origin, repairs=()
    )


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        ([call()], ""),
        ([call(), call(origin="heredoc"), call(origin="json")], ""),
        ([call(arguments='{"n": "many"}')], ""),
        ([call(arguments='{"n": 1}\n</tool_call>')], ""),
        ([call("made_up")], ""),
        ([call(origin="hermes")], "salvaged"),
        ([call(), call(origin="hermes")], "salvaged"),
        ([call(origin="hermes", arguments='{"n": "many"}')], "salvaged"),
        ([call(arguments='{"n": 1')], "refused"),
        ([call(arguments='{"n": ]}')], "refused"),
        ([call(arguments="[1]")], "refused"),
        ([call(arguments='{"n": NaN}')], "refused"),
        ([call(), call("")], "refused"),
        ([call("<tool_call>")], "refused"),
        ([call(origin="hermes"), call(arguments="{")], "refused"),
    ],
    ids=[
        "a call",
        "calls as they were asked for",
        "arguments that do not fit",
        "mended arguments",
        "a tool that does not exist",
        "a call out of the text",
        "one of two out of the text",
        "out of the text, and it does not fit",
        "cut",
        "no JSON",
        "no object",
        "not a number",
        "no name",
        "a name that can be none",
        "both",
    ],
)
def test_only_calls_that_did_not_travel_well_are_evidence(
    calls: list[ToolCall], found: Evidence
) -> None:
    assert evidence(calls, [admit([LOOK], one) for one in calls]) == found


def test_what_a_tool_or_a_person_says_is_no_evidence() -> None:
    assert evidence([call()], [refused(call(), "the user declined this call")]) == ""


# Steps


def test_two_bad_replies_in_a_row_lead_one_rung_down() -> None:
    one = weighed(state(), "salvaged")
    assert (one.format, one.strikes, one.untold) == ("native", 1, ())
    two = weighed(one, "refused")
    assert (two.format, two.strikes) == ("heredoc", 0)
    assert two.untold == (
        ToolFormatChanged(previous="native", current="heredoc", reason="refused"),
    )
    four = weighed(weighed(two, "refused"), "salvaged")
    assert four.format == "json"
    assert four.untold[1:] == (
        ToolFormatChanged(previous="heredoc", current="json", reason="salvaged"),
    )
    assert MAX_STRIKES == 2


def test_a_good_reply_between_makes_up_for_a_bad_one() -> None:
    after = state()
    replies: tuple[Evidence, ...] = ("refused", "", "refused", "", "salvaged")
    for found in replies:
        after = weighed(after, found)
    assert (after.format, after.untold) == ("native", ())


@pytest.mark.parametrize("formats", [("json",), ("native",), ("heredoc",)])
def test_there_is_nothing_below_the_lowest_rung_or_a_choice(formats: tuple[FormatName]) -> None:
    lowest = state(formats=formats, format=formats[0])
    assert stepped_down(lowest, "salvaged") is None
    bad = weighed(weighed(weighed(lowest, "refused"), "refused"), "refused")
    assert (bad.format, bad.untold) == (formats[0], ())


# Faults


def fault(kind: type[RigError], *, status: int | None = 400, reason: str = "") -> RigError:
    return kind("x", status=status, reason=reason)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (fault(NotConfiguredError, reason="tools_off"), "unsupported"),
        (fault(InvalidRequestError, reason="template"), "unsupported"),
        (fault(InvalidRequestError, reason="schema"), "unsupported"),
        (fault(ServerError, status=500, reason="tool_call"), "unreadable"),
        (fault(ProtocolError, status=None, reason="tool_call"), "unreadable"),
        (fault(TruncatedToolCallError, status=None, reason="tool_call"), "unreadable"),
        (fault(InvalidRequestError), None),
        (fault(ServerError, status=500), None),
        (fault(ServerError, status=503, reason="loading"), None),
        (fault(NotConfiguredError, reason="endpoint_not_found"), None),
        (fault(RateLimitedError, status=429), None),
        (fault(EmptyReplyError, status=None), None),
    ],
)
def test_faults_of_native_tools_lead_down_at_once(error: RigError, reason: Any) -> None:
    after = after_fault(state(), error)
    if reason is None:
        assert after is None
    else:
        assert after is not None
        change = ToolFormatChanged(previous="native", current="heredoc", reason=reason)
        assert (after.format, after.untold) == ("heredoc", (change,))
    assert is_lost(error) is (reason == "unreadable")


@pytest.mark.parametrize(
    "changes",
    [
        {"formats": ("native",)},
        {"has_tools": False},
        {"closing": Termination.ITERATION_LIMIT},
        {"format": "heredoc"},
    ],
    ids=["chosen", "no tools", "the last request", "no longer native"],
)
def test_the_same_fault_ends_a_run_where_tools_are_not_to_blame(changes: dict[str, Any]) -> None:
    error = fault(NotConfiguredError, reason="tools_off")
    assert after_fault(state(**changes), error) is None


@pytest.mark.parametrize(
    ("error", "goes_on"),
    [
        (fault(InvalidRequestError), True),
        (fault(InvalidRequestError, status=None), True),
        (fault(InvalidRequestError, reason="schema"), True),
        (fault(ServerError, status=500), True),
        (fault(ServerError, status=502), False),
        (fault(ServerError, status=500, reason="loading"), False),
        (fault(ServerError, status=500, reason="tool_call"), False),
        (fault(RateLimitedError, status=429), False),
        (fault(NotConfiguredError, reason="payment"), False),
    ],
)
def test_a_constraint_that_is_refused_is_left_out(error: RigError, goes_on: bool) -> None:
    before = state(has_tools=False, held=SCHEMA, formats=("native",))
    after = after_fault(before, error)
    assert (after is not None) is goes_on
    if after is not None:
        assert after.refused == {"schema"}
        assert held(after) is None
        assert after.untold == (ConstraintRefused(constraint="schema", purpose="output"),)
        assert after_fault(after, error) is None


def test_a_grammar_for_calls_that_is_refused_is_left_out_and_the_format_stays() -> None:
    before = state(format="heredoc", call_grammar=True)
    after = after_fault(before, fault(InvalidRequestError))
    assert after is not None
    assert (after.format, sent_constraint(after)) == ("heredoc", None)
    assert after.untold == (ConstraintRefused(constraint="grammar", purpose="tools"),)
    assert after_fault(after, fault(InvalidRequestError)) is None


# What is sent


@pytest.mark.parametrize(
    ("changes", "offered", "form"),
    [
        ({}, True, None),
        ({"has_tools": False}, False, SCHEMA),
        ({"closing": Termination.BUDGET_EXHAUSTED}, False, SCHEMA),
        ({"rejected": True}, False, SCHEMA),
        ({"rejected": True, "held": None}, True, None),
        ({"rejected": True, "refused": frozenset({"schema"})}, True, None),
        ({"has_tools": False, "refused": frozenset({"schema"})}, False, None),
        ({"has_tools": False, "refused": frozenset({"schema"}), "held": GRAMMAR}, False, GRAMMAR),
    ],
)
def test_an_answer_is_held_to_its_form_where_no_tools_are_offered(
    changes: dict[str, Any], offered: bool, form: Held | None
) -> None:
    given: dict[str, Any] = {"held": SCHEMA, "output": output_for(int), **changes}
    before = state(**given)
    assert (offers_tools(before), held(before)) == (offered, form)


@pytest.mark.parametrize(
    ("changes", "has_grammar"),
    [
        ({"format": "native", "call_grammar": True}, False),
        ({"format": "heredoc", "call_grammar": True}, True),
        ({"format": "heredoc", "call_grammar": False}, False),
        ({"format": "heredoc", "call_grammar": True, "refused": frozenset({"grammar"})}, False),
        ({"format": "heredoc", "call_grammar": True, "closing": Termination.REFUSED}, False),
        ({"format": "json", "call_grammar": True}, False),
        ({"format": "json", "call_grammar": True, "json_grammar": True}, True),
    ],
)
def test_calls_are_held_to_their_form_where_there_is_a_grammar(
    changes: dict[str, Any], has_grammar: bool
) -> None:
    before = state(**changes)
    asked = ChatRequest(
        model="m",
        messages=before.messages,
        max_tokens=9,
        tools=(LOOK,) if offers_tools(before) else (),
        options=ChatOptions(),
    )
    form = tool_format(before)
    assert form.name == before.format
    assert (form.request(asked).options.grammar is not None) is has_grammar
    assert sent_constraint(before) == ("grammar" if has_grammar else None)


def test_a_change_touches_nothing_but_the_format() -> None:
    before = state(strikes=1)
    after = weighed(before, "salvaged")
    assert replace(after, format="native", strikes=1, untold=()) == before
