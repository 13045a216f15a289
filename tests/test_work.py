"""What costs how much, counted in calls of Python functions: never in seconds.

The bounds are a quarter above what was counted when they were set: a feature may move them, a
regex for every key of every reply may not pass unseen. `nox -s bench` measures the same in time.
"""

import gc
import math
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import anyio
import pytest
from pydantic_core import to_json

from rig import Client, Message, Reply, TextDelta, ToolCall, Usage, tool
from rig.agent import answering, asking
from rig.agent import run as agent_run
from rig.client.running import RunMixin
from rig.model import ChatRequest
from rig.testing import FakeBackend, ScriptedModel, repeat, reply
from rig.text.salvage import OfferedTool
from rig.transport.sockets import Connection
from rig.wire.anthropic.wire import MESSAGES
from rig.wire.chat_stream import ChatStream
from rig.wire.decode import decode_chat
from rig.wire.encode import encode_chat


def calls_of(work: Callable[[], object]) -> int:
    """How many Python functions are called, after a first time that fills caches."""
    work()
    count = 0

    def saw(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before, collects = sys.getprofile(), gc.isenabled()
    gc.disable()  # others have the collector call functions of theirs, hypothesis among them
    sys.setprofile(saw)
    try:
        work()
    finally:
        sys.setprofile(before)
        if collects:
            gc.enable()
    return count


@tool
async def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


ANSWER = to_json({
    "choices": [
        {"finish_reason": "stop", "index": 0, "message": {"role": "assistant", "content": "It is 42."}}
    ],
    "created": 1764500000,
    "model": "m",
    "object": "chat.completion",
    "usage": {"prompt_tokens": 63, "completion_tokens": 17, "total_tokens": 80},
    "timings": {"prompt_n": 63, "prompt_ms": 41.2, "predicted_n": 17, "predicted_ms": 211.9},
})  # fmt: skip


def conversation(rounds: int) -> tuple[Message, ...]:
    turns = [Message(role="user", content="Add.")]
    for number in range(rounds):
        call = ToolCall(id=f"c{number}", name="add", arguments='{"a": 40, "b": 2}')
        turns += [
            Message(role="assistant", tool_calls=(call,)),
            Message(role="tool", content="42", tool_call_id=call.id, name="add"),
        ]
    return tuple(turns)


def test_a_plain_answer_is_read_in_few_calls() -> None:
    assert calls_of(lambda: decode_chat(ANSWER)) <= 18


def test_a_plain_call_is_read_in_few_calls() -> None:
    assert calls_of(lambda: decode_chat(answers(2)[0].partition(b"\r\n\r\n")[2])) <= 31


def test_plain_prose_is_not_searched_for_calls() -> None:
    tools = [OfferedTool("add", {"type": "object"})]
    plain = calls_of(lambda: decode_chat(ANSWER))
    assert calls_of(lambda: decode_chat(ANSWER, tools=tools)) <= plain


def encoding(messages: Sequence[Message]) -> int:
    request = ChatRequest(model="m", messages=messages, max_tokens=8, tools=[add])
    return calls_of(lambda: encode_chat(request))


def test_a_request_is_written_in_few_calls_however_much_was_sent_before() -> None:
    assert encoding(conversation(8)) == encoding(conversation(32)) <= 15


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_message_is_written_in_few_calls(role: str) -> None:
    """Those that came with ids; `calls_of` works twice, so each time on messages of its own."""

    def writing(count: int) -> int:
        new = iter([[Message.made(role=role, content="a") for _ in range(count)] for _ in range(2)])
        return calls_of(
            lambda: encode_chat(ChatRequest(model="m", messages=next(new), max_tokens=8))
        )

    assert writing(11) - writing(1) <= 10 * 5


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_run_costs_calls_linear_in_its_rounds(backend: str) -> None:
    """Whatever a round does to the whole transcript would make 32 of them cost sixteen times 8."""

    def running(rounds: int) -> int:
        asks = [
            Reply(tool_calls=(ToolCall(id=f"c{number}", name="add", arguments=arguments),))
            for number in range(rounds - 1)
            for arguments in (f'{{"a": {number}, "b": 2}}',)
        ]

        async def run() -> None:
            model = ScriptedModel(*asks, "It is 42.")
            result = await model.run("Add.", tools=[add], max_tokens=8, max_iterations=rounds)
            assert result.iterations == rounds

        return calls_of(lambda: anyio.run(run, backend=backend))

    assert running(32) <= 4.5 * running(8)


def events(count: int, **changing: int) -> list[bytes]:
    texts = (f"word{number} " for number in range(count))
    deltas = [{"index": 0, "delta": {"content": text}, "finish_reason": None} for text in texts]
    heads = [
        {"id": "a", "model": "m", **{name: step * number for name, step in changing.items()}}
        for number in range(count)
    ]
    chunks = [head | {"choices": [delta]} for head, delta in zip(heads, deltas, strict=True)]
    return [b"data: " + to_json(chunk) + b"\n\n" for chunk in chunks]


def reading(datas: list[bytes], tools: Sequence[OfferedTool] = ()) -> int:
    def work() -> None:
        chat = ChatStream(max_response_bytes=1 << 20, tools=tools)
        for data in datas:
            chat.feed(data)

    return calls_of(work)


@pytest.mark.parametrize(
    "tools", [(), (OfferedTool("add", {"type": "object"}),)], ids=["", "tools"]
)
@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning_content": "word "},
        {"role": "assistant", "content": "", "reasoning": "word "},
        {"role": "assistant", "content": "word ", "tool_calls": None},
    ],
    ids=["thought", "thought beside an empty text", "text beside nothing"],
)
def test_a_thought_and_a_text_among_empty_fields_cost_as_few_calls_as_a_text(
    delta: dict[str, Any], tools: Sequence[OfferedTool]
) -> None:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
    event = b"data: " + to_json({"id": "a", "model": "m", "choices": [choice]}) + b"\n\n"
    few, many = (reading([event * count], tools) for count in (100, 1100))
    assert (many - few) / 1000 <= 1.2


