"""No key, URL or text of an endpoint in any message, repr, log record or chained exception."""

import logging
import traceback
from collections.abc import Awaitable, Callable, Iterator

import anyio
import httpx
import pytest

from rig import (
    ChatRequest,
    Client,
    Endpoint,
    Message,
    Pool,
    PoolPolicy,
    RetryEvent,
    RetryPolicy,
    RigError,
    RunEvent,
    RunFinished,
    Timeouts,
)
from rig.testing import (
    Answer,
    Close,
    FakeBackend,
    Hang,
    Reset,
    answer,
    call_deltas,
    faults,
    raw,
    repeat,
    reply,
    sse,
    stream,
)

KEY = "sk-planted-key"
PATH = "planted-path"
ENDPOINT_TEXT = "planted-endpoint-text"
PLANTED = (KEY, PATH, ENDPOINT_TEXT, "127.0.0.1")

REQUEST = ChatRequest(model="m", messages=(Message(role="user", content="hi"),), max_tokens=8)

FAILURES = {
    "401": answer(401, body={"error": {"message": f"{KEY} {PATH} {ENDPOINT_TEXT}"}}),
    "400": answer(400, body=f"{ENDPOINT_TEXT} {KEY}"),
    "404": answer(404, body={"error": f"model {ENDPOINT_TEXT} not found"}),
    "429": answer(429, body={"error": {"message": ENDPOINT_TEXT, "reason": ENDPOINT_TEXT}}),
    "500": answer(500, body={"error": {"message": ENDPOINT_TEXT, "type": ENDPOINT_TEXT}}),
    "html": answer(200, body=f"<html>{ENDPOINT_TEXT}</html>"),
    "error in a 200": answer(
        200, body={"error": {"message": ENDPOINT_TEXT, "code": ENDPOINT_TEXT}}
    ),
    "reason phrase": raw(f"HTTP/1.1 401 Bearer {KEY}\r\nContent-Length: 0\r\n\r\n".encode()),
    "not http": raw(f"{ENDPOINT_TEXT}\r\n\r\n".encode()),
    "bad length": raw(f"HTTP/1.1 200 OK\r\nContent-Length: {ENDPOINT_TEXT}\r\n\r\n".encode()),
    "bad coding": answer(200, body="{}", headers=[("Content-Encoding", ENDPOINT_TEXT)]),
    "redirect": answer(307, headers=[("Location", f"http://{ENDPOINT_TEXT}/")]),
    "reset": faults.reset_before_headers(),
    "cut": faults.cut_body(),
    "silence": faults.hang(),
    "bomb": faults.gzip_bomb(1 << 26),
    "odd call": reply(tool_calls=[("", {ENDPOINT_TEXT: 1})]),
    "finish reason": answer(
        200, body={"choices": [{"message": {"content": ""}, "finish_reason": ENDPOINT_TEXT}]}
    ),
}

STREAM_FAILURES = {
    "cut": stream(ENDPOINT_TEXT, Close()),
    "reset": stream(ENDPOINT_TEXT, Reset()),
    "unfinished": stream(ENDPOINT_TEXT, finish_reason=None, usage=None, done=False),
    "call cut": stream(*call_deltas((ENDPOINT_TEXT, {ENDPOINT_TEXT: KEY})), Close()),
    "error in an event": sse({"error": {"message": ENDPOINT_TEXT, "code": ENDPOINT_TEXT}}),
    "error behind text": sse(
        {"choices": [{"delta": {"content": "a"}}]}, {"error": {"message": ENDPOINT_TEXT}}
    ),
    "broken events": sse(*[f"{{{ENDPOINT_TEXT}"] * 300, done=False),
    "no event stream": answer(200, body=ENDPOINT_TEXT, content_type="text/event-stream"),
    "silence": stream(ENDPOINT_TEXT, Hang()),
    "only a thought": stream(f"<think>{ENDPOINT_TEXT}"),
}


def linked(error: BaseException) -> Iterator[BaseException]:
    """The error and everything chained to it."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        current = waiting.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        waiting += [current.__cause__, current.__context__]
        if isinstance(current, BaseExceptionGroup):
            waiting += current.exceptions


def shown(error: BaseException) -> str:
    """All that a log, a debugger's repr or a traceback without locals would show."""
    parts = [
        f"{each} {each!r} {each.args!r} {getattr(each, '__notes__', '')}" for each in linked(error)
    ]
    return "\n".join([*parts, *traceback.format_exception(error)])


