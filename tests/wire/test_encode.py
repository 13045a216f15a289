"""What goes out: the smallest body every server takes, and nothing that poisons a history."""

import json
import math
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from rig.errors import InvalidRequestError, RigError
from rig.messages import AudioPart, ImagePart, InputAudio, Message, TextPart, ToolCall
from rig.model import ChatOptions, ChatRequest
from rig.wire.encode import (
    TRACE_HEADER,
    encode_chat,
    encode_message,
    replayable_arguments,
    request_headers,
    to_body,
)


@dataclass
class Spec:
    name: str = "get_weather"
    description: str = "Tell the weather."
    input_schema: Any = field(
        default_factory=lambda: {"type": "object", "properties": {"city": {"type": "string"}}}
    )


HI = Message(role="user", content="hi")


def request(
    *messages: Message, tools: tuple[Spec, ...] = (), model: str = "m", **options: Any
) -> ChatRequest:
    return ChatRequest(
        model=model,
        messages=messages or (HI,),
        max_tokens=64,
        tools=tools,
        options=ChatOptions(**options),
    )


def sent(chat: ChatRequest, *, stream: bool = False) -> Any:
    return json.loads(encode_chat(chat, stream=stream))  # noqa: TID251  an independent reader


def test_a_plain_request_holds_nothing_else() -> None:
    assert sent(request()) == {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "max_tokens": 64,
    }


def test_a_stream_asks_for_its_usage() -> None:
    body = sent(request(), stream=True)
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize(
    ("model", "name"), [("qwen3", "max_tokens"), ("o3", "max_completion_tokens")]
)
def test_exactly_one_limit_is_sent(model: str, name: str) -> None:
    body = sent(request(model=model))
    assert {key for key in body if key.startswith("max_")} == {name}
    assert body[name] == 64


@pytest.mark.parametrize("model", ["", "  ", None, 7])
def test_a_model_must_be_named(model: Any) -> None:
    with pytest.raises(InvalidRequestError):
        encode_chat(request(model=model))


REACHES: dict[str, tuple[Any, dict[str, Any]]] = {
    "temperature": (0, {"temperature": 0}),
    "top_p": (0.9, {"top_p": 0.9}),
    "min_p": (0, {"min_p": 0}),
    "top_k": (0, {"top_k": 0}),
    "seed": (0, {"seed": 0}),
    "stop": (("a", "b"), {"stop": ["a", "b"]}),
    "frequency_penalty": (0, {"frequency_penalty": 0}),
    "presence_penalty": (-1.5, {"presence_penalty": -1.5}),
    "repeat_penalty": (1.1, {"repeat_penalty": 1.1}),
    "tool_choice": ("required", {"tool_choice": "required"}),
    "parallel_tool_calls": (False, {"parallel_tool_calls": False}),
    "response_format": ({"type": "json_object"}, {"response_format": {"type": "json_object"}}),
    "grammar": ('root ::= "yes"', {"grammar": 'root ::= "yes"'}),
    "logprobs": (True, {"logprobs": True}),
    "top_logprobs": (0, {"top_logprobs": 0}),
    "reasoning_budget_tokens": (0, {"reasoning_budget_tokens": 0}),
    "enable_thinking": (False, {"chat_template_kwargs": {"enable_thinking": False}}),
    "reasoning_effort": ("low", {"reasoning_effort": "low"}),
    "extra_body": ({"cache_prompt": True}, {"cache_prompt": True}),
}


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("name", REACHES)
def test_every_option_reaches_the_body(name: str, stream: bool) -> None:
    value, fields = REACHES[name]
    plain = sent(request(tools=(Spec(),)), stream=stream)
    body = sent(request(tools=(Spec(),), **{name: value}), stream=stream)
    assert body == plain | fields


def test_no_option_is_forgotten() -> None:
    elsewhere = {"trace_id", "reasoning_budget_message"}
    never = {"tenant", "priority"}
    assert set(REACHES) | elsewhere | never == set(ChatOptions.__dataclass_fields__)


def test_whose_turn_it_is_never_reaches_the_wire() -> None:
    assert sent(request(tenant="acme", priority="batch")) == sent(request())


def test_extra_body_wins() -> None:
    body = sent(request(temperature=0.5, extra_body={"temperature": 0.1, "max_tokens": None}))
    assert body["temperature"] == 0.1
    assert "max_tokens" not in body


def test_thinking_joins_the_other_template_arguments() -> None:
    body = sent(request(enable_thinking=True, extra_body={"chat_template_kwargs": {"x": 1}}))
    assert body["chat_template_kwargs"] == {"enable_thinking": True, "x": 1}


