from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from rig.agent.calls import REPLACED
from rig.agent.history import (
    NO_RESULT,
    Prepared,
    assistant_turn,
    prepare,
    prepare_open,
    put_in_order,
    read_history,
    tool_turn,
)
from rig.agent.in_order import is_in_order
from rig.errors import InvalidRequestError
from rig.messages import Content, ImagePart, Message, SignedThought, TextPart, ToolCall
from rig.model import Reply

IMAGE = ImagePart.from_bytes("image/png", b"\x89PNG")


def system(text: str) -> Message:
    return Message(role="system", content=text)


def user(content: Content) -> Message:
    return Message(role="user", content=content)


def assistant(
    content: str = "", *ids: str, reasoning: str | None = None, arguments: str = "{}"
) -> Message:
    calls = tuple(ToolCall(id=one, name="f", arguments=arguments) for one in ids)
    return Message(role="assistant", content=content, tool_calls=calls, reasoning=reasoning)


def result(identity: str | None, content: str = "ok") -> Message:
    return Message(role="tool", content=content, tool_call_id=identity, name="f")


def shape(messages: Sequence[Message]) -> list[tuple[object, ...]]:
    """Every turn as one word and what matters of it."""
    shown: list[tuple[object, ...]] = []
    for turn in messages:
        if turn.role == "tool":
            shown.append((turn.tool_call_id, turn.content))
        elif turn.tool_calls:
            shown.append((turn.role, turn.content, *(call.id for call in turn.tool_calls)))
        else:
            shown.append((turn.role, turn.content))
    return shown


CASES = {
    "system messages become one at the head": (
        [user("a"), system("one"), assistant("b"), system("two")],
        [("system", "one\n\ntwo"), ("user", "a"), ("assistant", "b")],
    ),
    "a system message that says nothing goes": ([system(" "), user("a")], [("user", "a")]),
    "user turns in a row are joined": (
        [system("s"), user("a"), user("b"), user("c"), assistant("d")],
        [("system", "s"), ("user", "a\n\nb\n\nc"), ("assistant", "d")],
    ),
    "a blank user turn adds no blank line": ([user("a"), user("")], [("user", "a")]),
    "assistant turns in a row are joined": (
        [user("a"), assistant("b"), assistant("c")],
        [("user", "a"), ("assistant", "b\n\nc")],
    ),
    "text before a turn with calls joins it": (
        [user("a"), assistant("b"), assistant("c", "1"), result("1")],
        [("user", "a"), ("assistant", "b\n\nc", "1"), ("1", "ok")],
    ),
    "turns around a dropped one are joined": (
        [user("a"), assistant(""), user("b")],
        [("user", "a\n\nb")],
    ),
    "a turn of nothing but leaked thoughts goes": (
        [user("a"), assistant("<think>hm</think>"), user("b")],
        [("user", "a\n\nb")],
    ),
    "leaked reasoning goes": (
        [user("a"), assistant("hm</think>b"), user("c")],
        [("user", "a"), ("assistant", "b"), ("user", "c")],
    ),
    "results get the order of the calls": (
        [user("a"), assistant("", "1", "2"), result("2", "two"), result("1", "one")],
        [("user", "a"), ("assistant", "", "1", "2"), ("1", "one"), ("2", "two")],
    ),
    "results move up to their calls": (
        [user("a"), assistant("", "1"), user("b"), result("1")],
        [("user", "a"), ("assistant", "", "1"), ("1", "ok"), ("user", "b")],
    ),
    "a call without result says so": (
        [user("a"), assistant("", "1", "2"), result("2")],
        [("user", "a"), ("assistant", "", "1", "2"), ("1", NO_RESULT), ("2", "ok")],
    ),
    "a result without call goes": (
        [result("0"), user("a"), assistant("", "1"), result("1"), result("9")],
        [("user", "a"), ("assistant", "", "1"), ("1", "ok")],
    ),
    "a second result of one call goes": (
        [user("a"), assistant("", "1"), result("1", "first"), result("1", "second")],
        [("user", "a"), ("assistant", "", "1"), ("1", "first")],
    ),
    "calls without id are told apart": (
        [user("a"), assistant("", "", ""), result("", "one"), result("", "two")],
        [
            ("user", "a"),
            ("assistant", "", "rig000001", "rig000002"),
            ("rig000001", "one"),
            ("rig000002", "two"),
        ],
    ),
    "results without id answer calls in order": (
        [user("a"), assistant("", "1", "2"), result("2", "two"), result(None, "one")],
        [("user", "a"), ("assistant", "", "1", "2"), ("1", "one"), ("2", "two")],
    ),
    "calls of one id are told apart": (
        [user("a"), assistant("", "x", "x"), result("x", "one"), result("x", "two")],
        [("user", "a"), ("assistant", "", "x", "rig000001"), ("x", "one"), ("rig000001", "two")],
    ),
    "an id that comes again in a later round": (
        [user("a"), assistant("", "x"), result("x", "1"), assistant("", "x"), result("x", "2")],
        [
            ("user", "a"),
            ("assistant", "", "x"),
            ("x", "1"),
            ("assistant", "", "rig000001"),
            ("rig000001", "2"),
        ],
    ),
    "a result belongs to the newest call of its id": (
        [user("a"), assistant("", "x"), user("b"), assistant("", "x"), result("x", "new")],
        [
            ("user", "a"),
            ("assistant", "", "x"),
            ("x", NO_RESULT),
            ("user", "b"),
            ("assistant", "", "rig000001"),
            ("rig000001", "new"),
        ],
    ),
    "a made-up id never takes one that comes later": (
        [user("a"), assistant("", "", "rig000001"), result(""), result("rig000001")],
        [
            ("user", "a"),
            ("assistant", "", "rig000002", "rig000001"),
            ("rig000002", "ok"),
            ("rig000001", "ok"),
        ],
    ),
}


