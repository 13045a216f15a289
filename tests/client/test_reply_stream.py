"""`client.stream` over sockets: what is handed out, what is an error, and what is left behind."""

import tracemalloc
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, cast

import anyio
import anyio.lowlevel
import httpx
import pytest

import rig.client.reply_stream
from rig import (
    ChatOptions,
    ChatRequest,
    Client,
    Delta,
    EmptyReplyError,
    InputTooLargeError,
    InvalidRequestError,
    Message,
    NotConfiguredError,
    ProtocolError,
    RateLimitedError,
    RefusedError,
    RepetitionGuard,
    Reply,
    RequestTimeoutError,
    ResponseTooLargeError,
    RetryEvent,
    RetryPolicy,
    RigError,
    ServerError,
    StreamCutError,
    Timeouts,
    UnauthorizedError,
)
from rig.client.loop_watch import LoopWatch
from rig.client.reply_stream import TAIL_S, ClientReplyStream
from rig.messages import Usage
from rig.testing import (
    Answer,
    Close,
    FakeBackend,
    Hang,
    Pause,
    Reset,
    Until,
    answer,
    call_deltas,
    chunk,
    encode_event,
    faults,
    head,
    raw,
    repeat,
    reply,
    sse,
    stream,
)
from rig.testing.answers import LazySteps
from rig.transport.http import StreamResponse
from rig.wire.chat_stream import ChatStream

HELLO = ChatRequest(model="m", messages=(Message(role="user", content="hi"),), max_tokens=8)
FAST = RetryPolicy(initial_s=0.001)
BLOCK = "EXCLUSIVE OF THE EASTERLY 100 FEET OF SAID LOTS 7 TO 10, "
SSE_HEAD = head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})


@asynccontextmanager
async def asking(*answers: Any, **options: Any) -> AsyncGenerator[tuple[Client, FakeBackend]]:
    backend = FakeBackend(*answers)
    async with backend.serve(), Client(backend.url, **({"retry": FAST} | options)) as client:
        yield client, backend


async def streamed(client: Client, request: ChatRequest = HELLO) -> tuple[Reply, list[Delta]]:
    """One whole stream; what its deltas add up to must be what its reply says."""
    async with client.stream(request) as replies:
        deltas = [delta async for delta in replies]
        result = replies.reply()
        assert result.text == replies.text == visible(deltas)
    assert [delta.finish_reason is not None for delta in deltas].count(True) == 1
    assert deltas[-1].finish_reason == result.finish_reason
    return result, deltas


def visible(deltas: list[Delta]) -> str:
    text = ""
    for delta in deltas:
        if delta.retracted:
            assert delta.retracted == text
            text = ""
        text += delta.text
    return text


def timeless(result: Reply) -> Reply:
    usage = result.usage.model_copy(update={"latency_s": 0.0, "time_to_first_token_s": None})
    return Reply(
        **{name: getattr(result, name) for name in Reply.__slots__ if name != "usage"}, usage=usage
    )


def event(delta: dict[str, object], finish: str | None = None) -> bytes:
    return encode_event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def idle(client: Client) -> int:
    count: int = cast("Any", client._http._route).pool.idle
    return count


def in_use(client: Client) -> int:
    count: int = cast("Any", client._http._route).pool.in_use
    return count


# --- A reply, the same as without streaming ---

SAME: dict[str, tuple[Answer, Answer]] = {
    "text": (stream("Hel", "lo ", "wor", "ld"), reply("Hello world")),
    "no usage": (stream("a", usage=None), reply("a", usage=None)),
    "reasoning in a field": (
        stream({"reasoning_content": "hm"}, {"reasoning_content": ", so"}, "4"),
        reply("4", reasoning="hm, so"),
    ),
    "reasoning in tags": (stream("<th", "ink>hm</t", "hink>4"), reply("<think>hm</think>4")),
    "a call": (
        stream(*call_deltas(("add", {"a": 1, "b": 2}))),
        reply(tool_calls=[("add", {"a": 1, "b": 2})], finish_reason="stop"),
    ),
    "text and two calls": (
        stream("let me", *call_deltas(("add", {"a": 1}), ("mul", {"b": "x" * 50}))),
        reply(
            "let me", tool_calls=[("add", {"a": 1}), ("mul", {"b": "x" * 50})], finish_reason="stop"
        ),
    ),
    "cut at max_tokens": (
        stream("half a sen", finish_reason="length"),
        reply("half a sen", finish_reason="length"),
    ),
    "a call cut at max_tokens": (
        stream(*call_deltas(("add", '{"a": 1')), finish_reason="length"),
        reply(tool_calls=[("add", '{"a": 1')], finish_reason="length"),
    ),
    "refused": (
        stream("", finish_reason="content_filter"),
        reply("", finish_reason="content_filter"),
    ),
}


