"""Sixteen faults of a provider, with a primary and a fallback: streamed and not, over sockets and in virtual time.

Over sockets every time is scaled down, and only lower bounds are asserted: the one time-out that is short there is
that of a primary that is silent, since anybody else may be slow on a busy machine. In virtual time (trio's autojump clock,
no sockets) the seconds are the real ones. The list is that of a public scorecard of gateways (2026-09).
"""

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import anyio
import httpx
import pytest

from rig import (
    ChatRequest,
    Delta,
    Endpoint,
    FailedOver,
    InputTooLargeError,
    Message,
    Pool,
    PoolPolicy,
    RefusedError,
    Reply,
    RetryPolicy,
    RunEvent,
    Timeouts,
)
from rig.testing import (
    Answer,
    Close,
    FakeBackend,
    Hang,
    Pause,
    ReceivedRequest,
    Reset,
    answer,
    encode_event,
    faults,
    head,
    raw,
    repeat,
    reply,
    stream,
)
from rig.testing.completions import completion

WORDS = [f"word{number} " for number in range(59)] + ["end."]
TEXT = "".join(WORDS)
ASKED = ChatRequest(
    model="m", messages=(Message(role="user", content="sixty words"),), max_tokens=99
)

pytestmark = [
    pytest.mark.parametrize("anyio_backend", ["asyncio", "trio", "trio-autojump"], indirect=True),
    pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"]),
]

SILENT_S = 0.4
"""Time-out of a silent primary over sockets."""

Bad = Callable[["Server", bool], Answer]


@dataclass
class Server:
    """A provider that fails as its script says, then answers with the sixty words.

    Attributes:
        model: what it calls itself.
        script: one fault a request; the last one stays if `always`.
        times: when each chat request came.
        prompts: their messages.
    """

    model: str
    script: list[Bad] = field(default_factory=list[Bad])
    always: bool = False
    usage: tuple[int, int] = (10, 60)
    times: list[float] = field(default_factory=list[float])
    prompts: list[Any] = field(default_factory=list[Any])
    unit_s: float = 1.0

    def respond(self, request: ReceivedRequest) -> Answer:
        if request.method == "GET":
            return answer(200, {"data": []})
        self.times.append(anyio.current_time())
        self.prompts.append(request.json["messages"])
        streamed = bool(request.json.get("stream"))
        if self.script:
            bad = self.script[0] if self.always else self.script.pop(0)
            return bad(self, streamed)
        return self.whole(streamed)

    def whole(self, streamed: bool, *steps: Any) -> Answer:
        if streamed:
            return stream(*steps, *WORDS, usage=self.usage, model=self.model)
        return reply(TEXT, usage=self.usage, model=self.model)


@dataclass
class Scene:
    """A pool of a primary and a fallback, and what came of asking it."""

    pool: Pool
    primary: Server
    fallback: Server
    events: list[RunEvent]
    streamed: bool
    virtual: bool
    unit_s: float
    deltas: list[Delta] = field(default_factory=list[Delta])

    async def ask(self) -> Reply:
        with anyio.fail_after(300):
            if not self.streamed:
                return await self.pool.complete(ASKED)
            async with self.pool.stream(ASKED) as replies:
                shown = ""
                async for delta in replies:
                    self.deltas.append(delta)
                    if delta.retracted:
                        assert delta.retracted == shown
                        shown = ""
                    shown += delta.text
                result = replies.reply()
                assert shown == result.text == replies.text
                return result

    @property
    def failovers(self) -> list[FailedOver]:
        return [event for event in self.events if isinstance(event, FailedOver)]


