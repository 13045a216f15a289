"""A conversation between runs: always sendable, whatever is added, trimmed, kept and run."""

from typing import Any

import anyio
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from pydantic import BaseModel
from pydantic_core import from_json

from rig import (
    Client,
    ImagePart,
    InvalidRequestError,
    IterationLimitError,
    Message,
    Reply,
    RunResult,
    ServerError,
    Session,
    Skill,
    Termination,
    TextPart,
    Tool,
    ToolCall,
    tool,
)
from rig.agent.history import NO_RESULT, prepare
from rig.agent.pairing import pairing_problem
from rig.model import ChatRequest
from rig.testing import FakeBackend, ScriptedModel, reply


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def now() -> str:
    """Tell the time."""
    return "noon"


@tool(effect="write", confirm=True)
def delete(name: str) -> str:
    """Delete a file."""
    return f"deleted {name}"


def calls(*ids: str, name: str = "add") -> tuple[ToolCall, ...]:
    return tuple(ToolCall(id=one, name=name, arguments='{"a":1,"b":2}') for one in ids)


def shape(session: Session) -> list[tuple[object, ...]]:
    return [
        (turn.role, turn.content, *([turn.tool_call_id] if turn.role == "tool" else []))
        for turn in session.messages
    ]


# --- Adding ---


def test_a_session_keeps_what_was_said_in_order() -> None:
    session = Session("Be terse.", tools=[now, add], id="t1")
    session.add_user("hi")
    session.add_assistant("hello", tool_calls=calls("1", "2"))
    session.add_tool_result("2", "two")
    session.add_tool_result(session.pending[0], "one")
    assert shape(session) == [
        ("system", "Be terse."),
        ("user", "hi"),
        ("assistant", "hello"),
        ("tool", "two", "2"),
        ("tool", "one", "1"),
    ]
    assert session.messages[2].tool_calls == calls("1", "2")
    assert session.messages[3].name == "add"
    assert session.pending == ()
    assert session.tools == (now, add)
    assert session.id == "t1"


def test_an_empty_session_says_nothing() -> None:
    session = Session()
    assert (session.messages, session.tools, session.system, session.id) == ((), (), "", "")
    assert Session(" ").messages == ()


def test_parts_are_kept() -> None:
    image = ImagePart.from_bytes("image/png", b"x")
    turn = Session().add_user((TextPart(text="look"), image))
    assert turn.content == (TextPart(text="look"), image)


def test_two_user_turns_stay_two() -> None:
    session = Session()
    session.add_user("a")
    session.add_user("b")
    assert shape(session) == [("user", "a"), ("user", "b")]


def test_calls_without_ids_of_their_own_get_some() -> None:
    session = Session()
    first = session.add_assistant(tool_calls=calls("", "1", "1"))
    ids = [call.id for call in first.tool_calls]
    assert ids[1] == "1"
    assert len({*ids, ""}) == 4
    for one in ids:
        session.add_tool_result(one, "ok")
    again = session.add_assistant(tool_calls=calls("1"))
    assert again.tool_calls[0].id not in ids


def test_calls_nobody_answered_are_answered_when_somebody_else_speaks() -> None:
    session = Session()
    session.add_assistant(tool_calls=calls("1", "2"))
    session.add_tool_result("1", "ok")
    session.add_user("never mind")
    assert shape(session) == [
        ("assistant", ""),
        ("tool", "ok", "1"),
        ("tool", NO_RESULT, "2"),
        ("user", "never mind"),
    ]


@pytest.mark.parametrize("identity", ["2", "", "1"])
def test_a_result_needs_a_call_that_waits(identity: str) -> None:
    session = Session()
    session.add_assistant(tool_calls=calls("1"))
    session.add_tool_result("1", "ok")
    before = session.messages
    with pytest.raises(InvalidRequestError):
        session.add_tool_result(identity, "again")
    assert session.messages == before