@pytest.mark.parametrize(("streams", "whole"), SAME.values(), ids=SAME.keys())
async def test_a_streamed_reply_is_the_reply(streams: Answer, whole: Answer) -> None:
    async with asking(streams, whole, whole) as (client, backend):
        from_stream, _ = await streamed(client)
        expected = await client.complete(HELLO)
        from_plain_answer, _ = await streamed(client)
        assert idle(client) == backend.connections.opened
    assert timeless(from_stream) == timeless(expected)
    assert timeless(from_plain_answer) == timeless(expected)


@pytest.mark.parametrize(
    "answers",
    [stream(), reply(""), reply("", reasoning="hm"), stream({"reasoning_content": "hm"})],
    ids=["streamed", "whole", "whole, with a thought", "streamed, with a thought"],
)
async def test_an_empty_reply_is_an_error_with_its_thoughts(answers: Answer) -> None:
    async with asking(answers) as (client, backend):
        with pytest.raises(EmptyReplyError) as caught:
            await streamed(client)
        assert caught.value.usage is not None
        assert caught.value.usage.total_tokens == 15
        assert len(backend.requests) == 1
        assert in_use(client) == 0
    assert caught.value.__context__ is None


async def test_deltas_come_while_the_model_writes() -> None:
    second, third = anyio.Event(), anyio.Event()
    waiting = stream({"reasoning_content": "hm"}, Until(second), "one ", Until(third), "two")
    async with asking(waiting) as (client, _):
        async with client.stream(HELLO) as replies:
            deltas = aiter(replies)
            assert await anext(deltas) == Delta(reasoning="hm")
            second.set()
            assert await anext(deltas) == Delta(text="one")
            assert replies.text == "one"
            third.set()
            assert [delta.text async for delta in deltas] == [" two", ""]


async def test_the_request_says_that_it_streams_and_asks_for_the_usage() -> None:
    async with asking(stream("a")) as (client, backend):
        result, deltas = await streamed(client)
    body = backend.requests[0].json
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}
    assert backend.requests[0].header("accept-encoding") == "identity"
    assert deltas[-1].usage == result.usage
    assert result.usage.total_tokens == 15
    assert result.usage.time_to_first_token_s is not None
    assert 0 < result.usage.time_to_first_token_s <= result.usage.latency_s


async def test_none_in_extra_body_leaves_out_what_a_server_refuses() -> None:
    request = ChatRequest(
        model="m",
        messages=HELLO.messages,
        max_tokens=8,
        options=ChatOptions(extra_body={"stream_options": None}),
    )
    async with asking(stream("a", usage=None)) as (client, backend):
        await streamed(client, request)
    assert "stream_options" not in backend.requests[0].json


async def test_a_trace_id_goes_along() -> None:
    request = ChatRequest(
        model="m", messages=HELLO.messages, max_tokens=8, options=ChatOptions(trace_id="t-1")
    )
    async with asking(stream("a")) as (client, backend):
        await streamed(client, request)
    assert backend.requests[0].header("x-trace-id") == "t-1"


async def test_what_is_missing_is_told_before_anything_is_sent() -> None:
    async with asking() as (client, backend):
        with pytest.raises(NotConfiguredError):
            async with client.stream(ChatRequest(model="", messages=HELLO.messages, max_tokens=8)):
                pass
    assert backend.requests == []


async def test_a_reply_is_not_given_before_its_end() -> None:
    async with asking(stream("a", "b")) as (client, _):
        async with client.stream(HELLO) as replies:
            with pytest.raises(InvalidRequestError):
                replies.reply()
            await anext(aiter(replies))
            with pytest.raises(InvalidRequestError):
                replies.reply()
        with pytest.raises(InvalidRequestError):
            replies.reply()
        with pytest.raises(InvalidRequestError):
            [delta async for delta in replies]


async def test_a_reply_is_given_at_the_last_delta_already() -> None:
    async with asking(stream("a", "b")) as (client, _):
        async with client.stream(HELLO) as replies:
            async for delta in replies:
                if delta.finish_reason:
                    break
            assert replies.reply().text == "ab"


async def test_a_stream_under_another_content_type_is_one_all_the_same() -> None:
    body = event({"content": "a"}) + event({}, "stop") + b"data: [DONE]\n\n"
    async with asking(answer(body=body, content_type="application/json")) as (client, _):
        assert (await streamed(client))[0].text == "a"


async def test_s10_an_event_that_is_no_json_is_skipped() -> None:
    events = [event({"content": str(number)}) for number in range(10)]
    events[5] = b"data: {broken\n\n"
    async with asking(raw(SSE_HEAD, *map(chunk, [*events, event({}, "stop")]), chunk(b""))) as (
        client,
        _,
    ):
        assert (await streamed(client))[0].text == "012346789"


# --- Ends ---


async def test_s11_a_stream_without_done_is_complete_and_its_usage_is_reported() -> None:
    async with asking(repeat(stream("a", done=False))) as (client, backend):
        result, _ = await streamed(client)
        await streamed(client)
        assert idle(client) == backend.connections.opened
    assert result.usage.total_tokens == 15