@pytest.mark.parametrize(
    ("changing", "most"),
    [
        pytest.param({}, 1.2, id="alike"),
        pytest.param({"created": 1}, 25, id="changing in each event"),
    ],
)
def test_a_token_of_a_stream_costs_few_calls(changing: dict[str, int], most: int) -> None:
    few, many = (reading([b"".join(events(count, **changing))]) for count in (100, 1100))
    assert (many - few) / 1000 <= most


@pytest.mark.parametrize(
    ("kind", "field", "most"),
    [("text", "text", 1.2), ("thinking", "thinking", 1.2), ("input_json", "partial_json", 10)],
)
def test_a_piece_of_a_message_costs_as_few_calls(kind: str, field: str, most: float) -> None:
    call = {"type": "tool_use", "id": "c", "name": "add", "input": {}}
    begin = {"type": "content_block_start", "index": 0, "content_block": call}
    delta = {"type": f"{kind}_delta", field: "word "}
    piece = {"type": "content_block_delta", "index": 0, "delta": delta}
    first, event = (
        b"event: %b\ndata: %b\n\n" % (str(one["type"]).encode(), to_json(one))
        for one in (begin, piece)
    )

    def calls(count: int) -> int:
        def work() -> None:
            MESSAGES.stream(max_response_bytes=1 << 20).feed(first + event + event * count)

        return calls_of(work)

    assert (calls(1100) - calls(100)) / 1000 <= most


def test_a_token_of_a_stream_costs_no_more_where_tools_were_offered() -> None:
    tools = [OfferedTool("add", {"type": "object"})]
    few, many = (reading([b"".join(events(count))], tools) for count in (100, 1100))
    assert (many - few) / 1000 <= 1.2