def test_the_trace_id_is_a_header_and_not_in_the_body() -> None:
    chat = request(trace_id="abc")
    assert request_headers(chat) == {TRACE_HEADER: "abc"}
    assert "abc" not in encode_chat(chat).decode()
    assert request_headers(request()) == {}
    assert request_headers(request(trace_id="")) == {}


@pytest.mark.parametrize("build", [encode_chat, request_headers])
def test_a_trace_id_can_not_write_headers(build: Any) -> None:
    with pytest.raises(InvalidRequestError):
        build(request(trace_id="a\r\nAuthorization: x"))


def test_tools_are_sent_in_order_without_strict() -> None:
    body = sent(request(tools=(Spec(name="b"), Spec(name="a", description=""))))
    assert [tool["function"]["name"] for tool in body["tools"]] == ["b", "a"]
    assert body["tools"][0]["type"] == "function"
    assert all(
        set(tool["function"]) == {"name", "description", "parameters"} for tool in body["tools"]
    )


def test_a_tool_without_a_schema_takes_nothing() -> None:
    body = sent(request(tools=(Spec(input_schema=None),)))
    assert body["tools"][0]["function"]["parameters"] == {"type": "object", "properties": {}}


def test_any_mapping_is_a_schema() -> None:
    schema = MappingProxyType({"type": "object", "properties": MappingProxyType({})})
    body = sent(request(tools=(Spec(input_schema=schema),)))
    assert body["tools"][0]["function"]["parameters"] == {"type": "object", "properties": {}}


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidRequestError):
        encode_chat(request(tools=(Spec(), Spec())))


@pytest.mark.parametrize("choice", ["auto", "none", "required", "get_weather", "nope"])
def test_without_tools_nothing_speaks_of_them(choice: str) -> None:
    body = sent(request(tool_choice=choice, parallel_tool_calls=True))
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & set(body)


def test_one_tool_can_be_demanded() -> None:
    body = sent(request(tools=(Spec(),), tool_choice="get_weather"))
    assert body["tool_choice"] == {"type": "function", "function": {"name": "get_weather"}}


def test_a_tool_that_is_not_offered_can_not_be_demanded() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        encode_chat(request(tools=(Spec(),), tool_choice="secret-name"))
    assert "secret-name" not in str(caught.value)


CALL = ToolCall(id="c1", name="f", arguments='{"a": 1}')


def test_an_assistant_tool_turn_always_has_content_and_json_arguments() -> None:
    assert encode_message(Message(role="assistant", tool_calls=(CALL,))) == {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
        ],
    }


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_goes_back_in_the_field_it_came_in(field: Any) -> None:
    turn = Message(role="assistant", content="x", reasoning="hm", reasoning_field=field)
    assert encode_message(turn)[field] == "hm"


def test_no_reasoning_no_field() -> None:
    assert set(encode_message(Message(role="assistant", content="x"))) == {"role", "content"}
    assert set(encode_message(Message(role="user", content="x", reasoning="hm"))) == {
        "role",
        "content",
    }


def test_a_tool_turn_names_its_call() -> None:
    turn = Message(role="tool", content="18", tool_call_id="c1", name="f")
    assert encode_message(turn) == {
        "role": "tool",
        "content": "18",
        "tool_call_id": "c1",
        "name": "f",
    }


def test_parts_are_sent_as_parts_only_where_one_is_no_text() -> None:
    image = ImagePart.from_bytes("image/jpeg", b"hi")
    audio = AudioPart(input_audio=InputAudio(data="aGk=", format="wav"))
    turn = Message(role="user", content=(TextPart(text="look"), image, audio))
    assert encode_message(turn)["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,aGk="}},
        {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
    ]
    assert encode_message(
        Message(role="user", content=(TextPart(text="a"), TextPart(text="b")))
    ) == {
        "role": "user",
        "content": "ab",
    }
    assert (
        encode_message(Message(role="assistant", content=(TextPart(text="a"), image)))["content"]
        == "a"
    )


@pytest.mark.parametrize(
    ("arguments", "stays"),
    [
        ('{"a": 1}', True),
        ('{ "a" : [ ] }', True),
        ("", False),
        ("  ", False),
        ('{"a": 1', False),
        ("[1]", False),
        ("null", False),
        ("7", False),
        ('"x"', False),
        ('{"a": NaN}', False),
        ('{"a": 1} {"b": 2}', False),
        ('{"a": "\ud800"}', False),
    ],
)
def test_only_a_json_object_is_replayed(arguments: str, stays: bool) -> None:
    replayed = replayable_arguments(arguments)
    assert isinstance(from_json(replayed, allow_inf_nan=False), dict)
    assert (replayed == arguments) is stays