async def test_a_finish_that_nothing_follows_ends_the_stream_after_a_bounded_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rig.client.reply_stream, "TAIL_S", 0.05)
    never_ending = sse(
        {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}]},
        Hang(),
        done=False,
    )
    async with asking(never_ending) as (client, backend):
        result, _ = await streamed(client)
        await backend.requests[0].disconnected.wait()
    assert result == Reply(text="a", usage=result.usage)


async def test_a_done_that_no_end_of_the_body_follows_holds_nobody_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rig.client.reply_stream, "END_S", 0.01)
    async with asking(
        raw(SSE_HEAD, chunk(event({"content": "a"}, "stop") + b"data: [DONE]\n\n"), Hang())
    ) as (
        client,
        backend,
    ):
        assert (await streamed(client))[0].text == "a"
        await backend.requests[0].disconnected.wait()


async def test_endless_comments_behind_the_finish_are_not_read_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rig.client.reply_stream, "TAIL_S", 100 * TAIL_S)

    def steps() -> Iterator[bytes]:
        yield SSE_HEAD
        yield chunk(event({"content": "a"}, "stop"))
        while True:
            yield chunk(b": ping\n\n" * 512)

    async with asking(Answer(LazySteps(steps))) as (client, _):
        assert (await streamed(client))[0].text == "a"


async def test_a_connection_that_breaks_behind_the_finish_does_no_harm() -> None:
    async with asking(
        stream("a", done=False, usage=None),
        sse(
            {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}]},
            Reset(),
            done=False,
        ),
    ) as (client, _):
        assert (await streamed(client))[0].text == "a"
        assert (await streamed(client))[0].text == "a"


UNENDED: dict[str, list[Any]] = {
    "closed": [chunk(event({}, "stop")[:-2]), Close()],
    "reset": [chunk(event({}, "stop")[:-1]), Pause(0.02), Reset()],
    "reset behind more text": [chunk(event({"content": "!"}, "stop")[:-1]), Pause(0.02), Reset()],
    "left open": [chunk(event({}, "stop")[:-1]), Hang()],
}


@pytest.mark.parametrize("end", UNENDED.values(), ids=UNENDED.keys())
async def test_a_break_right_behind_the_finish_does_no_harm_though_a_blank_line_is_missing(
    end: list[Any],
) -> None:
    steps = raw(SSE_HEAD, chunk(event({"content": "Hello"})), *end)
    async with asking(steps, timeouts=Timeouts(idle_s=0.2)) as (client, _):
        result, _ = await streamed(client)
        assert in_use(client) == 0
    assert result.text.rstrip("!") == "Hello"


async def test_text_that_drips_behind_the_finish_is_not_read_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rig.client.reply_stream, "MAX_TAIL_S", 0.2)
    drip: list[Any] = [Pause(0.02), chunk(event({"content": "more "}))] * 100
    async with asking(raw(SSE_HEAD, chunk(event({"content": "a"}, "stop")), *drip)) as (client, _):
        result, _ = await streamed(client)
    assert result.text.count("more") < 50


async def test_calls_behind_a_finish_are_read_to_their_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rig.client.reply_stream, "MAX_TAIL_S", 0.2)
    first, second = (
        call_deltas((name, {"text": "x" * 100}), piece_chars=4) for name in ("one", "two")
    )
    for delta in second:
        for call in delta["tool_calls"]:
            call["index"] = 1
    drip = [step for delta in second for step in (Pause(0.02), chunk(event(delta)))]
    async with asking(
        raw(SSE_HEAD, *(chunk(event(d)) for d in first), chunk(event({}, "tool_calls")), *drip)
    ) as (client, _):
        result, _ = await streamed(client)
    assert [len(call.arguments) for call in result.tool_calls] == [112, 112]


async def test_text_is_joined_once() -> None:
    async with asking(stream("one ", "two ", "three")) as (client, _):
        async with client.stream(HELLO) as replies:
            async for _ in replies:
                assert replies.text is replies.text
    assert replies.text == "one two three"


PARTIAL: dict[str, tuple[list[Any], type[RigError]]] = {
    "overload": (
        [chunk(encode_event({"error": {"code": 503, "message": "x"}})), chunk(b"")],
        ServerError,
    ),
    "a word": ([chunk(encode_event({"error": "boom"})), chunk(b"")], RigError),
    "a rate limit": (
        [chunk(encode_event({"error": {"code": 429, "message": "x"}})), chunk(b"")],
        RateLimitedError,
    ),
    "silence": ([Hang()], RequestTimeoutError),
    "too large": ([chunk(event({"content": "word " * 100})), Hang()], ResponseTooLargeError),
    "the end": ([chunk(b"")], StreamCutError),
}


