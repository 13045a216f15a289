"""Runs whose history does not fit the window: made smaller, told of, and never the end of the run."""

from typing import Any

import anyio.lowlevel
import pytest

from rig.agent.budget import Budget
from rig.agent.capabilities import Capabilities
from rig.agent.compaction import Compaction
from rig.agent.history import prepare
from rig.agent.pairing import pairing_problem
from rig.agent.request import RunRequest
from rig.agent.run import run
from rig.agent.summary import END, LEFT_OUT, START
from rig.agent.tools import Tool
from rig.errors import InputTooLargeError, RigError, ServerError, ToolError
from rig.events import HistoryCompacted, RunEvent, RunResult
from rig.messages import Message, ToolCall, Usage
from rig.model import ChatRequest, Reply
from rig.testing import ScriptedModel

PAGE = "word " * 400  # about 500 tokens


def calling(*names: str, **fields: Any) -> Reply:
    made = tuple(ToolCall(id=f"{name}{at}", name=name) for at, name in enumerate(names))
    return Reply(tool_calls=made, finish_reason="tool_calls", **fields)


class Reader:
    """A tool whose every result is another page."""

    def __init__(self) -> None:
        self.count = 0
        self.tool = Tool("read", "Read the next page.", None, self._run)

    async def _run(self, _: dict[str, Any]) -> str:
        self.count += 1
        await anyio.lowlevel.checkpoint()
        return f"page {self.count} {PAGE}"


def is_summary(request: ChatRequest) -> bool:
    return request.options.response_format is not None


class Agent:
    """A model that reads pages, answers at last, and writes summaries in between; with a window."""

    def __init__(
        self, pages: int, *, window: int = 0, summary: Any = '{"summary": "S"}', **error: Any
    ) -> None:
        self.pages = pages
        self.window = window
        self.summary = summary
        self.error = error
        self.refused = 0
        self.asked: list[ChatRequest] = []
        self.summaries: list[ChatRequest] = []
        self.model = ScriptedModel(*[self._answer] * 100)

    def _answer(self, request: ChatRequest) -> Reply:
        if is_summary(request):
            self.summaries.append(request)
            if isinstance(self.summary, RigError):
                raise self.summary
            usage = Usage(prompt_tokens=100, completion_tokens=5)
            return Reply(text=self.summary, usage=usage)
        size = sum(len(turn.text) for turn in request.messages) // 4
        if self.window and size > self.window:
            self.refused += 1
            error = InputTooLargeError("too large")
            for name, value in self.error.items():
                setattr(error, name, value)
            raise error
        self.asked.append(request)
        if len(self.asked) <= self.pages:
            return calling("read", usage=Usage(prompt_tokens=size, completion_tokens=10))
        return Reply(text="done", usage=Usage(prompt_tokens=size, completion_tokens=1))


async def ask(agent: Agent, **fields: Any) -> tuple[RunResult[Any], list[HistoryCompacted]]:
    told: list[RunEvent] = []
    given = {"max_tokens": 100, "tools": [Reader().tool], "max_iterations": 32, **fields}
    request = RunRequest("What is on the pages?", system="Be brief.", on_event=told.append, **given)
    result = await run(agent.model, request)
    return result, [event for event in told if isinstance(event, HistoryCompacted)]


def check_sent(agent: Agent, window: int | None = None) -> None:
    for request in agent.asked:
        turns = [turn for turn in request.messages if turn.role != "system"]
        assert pairing_problem(turns) is None
        assert request.messages[0].text.startswith("Be brief.")
        assert turns[0].text.startswith("What is on the pages?")
        if window:
            assert sum(len(turn.text) for turn in request.messages) // 4 <= window


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("tool_format", ["native", "json"])
async def test_old_rounds_become_a_summary_before_the_window_is_full(
    stream: bool, tool_format: Any
) -> None:
    if tool_format == "json":
        agent = Agent(0)
        history = history_of(8)
    else:
        agent, history = Agent(8), ()
    compaction = Compaction(context_tokens=3000)
    result, told = await ask(
        agent, compaction=compaction, stream=stream, tool_format=tool_format, history=history
    )
    assert result.text == "done"
    check_sent(agent, 3000)
    assert told
    assert all(event.how == "summarised" for event in told)
    assert all(event.after_tokens < event.before_tokens for event in told)
    assert result.compactions == len(told) == len(agent.summaries)
    first = result.messages[1]
    assert START in first.text
    assert END in first.text
    assert START not in result.messages[0].text
    assert prepare(tuple(result.messages)) == result.messages


def history_of(pages: int) -> tuple[Message, ...]:
    turns = [Message(role="user", content="What is on the pages?")]
    for at in range(pages):
        call = ToolCall(id=f"h{at}", name="read")
        turns += [
            Message(role="assistant", tool_calls=(call,)),
            Message(role="tool", content=PAGE, tool_call_id=call.id, name="read"),
        ]
    return tuple(turns)


async def test_what_was_done_since_stays_whole() -> None:
    agent = Agent(8)
    await ask(agent, compaction=Compaction(context_tokens=3000))
    for request in agent.asked[3:]:
        results = [turn.text for turn in request.messages if turn.role == "tool"]
        assert len(results) >= 2
        assert all(PAGE in text for text in results)
    assert "page 1 word" in agent.summaries[0].messages[1].text


