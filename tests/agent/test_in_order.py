"""The properties are in `test_history`: the one look never says in order of what would be changed."""

import pytest

from rig.agent.history import Prepared, prepare, prepare_open, put_in_order
from rig.agent.in_order import is_in_order
from rig.messages import Content, ImagePart, Message, SignedThought, TextPart, ToolCall

THOUGHT = SignedThought(thinking="hm", signature="x")
PARTS = (TextPart(text="a"), ImagePart.from_bytes("image/png", b"\x89PNG"))


def system(text: str) -> Message:
    return Message(role="system", content=text)


def user(content: Content) -> Message:
    return Message(role="user", content=content)


def assistant(
    content: str, *ids: str, reasoning: str | None = None, arguments: str = "{}"
) -> Message:
    calls = tuple(ToolCall.made(id=one, name="f", arguments=arguments) for one in ids)
    return Message(role="assistant", content=content, tool_calls=calls, reasoning=reasoning)


def result(identity: str | None) -> Message:
    return Message(role="tool", content="ok", tool_call_id=identity)


IN_ORDER = {
    "nothing": [],
    "a question": [user("a")],
    "a system and a question of parts": [system("s"), user(PARTS)],
    "a conversation": [system("s"), user("a"), assistant("b"), user(""), assistant("c")],
    "an assistant that begins": [assistant("a"), user("b")],
    "calls and their results": [
        user("a"), assistant("", "1", "2"), result("1"), result("2"), assistant("b"),
    ],
    "rounds": [user("a"), assistant("b", "1"), result("1"), assistant("", "2"), result("2")],
    "thoughts of the loop under way": [
        user("a"), assistant("", "1", reasoning="hm"), result("1"), assistant("b", reasoning="hm"),
    ],
    "a text with a tag beside thoughts of their own": [user("a"), assistant(" <think>", reasoning="")],
    "an assistant's parts": [user("a"), Message(role="assistant", content=PARTS)],
}  # fmt: skip

OUT_OF_ORDER = {
    "neighbours": [user("a"), user("b")],
    "two systems": [system("s"), system("t")],
    "a late system": [user("a"), system("s")],
    "a silent system": [system(" "), user("a")],
    "a silent assistant": [user("a"), assistant(" ", reasoning="hm")],
    "old thoughts": [user("a"), assistant("b", reasoning="hm"), user("c")],
    "old signed thoughts": [
        user("a"), Message(role="assistant", content="b", thoughts=(THOUGHT,)), user("c"),
    ],
    "a leaked thought": [user("a"), assistant("<think>b</think>c")],
    "blanks around a text": [user("a"), assistant("b ")],
    "no result": [user("a"), assistant("", "1")],
    "no result before the next turn": [user("a"), assistant("", "1"), user("b")],
    "results in another order": [user("a"), assistant("", "1", "2"), result("2"), result("1")],
    "a result of nothing": [user("a"), result("1")],
    "one result too many": [user("a"), assistant("", "1"), result("1"), result("1")],
    "a result without an id": [user("a"), assistant("", "1"), result(None)],
    "a call without an id": [user("a"), assistant("", ""), result("")],
    "two calls of one id": [user("a"), assistant("", "1", "1"), result("1"), result("1")],
    "an id that comes again": [
        user("a"), assistant("", "1"), result("1"), assistant("", "1"), result("1"),
    ],
    "arguments that are none": [user("a"), assistant("", "1", arguments="["), result("1")],
    "a call without a name": [
        user("a"), Message(role="assistant", tool_calls=(ToolCall(id="1"),)), result("1"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("messages", IN_ORDER.values(), ids=IN_ORDER)
def test_what_is_in_order_stays_as_it_is(messages: list[Message]) -> None:
    assert is_in_order(messages)
    assert put_in_order(messages) == prepare(messages) == tuple(messages)
    assert prepare_open(messages) == (tuple(messages), ())
    assert isinstance(prepare(messages), Prepared)


@pytest.mark.parametrize("messages", OUT_OF_ORDER.values(), ids=OUT_OF_ORDER)
def test_what_is_not_in_order_is_put_so(messages: list[Message]) -> None:
    assert not is_in_order(messages)
    assert put_in_order(messages) == prepare(messages) != tuple(messages)