@pytest.mark.parametrize(("end", "error"), PARTIAL.values(), ids=PARTIAL.keys())
async def test_what_came_is_on_whatever_error_ends_a_stream(
    end: list[Any], error: type[RigError]
) -> None:
    call = call_deltas(("add", {"a": 1}))[0]
    steps = raw(SSE_HEAD, chunk(event({"content": "Hello"})), chunk(event(call)), Pause(0.02), *end)
    async with asking(steps, timeouts=Timeouts(idle_s=0.2), max_response_bytes=300) as (client, _):
        with pytest.raises(error) as caught:
            await streamed(client)
    assert caught.value.text.startswith("Hello")
    assert [one.name for one in caught.value.tool_calls] == ["add"]


CUTS: dict[str, Answer] = {
    "in good order": stream("It is ", "18 deg", finish_reason=None, usage=None, done=False),
    "closed": stream("It is ", "18 deg", Close()),
    "reset": stream("It is ", "18 deg", Reset()),
    "inside an event": sse(
        {"choices": [{"delta": {"content": "It is 18 deg"}}]},
        b'data: {"choices": [{"del',
        done=False,
    ),
}


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS.keys())
async def test_f18_s08_a_stream_that_ends_early_is_an_error_with_what_came(cut: Answer) -> None:
    async with asking(cut, stream("never asked for")) as (client, backend):
        async with client.stream(HELLO) as replies:
            with pytest.raises(StreamCutError) as caught:
                async for _ in replies:
                    pass
            assert replies.text == "It is 18 deg"
            with pytest.raises(StreamCutError):
                replies.reply()
            assert [delta async for delta in replies] == []
        assert len(backend.requests) == 1
        assert in_use(client) == 0
    assert caught.value.text == "It is 18 deg"
    assert caught.value.__context__ is None
    assert not caught.value.retryable


@pytest.mark.parametrize("end", [Close(), Reset()], ids=["closed", "reset"])
async def test_calls_of_a_stream_that_was_cut_are_on_the_error(end: Close | Reset) -> None:
    deltas = call_deltas(("add", {"a": 1, "b": 2}))[:2]
    async with asking(stream("so ", *deltas, end)) as (client, _):
        async with client.stream(HELLO) as replies:
            with pytest.raises(StreamCutError) as caught:
                async for _ in replies:
                    pass
    [call] = caught.value.tool_calls
    assert (call.name, call.arguments) == ("add", '{"a": 1,')
    assert caught.value.text == "so"


async def test_s09_a_stream_that_falls_silent_is_a_time_out() -> None:
    async with asking(stream("a ", "b", Hang()), stream("ok"), timeouts=Timeouts(idle_s=0.05)) as (
        client,
        _,
    ):
        async with client.stream(HELLO) as replies:
            with pytest.raises(RequestTimeoutError) as caught:
                async for _ in replies:
                    pass
            assert replies.text == "a b"
        assert caught.value.reason == "idle"
        assert (await streamed(client))[0].text == "ok"


SHORT = Timeouts(idle_s=0.3, first_byte_s=0.6, total_s=None)
KEPT_ALIVE: dict[str, tuple[list[bytes], bytes]] = {
    "comments": ([event({"content": "a"})], b": ping\n\n"),
    "empty deltas": ([event({"content": "a"})], event({"content": ""})),
    "blanks": ([event({"content": "a"})], b"\n"),
    "events cut short": ([event({"content": "a"})], b" "),
    "comments before anything": ([], b": ping\n\n"),
    "roles before anything": ([], event({"role": "assistant"})),
}


@pytest.mark.parametrize(("first", "ping"), KEPT_ALIVE.values(), ids=KEPT_ALIVE.keys())
async def test_keep_alives_do_not_extend_the_wait_for_the_reply(
    first: list[bytes], ping: bytes
) -> None:
    pings: list[Any] = [Pause(0.05), chunk(ping)] * 40
    finish = [chunk(b"\n\n" + event({"content": "b"}, "stop")), chunk(b"")]
    answers = raw(SSE_HEAD, *map(chunk, first), *pings, *finish)
    async with asking(answers, timeouts=SHORT, retry=RetryPolicy.off()) as (client, _):
        with pytest.raises(RequestTimeoutError) as caught:
            await streamed(client)
        assert in_use(client) == 0
    assert caught.value.reason == "idle"
    assert caught.value.text == "a" * len(first)
    assert caught.value.__context__ is None


class Slow:
    """A body at virtual time: bytes, and seconds that pass before the next ones."""

    def __init__(self, *steps: bytes | float) -> None:
        self._steps = iter(steps)

    async def next_data(self) -> bytes | None:
        self.since = anyio.current_time()
        await anyio.lowlevel.checkpoint()
        for step in self._steps:
            if isinstance(step, bytes):
                return step
            await anyio.sleep(step)
        return None


def slowly(*steps: bytes | float, chat: ChatStream | None = None) -> ClientReplyStream:
    return ClientReplyStream(
        cast("StreamResponse", Slow(*steps)),
        chat or ChatStream(),
        LoopWatch(RepetitionGuard()),
        AsyncExitStack(),
        model="m",
        started=anyio.current_time(),
        sent=anyio.current_time(),
        timeouts=Timeouts(first_byte_s=300, idle_s=60),
        learned=lambda thinks: None,
    )