async def test_what_a_summary_cost_is_usage_and_no_round() -> None:
    agent = Agent(8)
    result, _ = await ask(
        agent, compaction=Compaction(context_tokens=3000), budget=Budget(tokens=100_000)
    )
    assert result.iterations == 9
    assert result.spent is not None
    assert result.spent.calls == 9 + len(agent.summaries)
    assert result.spent.tokens == result.usage.total_tokens


@pytest.mark.parametrize(
    ("summary", "problem"),
    [
        (ServerError("down"), "server_error"),
        ("", "empty"),
        ('{"summary": "S', "not_json"),
        ("x" * 9000, "too_long"),
    ],
    ids=["an error", "nothing", "broken", "too long"],
)
async def test_without_a_summary_old_rounds_are_left_out(summary: Any, problem: str) -> None:
    agent = Agent(8, summary=summary)
    result, told = await ask(agent, compaction=Compaction(context_tokens=3000))
    assert result.text == "done"
    check_sent(agent, 3000)
    assert {(event.how, event.summary_error) for event in told} == {("dropped", problem)}
    assert LEFT_OUT in result.messages[1].text


async def test_a_summary_the_budget_can_not_pay_is_done_without() -> None:
    agent = Agent(0)
    result, told = await ask(
        agent,
        compaction=Compaction(context_tokens=3000),
        budget=Budget(calls=1),
        history=history_of(8),
    )
    assert result.text == "done"
    assert [(event.how, event.summary_error) for event in told] == [("dropped", "budget_exceeded")]


async def test_summaries_can_be_switched_off() -> None:
    agent = Agent(8)
    result, told = await ask(agent, compaction=Compaction(context_tokens=3000, summarise=False))
    assert result.text == "done"
    assert agent.summaries == []
    assert {(event.how, event.summary_error) for event in told} == {("dropped", "")}


async def test_another_model_may_write_the_summary() -> None:
    agent = Agent(8)
    await ask(agent, compaction=Compaction(context_tokens=3000, summary_model="tiny"), model="m")
    assert {request.model for request in agent.summaries} == {"tiny"}
    assert {request.model for request in agent.asked} == {"m"}


async def test_results_larger_than_the_window_are_cut() -> None:
    async def read(_: dict[str, Any]) -> str:
        await anyio.lowlevel.checkpoint()
        return PAGE * 5

    agent = Agent(2)
    result, told = await ask(
        agent,
        tools=[Tool("read", "Read it.", None, read)],
        compaction=Compaction(context_tokens=1500),
    )
    assert result.text == "done"
    check_sent(agent, 1500)
    assert "shortened" in {event.how for event in told}


# Where the window is known from


@pytest.mark.parametrize(
    "error",
    [
        {},
        {"context_tokens": 2000},
        {"prompt_tokens": 2600},
        {"context_tokens": 2000, "prompt_tokens": 2600},
    ],
    ids=str,
)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_a_refused_prompt_is_sent_again_smaller(error: dict[str, int], stream: bool) -> None:
    agent = Agent(8, window=2000, **error)
    result, told = await ask(agent, compaction=Compaction(), stream=stream)
    assert result.text == "done"
    assert agent.refused >= 1
    assert told
    if "context_tokens" in error:
        assert agent.refused == 1  # from then on it is made smaller before
    assert result.iterations == 9


async def test_where_an_answer_is_wanted_it_is_so_without_being_told() -> None:
    result, told = await ask(Agent(8, window=2000), on_limit="answer")
    assert result.text == "done"
    assert told


async def test_otherwise_a_refused_prompt_is_the_end() -> None:
    agent = Agent(8, window=2000)
    with pytest.raises(InputTooLargeError) as caught:
        await ask(agent)
    assert caught.value.result is not None
    assert caught.value.result.iterations > 0
    with pytest.raises(InputTooLargeError):
        await ask(Agent(8, window=2000), on_limit="answer", compaction=Compaction.off())


async def test_what_can_not_be_made_smaller_ends_with_the_refusal() -> None:
    agent = Agent(8, window=1)
    with pytest.raises(InputTooLargeError):
        await ask(agent, compaction=Compaction())
    assert 1 <= agent.refused <= 9


async def test_a_run_makes_its_history_smaller_only_so_often() -> None:
    agent = Agent(25)
    result, told = await ask(agent, compaction=Compaction(context_tokens=3000, max_times=2))
    assert len(told) == 2
    assert result.text == "done"


class Knowing(ScriptedModel):
    """Knows its window, as a client does."""

    def __init__(self, agent: Agent, window: int | RigError | None) -> None:
        super().__init__(*[agent._answer] * 100)
        self.window = window
        self.inquiries: list[str | None] = []

    async def context_window(self, model: str | None = None) -> int | None:
        self.inquiries.append(model)
        await anyio.lowlevel.checkpoint()
        if isinstance(self.window, RigError):
            raise self.window
        return self.window


