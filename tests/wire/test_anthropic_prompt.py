"""Conversations in the shape Anthropic counts."""

from typing import Any

from rig import ImagePart, Message, TextPart, Tool, ToolCall
from rig.messages import ImageURL
from rig.wire.anthropic_prompt import anthropic_prompt


def nothing(value: dict[str, Any]) -> str:
    return ""


SCHEMA = {"type": "object", "properties": {}}
TOOL = Tool(name="t", description="Does it.", input_schema=SCHEMA, run=nothing)


def test_no_turns_are_one_dot_and_empty_fields_are_not_sent() -> None:
    assert anthropic_prompt("m", [], []) == {
        "model": "m",
        "messages": [{"role": "user", "content": "."}],
    }


def test_system_text_and_tools_stand_apart() -> None:
    fields = anthropic_prompt("m", [Message(role="system", content="S")], [TOOL])
    assert fields["system"] == "S"
    assert fields["tools"] == [{"name": "t", "description": "Does it.", "input_schema": SCHEMA}]
    assert fields["messages"] == [{"role": "user", "content": "."}]


def test_calls_and_results_are_blocks_and_turns_alternate() -> None:
    call = ToolCall(id="c1", name="t", arguments='{"a": 1}')
    messages = [
        Message(role="user", content="U"),
        Message(role="assistant", content="A", tool_calls=(call, ToolCall(id="c2", name="t"))),
        Message(role="tool", content="R1", tool_call_id="c1"),
        Message(role="tool", content="R2", tool_call_id="c2"),
        Message(role="user", content="more"),
    ]
    assert anthropic_prompt("m", messages, [])["messages"] == [
        {"role": "user", "content": "U"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "A"},
                {"type": "tool_use", "id": "c1", "name": "t", "input": {"a": 1}},
                {"type": "tool_use", "id": "c2", "name": "t", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "R1"},
                {"type": "tool_result", "tool_use_id": "c2", "content": "R2"},
                {"type": "text", "text": "more"},
            ],
        },
    ]


def test_blank_texts_are_left_out_and_the_first_turn_is_the_users() -> None:
    messages = [Message(role="user", content="  "), Message(role="assistant", content="A")]
    assert anthropic_prompt("m", messages, [])["messages"] == [
        {"role": "user", "content": "."},
        {"role": "assistant", "content": "A"},
    ]


def test_images_are_sources() -> None:
    parts = (
        TextPart(text="look"),
        ImagePart.from_bytes("image/png", b"hi"),
        ImagePart(image_url=ImageURL(url="https://x.test/a.png")),
    )
    fields: Any = anthropic_prompt("m", [Message(role="user", content=parts)], [])
    [turn] = fields["messages"]
    assert turn["content"] == [
        {"type": "text", "text": "look"},
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": "aGk="},
        },
        {"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}},
    ]


def test_broken_arguments_are_counted_as_what_would_be_sent() -> None:
    call = ToolCall(id="c", name="t", arguments='{"a": ')
    fields = anthropic_prompt("m", [Message(role="assistant", tool_calls=(call,))], [])
    assert "_error" in str(fields["messages"])