PING = b": ping\n\n"
FINISH = event({}, "stop") + b"data: [DONE]\n\n"
ARGUMENT = event({"function_call": {"name": "f", "arguments": "1"}})
SILENCES: dict[str, tuple[list[bytes | float], float | None]] = {
    "pings while the prompt is read": ([PING, *(30, PING) * 9, 20, event({"content": "a"})], None),
    "pings for longer than the first byte may take": ([PING, *(30, PING) * 20], 300),
    "pings between deltas": ([*(30, PING, 25, event({"content": "a"})) * 20], None),
    "pings behind a delta": ([5, event({"content": "a"}), *(25, PING) * 20], 65),
    "a flood behind a delta": ([event({"content": "a"}), *(1, PING) * 200], 60),
    "silence behind a ping": ([event({"content": "a"}), 50, PING, 500], 60),
    "a call that no delta tells of": ([event({"content": "a"}), *(30, ARGUMENT) * 9], None),
    "a refusal": ([event({"content": "a"}), *(30, event({"refusal": "no"})) * 9], None),
    "whitespace": ([event({"content": "a"}), *(30, event({"content": "\n"})) * 9], None),
    "a slow body that is no stream": (
        [b'{"choices": [', *(50, b" ", 5, b'{"message": {"content": "a"}},') * 9, b"{}]}"],
        None,
    ),
}


@pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)
@pytest.mark.parametrize(("steps", "ends_s"), SILENCES.values(), ids=SILENCES.keys())
async def test_the_wait_for_news_is_counted_from_the_last_news(
    steps: list[bytes | float], ends_s: float | None
) -> None:
    began = anyio.current_time()
    stream = slowly(*steps, FINISH) if steps[0] != b'{"choices": [' else slowly(*steps)
    if ends_s is None:
        assert [delta async for delta in stream][-1].finish_reason is not None
        return
    with pytest.raises(RequestTimeoutError) as caught:
        [delta async for delta in stream]
    assert caught.value.reason == "idle"
    assert anyio.current_time() - began == pytest.approx(ends_s)


@pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)
async def test_the_pauses_of_a_reader_are_no_silence() -> None:
    stream = slowly(event({"content": "a"}), PING, PING, event({"content": "b"}), PING, FINISH)
    async for _ in stream:
        await anyio.sleep(200)
    assert stream.reply().text == "ab"


class Whole(ChatStream):
    """Reads no event as one like the last."""

    def feed_one(self, chunk: bytes) -> None:
        return None


ALONE = {
    "words": [event({"content": word}) for word in ("a", " b", "c ", "d", " ", "e  ", "\n", "f")],
    "a loop": [event({"content": BLOCK})] * 40,
    "a loop of thoughts": [event({"reasoning_content": BLOCK})] * 40,
    "a thought of the model's own": [
        event({"content": word}) for word in ("a", "b", "</think>", "c", "d", "<think>", "e", "f")
    ],
    "thoughts and text": [
        *(event({"reasoning_content": word}) for word in "abc"),
        *(event({"content": word}) for word in "def"),
    ],
    "pings between words": [event({"content": "a"}), event({"content": "b"}), PING] * 3,
    "blanks without end": [event({"content": "a"}), event({"content": "b"})]
    + [event({"content": " " * 900})] * 10,
    "a finish": [event({"content": word}) for word in "ab"] + [event({}, "stop")],
    "a call": [event({"content": word}) for word in "ab"]
    + [event({"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{}"}}]})]
    + [event({"content": word}) for word in "cd"],
    "a fault": [event({"content": word}) for word in "ab"] + [encode_event({"error": "no"})],
    "a cut": [event({"content": word}) for word in "ab"] + [b"data: "],
}


async def came_of(stream: ClientReplyStream) -> list[object]:
    came: list[object] = []
    try:
        async for delta in stream:
            came += [delta, stream.text]
        came.append(timeless(stream.reply()))
    except RigError as error:
        came += [type(error), error.reason, error.text, error.tool_calls]
    return came


@pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)
@pytest.mark.parametrize("end", [b"", FINISH], ids=["", "done"])
@pytest.mark.parametrize("steps", ALONE.values(), ids=ALONE.keys())
async def test_events_that_come_alone_tell_what_they_tell_read_in_full(
    steps: list[bytes], end: bytes
) -> None:
    reads = [*steps, end] if end else steps
    quick = await came_of(slowly(*reads))
    assert quick == await came_of(slowly(*reads, chat=Whole()))


@pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)
async def test_silence_behind_words_that_came_alone_is_counted_from_the_last() -> None:
    began = anyio.current_time()
    words: list[bytes | float] = [event({"content": "a"}), *(30, event({"content": "b"})) * 9]
    with pytest.raises(RequestTimeoutError):
        [delta async for delta in slowly(*words, *(25, PING) * 20)]
    assert anyio.current_time() - began == pytest.approx(9 * 30 + 60)


# --- Errors and retries ---