@pytest.mark.parametrize(
    ("window", "smaller"), [(3000, True), (None, False), (ServerError("down"), False)], ids=str
)
async def test_the_server_is_asked_for_its_window_once_and_may_not_know(
    window: Any, smaller: bool
) -> None:
    agent = Agent(8)
    agent.model = Knowing(agent, window)
    _, told = await ask(agent, compaction=Compaction(), model="m")
    assert bool(told) is smaller
    assert agent.model.inquiries == ["m"]


async def test_a_small_prompt_asks_nobody() -> None:
    agent = Agent(1)
    agent.model = Knowing(agent, 3000)
    await ask(agent, compaction=Compaction())
    assert agent.model.inquiries == []


async def test_a_run_that_is_not_told_to_asks_nobody_either() -> None:
    agent = Agent(8)
    agent.model = Knowing(agent, 3000)
    await ask(agent, on_limit="answer")
    assert agent.model.inquiries == []


async def test_a_profile_knows_the_window() -> None:
    agent = Agent(8)
    _, told = await ask(agent, on_limit="answer", profile=Capabilities(context_tokens=3000))
    assert told
    check_sent(agent, 3000)


async def test_a_prompt_that_was_cut_in_silence_is_made_smaller_from_then_on() -> None:
    seen: list[int] = []

    def answer(request: ChatRequest) -> Reply:
        if is_summary(request):
            return Reply(text="S")
        size = sum(len(turn.text.split()) for turn in request.messages)
        seen.append(size)
        usage = Usage(prompt_tokens=min(size, 2048), completion_tokens=1)
        return calling("read", usage=usage) if len(seen) < 12 else Reply(text="b", usage=usage)

    agent = Agent(0)
    agent.model = ScriptedModel(*[answer] * 40)
    result, told = await ask(agent, compaction=Compaction())
    assert result.text == "b"
    assert told
    assert max(seen[7:]) <= 2048


# Going on


async def test_the_transcript_can_be_gone_on_with() -> None:
    agent = Agent(8)
    first, _ = await ask(agent, compaction=Compaction(context_tokens=3000))
    second, told = await ask(
        Agent(8), history=first.messages, compaction=Compaction(context_tokens=3000)
    )
    assert second.text == "done"
    assert told
    assert second.messages[1].text.count(START) == 1


async def test_calls_that_wait_stay_pending() -> None:
    erase = Tool("erase", "Erase it.", None, lambda _: "gone", confirm=True)
    model = ScriptedModel('{"summary": "S"}', calling("erase"))
    result: RunResult[Any] = await run(
        model,
        RunRequest(
            "Erase it.",
            max_tokens=100,
            tools=[erase],
            history=history_of(8),
            compaction=Compaction(context_tokens=3000),
        ),
    )
    assert [call.name for call in result.pending] == ["erase"]
    assert result.compactions == 1


async def test_an_error_after_it_carries_the_smaller_transcript() -> None:
    async def fail(_: dict[str, Any]) -> str:
        await anyio.lowlevel.checkpoint()
        raise ToolError("gone", fatal=True)

    model = ScriptedModel('{"summary": "S"}', calling("fail"))
    with pytest.raises(ToolError) as caught:
        await run(
            model,
            RunRequest(
                "Go on.",
                max_tokens=100,
                tools=[Tool("fail", "Fail.", None, fail)],
                history=history_of(8),
                compaction=Compaction(context_tokens=3000),
            ),
        )
    result = caught.value.result
    assert result is not None
    assert result.compactions == 1
    assert START in result.messages[0].text


@pytest.mark.parametrize("window", [0, -5, True, 63, "8192", 8192.5, [8192]], ids=repr)
async def test_a_window_that_is_none_takes_nothing_away(window: Any) -> None:
    class Telling(ScriptedModel):
        async def context_window(self, _model: str) -> Any:
            return window

    agent = Agent(0)
    agent.model = Telling(*[agent._answer] * 9)
    _, told = await ask(agent, history=history_of(8), compaction=Compaction())
    assert told == []


@pytest.mark.parametrize(
    "summary", [ServerError("down"), '{"summary": "S"}'], ids=["failed", "written"]
)
@pytest.mark.parametrize("known", [True, False], ids=["known window", "refused"])
async def test_usage_is_reported_where_every_reply_told_of_its_own(
    summary: Any, known: bool
) -> None:
    agent = Agent(0, window=1500, summary=summary)
    compaction = Compaction(context_tokens=1500 if known else None)
    result, told = await ask(agent, history=history_of(8), compaction=compaction)
    assert told
    assert result.usage.reported
    asked = sum(len(turn.text) for turn in agent.asked[-1].messages) // 4
    assert result.usage.total == asked + 1 + (0 if isinstance(summary, RigError) else 105)


async def test_each_step_tells_what_it_alone_made_of_the_history() -> None:
    agent = Agent(0)
    compaction = Compaction(context_tokens=1000, summarise=False)
    _, told = await ask(agent, history=history_of(8), compaction=compaction)
    assert [event.how for event in told] == ["dropped", "shortened"]
    assert told[0].before_tokens > told[0].after_tokens == told[1].before_tokens
    assert told[1].before_tokens > told[1].after_tokens