@pytest.mark.parametrize(("messages", "expected"), CASES.values(), ids=CASES.keys())
def test_a_conversation_is_put_in_order(messages: list[Message], expected: Any) -> None:
    prepared = prepare(messages)
    assert shape(prepared) == expected
    assert prepare(tuple(prepared)) == prepared


def test_what_is_in_order_comes_back_message_for_message() -> None:
    messages = (
        system("s"),
        user("a"),
        assistant("", "1", reasoning="hm"),
        result("1"),
        assistant("b"),
    )
    prepared = prepare(messages)
    assert prepared == messages
    assert all(new is old for new, old in zip(prepared, messages, strict=True))


def test_a_prepared_conversation_is_not_looked_at_again() -> None:
    prepared = prepare([user("a"), user("b")])
    assert prepare(prepared) is prepared
    assert not isinstance((*prepared, assistant("c")), Prepared)


def test_a_malformed_call_in_a_history_can_not_be_sent() -> None:
    prepared = prepare([user("a"), assistant("", "1", arguments='{"a": 1'), result("1", "error")])
    call = prepared[1].tool_calls[0]
    assert from_json(call.arguments)["_tail"] == '{"a": 1'
    assert call.repairs == (REPLACED,)
    assert prepared[2].content == "error"


def test_a_call_without_a_name_is_named() -> None:
    unnamed = Message(role="assistant", tool_calls=(ToolCall(id="1", name=""),))
    prepared = prepare([user("a"), unnamed])
    assert prepared[1].tool_calls[0].name
    assert prepared[2].name == prepared[1].tool_calls[0].name


def test_reasoning_is_kept_inside_the_tool_loop_only() -> None:
    prepared = prepare(
        [
            user("a"),
            assistant("", "1", reasoning="old"),
            result("1"),
            assistant("b", reasoning="old too"),
            user("c"),
            assistant("", "2", reasoning="new"),
            result("2"),
        ]
    )
    assert [turn.reasoning for turn in prepared if turn.role == "assistant"] == ["", "", "new"]


def test_signed_thoughts_are_kept_inside_the_tool_loop_only() -> None:
    signed = (SignedThought(thinking="hm", signature="s"),)
    turn = assistant("", "1").model_copy(update={"thoughts": signed})
    loop = prepare([user("a"), turn, result("1")])
    assert [message.thoughts for message in loop] == [(), signed, ()]
    later = prepare([*loop, assistant("b"), user("c")])
    assert not any(message.thoughts for message in later)
    assert prepare(tuple(later)) == later


def test_signed_thoughts_of_joined_turns_are_joined() -> None:
    one, two = (SignedThought(thinking="1"),), (SignedThought(thinking="2"),)
    first = assistant("a").model_copy(update={"thoughts": one})
    second = assistant("b", "1").model_copy(update={"thoughts": two})
    [_, joined, _] = prepare([user("q"), first, second, result("1")])
    assert joined.thoughts == one + two


def test_a_reply_is_recorded_with_its_signed_thoughts() -> None:
    signed = (SignedThought(signature="s"),)
    turn = assistant_turn(
        Reply(text="<think>a</think>", thoughts=signed, reasoning_field="reasoning_content"), ()
    )
    assert turn.thoughts == signed
    assert turn.text == "<think>a</think>"