REFUSALS: dict[str, tuple[Answer, type[RigError]]] = {
    "401": (answer(401, body={"error": "no"}), UnauthorizedError),
    "400": (answer(400, body={"error": "no"}), InvalidRequestError),
    "too long": (faults.prompt_too_long(), InputTooLargeError),
    "content policy": (
        answer(400, body={"error": {"code": "content_policy_violation", "message": "no"}}),
        RefusedError,
    ),
    "redirect": (faults.redirect(), RigError),
    "a page at 200": (faults.html_page(200), ProtocolError),
    "no choices": (faults.no_choices(), EmptyReplyError),
    "half a document": (faults.cut_json(), ProtocolError),
    "nothing": (faults.empty_body(), RigError),
    "no event": (sse(done=False), StreamCutError),
    "not http": (faults.not_http(), ProtocolError),
    "brotli": (faults.unknown_encoding(), ProtocolError),
    "corrupt gzip": (faults.corrupt_gzip(), ProtocolError),
    "a header without end": (faults.endless_head(), RigError),
    "an error in an event": (
        sse({"error": {"code": 400, "message": "no"}}, done=False),
        RigError,
    ),
}


@pytest.mark.parametrize(("refusal", "error"), REFUSALS.values(), ids=REFUSALS.keys())
async def test_a_refusal_is_told_once_on_entering(refusal: Answer, error: type[RigError]) -> None:
    async with asking(refusal, stream("never asked for")) as (client, backend):
        with pytest.raises(error) as caught:
            async with client.stream(HELLO):
                pytest.fail("the block was entered")
        assert len(backend.requests) == 1
        assert in_use(client) == 0
    assert caught.value.__context__ is None


PASSING: dict[str, Any] = {
    "429": answer(429, headers=[("retry-after-ms", "1")]),
    "503": answer(503),
    "loading": faults.loading(),
    "reset before the head": faults.reset_before_headers(),
    "closed before the head": faults.close_before_headers(),
    "cut before the first event": raw(SSE_HEAD, Close()),
    "cut behind the role": stream(Reset()),
    "an overload told in the stream": sse(
        {"error": {"code": 503, "message": "overloaded"}}, done=False
    ),
    "an overload told at 200": answer(200, body={"error": {"code": 503, "message": "overloaded"}}),
    "cut json": faults.cut_body(),
}


@pytest.mark.parametrize("passing", PASSING.values(), ids=PASSING.keys())
async def test_until_the_first_delta_a_request_is_sent_again(passing: Answer) -> None:
    events: list[RetryEvent] = []
    async with asking(passing, stream("ok"), on_retry=events.append, slots=1) as (client, backend):
        result, _ = await streamed(client)
        assert in_use(client) == 0
    assert result.text == "ok"
    assert len(backend.requests) == 2
    assert [event.attempt for event in events] == [1, 2]
    assert events[1].kind == "recovered"


async def test_a_wait_holds_no_slot_and_another_request_gets_through() -> None:
    waiting = anyio.Event()

    def tell(event: RetryEvent) -> None:
        waiting.set()

    slow = RetryPolicy(initial_s=60, jitter=0)
    async with asking(answer(503), stream("other"), slots=1, retry=slow, on_retry=tell) as (
        client,
        _,
    ):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(streamed, client)
            await waiting.wait()
            assert (await streamed(client))[0].text == "other"
            tasks.cancel_scope.cancel()


async def test_retries_off_is_exactly_one_request() -> None:
    async with asking(repeat(answer(503)), retry=RetryPolicy.off()) as (client, backend):
        with pytest.raises(ServerError):
            async with client.stream(HELLO):
                pass
    assert len(backend.requests) == 1


async def test_a_rate_limit_beyond_the_budget_fails_at_once() -> None:
    policy = RetryPolicy(budget_s=60)
    async with asking(answer(429, headers=[("Retry-After", "300")]), retry=policy) as (client, _):
        with pytest.raises(RateLimitedError):
            async with client.stream(HELLO):
                pass


async def test_what_on_retry_raises_comes_out_and_leaves_nothing_open() -> None:
    class MineError(Exception):
        pass

    def refuse(event: RetryEvent) -> None:
        if event.kind == "recovered":
            raise MineError

    async with asking(answer(503), stream("a", Hang()), on_retry=refuse, slots=1) as (
        client,
        backend,
    ):
        with pytest.raises(MineError):
            async with client.stream(HELLO):
                pass
        assert in_use(client) == 0
        await backend.requests[1].disconnected.wait()


# --- Caps ---


