"""What is wrong with a request, and where, before it costs anything."""

from dataclasses import dataclass
from typing import Any

import pytest

from rig import ChatRequest, ImagePart, InvalidRequestError, Message, TextPart, ToolCall
from rig.gateway.validation import check_request, message_problems, tool_problems

CALL = ToolCall(id="1", name="add", arguments="{}")
PICTURE = ImagePart.from_bytes("image/png", b"x")


def turn(role: Any, content: Any = "x", **more: Any) -> Message:
    return Message(role=role, content=content, **more)


@dataclass(frozen=True)
class Offer:
    name: Any
    description: Any
    input_schema: Any = None


GOOD: dict[str, list[Message]] = {
    "a question": [turn("user")],
    "under a system prompt": [turn("system"), turn("user")],
    "two system messages at the head": [turn("system"), turn("system"), turn("user")],
    "calls without text": [turn("user"), turn("assistant", "", tool_calls=(CALL,))],
    "an empty result": [
        turn("user"),
        turn("assistant", "", tool_calls=(CALL,)),
        turn("tool", "", tool_call_id="1"),
    ],
    "an image without text": [turn("user", (PICTURE,))],
}


@pytest.mark.parametrize("messages", GOOD.values(), ids=GOOD)
def test_a_conversation_may_be_sent(messages: list[Message]) -> None:
    assert [*message_problems(messages)] == []


BAD: dict[str, tuple[list[Message], list[str]]] = {
    "an empty question": ([turn("user", "")], ["messages[0]"]),
    "a blank one": ([turn("user"), turn("assistant"), turn("user", " \n")], ["messages[2]"]),
    "an empty answer": ([turn("user"), turn("assistant", "")], ["messages[1]"]),
    "parts without text": ([turn("user", (TextPart(text=" "), PICTURE)), turn("user", ())], ["messages[1]"]),
    "a system message in the middle": ([turn("user"), turn("system")], ["messages[1]"]),
    "nothing but a system message": ([turn("system")], ["messages[0]"]),
    "an empty system message": ([turn("system", ""), turn("user")], ["messages[0]"]),
    "several": ([turn("user", ""), turn("assistant", "")], ["messages[0]", "messages[1]"]),
}  # fmt: skip


@pytest.mark.parametrize(("messages", "places"), BAD.values(), ids=BAD)
def test_what_is_wrong_with_messages_has_an_index(
    messages: list[Message], places: list[str]
) -> None:
    assert [problem.partition(":")[0] for problem in message_problems(messages)] == places


TOOLS: dict[str, tuple[list[Offer], list[str]]] = {
    "good ones": ([Offer("a", "Does a."), Offer("b", "Does b.")], []),
    "no name": ([Offer("a", "Does a."), Offer("", "Does b.")], ["tools[1]"]),
    "a blank name": ([Offer(" ", "x")], ["tools[0]"]),
    "a name of another type": ([Offer(None, "x")], ["tools[0]"]),
    "no description": ([Offer("a", "x"), Offer("search", " ")], ["tools[1]"]),
    "a description of another type": ([Offer("a", None)], ["tools[0]"]),
    "a name twice": ([Offer("a", "x"), Offer("b", "x"), Offer("a", "y")], ["tools[2]"]),
}


@pytest.mark.parametrize(("tools", "places"), TOOLS.values(), ids=TOOLS)
def test_what_is_wrong_with_tools_has_an_index(tools: list[Offer], places: list[str]) -> None:
    assert [problem.partition(":")[0] for problem in tool_problems(tools)] == places


def request(messages: Any, tools: Any = ()) -> ChatRequest:
    return ChatRequest(model="fast", messages=messages, max_tokens=9, tools=tools)


def test_the_first_problem_refuses_the_request() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        check_request(request([turn("user", "")], [Offer("", "")]))
    assert caught.value.reason == "messages"
    assert "messages[0]" in caught.value.message
    with pytest.raises(InvalidRequestError) as caught:
        check_request(request([turn("user")], [Offer("search", "")]))
    assert caught.value.reason == "tools"
    assert "tools[0]: search" in caught.value.message


def test_a_good_request_passes() -> None:
    check_request(request([turn("user")], [Offer("a", "Does a.")]))


@pytest.mark.parametrize("messages", [[], [{"role": "robot", "content": "x"}]], ids=str)
def test_no_messages_and_unknown_roles_are_refused_where_a_request_is_made(messages: Any) -> None:
    with pytest.raises(InvalidRequestError):
        request(messages)
