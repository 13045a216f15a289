"""A reply streamed through a format shows what it is without its calls, however it is cut into pieces."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.agent.format_stream import FormatStream
from rig.agent.formats import ToolFormat
from rig.agent.tool_formats import HEREDOC, JSON
from rig.agent.tools import tool
from rig.errors import InvalidRequestError, StreamCutError
from rig.messages import Usage
from rig.model import Delta, FinishReason, Reply
from rig.text.repetition import Repetition


@tool
async def look(what: str) -> str:
    """Look it up."""
    return what


@dataclass
class Inner:
    """A stream of given deltas."""

    deltas: Sequence[Delta]
    outcome: Reply | StreamCutError
    seen: list[Delta] = field(default_factory=list[Delta])

    @property
    def text(self) -> str:
        return "".join(delta.text for delta in self.seen)

    async def __aiter__(self) -> AsyncIterator[Delta]:
        for delta in self.deltas:
            self.seen.append(delta)
            yield delta
        if isinstance(self.outcome, StreamCutError):
            raise self.outcome

    def reply(self) -> Reply:
        assert isinstance(self.outcome, Reply)
        return self.outcome


def pieces(text: str, size: int) -> list[Delta]:
    return [Delta(text=text[at : at + size]) for at in range(0, len(text), size)]


async def streamed(
    form: ToolFormat, text: str, size: int, *, finish: FinishReason = "stop"
) -> tuple[list[Delta], Reply]:
    usage = Usage(prompt_tokens=3, completion_tokens=4)
    end = Delta(finish_reason=finish, usage=usage)
    inner = Inner([*pieces(text, size), end], Reply(text=text, finish_reason=finish, usage=usage))
    stream = FormatStream(inner, form, [look])
    deltas = [delta async for delta in stream]
    return deltas, stream.reply()


def shown(deltas: Sequence[Delta]) -> str:
    text = ""
    for delta in deltas:
        if delta.retracted:
            assert delta.retracted == text
            text = ""
        text += delta.text
    return text


HEREDOC_CALL = '@@call look\n{what: "a"}\n@@end\n'
JSON_CALL = '{"name": "look", "arguments": {"what": "a"}}'
OTHER_JSON_CALL = '{"name": "look", "arguments": {"what": "b"}}'
HERMES_CALL = f"<tool_call>\n{JSON_CALL}\n</tool_call>"
CASES: dict[str, tuple[ToolFormat, str, str, list[str]]] = {
    "a call": (HEREDOC, HEREDOC_CALL, "", ["heredoc"]),
    "prose and a call": (HEREDOC, f"I look.\n\n{HEREDOC_CALL}", "I look.", ["heredoc"]),
    "prose, a call, and prose": (HEREDOC, f"A\n{HEREDOC_CALL}B", "A\nB", ["heredoc"]),
    "only prose": (HEREDOC, "\n Two\n\nlines @@ here {x}. \n", "Two\n\nlines @@ here {x}.", []),
    "a call as the model learned it": (HEREDOC, f"I look.\n{HERMES_CALL}", "I look.", ["hermes"]),
    "a JSON call": (JSON, JSON_CALL, "", ["json"]),
    "a JSON call in a fence": (JSON, f"I look.\n```json\n{JSON_CALL}\n```\n", "I look.", ["json"]),
    "two JSON calls": (
        JSON,
        f"{JSON_CALL}\n{OTHER_JSON_CALL}",
        "",
        ["json", "json"],
    ),
    "JSON that is no call": (
        JSON,
        'It is {"a": 1}.\n{"b": [2]}',
        'It is {"a": 1}.\n{"b": [2]}',
        [],
    ),
    "code": (
        JSON,
        "So:\n```python\nx = [1]\n```\nDone.",
        "So:\n```python\nx = [1]\n```\nDone.",
        [],
    ),
    "nothing": (JSON, "", "", []),
}


@pytest.mark.parametrize("size", [1, 3, 7, 10_000])
@pytest.mark.parametrize(("form", "text", "wanted", "origins"), CASES.values(), ids=CASES)
async def test_what_is_shown_is_the_reply_and_no_call(
    form: ToolFormat, text: str, wanted: str, origins: list[str], size: int
) -> None:
    deltas, reply = await streamed(form, text, size)
    assert shown(deltas) == reply.text == wanted
    assert [call.origin for call in reply.tool_calls] == origins
    everything = "".join(delta.text for delta in deltas)
    for mark in ("@@call", '"name"', "<tool_call>"):
        assert mark not in everything
    finished = [
        (delta.tool_call.id, delta.tool_call.name, delta.tool_call.arguments)
        for delta in deltas
        if delta.tool_call is not None and delta.tool_call.stage == "finished"
    ]
    assert finished == [(call.id, call.name, call.arguments) for call in reply.tool_calls]
    assert [delta for delta in deltas if delta.finish_reason] == deltas[-1:]
    assert deltas[-1].finish_reason == ("tool_calls" if origins else "stop")
    assert deltas[-1].usage == reply.usage


@pytest.mark.parametrize("size", [1, 10_000])
async def test_a_call_that_was_cut_is_never_finished_and_never_shown(size: int) -> None:
    text = 'I look.\n@@call look\n{what: "a'
    deltas, reply = await streamed(HEREDOC, text, size, finish="length")
    assert (shown(deltas), reply.finish_reason) == ("I look.", "length")
    assert [delta.tool_call for delta in deltas if delta.tool_call] == []


async def test_a_thought_that_was_taken_for_text_is_taken_back() -> None:
    inner = Inner(
        [
            Delta(text="Hm, the call"),
            Delta(retracted="Hm, the call", reasoning="Hm, the call"),
            Delta(reasoning=" is"),
            Delta(text="Yes."),
            Delta(finish_reason="stop"),
        ],
        Reply(text="Yes.", reasoning="Hm, the call is"),
    )
    stream = FormatStream(inner, HEREDOC, [look])
    deltas = [delta async for delta in stream]
    assert shown(deltas) == stream.text == "Yes."
    assert "".join(delta.reasoning for delta in deltas) == "Hm, the call is"


async def test_a_loop_that_was_held_back_is_not_shown_at_the_end() -> None:
    text = "I look.\n" + HEREDOC_CALL * 9
    found = Repetition(where="content", period=29, reps=9, trailing=232, sample="@")
    inner = Inner(
        [*pieces(text, 5), Delta(finish_reason="repetition")],
        Reply(text=text, finish_reason="repetition", repetition=found),
    )
    stream = FormatStream(inner, HEREDOC, [look])
    deltas = [delta async for delta in stream]
    assert shown(deltas) == "I look."
    assert deltas[-1].finish_reason == "repetition"
    assert stream.reply().tool_calls == ()


async def test_there_is_no_reply_before_the_end_and_none_of_a_stream_that_broke() -> None:
    stream = FormatStream(Inner([Delta(text="a")], StreamCutError("cut")), JSON, [look])
    with pytest.raises(InvalidRequestError):
        stream.reply()
    with pytest.raises(StreamCutError):
        await anext(stream)
    with pytest.raises(InvalidRequestError):
        stream.reply()


@pytest.mark.parametrize("piece", [" ", "a", "a ", "\n"], ids=repr)
async def test_a_flood_is_shown_in_linear_work(piece: str) -> None:
    """A joined copy a delta would take minutes here."""
    count = 50_000
    deltas, _ = await streamed(JSON, piece * count, len(piece))
    assert len(deltas) <= count + 2


FRAGMENTS = [
    HEREDOC_CALL, JSON_CALL, HERMES_CALL, "@@call look", "@@end", "{what: 'a'}", "{", "}", "[", "]", ",",
    '{"name": "look"', '"arguments"', "```json", "```", "<tool_call>", "</tool_call>", "look", " ", "\n",
    "I look.", "@@", '{"a": 1}',
]  # fmt: skip


def finished(form: ToolFormat, text: str, size: int) -> tuple[list[Delta], Reply]:
    """The same without an event loop: nothing in it waits."""
    running = streamed(form, text, size)
    try:
        running.send(None)
    except StopIteration as end:
        made: tuple[list[Delta], Reply] = end.value
        return made
    raise AssertionError("it waited")


@given(
    form=st.sampled_from([HEREDOC, JSON]),
    text=st.lists(st.sampled_from(FRAGMENTS)).map("".join),
    size=st.integers(1, 9),
)
def test_whatever_comes_the_text_adds_up_to_that_of_the_reply(
    form: ToolFormat, text: str, size: int
) -> None:
    deltas, reply = finished(form, text, size)
    assert shown(deltas) == reply.text
    whole = form.reply(Reply(text=text), [look])
    assert (reply.text, reply.tool_calls) == (whole.text, whole.tool_calls)
