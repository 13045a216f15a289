from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from rig.agent.calling import ReadyCall, admit
from rig.agent.formats import NATIVE, ToolFormat
from rig.agent.history import Prepared, prepare
from rig.agent.run import RunRequest, run
from rig.agent.tool_formats import (
    HEREDOC,
    JSON,
    heredoc_reply,
    heredoc_request,
    json_reply,
    json_request,
)
from rig.agent.toolbox import Toolbox
from rig.agent.tools import Tool, tool
from rig.events import RunResult, ToolOutcome
from rig.messages import ImagePart, Message, TextPart, ToolCall
from rig.model import ChatOptions, ChatRequest, Reply
from rig.testing import ScriptedModel
from rig.text.grammar import grammar_for, json_call_grammar
from rig.text.repetition import Repetition


@tool
async def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"18 degrees in {city}"


@tool
async def write_file(path: str, content: str) -> str:
    """Write a file."""
    return f"{path}: {content!r}"


TOOLS = (get_weather, write_file)
CALLS = (
    ToolCall(id="1", name="get_weather", arguments='{"city": "Oslo"}'),
    ToolCall(id="2", name="get_weather", arguments='{"city": "Rome"}'),
)
USER = Message(role="user", content="Weather?")
HISTORY = (
    Message(role="system", content="Be brief."),
    USER,
    Message(role="assistant", content="I look.", tool_calls=CALLS, reasoning="Hm."),
    Message(role="tool", content="3 degrees", tool_call_id="1", name="get_weather"),
    Message(role="tool", content="18 degrees", tool_call_id="2", name="get_weather"),
    Message(role="user", content="And?"),
)


def request(*messages: Message, tools: Sequence[Tool] = TOOLS, **options: Any) -> ChatRequest:
    return ChatRequest(
        model="m",
        messages=prepare(messages or (USER,)),
        max_tokens=50,
        tools=tools,
        options=ChatOptions(**options),
    )


RESULTS = "Result of get_weather: 3 degrees\n\nResult of get_weather: 18 degrees\n\nAnd?"


@pytest.mark.parametrize(
    ("change", "calls"),
    [
        (
            heredoc_request,
            'I look.\n@@call get_weather\n{"city": "Oslo"}\n@@end\n@@call get_weather\n{"city": "Rome"}\n@@end',
        ),
        (
            json_request,
            'I look.\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n{"name": "get_weather", "arguments": {"city": "Rome"}}',
        ),
    ],
)
def test_tools_calls_and_results_become_text(
    change: Callable[[ChatRequest], ChatRequest], calls: str
) -> None:
    sent = change(request(*HISTORY))
    system, user, assistant, results = sent.messages
    assert sent.tools == ()
    assert system.text.startswith("Be brief.\n\n")
    assert "- get_weather(city: string): The weather in a city." in system.text
    assert user is HISTORY[1]
    assert (assistant.role, assistant.text, assistant.tool_calls) == ("assistant", calls, ())
    assert assistant.reasoning is None
    assert (results.role, results.text, results.tool_call_id) == ("user", RESULTS, None)
    assert prepare(sent.messages) is sent.messages


def test_what_looks_like_a_thought_in_an_argument_stays_in_the_history() -> None:
    """The client prepares what it sends; it must not take the tag for leaked reasoning."""
    call = ToolCall(id="1", name="get_weather", arguments='{"city": "<think>x</think>"}')
    asked = request(USER, Message(role="assistant", tool_calls=(call,)))
    sent = heredoc_request(asked)
    assert isinstance(sent.messages, Prepared)
    assert "<think>x</think>" in prepare(sent.messages)[2].text


def test_images_in_results_stay_images() -> None:
    image = ImagePart.from_bytes("image/png", b"x")
    turns = (
        USER,
        Message(role="assistant", tool_calls=CALLS[:1]),
        Message(role="tool", content=(TextPart(text="see"), image), tool_call_id="1", name="look"),
        Message(role="user", content="And?"),
    )
    content = heredoc_request(request(*turns)).messages[-1].content
    assert content == (
        TextPart(text="Result of look: "),
        TextPart(text="see"),
        image,
        TextPart(text="And?"),
    )