def test_tags_in_text_whose_reasoning_was_separated_stay_also_in_old_turns() -> None:
    text = "write <think> to open a thought"
    prepared = prepare([user("a"), assistant(text, reasoning="hm"), user("b")])
    assert prepared[1].content == text
    again = prepare([*prepared, assistant("c"), user("d")])
    assert again[1].content == text


def test_joined_turns_keep_their_thoughts() -> None:
    prepared = prepare(
        [user("a"), assistant("b", reasoning="one"), assistant("c", "1", reasoning="two")]
    )
    assert prepared[1].reasoning == "one\n\ntwo"


def test_parts_are_joined_as_parts() -> None:
    prepared = prepare([user("look"), user((IMAGE, TextPart(text="what is it?")))])
    assert prepared[0].content == (TextPart(text="look"), IMAGE, TextPart(text="what is it?"))


@pytest.mark.parametrize("count", [1, 2_000])
def test_any_number_of_neighbours_is_joined_once(count: int) -> None:
    prepared = prepare([user(str(index)) for index in range(count)])
    assert prepared[0].content == "\n\n".join(map(str, range(count)))


def test_any_number_of_calls_without_ids_is_paired_in_one_pass() -> None:
    count = 20_000
    answers = [result(None, str(index)) for index in range(count)]
    prepared = prepare([user("a"), assistant("", *[""] * count), *answers])
    assert [turn.content for turn in prepared[2:]] == [str(index) for index in range(count)]


# Open calls


def test_calls_at_the_end_stay_open() -> None:
    messages, pending = prepare_open([user("a"), assistant("", "1", "2", "3"), result("2")])
    assert [call.id for call in pending] == ["1", "3"]
    assert shape(messages) == [("user", "a"), ("assistant", "", "1", "2", "3"), ("2", "ok")]


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [user("a")],
        [user("a"), assistant("b")],
        [user("a"), assistant("", "1"), result("1")],
        [user("a"), assistant("", "1"), user("b")],
        [user("a"), assistant("", "1", arguments="{")],
    ],
    ids=["nothing", "user", "answer", "answered", "went on", "could never run"],
)
def test_nothing_is_open_otherwise(messages: list[Message]) -> None:
    prepared, pending = prepare_open(messages)
    assert pending == ()
    assert prepared == prepare(messages)


def test_calls_on_a_turn_that_is_no_assistant_s_are_nobody_s() -> None:
    stray = result("2").model_copy(update={"tool_calls": assistant("", "9").tool_calls})
    messages, pending = prepare_open([user("a"), assistant("", "1", "2", "3"), stray])
    assert [call.id for call in pending] == ["1", "3"]
    assert [turn.role for turn in messages] == ["user", "assistant", "tool"]


# Reading


def test_messages_and_mappings_of_the_wire_are_read() -> None:
    given_messages = [
        {"role": "developer", "content": "s"},
        Message(role="user", content="a"),
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}
            ],
        },
        {"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "ok"}]},
    ]
    messages = read_history(given_messages)
    assert [turn.role for turn in messages] == ["system", "user", "assistant", "tool"]
    assert messages[2].tool_calls[0].input == {"a": 1}
    assert messages[3].content == "ok"


@pytest.mark.parametrize(
    "item", ["hello", None, 3, {"content": "a"}, {"role": "robot", "content": "secret"}]
)
def test_an_item_that_is_no_message_is_named_by_its_index(item: object) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        read_history([user("a"), item])
    assert "history[1]" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


# Turns of the loop


def test_a_part_that_can_not_be_sent_is_named_with_its_message() -> None:
    part = {"type": "file", "file": {"file_id": "SECRET"}}
    with pytest.raises(InvalidRequestError) as caught:
        read_history([user("a"), {"role": "user", "content": [part]}])
    assert caught.value.message == (
        'history[1] is not a message: content[0]: parts of type "file" can\'t be sent;'
        " use text, image_url, input_audio"
    )


def legacy(*names: str) -> list[Message]:
    """One `function_call` turn for each name, as clients of the oldest API keep them."""
    return [
        Message.model_validate({"role": "assistant", "function_call": {"name": name}})
        for name in names
    ]


def named(name: str, content: str) -> Message:
    return Message.model_validate({"role": "function", "name": name, "content": content})


def test_legacy_calls_get_ids_and_their_results_keep_to_them() -> None:
    first, second = legacy("f", "g")
    turns = prepare([user("a"), first, named("f", "1"), second, named("g", "2")])
    assert shape(turns) == [
        ("user", "a"),
        ("assistant", "", "rig000001"),
        ("rig000001", "1"),
        ("assistant", "", "rig000002"),
        ("rig000002", "2"),
    ]


