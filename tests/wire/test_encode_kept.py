"""What is kept of messages, tools and options changes no body, and is no part of any value."""

import copy
import pickle
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json, to_json

from rig import Tool, Toolbox
from rig.errors import InvalidRequestError
from rig.messages import ImagePart, ImageURL, Message, TextPart, ToolCall
from rig.model import ChatOptions, ChatRequest
from rig.text.salvage import OfferedTool
from rig.wire.dialect import Dialect
from rig.wire.dialects import DIALECTS, takes_completion_tokens
from rig.wire.encode import encode_chat, encode_message, encode_tool, to_body, with_ids
from rig.wire.options import merge_extra, option_fields, tool_option_fields
from rig.wire.salvaged import offered


def in_full(request: ChatRequest, *, stream: bool, dialect: Dialect) -> Any:
    """The body, all of it written anew: what `encode_chat` has to come to."""
    limit = "max_completion_tokens" if takes_completion_tokens(request.model) else "max_tokens"
    fields: dict[str, object] = {
        "model": request.model,
        "messages": [
            encode_message(message, system_role=dialect.system_role)
            for message in with_ids(request.messages)
        ],
        dialect.max_tokens_field or limit: request.max_tokens,
        **option_fields(request.options, dialect),
    }
    if request.tools:
        fields["tools"] = [encode_tool(tool) for tool in request.tools]
        fields |= tool_option_fields(
            request.options, [tool.name for tool in request.tools], dialect
        )
    if stream:
        fields |= {"stream": True, "stream_options": {"include_usage": True}}
    return from_json(to_body(merge_extra(fields, request.options.extra_body)))


async def nothing(_input: object) -> str:
    return ""


LOOK = Tool("look", "Look.", {"type": "object", "properties": {"at": {"type": "string"}}}, nothing)
TOOLS = (LOOK, Tool("listen", "Listen.", None, nothing))

texts = st.text(st.characters(codec=None, exclude_categories=()), max_size=6)
calls = st.builds(
    ToolCall.made, id=texts, name=texts, arguments=st.sampled_from(["{}", '{"a":1}', "{", ""])
)
messages = st.builds(
    Message.made,
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    content=texts
    | st.just((TextPart(text="a"), ImagePart(image_url=ImageURL(url="http://a/b")))),
    tool_calls=st.lists(calls, max_size=2).map(tuple),
    tool_call_id=st.none() | texts,
    name=st.none() | texts,
    reasoning=st.none() | texts,
    reasoning_field=st.sampled_from(["reasoning_content", "reasoning"]),
)  # fmt: skip
options = st.builds(
    ChatOptions,
    temperature=st.none() | st.floats(0, 2),
    stop=st.none() | st.just("a") | st.just(["a", "b"]),
    parallel_tool_calls=st.none() | st.booleans(),
    tool_choice=st.sampled_from([None, "auto"]),
    enable_thinking=st.none() | st.booleans(),
    extra_body=st.sampled_from(
        [{}, {"x": 1}, {"tools": [1]}, {"tools": None}, {"max_tokens": None, "stream_options": 1}]
    ),
)
boxes = st.sampled_from([(), TOOLS, TOOLS[:1], Toolbox(TOOLS), [LOOK]])


@given(
    turns=st.lists(messages, min_size=1, max_size=4),
    more=st.lists(messages, max_size=2),
    options=options,
    tools=boxes,
    model=st.sampled_from(["m", "o3", "\ud800"]),
    stream=st.booleans(),
)
def test_a_body_is_the_same_however_much_of_it_was_written_before(
    turns: list[Message],
    more: list[Message],
    options: ChatOptions,
    tools: Any,
    model: str,
    stream: bool,
) -> None:
    for told in (turns, turns + more, more + turns):
        for name in ("generic", "openai", "vllm", "generic"):
            request = ChatRequest(
                model=model, messages=told, max_tokens=8, tools=tools, options=options
            )
            dialect = DIALECTS[name]
            try:
                whole = in_full(request, stream=stream, dialect=dialect)
            except InvalidRequestError:
                with pytest.raises(InvalidRequestError):
                    encode_chat(request, stream=stream, dialect=dialect)
            else:
                assert from_json(encode_chat(request, stream=stream, dialect=dialect)) == whole


def asked(*messages: Message, tools: Any = (), options: ChatOptions = ChatOptions()) -> Any:
    request = ChatRequest(
        model="m", messages=messages or (Message.made(role="user"),), max_tokens=8,
        tools=tools, options=options,
    )  # fmt: skip
    return from_json(encode_chat(request))


def test_a_plain_body_is_byte_for_byte_what_its_fields_are() -> None:
    request = ChatRequest(
        model="m",
        messages=(Message(role="system", content="\u00e9"), Message(role="user", content="b")),
        max_tokens=8,
        tools=TOOLS,
        options=ChatOptions(temperature=0.5),
    )
    whole = in_full(request, stream=False, dialect=DIALECTS["generic"])
    assert encode_chat(request) == encode_chat(request) == to_json(whole)