def test_a_legacy_result_is_added_by_its_name() -> None:
    session = Session()
    session.add_user("a")
    session.add({"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}})
    (call,) = session.pending
    kept = session.add({"role": "function", "name": "f", "content": "1"})
    assert (kept.tool_call_id, session.pending) == (call.id, ())
    with pytest.raises(InvalidRequestError):
        session.add({"role": "function", "name": "f", "content": "2"})


def test_any_message_can_be_added() -> None:
    session = Session("one")
    session.add({"role": "system", "content": "two"})
    session.add(Reply(text="hi", tool_calls=calls("1")).message())
    session.add({"role": "tool", "tool_call_id": "1", "content": "ok"})
    session.add({"role": "user", "content": "x", "tool_calls": [{"name": "add"}]})
    assert shape(session) == [
        ("system", "one\n\ntwo"),
        ("assistant", "hi"),
        ("tool", "ok", "1"),
        ("user", "x"),
    ]
    assert session.messages[-1].tool_calls == ()


BAD: dict[str, Any] = {
    "system": lambda: Session(7),  # type: ignore[arg-type]  # the point
    "an id": lambda: Session(id=7),  # type: ignore[arg-type]  # the point
    "tools": lambda: Session(tools=["x"]),  # type: ignore[list-item]  # the point
    "two tools of one name": lambda: Session(tools=[add, add]),
    "messages": lambda: Session(messages=[7]),  # type: ignore[list-item]  # the point
    "a role": lambda: Session(messages=[{"role": "nobody"}]),
    "a message": lambda: Session().add(7),  # type: ignore[arg-type]  # the point
    "user content": lambda: Session().add_user(7),  # type: ignore[arg-type]  # the point
    "assistant content": lambda: Session().add_assistant(None),  # type: ignore[arg-type]  # the point
    "a part": lambda: Session().add_user([{"type": "video"}]),  # type: ignore[arg-type]  # the point
    "a system set": lambda: setattr(Session(), "system", None),
    "tools set": lambda: setattr(Session(), "tools", [add, add]),
    "no limit": lambda: Session().trim(),
    "a limit of 0": lambda: Session().trim(max_messages=0),
    "a limit that is no number": lambda: Session().trim(max_tokens="9"),  # type: ignore[arg-type]  # the point
    "a limit that is a flag": lambda: Session().trim(max_tokens=True),
}


@pytest.mark.parametrize("make", BAD.values(), ids=BAD)
def test_what_can_t_be_used_is_refused(make: Any) -> None:
    with pytest.raises(InvalidRequestError):
        make()


def test_given_messages_are_kept_where_they_are_in_order_and_mended_where_not() -> None:
    fine = [Message(role="user", content="a"), Message(role="user", content="b")]
    assert list(Session(messages=fine).messages) == fine
    broken: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": "9", "content": "orphan"},
        {"role": "user", "content": "a"},
        {"role": "system", "content": "late"},
        {"role": "assistant", "tool_calls": calls("1", "1")},
        {"role": "user", "content": "b"},
    ]
    session = Session("first", messages=broken)
    assert pairing_problem(session.messages[1:]) is None
    assert [turn.role for turn in session.messages] == [
        "system", "user", "assistant", "tool", "tool", "user",
    ]  # fmt: skip
    assert session.system == "first\n\nlate"


def test_the_system_prompt_and_the_tools_can_change() -> None:
    session = Session("one", tools=[add])
    session.add_user("hi")
    session.system, session.tools = "two", [now, delete]
    assert shape(session) == [("system", "two"), ("user", "hi")]
    assert session.tools == (now, delete)
    session.system = ""
    assert shape(session) == [("user", "hi")]


def test_what_is_said_is_not_shown() -> None:
    session = Session("SECRET", id="t1", tools=[add])
    session.add_user("SECRET")
    assert repr(session) == "Session(id='t1', messages=2, tools=1)"


# --- Extending ---


async def test_a_result_replaces_what_it_continues() -> None:
    model = ScriptedModel(Reply(tool_calls=calls("1")), "3", "4")
    session = Session("Be terse.")
    result = await model.run("1 + 2?", max_tokens=9, history=session.messages, tools=[add])
    session.extend(result)
    result = await model.run("2 + 2?", max_tokens=9, history=session.messages)
    session.extend(result)
    assert [turn.role for turn in session.messages] == [
        "system", "user", "assistant", "tool", "assistant", "user", "assistant",
    ]  # fmt: skip
    assert session.messages == result.messages


async def test_a_prompt_joined_to_a_user_turn_is_still_the_same_conversation() -> None:
    model = ScriptedModel("both")
    session = Session()
    session.add_user("a")
    session.extend(await model.run("b", max_tokens=9, history=session.messages))
    assert shape(session) == [("user", "a\n\nb"), ("assistant", "both")]


async def test_a_streamed_run_is_taken_over() -> None:
    model = ScriptedModel(Reply(tool_calls=calls("1")), "3")
    session = Session("s", tools=[add])
    async with model.run_stream(
        "1 + 2?", history=session.messages, tools=session.tools, max_tokens=9
    ) as stream:
        async for _ in stream:
            pass
    session.extend(stream.result())
    assert session.messages == stream.result().messages
    assert session.messages[-1].content == "3"


async def test_the_result_of_another_run_is_added() -> None:
    model = ScriptedModel("there")
    session = Session("mine")
    session.add_user("hi")
    session.add_assistant("hello")
    session.extend(await model.run("where?", max_tokens=9, system="another"))
    assert shape(session) == [
        ("system", "mine"),
        ("user", "hi"),
        ("assistant", "hello"),
        ("user", "where?"),
        ("assistant", "there"),
    ]


def test_a_result_without_messages_changes_nothing() -> None:
    session = Session(messages=[{"role": "user", "content": "hi"}])
    session.extend(RunResult())
    assert shape(session) == [("user", "hi")]


# --- Trimming ---


def long() -> Session:
    session = Session("s" * 40)
    for number in range(4):
        session.add_user(f"{number}" * 40)
        turn = session.add_assistant(tool_calls=calls("", ""))
        for call in turn.tool_calls:
            session.add_tool_result(call, "r" * 40)
        session.add_assistant("a" * 40)
    return session


def test_the_system_prompt_counts_and_stays() -> None:
    session = long()
    before = session.messages
    gone = session.trim(max_messages=11)
    assert len(session.messages) == 11
    assert session.messages == (before[0], *before[11:])
    assert gone == before[1:11]
    assert session.trim(max_messages=11) == ()


def test_a_cut_exchange_keeps_its_question() -> None:
    session = long()
    session.trim(max_messages=8)
    assert [turn.role for turn in session.messages] == [
        "system", "user", "assistant", "user", "assistant", "tool", "tool", "assistant",
    ]  # fmt: skip


def test_tokens_are_estimated_or_counted() -> None:
    session = long()
    gone = session.trim(max_tokens=10_000)
    assert gone == ()
    session.trim(max_tokens=120)
    assert 1 < len(session.messages) < 12
    session = long()
    asked: list[Message] = []

    def count(turn: Message) -> int:
        asked.append(turn)
        return 10

    session.trim(max_tokens=60, count=count)
    assert len(session.messages) == 6
    assert asked[0].role == "system"


def test_both_limits_hold() -> None:
    session = long()
    session.trim(max_messages=11, max_tokens=60, count=lambda _: 10)
    assert len(session.messages) == 6
    session = long()
    session.trim(max_messages=6, max_tokens=110, count=lambda _: 10)
    assert len(session.messages) == 6


def test_a_message_that_was_added_twice_is_forgotten_once() -> None:
    session, turn = Session(), Message(role="user", content="hi")
    for _ in range(3):
        session.add(turn)
    assert session.trim(max_messages=2) == (turn,)
    assert session.messages == (turn, turn)


def test_calls_that_wait_are_kept() -> None:
    session = long()
    waiting = session.add_assistant(tool_calls=calls("w"))
    session.trim(max_messages=1)
    assert session.messages[-1] == waiting
    assert session.pending == waiting.tool_calls


# --- Running ---


async def test_a_session_remembers() -> None:
    model = ScriptedModel(
        Reply(text="", tool_calls=calls("1"), reasoning="hm", reasoning_field="reasoning"), "3", "5"
    )
    session = Session("Be terse.", tools=[now, add])
    first = await session.run(model, "1 + 2?", max_tokens=64)
    second = await session.run(model, "plus 2?", max_tokens=64, temperature=0, tools=[add])
    assert (first.text, second.text) == ("3", "5")
    asked = model.requests[-1]
    assert [turn.role for turn in asked.messages] == [
        "system", "user", "assistant", "tool", "assistant", "user",
    ]  # fmt: skip
    assert [[one.name for one in request.tools] for request in model.requests] == [
        ["now", "add"],
        ["now", "add"],
        ["add"],
    ]
    assert asked.options.temperature == 0
    assert session.messages == second.messages
    assert session.tools == (now, add)


class Sum(BaseModel):
    value: int


async def test_an_answer_can_be_typed() -> None:
    session = Session()
    result = await session.run(ScriptedModel('{"value": 3}'), "1 + 2?", output=Sum, max_tokens=64)
    assert result.output == Sum(value=3)
    assert shape(session) == [("user", "1 + 2?"), ("assistant", '{"value": 3}')]


async def test_skills_of_a_run_leave_the_system_prompt_alone() -> None:
    session = Session("mine")
    model = ScriptedModel("a", "b", "c")
    skill = Skill(name="poems", description="Write poems.", body="Rhyme.")
    for _ in range(2):
        await session.run(model, "hi", max_tokens=9, skills=[skill])
    assert "poems" in str(model.requests[-1].messages[0].content)
    await session.run(model, "hi", max_tokens=9)
    assert session.system == "mine"
    assert [turn.content for turn in model.requests[-1].messages if turn.role == "system"] == [
        "mine"
    ]


async def test_a_failed_run_leaves_the_session_as_it_was_and_can_be_taken_over() -> None:
    model = ScriptedModel(Reply(tool_calls=calls("1")), "3")
    session = Session(tools=[add])
    with pytest.raises(IterationLimitError) as caught:
        await session.run(model, "1 + 2?", max_tokens=9, max_iterations=1)
    assert not session.messages
    assert caught.value.result is not None
    session.extend(caught.value.result)
    assert [turn.role for turn in session.messages] == ["user", "assistant", "tool"]
    result = await session.run(model, "", max_tokens=9)
    assert result.text == "3"


async def test_a_run_that_waits_for_a_confirmation_is_resumed() -> None:
    model = ScriptedModel(
        Reply(tool_calls=(ToolCall(id="1", name="delete", arguments='{"name":"a"}'),)), "done"
    )
    session = Session(tools=[delete])
    waits = await session.run(model, "delete a", max_tokens=9)
    assert waits.termination is Termination.NEEDS_CONFIRMATION
    assert session.pending == waits.pending
    session = Session.from_json(session.to_json(), tools=[delete])
    result = await session.run(
        model, "", max_tokens=9, approve=[call.id for call in session.pending]
    )
    assert result.text == "done"
    assert shape(session)[2] == ("tool", "deleted a", "1")


@pytest.mark.parametrize("name", ["history", "system"])
async def test_what_the_session_knows_can_t_be_given_again(name: str) -> None:
    session = Session()
    options: dict[str, Any] = {name: ""}
    with pytest.raises(InvalidRequestError, match=name):
        await session.run(ScriptedModel("x"), "hi", max_tokens=9, **options)
    await session.run(ScriptedModel("x"), "hi", max_tokens=9)


async def test_one_run_at_a_time() -> None:
    started, go_on = anyio.Event(), anyio.Event()

    async def slow(_: ChatRequest) -> str:
        started.set()
        await go_on.wait()
        return "first"

    session = Session("s", tools=[add])
    model = ScriptedModel(slow, "second")

    async def first() -> None:
        await session.run(model, "one", max_tokens=9)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(first)
        with anyio.fail_after(5):
            await started.wait()
        with pytest.raises(InvalidRequestError):
            await session.run(model, "two", max_tokens=9)
        forbidden = (
            lambda: session.add_user("x"),
            lambda: session.extend(RunResult()),
            lambda: session.trim(max_messages=1),
            lambda: setattr(session, "system", ""),
            lambda: setattr(session, "tools", ()),
        )
        for change in forbidden:
            with pytest.raises(InvalidRequestError):
                change()
        assert session.messages[-1].role == "system"
        go_on.set()
    assert (await session.run(model, "two", max_tokens=9)).text == "second"
    assert [turn.content for turn in session.messages] == ["s", "one", "first", "two", "second"]


async def test_a_cancelled_run_leaves_the_session_free() -> None:
    async def never(_: ChatRequest) -> str:
        scope.cancel()
        await anyio.sleep_forever()
        return ""

    session = Session()
    model = ScriptedModel(never, "hi")
    with anyio.CancelScope() as scope:
        await session.run(model, "one", max_tokens=9)
    assert not session.messages
    assert (await session.run(model, "two", max_tokens=9)).text == "hi"


async def test_over_the_wire_a_session_is_what_it_says() -> None:
    backend = FakeBackend(
        reply(tool_calls=[("add", {"a": 1, "b": 2})], reasoning="I add."),
        reply("3"),
        reply("thanks"),
    )
    session = Session("Be terse.", tools=[add])
    async with backend.serve(), Client(backend.url, model="m") as client:
        await session.run(client, "1 + 2?", max_tokens=9)
        session = Session.from_json(session.to_json(), tools=[add])
        await session.run(client, "thanks \u2028\U0001f600", max_tokens=9)
    sent = backend.requests[-1].json["messages"]
    assert [turn["role"] for turn in sent] == [
        "system", "user", "assistant", "tool", "assistant", "user",
    ]  # fmt: skip
    assert sent[3]["tool_call_id"] == sent[2]["tool_calls"][0]["id"]
    assert sent[5]["content"] == "thanks \u2028\U0001f600"


async def test_an_error_of_the_server_comes_out_as_it_is() -> None:
    session = Session()
    with pytest.raises(ServerError):
        await session.run(ScriptedModel(ServerError("no", status=500)), "hi", max_tokens=9)
    assert not session.messages


# --- Keeping ---


def test_a_session_survives_being_kept() -> None:
    session = long()
    session.id = "\u2028"
    session.add_assistant(tool_calls=calls("w1", "w2"))
    session.add_tool_result("w2", "ok")
    text = session.to_json()
    again = Session.from_json(text, tools=[add])
    assert (again.id, again.messages, again.pending) == (
        session.id,
        session.messages,
        session.pending,
    )
    assert again.to_json() == text == Session.from_json(text.encode()).to_json()
    assert again.tools == (add,)
    assert Session.from_json(text).tools == ()


def test_tools_are_not_kept() -> None:
    session = Session(tools=[add])
    assert set(from_json(session.to_json())) == {"version", "id", "system", "messages"}


@pytest.mark.parametrize(
    "text", ["", "{}", b"\xff", '{"version":1,"id":"","system":"","messages":[7]}']
)
def test_what_is_no_session_is_refused(text: str | bytes) -> None:
    with pytest.raises(InvalidRequestError):
        Session.from_json(text)


def test_a_large_text_is_refused() -> None:
    text = long().to_json()
    with pytest.raises(InvalidRequestError):
        Session.from_json(text, max_bytes=len(text) - 1)


# --- Whatever is done with it ---


class Conversations(RuleBasedStateMachine):
    """Everything that can be done with a session, but running."""

    @initialize(system=st.sampled_from(["", "s"]))
    def begin(self, system: str) -> None:
        self.session = Session(system, tools=(add,))

    @rule(text=st.sampled_from(["", "a", "\u2028"]))
    def user(self, text: str) -> None:
        self.session.add_user(text)

    @rule(
        text=st.sampled_from(["", "b"]), ids=st.lists(st.sampled_from(["", "1", "2"]), max_size=3)
    )
    def assistant(self, text: str, ids: list[str]) -> None:
        self.session.add_assistant(text, tool_calls=calls(*ids))

    @precondition(lambda self: self.session.pending)
    @rule(last=st.booleans())
    def result(self, last: bool) -> None:
        self.session.add_tool_result(self.session.pending[-1 if last else 0], "ok")

    @rule(limit=st.integers(1, 8))
    def trim(self, limit: int) -> None:
        before = self.session.messages
        gone = self.session.trim(max_messages=limit)
        assert len(gone) + len(self.session.messages) == len(before)
        assert self.session.messages[-1:] == before[-1:]

    @rule()
    def keep(self) -> None:
        text = self.session.to_json()
        again = Session.from_json(text, tools=self.session.tools)
        assert again.messages == self.session.messages
        assert again.to_json() == text
        self.session = again

    @rule(text=st.sampled_from(["c", ""]))
    def run(self, text: str) -> None:
        said = [
            *self.session.messages,
            Message(role="user", content="q"),
            Message(role="assistant", content=text),
        ]
        self.session.extend(RunResult(messages=prepare(said)))

    @invariant()
    def in_order(self) -> None:
        turns = [turn for turn in self.session.messages if turn.role != "system"]
        assert pairing_problem(turns) is None
        results = [turn.content for turn in prepare(turns) if turn.role == "tool"]
        unsaid = len(self.session.pending)
        assert len(results) == sum(turn.role == "tool" for turn in turns) + unsaid


def test_any_order_of_adding_trimming_and_keeping_leaves_a_conversation_in_order() -> None:
    run_state_machine_as_test(
        Conversations, settings=settings(max_examples=100, stateful_step_count=30)
    )


def test_types_of_tools_are_kept() -> None:
    one: Tool = add
    assert Session(tools=iter([one])).tools == (one,)