@pytest.mark.parametrize("size", [1000, 1001])
async def test_the_cap_counts_text_not_frames(size: int) -> None:
    pieces = ["x" * 10] * (size // 10) + ["y"] * (size % 10)
    async with asking(stream(*pieces), max_response_bytes=1000) as (client, _):
        if size <= 1000:
            assert len((await streamed(client))[0].text) == size
            return
        async with client.stream(HELLO) as replies:
            with pytest.raises(ResponseTooLargeError):
                async for _ in replies:
                    pass
            assert len(replies.text) == 1000
        assert in_use(client) == 0


BOMBS: dict[str, Any] = {
    "gzip bomb": lambda: faults.gzip_bomb(10 << 30),
    "gzip bomb as an error": lambda: faults.gzip_bomb(10 << 30, status=500),
    "endless body": faults.endless_body,
    "endless error": lambda: faults.endless_body(status=400),
    "60 MB at once": lambda: faults.large_reply(60 << 20),
    "one endless event": lambda: Answer(LazySteps(endless_event)),
    "endless comments": lambda: Answer(LazySteps(endless_comments)),
}


def endless_event() -> Iterator[bytes]:
    yield SSE_HEAD + chunk(b"data: ")
    while True:
        yield chunk(b"x" * 65536)


def endless_comments() -> Iterator[bytes]:
    yield SSE_HEAD
    while True:
        yield chunk(b": ping\n\n" * 8192)


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS.keys())
async def test_f20_f21_a_stream_over_the_cap_is_refused_with_memory_flat(bomb: Any) -> None:
    tracemalloc.start()
    try:
        async with asking(bomb(), max_response_bytes=1 << 14) as (client, backend):
            with pytest.raises(ResponseTooLargeError):
                await streamed(client)
            assert in_use(client) == 0
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 32 << 20
    assert len(backend.requests) == 1


# --- Leaving ---


@pytest.mark.parametrize("own", [False, True], ids=["own transport", "caller's client"])
async def test_leaving_the_block_closes_the_request_at_once(own: bool) -> None:
    http_client = httpx.AsyncClient() if own else None
    async with asking(stream("a", Hang()), stream("b"), http_client=http_client, slots=1) as (
        client,
        backend,
    ):
        async with client.stream(HELLO) as replies:
            assert (await anext(aiter(replies))).text == "a"
            assert not backend.requests[0].disconnected.is_set()
        if not own:
            assert in_use(client) == 0
        await backend.requests[0].disconnected.wait()
        assert (await streamed(client))[0].text == "b"
    if http_client is not None:
        await http_client.aclose()


async def test_an_exception_in_the_block_closes_the_request_too() -> None:
    class MineError(Exception):
        pass

    async with asking(stream("a", Hang())) as (client, backend):
        with pytest.raises(MineError):
            async with client.stream(HELLO):
                raise MineError
        assert in_use(client) == 0
        await backend.requests[0].disconnected.wait()


async def test_being_cancelled_in_a_read_closes_the_request_at_once() -> None:
    async with asking(stream("a", Hang())) as (client, backend):
        with anyio.CancelScope() as scope:
            async with client.stream(HELLO) as replies:
                async for delta in replies:
                    assert delta.text == "a"
                    scope.cancel()
        assert scope.cancelled_caught
        assert in_use(client) == 0
        await backend.requests[0].disconnected.wait()


async def test_a_slot_is_held_for_the_stream_and_given_back_at_its_end() -> None:
    goes_on = anyio.Event()
    async with asking(stream("a", Until(goes_on), "b"), stream("c"), slots=1) as (client, backend):
        async with client.stream(HELLO) as first:
            deltas = aiter(first)
            await anext(deltas)
            with anyio.move_on_after(0.05):
                await streamed(client)
            assert len(backend.requests) == 1
            goes_on.set()
            assert [delta.text async for delta in deltas] == ["b", ""]
            assert (await streamed(client))[0].text == "c"  # inside the block: the stream is over


async def test_two_hundred_streams_at_once() -> None:
    everybody = anyio.Event()
    texts: dict[int, str] = {}

    def respond(request: Any) -> Answer:
        number = request.json["messages"][0]["content"]
        if len(backend.requests) == 200:
            everybody.set()
        return stream(f"{number}:", Until(everybody), *("ab" * 50))

    async def one(client: Client, number: int) -> None:
        request = ChatRequest(
            model="m", messages=(Message(role="user", content=str(number)),), max_tokens=8
        )
        texts[number] = (await streamed(client, request))[0].text

    backend = FakeBackend(repeat(respond))
    async with backend.serve(), Client(backend.url) as client:
        async with anyio.create_task_group() as tasks:
            for number in range(200):
                tasks.start_soon(one, client, number)
        assert in_use(client) == 0
    assert texts == {number: f"{number}:" + "ab" * 50 for number in range(200)}


async def test_a_stream_cancelled_at_any_step_leaks_no_connection_and_no_slot() -> None:
    pieces = [Pause(0) if number % 2 else "ab" for number in range(20)]
    async with asking(repeat(stream(*pieces)), slots=1) as (client, _):
        finished = False
        for steps in range(500):
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(cancel_after, scope, steps)
                    await streamed(client)
                    finished = True
                    tasks.cancel_scope.cancel()
            assert in_use(client) == 0
            if finished and not scope.cancelled_caught:
                break
            finished = False
        assert finished
        assert (await streamed(client))[0].text == "ab" * 10


