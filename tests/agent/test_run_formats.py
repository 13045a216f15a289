"""Runs whose calls travel in other forms than the server's own, and typed answers held to theirs."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from rig.agent.capabilities import Capabilities
from rig.agent.history import prepare
from rig.agent.request import RunRequest
from rig.agent.run import run
from rig.agent.tools import Tool, tool
from rig.client import Client
from rig.client.session import Session
from rig.errors import (
    InvalidRequestError,
    IterationLimitError,
    NotConfiguredError,
    ProtocolError,
    RigError,
    ServerError,
)
from rig.events import (
    ConstraintRefused,
    RoundStarted,
    RunEvent,
    RunResult,
    TextDelta,
    ToolCallFinished,
    ToolFormatChanged,
)
from rig.messages import Message, ToolCall
from rig.model import ChatOptions, ChatRequest, Reply
from rig.testing import FakeBackend, ScriptedModel, answer, reply
from rig.testing import stream as streamed
from rig.text.heredoc import parse_heredoc
from rig.text.json_calls import parse_json_calls

GRAMMAR = Capabilities(grammar=True)
NO_TOOLS = Capabilities(native_tools=False, grammar=True, json_schema=True)
STREAMS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@tool
async def weather(city: str) -> str:
    """Look up the weather of a city."""
    return f"18 degrees in {city}"


@tool(effect="write")
async def note(text: str) -> str:
    """Write a note."""
    return f"wrote {text}"


class City(BaseModel):
    name: str
    people: int


async def tell(
    model: ScriptedModel, *, tools: Any = (weather,), **options: Any
) -> tuple[RunResult[Any], list[RunEvent]]:
    events: list[RunEvent] = []
    request: RunRequest[Any] = RunRequest(
        "Weather?", model="m", max_tokens=99, tools=tools, on_event=events.append, **options
    )
    return await run(model, request), events


def changes(events: list[RunEvent]) -> list[tuple[str, str, str]]:
    return [
        (event.previous, event.current, event.reason)
        for event in events
        if isinstance(event, ToolFormatChanged)
    ]


def calling(*calls: ToolCall) -> Reply:
    return Reply(tool_calls=calls, finish_reason="tool_calls")


def native(arguments: str = '{"city": "Rome"}', **fields: Any) -> Reply:
    return calling(ToolCall(name="weather", arguments=arguments, **fields))


HEREDOC = 'I look.\n@@call weather\n{city: "Oslo"}\n@@end\n'
JSON = 'I look.\n{"name": "weather", "arguments": {"city": "Oslo"}}'
CUT = native('{"city": "Ro')
SALVAGED = native(origin="hermes")


# One format for the whole run


@STREAMS
@pytest.mark.parametrize(("form", "text"), [("heredoc", HEREDOC), ("json", JSON)])
async def test_a_run_in_another_format_is_the_same_run(form: Any, text: str, stream: bool) -> None:
    model = ScriptedModel(text, "It is warm.")
    result, events = await tell(model, tool_format=form, stream=stream)
    assert (result.text, result.iterations, result.tool_format) == ("It is warm.", 2, form)
    outcome = result.tool_calls[0]
    assert (outcome.call.origin, outcome.content) == (form, "18 degrees in Oslo")
    assert changes(events) == []
    assert all(request.tools == () for request in model.requests)
    # The transcript is what it is in any other run: it goes on in any format.
    turns = [(turn.role, turn.text, len(turn.tool_calls)) for turn in result.messages]
    assert turns == [
        ("user", "Weather?", 0),
        ("assistant", "I look.", 1),
        ("tool", "18 degrees in Oslo", 0),
        ("assistant", "It is warm.", 0),
    ]
    assert prepare(tuple(result.messages)) == result.messages


@pytest.mark.parametrize(("form", "text"), [("heredoc", HEREDOC), ("json", JSON)])
async def test_readers_of_a_stream_see_no_call_but_are_told_of_it(form: Any, text: str) -> None:
    model = ScriptedModel(text, "It is warm.")
    _, events = await tell(model, tool_format=form, stream=True)
    seen: list[str] = []
    for event in events:
        match event:
            case RoundStarted():
                seen.append("")
            case TextDelta():
                seen[-1] += event.text
            case _:
                pass
    assert seen == ["I look.", "It is warm."]
    told = [event for event in events if isinstance(event, ToolCallFinished)]
    assert [(event.name, event.arguments) for event in told] == [("weather", '{"city": "Oslo"}')]


async def test_a_history_goes_on_in_every_format() -> None:
    result, _ = await tell(ScriptedModel(HEREDOC, "It is warm."), tool_format="heredoc")
    for form in ("native", "json", "heredoc"):
        model = ScriptedModel("Done.")
        await tell(model, tool_format=form, history=result.messages)
        sent = model.requests[0].messages
        assert any(turn.tool_calls for turn in sent) is (form == "native")
        assert any("18 degrees" in turn.text for turn in sent)


@pytest.mark.parametrize(
    ("profile", "has_grammar"),
    [(None, True), (GRAMMAR, True), (Capabilities(grammar=False), False)],
)
async def test_heredoc_takes_a_grammar_unless_none_is_enforced(
    profile: Capabilities | None, has_grammar: bool
) -> None:
    model = ScriptedModel("Hi.")
    await tell(model, tool_format="heredoc", profile=profile)
    assert (model.requests[0].options.grammar is not None) is has_grammar


@STREAMS
async def test_a_grammar_that_is_refused_is_left_out_and_told(stream: bool) -> None:
    model = ScriptedModel(InvalidRequestError("x", status=400), HEREDOC, "It is warm.")
    result, events = await tell(model, tool_format="heredoc", stream=stream)
    assert (result.text, result.iterations) == ("It is warm.", 2)
    assert [request.options.grammar is not None for request in model.requests] == [
        True,
        False,
        False,
    ]
    told = [event for event in events if isinstance(event, ConstraintRefused)]
    assert told == [ConstraintRefused(constraint="grammar", purpose="tools")]


async def test_a_grammar_that_would_be_too_large_is_left_out_and_told() -> None:
    words = [f"{'long ' * 20}{n}" for n in range(2000)]
    schema = {"type": "object", "properties": {"word": {"enum": words}}, "required": ["word"]}
    large = Tool("pick", "Pick a word.", schema, str)
    model = ScriptedModel("None of them.")
    result, events = await tell(model, tools=(large,), profile=NO_TOOLS)
    assert (result.text, result.tool_format) == ("None of them.", "heredoc")
    assert model.requests[0].options.grammar is None
    assert ConstraintRefused(constraint="grammar", purpose="tools") in events


@STREAMS
async def test_what_a_callback_raises_is_no_fault_of_the_server(stream: bool) -> None:
    def stop(event: RunEvent) -> None:
        if isinstance(event, TextDelta if stream else RoundStarted):
            raise InvalidRequestError("enough")

    model = ScriptedModel(HEREDOC, HEREDOC)
    request: RunRequest[Any] = RunRequest(
        "?", model="m", max_tokens=9, tools=[weather], on_event=stop, stream=stream,
        tool_format="heredoc",
    )  # fmt: skip
    with pytest.raises(InvalidRequestError) as caught:
        await run(model, request)
    assert caught.value.message == "enough"
    assert len(model.requests) == (1 if stream else 0)


async def test_no_tools_are_read_out_of_the_text_of_a_run_that_has_none() -> None:
    result, _ = await tell(ScriptedModel(HEREDOC), tools=(), tool_format="heredoc")
    assert (result.text, result.tool_calls) == (HEREDOC, ())


@pytest.mark.parametrize("form", ["heredoc", "json"])
async def test_the_last_reply_shows_no_call_either(form: Any) -> None:
    text = HEREDOC if form == "heredoc" else JSON
    model = ScriptedModel(text, text)
    result, _ = await tell(model, tool_format=form, max_iterations=1, on_limit="answer")
    assert (result.text, len(result.tool_calls)) == ("I look.", 1)
    with pytest.raises(IterationLimitError):
        await tell(
            ScriptedModel(text, text[8:]), tool_format=form, max_iterations=1, on_limit="answer"
        )


# A call that is the model's own, and one that may be an example or somebody else's


@tool
async def wipe(disk: int) -> str:
    """Wipe a disk, for reading only in name."""
    return f"wiped {disk}"


@tool(effect="write")
async def erase(disk: int) -> str:
    """Erase a disk."""
    return f"erased {disk}"


WRITTEN = {
    "heredoc": "@@call NAME\n{disk: 1}\n@@end\n",
    "json": '{"name": "NAME", "arguments": {"disk": 1}}\n',
}
TEXT_FORMS = pytest.mark.parametrize("form", WRITTEN)
MENDED = {
    "heredoc": "@@call NAME\n```json\n{disk: 1}\n```\n@@end",
    "json": "{'name': 'NAME', 'arguments': {'disk': 1,}}",
}
TWICE_OVER = {
    "heredoc": "@@call NAME\n{disk: 1, disk: 2}\n@@end",
    "json": '{"name": "NAME", "arguments": {"disk": 1, "disk": 2}}',
}
MENDED_TWICE = {
    "heredoc": "@@call NAME {disk: 1, disk: 2}\n@@end",
    "json": "{'name': 'NAME', 'arguments': {'disk': 1, disk: 2}}",
}


async def calling_once(
    form: Any, text: str, name: str, *, stream: bool = False, **options: Any
) -> tuple[RunResult[Any], list[RunEvent]]:
    call = WRITTEN[form].replace("NAME", name)
    model = ScriptedModel(text.replace("CALL", call).replace("NAME", name), "Done.")
    return await tell(model, tools=(wipe, erase), tool_format=form, stream=stream, **options)


@STREAMS
@TEXT_FORMS
@pytest.mark.parametrize(
    "text", ["CALL", "I erase it.\nCALL", "```\nCALL```", "<tool_call>\nCALL</tool_call>"]
)
async def test_a_tool_that_writes_runs_for_a_call_that_stands_alone(
    form: Any, text: str, stream: bool
) -> None:
    result, _ = await calling_once(form, text, "erase", stream=stream)
    (outcome,) = result.tool_calls
    assert (outcome.content, outcome.call.origin, outcome.call.flaw) == ("erased 1", form, "")


@STREAMS
@TEXT_FORMS
@pytest.mark.parametrize(
    "text",
    [
        "For example:\nCALL",
        "The page:\n<page>\nCALL</page>",
        "> CALL",
        "```\nCALL```\nThat is how.",
        "It says \u201c\nCALL\u201d",
        "You could write:\n```\nCALL```",
    ],
    ids=repr,
)
@pytest.mark.parametrize("name", ["wipe", "erase"])
async def test_no_tool_runs_for_a_call_that_is_shown(
    form: Any, text: str, name: str, stream: bool
) -> None:
    result, events = await calling_once(form, text, name, stream=stream)
    assert (result.tool_calls, result.iterations) == ((), 1)
    assert name in result.text
    assert "".join(one.text for one in events if isinstance(one, TextDelta)) in {"", result.text}


@STREAMS
@TEXT_FORMS
@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("I look.\nCALL\nDone.", "place"),
        ("One.\n\nTwo.\n\nCALL", "place"),
        ("The page says:\nCALL", "place"),
        ("I do.\n```\nCALL```", "place"),
        ("MENDED", "form"),
    ],
    ids=repr,
)
async def test_only_tools_that_take_salvaged_calls_run_where_it_is_in_doubt(
    form: Any, text: str, flaw: str, stream: bool
) -> None:
    text = text.replace("MENDED", MENDED[form])
    read, _ = await calling_once(form, text, "wipe", stream=stream)
    assert read.tool_calls[0].content == "wiped 1"
    result, events = await calling_once(form, text, "erase", stream=stream)
    (outcome,) = result.tool_calls
    assert (outcome.executed, outcome.call.flaw, outcome.call.salvaged) == (False, flaw, True)
    assert "form" in outcome.content
    assert changes(events) == []


async def test_a_grammar_that_holds_leaves_no_doubt_but_makes_no_call_of_an_example() -> None:
    known = Capabilities(grammar=True)
    text = "One.\n\nTwo.\n\nCALL"
    result, _ = await calling_once("heredoc", text, "erase", profile=known)
    assert result.tool_calls[0].content == "erased 1"
    result, _ = await calling_once("heredoc", "For example:\nCALL", "erase", profile=known)
    assert result.tool_calls == ()
    own = ChatOptions(grammar='root ::= "x"')
    result, _ = await calling_once("heredoc", text, "erase", profile=known, options=own)
    assert not result.tool_calls[0].executed


@STREAMS
@TEXT_FORMS
@pytest.mark.parametrize("written", [TWICE_OVER, MENDED_TWICE], ids=["strict", "mended"])
async def test_a_key_with_two_values_is_refused_with_the_reason(
    form: Any, written: dict[str, str], stream: bool
) -> None:
    result, _ = await calling_once(form, written[form], "wipe", stream=stream)
    (outcome,) = result.tool_calls
    assert not outcome.executed
    assert "twice" in outcome.content


@STREAMS
@TEXT_FORMS
async def test_calls_past_the_batch_are_refused_and_the_others_run(form: Any, stream: bool) -> None:
    call = WRITTEN[form].replace("NAME", "wipe")
    text = "".join(call.replace("1", str(number)) for number in (1, 1, 2, 3, 4, 5, 6))
    result, _ = await calling_once(form, text, "wipe", stream=stream)
    assert [outcome.executed for outcome in result.tool_calls] == [True] * 4 + [False] * 2
    assert result.tool_calls[4].call.flaw == "surplus"
    assert "4" in result.tool_calls[4].content


@STREAMS
async def test_a_run_that_stepped_down_is_as_careful(stream: bool) -> None:
    page = f"The page:\n<page>\n{WRITTEN['json'].replace('NAME', 'note')}</page>\nI ignore it."
    model = ScriptedModel(CUT, CUT, page)
    result, events = await tell(model, tools=(weather, note), stream=stream)
    assert changes(events) == [("native", "json", "refused")]
    assert not any(outcome.executed for outcome in result.tool_calls)
    assert "I ignore it." in result.text


@TEXT_FORMS
@pytest.mark.parametrize("size", [1, 3, 7, 10_000])
async def test_no_reader_of_a_stream_sees_any_of_a_call(form: Any, size: int) -> None:
    call = WRITTEN[form].replace("NAME", "wipe")
    for text in (call, f"I look.\n{call}", f"```json\n{call}```\n", f"I look.\n\n```\n{call}```"):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        events: list[RunEvent] = []
        async with FakeBackend(streamed(*pieces), streamed("Done.")).serve() as backend:
            async with Client(backend.url, model="m") as client:
                result = await client.run(
                    "?", tools=[wipe], max_tokens=99, tool_format=form, stream=True,
                    on_event=events.append,
                )  # fmt: skip
        shown = "".join(one.text for one in events if isinstance(one, TextDelta))
        assert shown.replace("Done.", "").strip() in {"", "I look."}
        assert [one.content for one in result.tool_calls] == ["wiped 1"]


# auto


@pytest.mark.parametrize(
    ("profile", "form"),
    [
        (None, "native"),
        (Capabilities(native_tools=True, grammar=True), "native"),
        (NO_TOOLS, "heredoc"),
        (Capabilities(native_tools=False), "json"),
    ],
)
async def test_auto_begins_with_what_the_profile_says(
    profile: Capabilities | None, form: str
) -> None:
    model = ScriptedModel("Hi.")
    result, _ = await tell(model, profile=profile)
    assert result.tool_format == form
    assert bool(model.requests[0].tools) is (form == "native")


@STREAMS
@pytest.mark.parametrize(
    ("replies", "profile", "wanted"),
    [
        ([native(), native()], GRAMMAR, []),
        ([CUT, native(), CUT, native()], GRAMMAR, []),
        ([native('{"town": 1}'), native('{"town": 1}')], GRAMMAR, []),
        ([CUT, CUT], GRAMMAR, [("native", "heredoc", "refused")]),
        ([SALVAGED, SALVAGED], GRAMMAR, [("native", "heredoc", "salvaged")]),
        ([SALVAGED, CUT], None, [("native", "json", "refused")]),
        (
            [CUT, CUT, "@@call weather\n[1]\n@@end", "@@call weather\n[1]\n@@end"],
            GRAMMAR,
            [("native", "heredoc", "refused"), ("heredoc", "json", "refused")],
        ),
        ([CUT, CUT, JSON, CUT, JSON], None, [("native", "json", "refused")]),
        (
            [NotConfiguredError("x", status=400, reason="tools_off")],
            None,
            [("native", "json", "unsupported")],
        ),
        ([ServerError("x", status=500, reason="tool_call")], GRAMMAR, [("native", "heredoc", "unreadable")]),
        ([native(), ProtocolError("x", reason="tool_call")], None, [("native", "json", "unreadable")]),
        ([calling(ToolCall(name=""))], None, [("native", "json", "unreadable")]),
    ],
    ids=[
        "good calls",
        "never two in a row",
        "calls that do not fit",
        "cut calls",
        "calls out of text",
        "one of each",
        "down to the lowest",
        "never up again",
        "a server without tools",
        "a call the server could not read",
        "a call rig could not read",
        "a call without a name",
    ],
)  # fmt: skip
async def test_a_run_steps_down_on_evidence(
    replies: list[Any],
    profile: Capabilities | None,
    wanted: list[tuple[str, str, str]],
    stream: bool,
) -> None:
    model = ScriptedModel(*replies, "It is warm.")
    result, events = await tell(model, profile=profile, stream=stream)
    assert changes(events) == wanted
    assert result.text == "It is warm."
    assert result.tool_format == (wanted[-1][1] if wanted else "native")
    assert model.unused == 0
    assert prepare(tuple(result.messages)) == result.messages


async def test_the_event_comes_before_the_round_that_is_different() -> None:
    model = ScriptedModel(SALVAGED, SALVAGED, HEREDOC, "It is warm.")
    result, events = await tell(model, profile=GRAMMAR)
    kinds = [event for event in events if isinstance(event, RoundStarted | ToolFormatChanged)]
    assert isinstance(kinds[2], ToolFormatChanged)
    assert [bool(request.tools) for request in model.requests] == [True, True, False, False]
    assert [outcome.call.origin for outcome in result.tool_calls] == ["hermes", "hermes", "heredoc"]


async def test_a_tool_that_takes_no_salvaged_calls_is_reached_a_rung_lower() -> None:
    refused = calling(ToolCall(name="note", arguments='{"text": "a"}', origin="hermes"))
    written = '@@call note\n{text: "a"}\n@@end'
    model = ScriptedModel(refused, refused, written, "Noted.")
    result, _ = await tell(model, tools=(note,), profile=GRAMMAR)
    assert [outcome.executed for outcome in result.tool_calls] == [False, False, True]
    assert result.text == "Noted."


@pytest.mark.parametrize(
    ("form", "replies"),
    [
        ("native", [CUT, CUT, CUT]),
        ("heredoc", ["@@call weather\n[1]\n@@end"] * 3),
    ],
)
async def test_a_chosen_format_is_kept_whatever_comes(form: Any, replies: list[Any]) -> None:
    result, events = await tell(ScriptedModel(*replies, "Done."), tool_format=form, profile=GRAMMAR)
    assert (changes(events), result.tool_format) == ([], form)


async def test_a_server_that_also_refuses_the_other_format_ends_the_run() -> None:
    model = ScriptedModel(
        NotConfiguredError("x", reason="tools_off"), NotConfiguredError("x", reason="tools_off")
    )
    with pytest.raises(NotConfiguredError) as caught:
        await tell(model)
    assert len(model.requests) == 2
    assert caught.value.result is not None
    assert caught.value.result.iterations == 0


async def test_a_lost_reply_costs_a_round() -> None:
    model = ScriptedModel(ServerError("x", status=500, reason="tool_call"))
    with pytest.raises(IterationLimitError):
        await tell(model, max_iterations=1)


@STREAMS
@pytest.mark.parametrize(
    ("learned", "origin"),
    [
        ('<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>', "json"),
        (
            "<tool_call>\n<function=weather>\n<parameter=city>Oslo</parameter>\n</function>\n</tool_call>",
            "qwen_coder",
        ),
    ],
)
async def test_a_model_that_falls_back_into_what_it_learned_is_understood(
    learned: str, origin: str, stream: bool
) -> None:
    model = ScriptedModel(learned, "It is warm.")
    result, events = await tell(model, tool_format="json", stream=stream)
    assert [outcome.call.origin for outcome in result.tool_calls] == [origin]
    assert result.tool_calls[0].content == "18 degrees in Oslo"
    assert result.messages[1].text == ""
    assert "".join(one.text for one in events if isinstance(one, TextDelta)) in {"", "It is warm."}


# Typed answers

ANSWER = '{"name": "Oslo", "people": 700000}'


def form_of(request: ChatRequest) -> str:
    options = request.options
    if options.response_format is not None:
        return "schema"
    return "grammar" if options.grammar is not None else "prompt"


@STREAMS
@pytest.mark.parametrize(
    ("profile", "source"),
    [
        (None, "prompt"),
        (Capabilities(json_schema=False, grammar=False), "prompt"),
        (Capabilities(json_schema=True, grammar=True), "schema"),
        (Capabilities(json_schema=False, grammar=True), "grammar"),
    ],
)
async def test_a_typed_answer_is_held_to_what_the_server_enforces(
    profile: Capabilities | None, source: str, stream: bool
) -> None:
    model = ScriptedModel(ANSWER)
    result, _ = await tell(model, tools=(), output=City, profile=profile, stream=stream)
    assert result.output == City(name="Oslo", people=700000)
    assert result.output_source == source
    assert [form_of(request) for request in model.requests] == [source]
    assert "JSON schema" in model.requests[0].messages[0].text


async def test_a_run_without_a_type_has_no_source() -> None:
    result, _ = await tell(ScriptedModel("Hi."), profile=NO_TOOLS)
    assert result.output_source is None


async def test_while_tools_are_offered_the_answer_is_free_and_a_second_try_is_held() -> None:
    known = Capabilities(native_tools=True, json_schema=True)
    model = ScriptedModel(native(), "It is Oslo.", ANSWER)
    result, _ = await tell(model, output=City, profile=known)
    assert [form_of(request) for request in model.requests] == ["prompt", "prompt", "schema"]
    assert [bool(request.tools) for request in model.requests] == [True, True, False]
    assert (result.output_source, result.iterations) == ("schema", 3)
    result, _ = await tell(ScriptedModel(native(), ANSWER), output=City, profile=known)
    assert result.output_source == "prompt"


async def test_in_a_text_format_the_second_try_is_held_too() -> None:
    model = ScriptedModel(HEREDOC, "It is Oslo.", ANSWER)
    result, _ = await tell(model, output=City, profile=NO_TOOLS)
    assert [form_of(request) for request in model.requests] == ["grammar", "grammar", "schema"]
    assert (result.output_source, result.tool_format) == ("schema", "heredoc")


async def test_the_last_request_of_a_run_is_held() -> None:
    model = ScriptedModel(native(), ANSWER)
    known = Capabilities(json_schema=True)
    result, _ = await tell(model, output=City, profile=known, max_iterations=1, on_limit="answer")
    assert [form_of(request) for request in model.requests] == ["prompt", "schema"]
    assert result.output_source == "schema"


@STREAMS
@pytest.mark.parametrize(
    "refusal",
    [InvalidRequestError("x", status=400), ServerError("x", status=500)],
    ids=["400", "500"],
)
async def test_a_schema_that_is_refused_is_asked_for_in_words_and_told(
    refusal: RigError, stream: bool
) -> None:
    model = ScriptedModel(refusal, ANSWER)
    result, events = await tell(
        model, tools=(), output=City, profile=Capabilities(json_schema=True), stream=stream
    )
    assert (result.output_source, result.iterations) == ("prompt", 1)
    assert [form_of(request) for request in model.requests] == ["schema", "prompt"]
    told = [event for event in events if isinstance(event, ConstraintRefused)]
    assert told == [ConstraintRefused(constraint="schema", purpose="output")]


async def test_a_server_that_refuses_the_request_without_it_too_is_believed() -> None:
    model = ScriptedModel(
        InvalidRequestError("x", status=400), InvalidRequestError("y", status=400)
    )
    with pytest.raises(InvalidRequestError) as caught:
        await tell(model, tools=(), output=City, profile=Capabilities(json_schema=True))
    assert (len(model.requests), caught.value.message) == (2, "y")
    assert caught.value.__context__ is None


async def test_a_form_of_the_callers_own_is_sent_as_it_is() -> None:
    options = ChatOptions(response_format={"type": "json_object"})
    model = ScriptedModel(ANSWER)
    result, _ = await tell(model, tools=(), output=City, profile=NO_TOOLS, options=options)
    assert model.requests[0].options.response_format == {"type": "json_object"}
    assert result.output_source == "prompt"


@pytest.mark.parametrize(
    "wrong",
    [{"tool_format": "xml"}, {"tool_format": None}, {"profile": {}}, {"profile": "fast"}],
)
async def test_what_is_no_format_and_no_profile_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError):
        await tell(ScriptedModel(), **wrong)


async def test_calls_that_wait_are_answered_in_any_format() -> None:
    call = ToolCall(id="1", name="weather", arguments='{"city": "Rome"}')
    history = (Message(role="user", content="?"), Message(role="assistant", tool_calls=(call,)))
    answers: list[Callable[[ChatRequest], str]] = [
        lambda request: request.messages[-1].text.split("\n")[0]
    ]
    request: RunRequest[Any] = RunRequest(
        "", model="m", max_tokens=9, tools=[weather], history=history, approve=["1"],
        tool_format="json",
    )  # fmt: skip
    result = await run(ScriptedModel(*answers), request)
    assert result.text == "Result of weather: 18 degrees in Rome"


# From one run to the next


FORMS: list[Any] = ["native", "heredoc", "json"]


@pytest.mark.parametrize("first", ["heredoc", "json"])
@pytest.mark.parametrize("second", FORMS)
async def test_a_transcript_with_everything_in_it_goes_on_in_any_format(
    first: Any, second: Any
) -> None:
    """Whole, refused, cut and ambiguous calls, texts that look like calls among the results."""
    texts = {
        "heredoc": '@@call weather\n{city: "Oslo"}\n@@end\n@@call weather\n{city: "a", city: "b"}\n@@end\n'
        '@@call gone\n{}\n@@end\n@@call weather\n{city: ~~~md\n"x" \\n\n~~~md\n}\n@@end\n@@call weather\n{city: "Pa',
        "json": '{"name": "weather", "arguments": {"city": "Oslo"}}\n'
        '{"name": "weather", "arguments": {"city": "a", "city": "b"}}\n'
        '{"name": "weather", "arguments": {"city": "\\"x\\" \\\\n\\n"}}\n'
        '{"name": "weather", "arguments": {"city": "Pa',
    }
    model = ScriptedModel(texts[first], "It is warm.")
    result, _ = await tell(model, tool_format=first)
    assert [one.executed for one in result.tool_calls][::3] in ([True, True], [True, False])
    text = HEREDOC if second == "heredoc" else JSON
    again = ScriptedModel(native() if second == "native" else text, "Done.")
    went_on, events = await tell(again, tool_format=second, history=result.messages)
    assert (went_on.text, went_on.tool_calls[-1].executed) == ("Done.", True)
    assert prepare(tuple(went_on.messages)) == went_on.messages
    assert changes(events) == []
    sent = again.requests[0].messages
    if second == "native":
        assert sum(len(turn.tool_calls) for turn in sent) == len(result.tool_calls)
        assert all(isinstance(call.input, dict) for turn in sent for call in turn.tool_calls)
        ids = [call.id for turn in went_on.messages for call in turn.tool_calls]
        assert len(set(ids)) == len(ids)
        return
    read = parse_heredoc if second == "heredoc" else parse_json_calls
    (said,) = [turn.text for turn in sent if turn.role == "assistant" and "Oslo" in turn.text]
    assert len(read(said).written) == len(result.tool_calls)


@STREAMS
@TEXT_FORMS
async def test_a_session_keeps_a_conversation_in_a_text_format(form: Any, stream: bool) -> None:
    text = HEREDOC if form == "heredoc" else JSON
    answers = [text, "It is warm.", text, "It is warm still."]
    wire = [streamed(one) if stream else reply(one) for one in answers]
    async with (
        FakeBackend(*wire).serve() as backend,
        Client(backend.url, model="m") as client,
    ):
        session = Session(tools=[weather])
        asked: dict[str, Any] = {"max_tokens": 99, "tool_format": form, "stream": stream}
        first = await session.run(client, "Weather?", **asked)
        kept = Session.from_json(session.to_json(), tools=[weather])
        second = await kept.run(client, "And now?", **asked)
        sent = [request.json for request in backend.requests]
    assert (first.text, second.text) == ("It is warm.", "It is warm still.")
    assert not any("tools" in body for body in sent)
    assert sum("Result of weather" in turn["content"] for turn in sent[-1]["messages"]) == 2
    assert {one.call.origin for one in (*first.tool_calls, *second.tool_calls)} == {form}


@STREAMS
async def test_a_run_steps_down_on_the_wire_and_still_gives_a_typed_answer(stream: bool) -> None:
    """From tools the server cuts, over a grammar it refuses, to JSON, and the answer held to its schema."""
    cut = [("c1", "weather", '{"city": "Ro')]
    known = Capabilities(native_tools=True, grammar=True, json_schema=True)
    tell_it = streamed if stream else reply

    def native_call() -> Any:
        if not stream:
            return reply(tool_calls=cut)
        call = {"index": 0, "id": "c1", "function": {"name": "weather", "arguments": cut[0][2]}}
        return streamed({"tool_calls": [call]}, finish_reason="tool_calls")

    events: list[RunEvent] = []
    answers = [
        native_call(),
        native_call(),
        answer(400, {"error": {"message": "failed to parse grammar"}}),
        tell_it("@@call weather\n[1]\n@@end"),
        tell_it("@@call weather\n[2]\n@@end"),
        tell_it('{"name": "weather", "arguments": {"city": "Oslo"}}'),
        tell_it("It is Oslo."),
        tell_it(ANSWER),
    ]
    async with FakeBackend(*answers).serve() as backend, Client(backend.url, model="m") as client:
        result = await client.run(
            "Which city?", tools=[weather], max_tokens=99, output=City, profile=known,
            stream=stream, on_event=events.append, max_iterations=12,
        )  # fmt: skip
        sent = [request.json for request in backend.requests]
    assert result.output == City(name="Oslo", people=700000)
    assert changes(events) == [("native", "heredoc", "refused"), ("heredoc", "json", "refused")]
    assert [one for one in events if isinstance(one, ConstraintRefused)] == [
        ConstraintRefused(constraint="grammar", purpose="tools")
    ]
    assert ["tools" in body for body in sent] == [True, True, *[False] * 6]
    assert ["grammar" in body for body in sent] == [False, False, True, *[False] * 5]
    assert ["response_format" in body for body in sent] == [*[False] * 7, True]
    assert (result.tool_format, result.output_source) == ("json", "schema")
    assert [one.executed for one in result.tool_calls] == [False] * 4 + [True]
    assert "@@" not in "".join(one.text for one in events if isinstance(one, TextDelta))


@pytest.mark.parametrize("form", FORMS)
async def test_a_choice_of_no_tool_leaves_calls_in_the_text_alone(form: Any) -> None:
    text = HEREDOC if form == "heredoc" else JSON
    model = ScriptedModel(text)
    options = ChatOptions(tool_choice="none")
    result, _ = await tell(model, tool_format=form, options=options)
    assert (result.tool_calls, result.iterations) == ((), 1)
    assert model.requests[0].options.grammar is None
    if form != "native":
        assert "weather(city" not in "".join(turn.text for turn in model.requests[0].messages)


@TEXT_FORMS
async def test_a_choice_that_forces_a_call_holds_for_the_first_request(form: Any) -> None:
    text = HEREDOC if form == "heredoc" else JSON
    model = ScriptedModel(text[8:], "It is warm.")
    options = ChatOptions(tool_choice="weather", parallel_tool_calls=False)
    result, _ = await tell(
        model, tools=(weather, note), tool_format=form, options=options, profile=NO_TOOLS
    )
    assert result.text == "It is warm."
    first, second = (request.options.grammar for request in model.requests)
    assert first != second
    assert "note" not in str(first)
    assert "note" in str(second)