@asynccontextmanager
async def scene(
    anyio_backend: tuple[str, dict[str, object]],
    streamed: bool,
    *script: Bad,
    always: bool = False,
    primary: Server | None = None,
    fallback: Server | None = None,
    limit_s: float = 30.0,
    idle_s: float | None = None,
    silent: bool = False,
    unit_s: float = 0.02,
    windows: tuple[int | None, int | None] = (None, None),
    **policy: Any,
) -> AsyncGenerator[Scene]:
    virtual = "clock" in anyio_backend[1]
    unit_s = 1.0 if virtual else unit_s
    timeouts = Timeouts(first_byte_s=limit_s, idle_s=idle_s or limit_s)
    quick = Timeouts(first_byte_s=SILENT_S, idle_s=SILENT_S if idle_s is None else idle_s)
    first = primary or Server("primary", [*script], always)
    second = fallback or Server("fallback")
    first.unit_s = second.unit_s = unit_s
    events: list[RunEvent] = []
    scaled = PoolPolicy(
        cooling_s=5 * unit_s, max_cooling_s=20 * unit_s, loading_s=2 * unit_s, **policy
    )
    async with AsyncExitStack() as stack:
        endpoints: list[Endpoint] = []
        for server, window in zip((first, second), windows, strict=True):
            backend = FakeBackend(repeat(server.respond))
            caller = None
            if virtual:
                caller = httpx.AsyncClient(transport=backend.transport)
            else:
                await stack.enter_async_context(backend.serve())
            endpoints.append(
                Endpoint(
                    backend.url,
                    name=server.model,
                    http_client=caller,
                    context_tokens=window,
                    timeouts=quick if silent and not virtual and server is first else None,
                )
            )
        pool = await stack.enter_async_context(
            Pool(
                endpoints,
                policy=scaled,
                retry=RetryPolicy(initial_s=0.5 * unit_s),
                timeouts=timeouts,
                on_event=events.append,
            )
        )
        yield Scene(pool, first, second, events, streamed, virtual, unit_s)
        assert [status.in_flight for status in pool.endpoints] == [0, 0]


def limited(retry_after: float | None) -> Bad:
    def bad(server: Server, _streamed: bool) -> Answer:
        after = None if retry_after is None else retry_after * server.unit_s
        return faults.rate_limited(after)

    return bad


def status(code: int) -> Bad:
    return lambda _server, _streamed: faults.server_error(code)


def fixed(made: Answer) -> Bad:
    return lambda _server, _streamed: made