def test_a_read_that_is_no_whole_event_costs_few_calls() -> None:
    few, many = reading(events(100)), reading(events(1100))
    assert (many - few) / 1000 <= 28


@pytest.mark.parametrize(
    ("tools", "most"),
    [((), 10), ((OfferedTool("add", {"type": "object"}),), 13)],
    ids=["", "tools"],
)
@pytest.mark.parametrize("delta", ["content", "reasoning_content"])
def test_a_token_that_comes_alone_costs_few_calls(
    delta: str, tools: Sequence[OfferedTool], most: int
) -> None:
    def alone(count: int) -> int:
        datas = [data.replace(b"content", delta.encode()) for data in events(count)]

        def work() -> None:
            chat = ChatStream(max_response_bytes=1 << 20, tools=tools)
            for data in datas:
                if chat.feed_one(data) is None:
                    chat.feed(data)

        return calls_of(work)

    assert (alone(1100) - alone(100)) / 1000 <= most


class Reads(Connection):
    """A connection whose reads are known: one for each item."""

    closed = answered = False
    settled = reusable = True

    def __init__(self, items: list[bytes]) -> None:
        self._items = iter(items)

    async def send(self, data: bytes, until: float = math.inf) -> bool:
        return True

    async def receive(self, max_bytes: int, until: float = math.inf) -> bytes | None:
        return next(self._items, b"")

    def close(self) -> None:
        pass


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("backend", "as_events", "most"),
    [("asyncio", False, 25), ("asyncio", True, 33), ("trio", False, 34), ("trio", True, 42)],
)
def test_a_read_that_brings_a_token_passes_few_functions(
    backend: str, as_events: bool, most: int
) -> None:
    """From the socket to who reads the deltas or the events of a run."""

    def streaming(count: int) -> int:
        async def run() -> None:
            async def connect(*_: object, **__: object) -> Connection:
                return Reads([HEAD, *(b"%x\r\n%b\r\n" % (len(one), one) for one in stream)])

            stream = [*events(count), b"data: [DONE]\n\n"]
            async with Client("http://model/v1") as client:
                client._http._opened().pool._connect = connect  # type: ignore[attr-defined] # the pool's own
                told = 0
                if as_events:
                    async with client.run_stream("a", model="m", max_tokens=8) as running:
                        async for event in running:
                            told += isinstance(event, TextDelta)
                else:
                    request = ChatRequest(model="m", messages=conversation(0), max_tokens=8)
                    async with client.stream(request) as reply:
                        async for delta in reply:
                            told += bool(delta.text)
                assert told == count

        return calls_of(lambda: anyio.run(run, backend=backend))

    few, many = streaming(100), streaming(600)
    assert (many - few) / 500 <= most


def test_counters_are_added_and_made_without_validation() -> None:
    usage = Usage(prompt_tokens=1, completion_tokens=2, total_tokens=3)
    assert calls_of(lambda: usage + usage) <= 6
    assert calls_of(lambda: Message.made(role="user", content="a")) <= 2


async def test_a_client_writes_the_head_of_its_requests_once() -> None:
    async with FakeBackend(repeat(reply("a"))).serve() as backend, Client(backend.url) as client:
        for _ in range(3):
            await client.run("a", model="m", max_tokens=8)
        route = client._http._opened()
        assert len(route._starts) == 1  # type: ignore[attr-defined] # the pool's own