async def cancel_after(scope: anyio.CancelScope, steps: int) -> None:
    for _ in range(steps):
        await anyio.lowlevel.checkpoint()
    scope.cancel()


# --- A model that repeats itself ---


def endless(delta: str) -> Answer:
    """One delta for ever, each as an event of its own."""

    def steps() -> Iterator[bytes]:
        yield SSE_HEAD
        yield chunk(event({"content": "Lots: "}))
        while True:
            yield chunk(event(delta_of(delta)))

    return Answer(LazySteps(steps))


def delta_of(text: str) -> dict[str, object]:
    return {"content": text}


async def test_a_loop_ends_the_stream_as_an_outcome() -> None:
    async with asking(endless(BLOCK)) as (client, backend):
        result, deltas = await streamed(client)
        assert in_use(client) == 0
        await backend.requests[0].disconnected.wait()
    assert deltas[-1] == Delta(finish_reason="repetition")
    assert result.finish_reason == "repetition"
    assert result.repetition is not None
    assert result.repetition.period == len(BLOCK)
    assert len(result.text) <= 8192
    assert result.repetition.trimmed(result.text) in {"Lots: " + BLOCK, "Lots: " + BLOCK[:-1]}
    assert result.usage == Usage(
        latency_s=result.usage.latency_s,
        time_to_first_token_s=result.usage.time_to_first_token_s,
    )


async def test_a_loop_in_a_thought_or_in_arguments_drops_the_calls() -> None:
    loops = [
        [{"reasoning_content": BLOCK}] * 100,
        [*call_deltas(("save", '{"text": "' + BLOCK * 100), piece_chars=20)],
    ]
    async with asking(*(stream("so", *loop, Hang()) for loop in loops)) as (client, _):
        for where in ("reasoning", "tool:save arguments"):
            result, _ = await streamed(client)
            assert result.repetition is not None
            assert result.repetition.where == where
            assert (result.text, result.tool_calls) == ("so", ())


async def test_whitespace_without_end_is_cut_although_nothing_of_it_is_shown() -> None:
    async with asking(endless("\n")) as (client, _):
        result, deltas = await streamed(client)
    assert result.text == "Lots:"
    assert deltas == [Delta(text="Lots:"), Delta(finish_reason="repetition")]
    assert result.repetition is not None
    assert result.repetition.trimmed(result.text) == "Lots:"


async def test_a_guard_that_is_off_cuts_nothing() -> None:
    long = stream(*[BLOCK] * 100)
    async with asking(long, long, repetition=RepetitionGuard.off()) as (client, _):
        assert len((await streamed(client))[0].text) == len(BLOCK * 100) - 1


async def test_a_plain_answer_is_not_cut() -> None:
    async with asking(reply(BLOCK * 100)) as (client, _):
        assert (await streamed(client))[0].finish_reason == "stop"


# --- Thoughts whose opener the template ate ---

ORPHAN = stream("let me", " think", "</think>", "four")


async def test_f2_shown_thoughts_are_retracted_and_the_next_stream_knows() -> None:
    async with asking(ORPHAN, ORPHAN) as (client, _):
        first, deltas = await streamed(client)
        assert [delta.retracted for delta in deltas if delta.retracted] == ["let me think"]
        second, deltas = await streamed(client)
        assert [delta.retracted for delta in deltas if delta.retracted] == []
        assert deltas[0] == Delta(reasoning="let me")
    assert timeless(first) == timeless(second)
    assert (first.text, first.reasoning) == ("four", "let me think")


async def test_a_thought_that_was_assumed_and_never_ends_is_the_answer() -> None:
    async with asking(ORPHAN, stream("fo", "ur"), stream("fi", "ve")) as (client, _):
        await streamed(client)
        second, _ = await streamed(client)
        assert second.text == "four"
        _, deltas = await streamed(client)
    assert [delta.text for delta in deltas] == ["fi", "ve", ""]  # the assumption is forgotten


async def test_what_is_known_of_one_model_is_not_assumed_of_another() -> None:
    other = ChatRequest(model="other", messages=HELLO.messages, max_tokens=8)
    async with asking(ORPHAN, stream("fo", "ur")) as (client, _):
        await streamed(client)
        _, deltas = await streamed(client, other)
    assert [delta.text for delta in deltas] == ["fo", "ur", ""]


async def test_a_retraction_is_remembered_also_where_the_stream_was_left() -> None:
    async with asking(ORPHAN, ORPHAN) as (client, _):
        async with client.stream(HELLO) as replies:
            async for delta in replies:
                if delta.retracted:
                    break
        _, deltas = await streamed(client)
    assert [delta.retracted for delta in deltas if delta.retracted] == []


async def test_a_thought_cut_at_max_tokens_says_nothing_of_the_template() -> None:
    cut = stream("let me", finish_reason="length")
    async with asking(ORPHAN, cut, ORPHAN) as (client, _):
        await streamed(client)
        await streamed(client)
        _, deltas = await streamed(client)
    assert [delta.retracted for delta in deltas if delta.retracted] == []