def broken(count: int, *ending: Any) -> Bad:
    """So many words, and then no more."""

    def bad(server: Server, streamed: bool) -> Answer:
        if streamed:
            return stream(*WORDS[:count], *ending, model=server.model)
        body = encode(completion({"role": "assistant", "content": TEXT}))
        steps = [head(200, {"Content-Length": str(len(body)), "Content-Type": "application/json"})]
        return raw(*steps, body[: len(body) // 2], *ending)

    return bad


def encode(body: dict[str, Any]) -> bytes:
    return sent(answer(body=body)).partition(b"\r\n\r\n")[2]


def sent(whole: Answer) -> bytes:
    return b"".join(step for step in whole.steps if isinstance(step, bytes))


def gaps(times: list[float]) -> Iterator[float]:
    return (after - before for before, after in pairwise(times))


async def test_s01_a_429_is_repeated_no_earlier_than_it_asks(
    anyio_backend: Any, streamed: bool
) -> None:
    async with scene(anyio_backend, streamed, limited(2)) as on:
        result = await on.ask()
        assert result.text == TEXT
        assert result.model == "primary"
        assert len(on.primary.times) == 2
        assert next(gaps(on.primary.times)) >= 1.8 * on.unit_s
        assert on.fallback.times == []


async def test_s02_a_429_that_stays_goes_to_the_fallback_after_few_tries(
    anyio_backend: Any, streamed: bool
) -> None:
    async with scene(anyio_backend, streamed, limited(None), always=True) as on:
        result = await on.ask()
        assert result.text == TEXT
        assert result.model == "fallback"
        times = on.primary.times
        assert len(times) <= 6
        assert sum(at - times[0] <= 3 * on.unit_s for at in times) <= 4
        assert min(gaps(times)) >= 0.4 * on.unit_s
        assert [event.reason for event in on.failovers] == ["limited"]


async def test_s03_a_500_is_repeated_on_the_same_endpoint(
    anyio_backend: Any, streamed: bool
) -> None:
    async with scene(anyio_backend, streamed, status(500)) as on:
        result = await on.ask()
        assert (result.text, result.model) == (TEXT, "primary")
        assert len(on.primary.times) == 2
        assert on.fallback.times == []


async def test_s04_a_503_that_stays_goes_to_the_fallback(
    anyio_backend: Any, streamed: bool
) -> None:
    async with scene(anyio_backend, streamed, status(503), always=True) as on:
        result = await on.ask()
        assert (result.text, result.model) == (TEXT, "fallback")
        assert len(on.primary.times) <= 6
        await on.ask()
        assert len(on.primary.times) <= 6  # its circuit is open
        assert len(on.fallback.times) == 2


async def test_s05_a_reset_before_headers_is_answered(anyio_backend: Any, streamed: bool) -> None:
    async with scene(anyio_backend, streamed, fixed(faults.reset_before_headers())) as on:
        result = await on.ask()
        assert result.text == TEXT
        assert len(on.primary.times) + len(on.fallback.times) == 2


async def test_s06_a_silent_endpoint_is_left_after_its_first_time_out(
    anyio_backend: Any, streamed: bool
) -> None:
    async with scene(anyio_backend, streamed, fixed(faults.hang()), always=True, silent=True) as on:
        began = anyio.current_time()
        result = await on.ask()
        assert (result.text, result.model) == (TEXT, "fallback")
        assert len(on.primary.times) == 1
        if on.virtual:
            assert anyio.current_time() - began < 31
        await on.ask()
        assert len(on.primary.times) == 1


async def test_s07_a_late_first_token_goes_to_the_fallback(
    anyio_backend: Any, streamed: bool
) -> None:
    def late(server: Server, streamed: bool) -> Answer:
        pause = Pause(20.0 if server.unit_s == 1 else 3.0)
        if streamed:
            return server.whole(streamed, pause)
        whole = server.whole(streamed)
        start, _, body = sent(whole).partition(b"\r\n\r\n")
        return raw(start + b"\r\n\r\n", pause, body)

    async with scene(anyio_backend, streamed, late, limit_s=10, silent=True) as on:
        began = anyio.current_time()
        result = await on.ask()
        assert (result.text, result.model) == (TEXT, "fallback")
        if on.virtual:
            assert 10 <= anyio.current_time() - began < 15


async def test_s07_the_pool_has_a_first_token_limit_of_its_own(
    anyio_backend: Any, streamed: bool
) -> None:
    def late(server: Server, streamed: bool) -> Answer:
        return server.whole(streamed, Pause(20.0 if server.unit_s == 1 else 3.0))

    if not streamed:
        return
    virtual = "clock" in anyio_backend[1]
    async with scene(anyio_backend, True, late, first_token_s=10 if virtual else 1.5) as on:
        began = anyio.current_time()
        result = await on.ask()
        assert (result.text, result.model) == (TEXT, "fallback")
        assert [event.reason for event in on.failovers] == ["silent"]
        if on.virtual:
            assert 10 <= anyio.current_time() - began < 15


async def test_s07_a_server_that_says_who_speaks_and_then_nothing_is_no_sooner(
    anyio_backend: Any, streamed: bool
) -> None:
    def late(server: Server, streamed: bool) -> Answer:
        return server.whole(streamed, Pause(20.0 if server.unit_s == 1 else 3.0))

    if not streamed:
        return
    async with scene(anyio_backend, True, late, limit_s=10, idle_s=60, silent=True) as on:
        began = anyio.current_time()
        assert (await on.ask()).model == "fallback"
        if on.virtual:
            assert 10 <= anyio.current_time() - began < 15


@pytest.mark.parametrize("ending", [Close(), Reset()], ids=["closed", "reset"])
async def test_s08_a_cut_answer_is_had_whole_from_the_fallback(
    anyio_backend: Any, streamed: bool, ending: Any
) -> None:
    async with scene(anyio_backend, streamed, broken(40, ending), always=True) as on:
        result = await on.ask()
        assert (result.text, result.model) == (TEXT, "fallback")
        assert len(on.fallback.times) == 1
        retracted = [delta.retracted for delta in on.deltas if delta.retracted]
        assert retracted == (["".join(WORDS[:40]).rstrip()] if streamed else [])
        assert [event.begun for event in on.failovers] == [streamed]


async def test_s09_a_stalled_answer_is_had_from_the_fallback_and_the_next_call_is_well(
    anyio_backend: Any, streamed: bool
) -> None:
    async with scene(anyio_backend, streamed, broken(20, Hang()), always=True, silent=True) as on:
        began = anyio.current_time()
        result = await on.ask()
        assert (result.text, result.model) == (TEXT, "fallback")
        if on.virtual:
            assert 30 <= anyio.current_time() - began < 31
        before = anyio.current_time()
        assert (await on.ask()).text == TEXT
        if on.virtual:
            assert anyio.current_time() - before < 1
        assert len(on.primary.times) == 1


async def test_s10_an_event_that_is_no_json_is_skipped(anyio_backend: Any, streamed: bool) -> None:
    def garbled(server: Server, streamed: bool) -> Answer:
        if not streamed:
            return server.whole(streamed)
        return stream(*WORDS[:10], encode_event("{nonsense"), *WORDS[10:], model=server.model)

    async with scene(anyio_backend, streamed, garbled) as on:
        result = await on.ask()
        assert (result.text, result.model) == (TEXT, "primary")
        assert on.fallback.times == []


async def test_s11_a_stream_without_its_end_mark_is_complete(
    anyio_backend: Any, streamed: bool
) -> None:
    def unmarked(server: Server, streamed: bool) -> Answer:
        if not streamed:
            return server.whole(streamed)
        return stream(*WORDS, usage=(7, 60), model=server.model, done=False)

    async with scene(anyio_backend, streamed, unmarked) as on:
        result = await on.ask()
        assert (result.text, result.model) == (TEXT, "primary")
        assert result.usage.completion_tokens == 60
        assert on.fallback.times == []
        assert on.failovers == []


OVERFLOW = fixed(
    faults.error(
        400, "This model's maximum context length is 4096 tokens. However, your messages resulted in"
        " 9000 tokens.", "invalid_request_error", code="context_length_exceeded",
    )
)  # fmt: skip


async def test_s12_a_prompt_that_is_too_long_is_asked_once(
    anyio_backend: Any, streamed: bool
) -> None:
    async with scene(anyio_backend, streamed, OVERFLOW, always=True) as on:
        with pytest.raises(InputTooLargeError):
            await on.ask()
        assert len(on.primary.times) == 1
        assert on.fallback.times == []
        assert on.pool.endpoints[0].state == "healthy"


async def test_s12_a_prompt_that_is_too_long_goes_to_a_larger_window(
    anyio_backend: Any, streamed: bool
) -> None:
    async with scene(anyio_backend, streamed, OVERFLOW, always=True, windows=(4096, 32768)) as on:
        result = await on.ask()
        assert (result.text, result.model) == (TEXT, "fallback")
        assert len(on.primary.times) == 1
    async with scene(anyio_backend, streamed, OVERFLOW, always=True, windows=(None, 4096)) as on:
        with pytest.raises(InputTooLargeError):
            await on.ask()
        assert on.fallback.times == []


async def test_s13_a_refusal_is_an_outcome_and_nobody_else_is_asked(
    anyio_backend: Any, streamed: bool
) -> None:
    refused = fixed(
        faults.error(400, "declined", "invalid_request_error", code="content_policy_violation")
    )
    async with scene(anyio_backend, streamed, refused, always=True) as on:
        with pytest.raises(RefusedError) as caught:
            await on.ask()
        assert caught.value.category == "content_policy_violation"
        result = await on.pool.run("hi", model="m", max_tokens=9, stream=streamed)
        assert (result.termination, result.refusal) == ("refused", "content_policy_violation")
        assert len(on.primary.times) == 2
        assert on.fallback.times == []


async def test_s14_a_broken_stream_is_begun_anew_without_a_prefill(
    anyio_backend: Any, streamed: bool
) -> None:
    def refuses_prefill(server: Server, _streamed: bool) -> Answer:
        if server.prompts[-1][-1]["role"] == "assistant":
            return faults.error(400, "Prefilling assistant messages is not supported", "invalid")
        return server.whole(streamed)

    fallback = Server("fallback", [refuses_prefill], always=True)
    async with scene(
        anyio_backend, streamed, broken(40, Close()), always=True, fallback=fallback
    ) as on:
        result = await on.ask()
        assert (result.text, result.model) == (TEXT, "fallback")
        assert on.fallback.prompts == [on.primary.prompts[0]]


async def test_s15_an_outage_is_survived_with_few_attempts_and_its_end_is_noticed(
    anyio_backend: Any, streamed: bool
) -> None:
    async with scene(anyio_backend, streamed, unit_s=0.01) as on:
        began = anyio.current_time()
        recovery = began + 60 * on.unit_s

        def out(server: Server, streamed: bool) -> Answer:
            down = anyio.current_time() < recovery
            return faults.server_error(503) if down else server.whole(streamed)

        on.primary.script, on.primary.always = [out], True
        for number in range(20):
            assert (await on.ask()).text == TEXT
            await anyio.sleep(max(0, began + 4 * on.unit_s * (number + 1) - anyio.current_time()))
        before = [at for at in on.primary.times if at < recovery]
        assert len(before) <= 12
        if on.virtual:
            since = [at for at in on.primary.times if at >= recovery]
            assert since[0] - recovery <= 30
            assert len(since) >= 2  # and stays there
            assert on.pool.endpoints[0].state == "healthy"


async def test_s16_the_reply_names_who_answered_and_costs_what_that_cost(
    anyio_backend: Any, streamed: bool
) -> None:
    fallback = Server("fallback", usage=(11, 22))
    async with scene(anyio_backend, streamed, status(503), always=True, fallback=fallback) as on:
        result = await on.ask()
        assert result.model == "fallback"
        assert (result.usage.prompt_tokens, result.usage.completion_tokens) == (11, 22)
        ran = await on.pool.run("hi", model="m", max_tokens=9, stream=streamed)
        assert (ran.text, ran.model, ran.usage.total_tokens) == (TEXT, "fallback", 33)