@pytest.mark.parametrize("scripted", FAILURES.values(), ids=FAILURES.keys())
# httpx 0.28.1 leaves an inner generator of its own open when a response is closed early on trio.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("own_client", [False, True], ids=["own transport", "caller's client"])
async def test_no_failure_shows_what_was_planted(
    scripted: Answer, own_client: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    events: list[RetryEvent] = []
    backend = FakeBackend(scripted)
    http_client = httpx.AsyncClient() if own_client else None
    async with backend.serve():
        url = f"{backend.url.removesuffix('/v1')}/{PATH}"
        client = Client(
            url,
            KEY,
            http_client=http_client,
            retry=RetryPolicy.off(),
            timeouts=Timeouts(first_byte_s=0.2),
            on_retry=events.append,
        )
        async with client:
            with pytest.raises(RigError) as caught:
                await client.complete(REQUEST)
        if http_client is not None:
            await http_client.aclose()
    evidence = shown(caught.value) + repr(client) + "".join(map(str, events)) + repr(events)
    evidence += caplog.text if http_client is None else ""
    assert [secret for secret in PLANTED if secret in evidence] == []
    assert not any(hasattr(each, "request") for each in linked(caught.value))


async def iterate(client: Client) -> None:
    async with client.stream(REQUEST) as replies:
        async for _ in replies:
            pass


async def run(client: Client) -> None:
    async with client.run_stream("hi", model="m", max_tokens=8) as events:
        async for _ in events:
            pass


@pytest.mark.parametrize(
    "scripted",
    [*FAILURES.values(), *STREAM_FAILURES.values()],
    ids=[*FAILURES, *(f"stream: {name}" for name in STREAM_FAILURES)],
)
@pytest.mark.parametrize("ask", [iterate, run])
async def test_no_failure_of_a_stream_shows_what_was_planted(
    scripted: Answer, ask: Callable[[Client], Awaitable[None]], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="rig")
    events: list[RetryEvent] = []
    async with FakeBackend(scripted).serve() as backend:
        client = Client(
            f"{backend.url.removesuffix('/v1')}/{PATH}",
            KEY,
            retry=RetryPolicy.off(),
            timeouts=Timeouts(first_byte_s=0.2, idle_s=0.2),
            on_retry=events.append,
        )
        async with client:
            with pytest.raises(RigError) as caught:
                await ask(client)
    evidence = shown(caught.value) + "".join(map(str, events)) + repr(events) + caplog.text
    assert [secret for secret in PLANTED if secret in evidence] == []
    assert not any(hasattr(each, "request") for each in linked(caught.value))


async def test_a_dead_endpoint_shows_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with Client(f"http://127.0.0.1:1/{PATH}", KEY, retry=RetryPolicy.off()) as client:
        with pytest.raises(RigError) as caught:
            await client.complete(REQUEST)
    assert [secret for secret in PLANTED if secret in shown(caught.value) + caplog.text] == []


async def test_a_cancelled_call_shows_nothing() -> None:
    backend = FakeBackend(faults.hang())
    caught: BaseException | None = None
    async with backend.serve(), Client(f"{backend.url}/{PATH}", KEY) as client:
        with anyio.move_on_after(0.1):
            try:
                await client.complete(REQUEST)
            except BaseException as error:
                caught = error
                raise
    assert caught is not None
    assert [secret for secret in PLANTED if secret in shown(caught)] == []


@pytest.mark.parametrize(
    "scripted",
    [*FAILURES.values(), *STREAM_FAILURES.values()],
    ids=[*FAILURES, *(f"stream: {name}" for name in STREAM_FAILURES)],
)
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_no_failure_of_a_pool_shows_what_was_planted(
    scripted: Answer, streamed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="rig")
    events: list[RunEvent] = []
    backend = FakeBackend(repeat(scripted))
    async with backend.serve():
        url = f"{backend.url.removesuffix('/v1')}/{PATH}"
        pool = Pool(
            [Endpoint(url, KEY, name=name) for name in ("one", "two")],
            model="m",
            policy=PoolPolicy(cooling_s=0.01, max_cooling_s=0.01),
            retry=RetryPolicy(initial_s=0.001, max_5xx=4, budget_s=0.5),
            timeouts=Timeouts(first_byte_s=0.2, idle_s=0.2),
            on_event=events.append,
        )
        async with pool:
            try:
                await pool.run("hi", max_tokens=8, stream=streamed)
            except RigError as error:
                caught: BaseException = error
            else:
                caught = BaseException()  # some are answers, read one way or the other
            statuses = repr(pool.endpoints)
    evidence = shown(caught) + repr(pool) + statuses + "".join(map(str, events)) + caplog.text
    evidence += "".join(repr(event) for event in events if not isinstance(event, RunFinished))
    assert [secret for secret in PLANTED if secret in evidence] == []
    assert not any(hasattr(each, "request") for each in linked(caught))