def frames_of(coroutine: Any) -> int:
    """How many coroutines wait for each other below this one."""
    depth = 0
    while coroutine is not None and hasattr(coroutine, "cr_await"):
        depth += 1
        coroutine = coroutine.cr_await
    return depth


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_a_request_is_few_calls_and_few_frames_deep_and_opens_no_scope() -> None:
    """Each frame is half a kilobyte of every request under way, and two turns of every wake-up."""
    request = ChatRequest(model="m", messages=[Message(role="user", content="a")], max_tokens=8)
    counted = Counter[str]()
    depths: list[int] = []
    asking: Any = None

    def saw(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and (caller := frame.f_back) is not None:
            layer = Path(frame.f_code.co_filename).parent.name
            counted[layer] += 1
            if frame.f_code.co_qualname == "CancelScope.__enter__":
                counted[f"scopes of {Path(caller.f_code.co_filename).parent.name}"] += 1

    def answering(_request: Any) -> Any:
        depths.append(frames_of(asking))
        return reply("a")

    async with FakeBackend(repeat(answering)).serve() as backend, Client(backend.url) as client:
        await client.complete(request)
        asking = client.complete(request)
        depths.clear()
        sys.setprofile(saw)
        try:
            await asking
        finally:
            sys.setprofile(None)
    layers = ("client", "transport", "wire")
    assert sum(counted[layer] for layer in layers) <= 74
    assert [counted[f"scopes of {layer}"] for layer in layers] == [0, 0, 0]
    assert max(depths) <= 5


def answers(rounds: int) -> list[bytes]:
    """The answers of a model that calls a tool in each round but the last, each one read."""
    bodies = [
        to_json({
            "choices": [
                {"finish_reason": "tool_calls", "index": 0, "message": {"role": "assistant", "tool_calls": [
                    {"id": f"c{number}", "type": "function", "function": {
                        "name": "add", "arguments": f'{{"a": {number}, "b": 2}}'}}]}}
            ],
            "model": "m",
        })
        for number in range(rounds - 1)
    ]  # fmt: skip
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    return [head % len(body) + body for body in (*bodies, ANSWER)]


def running(backend: str, rounds: int) -> int:
    """The calls of a run of so many rounds, from the keywords to the socket and back."""

    async def run() -> None:
        async def connect(*_: object, **__: object) -> Connection:
            return Reads(answers(rounds))

        async with Client("http://model/v1") as client:
            client._http._opened().pool._connect = connect  # type: ignore[attr-defined] # the pool's own
            result = await client.run(
                "Add.", model="m", tools=[add], max_tokens=8, max_iterations=rounds
            )
            assert result.iterations == rounds

    return calls_of(lambda: anyio.run(run, backend=backend))


@pytest.mark.parametrize(("backend", "most"), [("asyncio", 205), ("trio", 285)])
def test_a_round_passes_few_functions(backend: str, most: int) -> None:
    """Request, answer and tool, from the keywords of `run` to the socket and back."""
    assert running(backend, 2) - running(backend, 1) <= most


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_round_of_a_long_run_costs_what_the_first_costs(backend: str) -> None:
    """Each request sends its whole history, and writes what is new in it."""
    assert running(backend, 32) <= 4.1 * running(backend, 8)


@pytest.mark.parametrize(("backend", "most"), [("asyncio", 57), ("trio", 115)])
def test_one_more_call_of_a_tool_passes_few_functions(backend: str, most: int) -> None:
    def calling(count: int) -> int:
        calls = [
            ToolCall(id=f"c{number}", name="add", arguments=f'{{"a": {number}, "b": 2}}')
            for number in range(count)
        ]

        async def run() -> None:
            model = ScriptedModel(Reply(tool_calls=tuple(calls)), "It is 42.")
            result = await model.run("Add.", tools=[add], max_tokens=8)
            assert len(result.tool_calls) == count

        return calls_of(lambda: anyio.run(run, backend=backend))

    assert (calling(17) - calling(1)) / 16 <= most


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_the_loop_itself_passes_few_functions() -> None:
    """What an agent costs beside what sends its requests: a request, a call, and the answer."""
    layers = Counter[str]()

    def saw(frame: FrameType, event: str, _argument: Any) -> None:
        layers[Path(frame.f_code.co_filename).parent.name] += event == "call"

    async def run() -> None:
        call = ToolCall.made(id="a", name="add", arguments='{"a": 40, "b": 2}')
        model = ScriptedModel(Reply(tool_calls=(call,)), "It is 42.")
        await model.run("Add.", tools=[add], max_tokens=8)

    await run()
    sys.setprofile(saw)
    try:
        await run()
    finally:
        sys.setprofile(None)
    assert layers["agent"] <= 115


async def test_a_tool_runs_in_the_task_of_its_run() -> None:
    tasks = []

    @tool
    async def look() -> str:
        """Look."""
        tasks.append(anyio.get_current_task().id)
        return "found"

    model = ScriptedModel(Reply(tool_calls=(ToolCall(id="a", name="look"),)), "b")
    await model.run("a", tools=[look], max_tokens=8)
    assert tasks == [anyio.get_current_task().id]


class Silent(RunMixin):
    """A model that calls a tool, and then says nothing for as long as nobody lets it."""

    default_model = "m"

    def __init__(self) -> None:
        self.waiting = 0
        self.go_on = anyio.Event()

    async def complete(self, request: ChatRequest, /) -> Reply:
        if request.messages[-1].role == "user":
            return Reply(tool_calls=(ToolCall.made(id="a", name="add", arguments='{"a":1,"b":2}'),))
        self.waiting += 1
        await self.go_on.wait()
        return Reply(text="It is 42.")


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_a_run_waits_for_its_model_few_coroutines_deep() -> None:
    running = Silent().run("Add.", tools=[add], max_tokens=8)
    running.send(None)
    depth = frames_of(running)
    running.close()
    assert depth == 3 + 3  # the run, its loop, its exchange; the model, and what waits for an event


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_a_run_that_waits_keeps_few_objects_alive() -> None:
    """What a collector of garbage looks through, again and again, where thousands of runs wait."""
    count, model = 50, Silent()

    async def run() -> None:
        await model.run("Add.", tools=[add], max_tokens=8)

    async with anyio.create_task_group() as tasks:
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(count):
            tasks.start_soon(run)
        await anyio.wait_all_tasks_blocked()
        assert model.waiting == count
        kept = (len(gc.get_objects()) - before) / count
        model.go_on.set()
    assert kept <= 70


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_a_request_under_way_keeps_few_objects_alive() -> None:
    """Above its connection: what a client holds of it, and the coroutines that wait for the answer."""
    count, go_on, waiting = 50, anyio.Event(), 0
    request = ChatRequest(model="m", messages=[Message(role="user", content="a")], max_tokens=8)

    class Late(Reads):
        async def receive(self, max_bytes: int, until: float = math.inf) -> bytes | None:
            nonlocal waiting
            waiting += 1
            await go_on.wait()
            return await super().receive(max_bytes, until)

    async def connect(*_: object, **__: object) -> Connection:
        return Late(answers(1))

    async with Client("http://model/v1") as client, anyio.create_task_group() as tasks:
        client._http._opened().pool._connect = connect  # type: ignore[attr-defined] # the pool's own
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(count):
            tasks.start_soon(client.complete, request)
        await anyio.wait_all_tasks_blocked()
        assert waiting == count
        kept = (len(gc.get_objects()) - before) / count
        go_on.set()
    assert kept <= 45


async def test_a_run_leaves_no_garbage_for_the_collector() -> None:
    async def run() -> None:
        model = ScriptedModel(Reply(tool_calls=(ToolCall(id="a", name="add"),)), "b")
        await model.run("a", tools=[add], max_tokens=8)

    await run()
    gc.collect()
    gc.disable()
    try:
        await run()
        assert gc.collect() <= 0
    finally:
        gc.enable()


async def test_events_that_nobody_hears_of_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(**_: object) -> None:
        raise AssertionError("nobody listens")

    for module, names in (
        (answering, ("ToolStarted", "ToolFinished")),
        (asking, ("RoundStarted", "ReplyReceived")),
        (agent_run, ("RunFinished",)),
    ):
        for name in names:
            monkeypatch.setattr(module, name, made)
    model = ScriptedModel(Reply(tool_calls=(ToolCall(id="a", name="add"),)), "b")
    await model.run("a", tools=[add], max_tokens=8)