@pytest.mark.parametrize("id_of_the_calls", ["", "x"])
def test_results_without_ids_are_paired_by_name(id_of_the_calls: str) -> None:
    calls = tuple(ToolCall(id=id_of_the_calls, name=name) for name in ("f", "g", "f"))
    turn = Message(role="assistant", tool_calls=calls)
    results = [named("g", "two"), named("f", "one"), named("f", "three")]
    assert [one.content for one in prepare([user("a"), turn, *results])[2:]] == [
        "one",
        "two",
        "three",
    ]


def test_a_result_of_another_name_answers_the_next_call() -> None:
    (turn,) = legacy("f")
    assert [one.content for one in prepare([user("a"), turn, named("h", "1")])][-1] == "1"


def test_a_reply_is_recorded_without_leaked_reasoning() -> None:
    assert assistant_turn(Reply(text="<think>x</think>y", reasoning="x"), ()).content == "y"
    assert assistant_turn(Reply(text="y", reasoning="x"), ()).reasoning is None


def test_a_reply_is_recorded_with_the_reasoning_field_it_had() -> None:
    turn = assistant_turn(Reply(text="y", reasoning="x", reasoning_field="reasoning"), ())
    assert (turn.reasoning, turn.reasoning_field) == ("x", "reasoning")


def test_a_result_is_recorded_under_the_id_of_its_call() -> None:
    turn = tool_turn(ToolCall(id="1", name="f"), "ok")
    assert (turn.role, turn.tool_call_id, turn.name, turn.content) == ("tool", "1", "f", "ok")


# Properties

TEXTS = st.sampled_from(["", " ", "a", "<think>x</think>b", "x</think>c", "<think>", "[THINK]d"])
IDS = st.sampled_from(["", "1", "2", "rig000001"])
ARGUMENTS = st.sampled_from(["{}", "", '{"a":1}', '{"a":', "[1]", '{"a":1}</tool_call>'])
CALLS = st.lists(
    st.builds(
        ToolCall.model_construct, id=IDS, name=st.sampled_from(["f", ""]), arguments=ARGUMENTS
    ),
    max_size=3,
)
TURNS = st.one_of(
    st.builds(system, TEXTS),
    st.builds(user, TEXTS),
    st.builds(user, st.just((TextPart(text="t"), IMAGE))),
    st.builds(
        lambda text, calls, reasoning: Message.model_construct(
            role="assistant", content=text, tool_calls=tuple(calls), reasoning=reasoning
        ),
        TEXTS,
        CALLS,
        st.sampled_from([None, "", "hm"]),
    ),
    st.builds(result, IDS),
)


@given(st.lists(TURNS, max_size=12))
def test_any_conversation_becomes_one_that_can_be_sent(messages: list[Message]) -> None:
    prepared = prepare(messages)
    assert prepare(tuple(prepared)) == prepared
    roles = [turn.role for turn in prepared]
    assert "system" not in roles[1:]
    ids = [call.id for turn in prepared for call in turn.tool_calls]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    expected: list[str] = []
    previous = None
    for turn in prepared:
        if turn.role == "tool":
            assert turn.tool_call_id == expected.pop(0)
        else:
            assert expected == []
            assert turn.role == "system" or turn.role != previous
            expected = [call.id for call in turn.tool_calls]
        previous = turn.role
        assert all(isinstance(from_json(call.arguments), dict) for call in turn.tool_calls)
        assert all(call.name for call in turn.tool_calls)
    assert expected == []


@given(st.lists(TURNS, max_size=12))
def test_only_open_calls_tell_the_two_preparations_apart(messages: list[Message]) -> None:
    opened, pending = prepare_open(messages)
    ids = {call.id for call in pending}
    assert opened == tuple(turn for turn in prepare(messages) if turn.tool_call_id not in ids)


@given(st.lists(TURNS, max_size=12))
def test_the_look_and_the_work_agree(messages: list[Message]) -> None:
    prepared = put_in_order(messages)
    unchanged = prepared == tuple(messages)
    assert unchanged or not is_in_order(messages)
    assert prepare(messages) == prepared


@given(st.lists(TURNS, max_size=12))
def test_nothing_is_done_twice(messages: list[Message]) -> None:
    prepared = put_in_order(
        [turn for turn in messages if "<" not in turn.text and "[" not in turn.text]
    )
    assert is_in_order(prepared)