def test_a_message_is_the_same_value_after_it_was_sent() -> None:
    call = ToolCall(id="c", name="look")
    sent, other = (Message(role="assistant", content="a", tool_calls=(call,)) for _ in range(2))
    before = repr(sent), hash(sent), pickle.dumps(sent), sent.model_dump_json(), vars(sent).copy()
    asked(sent)
    assert sent == other
    assert before == (
        repr(sent), hash(sent), pickle.dumps(sent), sent.model_dump_json(), vars(sent)
    )  # fmt: skip
    assert Message.model_validate(sent.model_dump()) == sent


@pytest.mark.parametrize("deep", [False, True])
def test_a_changed_copy_is_sent_as_it_is(deep: bool) -> None:
    message = Message(role="user", content="a")
    asked(message)
    changed = message.model_copy(update={"content": "b"}, deep=deep)
    assert [turn["content"] for turn in asked(message, changed)["messages"]] == ["a", "b"]
    assert copy.copy(message) == copy.deepcopy(message) == pickle.loads(pickle.dumps(message))


def test_what_may_change_is_written_each_time() -> None:
    parts: Any = [TextPart(text="a")]
    message = Message.model_construct(role="user", content=parts)
    asked(message)
    parts.append(TextPart(text="b"))
    assert asked(message)["messages"][0]["content"] == "ab"


def test_the_system_is_called_what_each_dialect_calls_it() -> None:
    request = ChatRequest(model="m", messages=(Message(role="system"),), max_tokens=8)
    roles = [
        from_json(encode_chat(request, dialect=replace(DIALECTS["generic"], system_role=name)))[
            "messages"
        ][0]["role"]
        for name in ("system", "developer", "system")
    ]
    assert roles == ["system", "developer", "system"]


def test_an_extra_body_and_a_format_that_change_are_sent_as_they_are() -> None:
    extra: dict[str, Any] = {}
    form: dict[str, Any] = {"type": "text"}
    options = ChatOptions(extra_body=extra)
    formed = ChatOptions(response_format=form)
    asked(options=options), asked(options=formed)
    extra["x"], form["type"] = 1, "json_object"
    assert asked(options=options)["x"] == 1
    assert asked(options=formed)["response_format"] == {"type": "json_object"}
    extra["stream"] = True
    with pytest.raises(InvalidRequestError):
        asked(options=options)


def test_options_are_the_same_value_after_they_were_sent() -> None:
    options = ChatOptions(temperature=0.5, stop="a")
    before = repr(options), pickle.dumps(options), asdict(options)
    asked(options=options)
    assert before == (repr(options), pickle.dumps(options), asdict(options))
    assert options == replace(options) == copy.copy(options) == pickle.loads(pickle.dumps(options))
    assert asked(options=replace(options, temperature=1))["temperature"] == 1


def test_a_box_is_copied_without_what_was_sent_of_it() -> None:
    box = Toolbox(TOOLS)
    before = copy.copy(box).__reduce__()
    asked(tools=box)
    assert box.__reduce__() == copy.copy(box).__reduce__() == before
    assert [*copy.deepcopy(box).names] == [*box.names]
    brief = box.brief()
    assert (
        asked(tools=[*brief, Tool("see", "See.", None, nothing)])["tools"][:2]
        == (asked(tools=box)["tools"])
    )


def test_a_tool_described_anew_is_sent_so() -> None:
    asked(tools=(LOOK,))
    assert asked(tools=(LOOK.described("Stare."),))["tools"][0]["function"]["description"] == (
        "Stare."
    )


@dataclass
class Spec:
    name: str
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict[str, Any])


def test_a_tool_that_is_not_of_rig_s_own_is_written_each_time() -> None:
    spec = Spec("a")
    asked(tools=(spec,))
    spec.name, spec.input_schema = "b", {"type": "object"}
    assert asked(tools=(spec,))["tools"][0]["function"]["name"] == "b"
    request = ChatRequest(
        model="m", messages=(Message.made(role="user"),), max_tokens=8, tools=(spec,)
    )
    assert offered(request) == (OfferedTool("b", {"type": "object"}),)


def test_words_that_stop_in_a_list_are_sent_as_they_are() -> None:
    stop = ["a"]
    options = ChatOptions(stop=stop)
    asked(options=options)
    stop.append("b")
    assert asked(options=options)["stop"] == ["a", "b"]


def test_calls_in_a_list_are_written_each_time() -> None:
    calls: Any = [ToolCall(id="1", name="look")]
    message = Message.model_construct(role="assistant", content="", tool_calls=calls)
    asked(message)
    calls.append(ToolCall(id="2", name="look"))
    assert len(asked(message)["messages"][0]["tool_calls"]) == 2


def test_a_message_of_an_heir_is_written_each_time() -> None:
    class Mutable(Message, frozen=False): ...

    message = Mutable(role="user", content="a")
    asked(message)
    message.content = "b"
    assert asked(message)["messages"][0]["content"] == "b"