@pytest.mark.parametrize(
    ("options", "grammar"),
    [
        ({}, grammar_for(TOOLS)),
        ({"tool_choice": "auto"}, grammar_for(TOOLS)),
        ({"parallel_tool_calls": False}, grammar_for(TOOLS, max_calls=1)),
        ({"tool_choice": "required"}, grammar_for(TOOLS, text="none")),
        ({"tool_choice": "get_weather"}, grammar_for(TOOLS[:1], text="none")),
        ({"tool_choice": "none"}, None),
        ({"grammar": 'root ::= "x"'}, 'root ::= "x"'),
        ({"response_format": {"type": "json_object"}}, None),
    ],
    ids=str,
)
def test_the_grammar_follows_the_options(options: dict[str, Any], grammar: str | None) -> None:
    sent = heredoc_request(request(**options)).options
    assert sent.grammar == grammar
    assert (sent.tool_choice, sent.parallel_tool_calls, sent.stop) == (None, None, None)


def test_the_prompt_lists_only_what_may_be_called() -> None:
    assert (
        "write_file(path"
        not in heredoc_request(request(tool_choice="get_weather")).messages[0].text
    )
    assert [turn.role for turn in heredoc_request(request(tool_choice="none")).messages] == ["user"]


def test_servers_without_grammars_and_models_that_may_not_write_text_are_served() -> None:
    assert heredoc_request(request(), grammar=False).options.grammar is None
    assert heredoc_request(request(), text="instead").options.grammar == grammar_for(
        TOOLS, text="instead"
    )
    quoted = heredoc_request(request(), bodies=False)
    assert quoted.options.grammar == grammar_for(TOOLS, bodies=False)
    assert "~~~" not in quoted.messages[0].text
    assert json_request(request()).options.grammar is None
    assert json_request(request(), grammar=True).options.grammar == json_call_grammar(TOOLS)
    assert json_request(
        request(tool_choice="required"), grammar=True
    ).options.grammar == json_call_grammar(TOOLS, text=False)


def test_the_last_request_without_tools_still_tells_its_history_as_text() -> None:
    sent = heredoc_request(request(*HISTORY, tools=()))
    assert sent.messages[0] is HISTORY[0]
    assert sent.messages[-1].text == RESULTS
    assert sent.options.grammar is None


def test_the_native_format_changes_nothing() -> None:
    asked, reply = request(*HISTORY), Reply(text="@@call a\n{}")
    assert NATIVE.request(asked) is asked
    assert NATIVE.reply(reply, TOOLS) is reply


TEXTS = {
    "heredoc": "I look.\n@@call get_weather\n{city: 'Oslo'}\n@@end\n@@call write_file\n"
    '{path: "a", content: ~~~md\n"q" \\n\n```\n~~~md\n}\n@@end\n',
    "json": 'I look.\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    '{"name": "write_file", "arguments": {"path": "a", "content": "\\"q\\" \\\\n\\n```"}}',
}


@pytest.mark.parametrize("form", [HEREDOC, JSON], ids=lambda form: form.name)
def test_calls_come_out_of_the_text(form: ToolFormat) -> None:
    reply = form.reply(Reply(text=TEXTS[form.name], model="m"), TOOLS)
    assert (reply.text, reply.finish_reason, reply.model) == ("I look.", "tool_calls", "m")
    assert [(call.name, call.input) for call in reply.tool_calls] == [
        ("get_weather", {"city": "Oslo"}),
        ("write_file", {"path": "a", "content": '"q" \\n\n```'}),
    ]
    assert {call.origin for call in reply.tool_calls} == {form.name}
    assert len({call.id for call in reply.tool_calls} - {""}) == 2


CALL = "@@call get_weather\n{city: 'Oslo'}\n@@end\n"