def test_a_stand_in_tells_the_size_and_not_the_text() -> None:
    stand_in = from_json(replayable_arguments('{"path": "/etc/passwd'))
    assert stand_in["_raw_chars"] == 21
    assert "passwd" not in str(stand_in)


def test_half_a_character_in_arguments_is_mended() -> None:
    assert replayable_arguments(r'{"a": "\ud83d"}') == r'{"a": "\ufffd"}'


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_whatever_the_model_wrote_an_object_goes_back(arguments: str) -> None:
    turn = Message.model_construct(
        role="assistant",
        content="",
        tool_calls=(ToolCall.model_construct(id="c", name="f", arguments=arguments),),
        reasoning=None,
        name=None,
    )
    body = from_json(encode_chat(request(HI, turn)))
    back = body["messages"][1]["tool_calls"][0]["function"]["arguments"]
    assert isinstance(from_json(back, allow_inf_nan=False), dict)


def test_calls_without_ids_get_some_and_their_results_too() -> None:
    calls = (
        ToolCall(name="f"),
        ToolCall(id="call00000", name="f"),
        ToolCall(name="g"),
    )
    body = sent(
        request(
            HI,
            Message(role="assistant", tool_calls=calls),
            Message(role="tool", content="1"),
            Message(role="tool", content="2", tool_call_id="call00000"),
            Message(role="tool", content="3"),
        )
    )
    ids = [call["id"] for call in body["messages"][1]["tool_calls"]]
    assert len(set(ids)) == 3
    assert all(len(name) == 9 and name.isalnum() for name in ids)
    assert [turn["tool_call_id"] for turn in body["messages"][2:]] == ids


def test_a_result_without_an_id_gets_that_of_its_call() -> None:
    calls = (ToolCall(id="a", name="f"), ToolCall(id="b", name="f"))
    results = (Message(role="tool", content="1"), Message(role="tool", content="2"))
    body = sent(request(HI, Message(role="assistant", tool_calls=calls), *results))
    assert [turn["tool_call_id"] for turn in body["messages"][2:]] == ["a", "b"]


def test_a_result_that_follows_no_call_keeps_no_id() -> None:
    body = sent(request(HI, Message(role="tool", content="1")))
    assert body["messages"][1] == {"role": "tool", "content": "1"}


def test_lone_surrogates_are_replaced() -> None:
    body = sent(request(Message(role="user", content="file \udcff.txt \ud83d\ude00")))
    assert body["messages"][0]["content"] == "file \ufffd.txt \U0001f600"


UNWRITABLE: dict[str, dict[str, Any]] = {
    "nan": {"x": math.nan},
    "an infinity deep inside": {"x": [{"y": -math.inf}]},
    "an object": {"x": object()},
    "bytes": {"x": b"\xff"},
    "a nan beside a lone surrogate": {"x": math.nan, "y": "\ud800"},
}


@pytest.mark.parametrize("extra", UNWRITABLE.values(), ids=UNWRITABLE)
def test_what_json_can_not_say_is_refused(extra: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        encode_chat(request(extra_body=extra))
    assert caught.value.__context__ is None


def test_a_circle_or_a_pit_is_refused() -> None:
    circle: dict[str, Any] = {}
    circle["x"] = circle
    pit: dict[str, Any] = {}
    for _ in range(5000):
        pit = {"x": pit}
    for extra in (circle, pit):
        with pytest.raises(InvalidRequestError):
            encode_chat(request(extra_body=extra))


def test_a_text_that_spells_nan_is_fine() -> None:
    assert sent(request(Message(role="user", content="NaN, Infinity")))["messages"][0][
        "content"
    ] == ("NaN, Infinity")


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
def test_any_value_is_written_or_refused(value: Any) -> None:
    try:
        body = to_body({"x": value})
    except RigError:
        return
    from_json(body, allow_inf_nan=False)


def test_the_caller_s_values_are_not_changed() -> None:
    extra: dict[str, Any] = {"chat_template_kwargs": {"x": 1}}
    chat = request(enable_thinking=True, extra_body=extra)
    encode_chat(chat, stream=True)
    assert extra == {"chat_template_kwargs": {"x": 1}}
    assert chat == replace(chat)