@pytest.mark.parametrize(
    "reply",
    [
        Reply(text="The answer is 4."),
        Reply(text=CALL, tool_calls=CALLS),
        Reply(
            text=CALL,
            repetition=Repetition(period=9, reps=3, trailing=18, sample="", where="content"),
        ),
    ],
    ids=["no calls", "calls already", "cut for repetition"],
)
def test_other_replies_stay_as_they_are(reply: Reply) -> None:
    assert heredoc_reply(reply, TOOLS) is reply
    assert json_reply(reply, TOOLS) is reply


def test_a_reply_at_the_token_limit_stays_one() -> None:
    """Whatever is in it: its last call may be cut where nobody sees it."""
    reply = heredoc_reply(Reply(text=CALL, finish_reason="length"), TOOLS)
    assert reply.finish_reason == "length"


def test_end_marks_never_reach_the_reader() -> None:
    assert heredoc_reply(Reply(text="Done.\n@@end"), TOOLS).text == "Done."


def test_exact_copies_of_a_call_are_left_out() -> None:
    reply = heredoc_reply(Reply(text=CALL * 4 + CALL.replace("Oslo", "Rome")), TOOLS)
    assert [call.input["city"] for call in reply.tool_calls] == ["Oslo", "Rome"]


@pytest.mark.parametrize(
    ("text", "admitted"),
    [
        ("@@call get_weather\n{city: 'x'}", "ready"),
        ("@@call get_weather {city: 'x'}", "ready"),
        ("@@call get_weather\n{city: 'a\nb'}", "ready"),
        ("@@call get_weather\n{city: 'x", "cut off"),
        ("@@call get_weather\n{city: ~~~md\nx\n", "cut off"),
        ("@@call get_weather", "cut off"),
        ("@@call get_weather\n{city: Oslo}", "not one JSON object"),
        ("@@call get_weather\n[]", "not one JSON object"),
        ("@@call get_weather\n@@end", "do not fit"),
        ("@@call get_weather\n{}", "do not fit"),
        ("@@call fly_away\n{}", "fly_away"),
    ],
    ids=repr,
)
def test_what_can_not_be_run_is_refused_with_the_reason(text: str, admitted: str) -> None:
    (call,) = heredoc_reply(Reply(text=text), TOOLS).tool_calls
    one = admit(Toolbox(TOOLS), call)
    if admitted == "ready":
        assert isinstance(one, ReadyCall)
    else:
        assert isinstance(one, ToolOutcome)
        assert not one.executed
        assert admitted in one.content


@dataclass
class Through:
    """A model behind a format."""

    inner: ScriptedModel
    form: ToolFormat

    async def complete(self, asked: ChatRequest, /) -> Reply:
        return self.form.reply(await self.inner.complete(self.form.request(asked)), asked.tools)


@pytest.mark.parametrize("form", [HEREDOC, JSON], ids=lambda form: form.name)
async def test_a_run_works_through_a_format(form: ToolFormat) -> None:
    cut = {
        "heredoc": "\n@@call get_weather\n{city: 'Par",
        "json": '\n{"name": "get_weather", "arguments": {"ci',
    }
    model = ScriptedModel(TEXTS[form.name] + cut[form.name], "All done.")
    result: RunResult[str] = await run(
        Through(model, form), RunRequest("Go", model="m", max_tokens=50, tools=TOOLS)
    )
    assert (result.text, result.iterations) == ("All done.", 2)
    weather, written, refused = result.tool_calls
    assert weather.content == "18 degrees in Oslo"
    assert written.content == "a: " + repr('"q" \\n\n```')
    assert (refused.executed, refused.is_error) == (False, True)
    told = model.requests[1].messages[-1]
    assert told.role == "user"
    assert [part.split(":")[0] for part in told.text.split("\n\n")] == [
        "Result of get_weather",
        "Result of write_file",
        "Result of get_weather",
    ]
    assert model.requests[1].tools == ()
