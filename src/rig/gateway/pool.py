"""Many endpoints that are asked as one: whoever is well, has the model and is least busy answers."""

import copy
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from inspect import iscoroutinefunction
from types import TracebackType
from typing import Self

import anyio

from rig.agent.background import task_group
from rig.client import settings
from rig.client.client import USER_AGENT, Client
from rig.client.per_loop import PerLoop
from rig.client.running import RunMixin
from rig.errors import InvalidRequestError, RigError, UpstreamError
from rig.events import RunEvent, event_listener
from rig.gateway.affinity import conversation
from rig.gateway.calling import CLOSED, Call, Errand
from rig.gateway.checkup import LISTED_S, check, list_models
from rig.gateway.endpoint import Endpoint, EndpointStatus, named
from rig.gateway.floor import Floor
from rig.gateway.line import Line
from rig.gateway.outcome import final_error
from rig.gateway.policy import PoolPolicy
from rig.gateway.pool_stream import Opener, PoolStream, with_latency
from rig.model import ChatRequest, Reply, ReplyStream
from rig.text.repetition import RepetitionGuard
from rig.transport.http import MAX_RESPONSE_BYTES, Timeouts
from rig.transport.retry import RetryPolicy
from rig.wire.embeddings import Vector

QUICK = RetryPolicy(initial_s=0.5)
"""A pool's retries: half the first pause of a client, since somebody else may be waiting idle."""

_POLICY = PoolPolicy()
_TIMEOUTS = Timeouts()
_GUARD = RepetitionGuard()

OnEvent = Callable[[RunEvent], None]


class Pool(RunMixin):
    """Several servers as one model: `run`, `complete`, `stream` and `embed` as a `Client` has them.

    A request goes to an endpoint that is well and has its model: to the one with the fewest requests under
    way, then by priority, then to the quickest; the turns of a conversation go back to where its
    prompt is cached. What fails is repeated there, then elsewhere, within the budget; a stream that
    breaks is begun anew. An endpoint that keeps failing is left alone for a while, and found out about
    by single requests: there is no task in the background. See docs/guide/pool.md for the rules.

    A pool is cheap to make, asks nothing by itself, and is safe to share between any number of tasks.

    Args:
        endpoints: the servers, `Endpoint(...)` or URLs.
        model: the model used where a call names none.
        policy: when another endpoint is asked, or none for a while.
        retry: delays, the budget of a call, how many requests may fail; `RetryPolicy.off()` sends one.
        timeouts: bounds of every wait, for endpoints without their own.
        max_response_bytes: as for `Client`.
        repetition: as for `Client`.
        user_agent: the User-Agent header.
        on_event: called with each event of the endpoints, whichever call brings it up. Runs get the
            events of their own requests as `on_event=` of `run` does.

    Raises:
        InvalidRequestError: an argument can't be used; the message says what to change.
    """

    def __init__(
        self,
        endpoints: Iterable[Endpoint | str],
        *,
        model: str | None = None,
        policy: PoolPolicy = _POLICY,
        retry: RetryPolicy = QUICK,
        timeouts: Timeouts = _TIMEOUTS,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
        repetition: RepetitionGuard = _GUARD,
        user_agent: str = USER_AGENT,
        on_event: OnEvent | None = None,
    ) -> None:
        self.default_model = settings.model_name(model)
        self._policy = settings.instance_of(PoolPolicy, policy, "policy")
        self._retry = settings.instance_of(
            RetryPolicy, retry, "retry", "; RetryPolicy.off() sends each request once"
        )
        self._timeouts = settings.instance_of(Timeouts, timeouts, "timeouts")
        self._on_event = _listener(on_event)
        self._endpoints = named(endpoints)
        self._clients = tuple(
            Client(
                each.url,
                each.api_key,
                dialect=each.dialect,
                http_client=each.http_client,
                max_response_bytes=max_response_bytes,
                user_agent=user_agent,
                timeouts=each.timeouts or timeouts,
                retry=RetryPolicy.off(),
                repetition=repetition,
            )
            for each in self._endpoints
        )
        self._tags: frozenset[str] = frozenset()
        self._floors = PerLoop(self._floor)
        self._closed = False

    def __repr__(self) -> str:
        names = ", ".join(each.name for each in self._endpoints if self._tags.issubset(each.tags))
        return f"Pool({names}; model={self.default_model!r})"

    async def __aenter__(self) -> Self:
        """The pool itself.

        Raises:
            InvalidRequestError: it was closed: make a new one.
        """
        if self._closed:
            raise InvalidRequestError(CLOSED)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close every connection, and let nobody wait for one; callers' `http_client`s stay open."""
        self._closed = True
        self._floors.get().close()
        with anyio.CancelScope(shield=True):
            for client in self._clients:
                await client.aclose()

    def tagged(self, *tags: str) -> Self:
        """The same pool, asking only endpoints that have all these tags.

        It shares everything with this one: connections, health, slots, who waits; closing one closes both.

        Args:
            tags: words of `Endpoint.tags`.

        Raises:
            InvalidRequestError: no endpoint has them all.
        """
        wanted = self._tags | set(tags)
        if not any(wanted.issubset(each.tags) for each in self._endpoints):
            raise InvalidRequestError("no endpoint of the pool has all these tags")
        view = copy.copy(self)
        view._tags = wanted  # noqa: SLF001 a pool too
        return view

    def client(self, name: str) -> Client:
        """The client of one endpoint, to measure or ask that one; it does not retry.

        Args:
            name: the endpoint's.

        Raises:
            InvalidRequestError: there is none of that name.
        """
        for endpoint, client in zip(self._endpoints, self._clients, strict=True):
            if endpoint.name == name:
                return client
        raise InvalidRequestError("the pool has no endpoint of that name")

    @property
    def endpoints(self) -> tuple[EndpointStatus, ...]:
        """How each endpoint is now, as far as the running event loop knows."""
        try:
            floor, now = self._floors.get(), anyio.current_time()
        except RuntimeError:  # outside of any event loop nothing is under way
            floor, now = self._floor(), 0.0
        return tuple(line.status(now) for line in self._lines(floor))

    async def complete(self, request: ChatRequest, /) -> Reply:
        """Send one chat request and return the whole reply, of whichever endpoint gives one.

        Args:
            request: what to ask.

        Raises:
            RigError: the request was refused, or no endpoint gave a usable reply within the budget.
        """
        request = self._named(request)
        call = self._call(_errand(request, self._tags))
        reply = await call.answer(lambda line: line.client.complete(_there(request, line)))
        return with_latency(reply, call)

    def stream(self, request: ChatRequest, /) -> AbstractAsyncContextManager[ReplyStream]:
        """Send one chat request and hand out its reply while it arrives.

        Where the reply breaks, it is begun anew at another endpoint: a delta then retracts the text
        that was shown, calls that had begun are void, and usage and model are those of who came
        to the end. Otherwise as `Client.stream`.

        Args:
            request: what to ask.

        Raises:
            RigError: the request was refused, or no endpoint gave a usable reply within the budget.
        """
        return self._stream(request)

    @asynccontextmanager
    async def _stream(self, request: ChatRequest) -> AsyncGenerator[ReplyStream]:
        named = self._named(request)
        opener = Opener(
            self._call(_errand(named, self._tags)),
            lambda line: line.client.stream(_there(named, line)),
            lambda line: self._first_token_s(line.endpoint),
        )
        stream = PoolStream(opener, await opener.open())
        try:
            yield stream
        finally:
            await stream.aclose()

    async def embed(self, texts: Sequence[str], *, model: str | None = None) -> tuple[Vector, ...]:
        """The vectors of some texts, in their order, of whichever endpoint gives them.

        Args:
            texts: what to embed, in one request; none at all sends none.
            model: the embedding model's name; the pool's own when None.

        Returns:
            One vector for each text, all of one length.

        Raises:
            RigError: the request was refused, or no endpoint gave a usable answer.
        """
        name = self.named_model(model)
        if not isinstance(texts, str) and not len(texts):
            return ()
        call = self._call(Errand(model=name, tags=self._tags))
        return await call.answer(
            lambda line: line.client.embed(texts, model=line.model_there(name))
        )

    def has_model(self, name: str) -> bool | None:
        """Whether an endpoint has a model, as declared or as `models()` found out; None when not known.

        Args:
            name: the model's.
        """
        try:
            floor, now = self._floors.get(), anyio.current_time()
        except RuntimeError:  # outside of any event loop only what was declared is known
            floor, now = self._floor(), 0.0
        known = [line.has_model(name, now) for line in self._lines(floor)]
        return True if True in known else None if None in known else False

    async def models(self) -> tuple[str, ...]:
        """The names of all models, each once: those that are declared, and what the others list.

        Endpoints that declare none are asked, all at the same time, within `CHECK_S`; a list is believed for
        `LISTED_S`. Those that give none, or are left alone at the moment, are left out.

        Raises:
            RigError: no model is known, and nobody gave a list.
            UpstreamError: nor can anybody be asked now.
        """
        floor, now = self._floors.get(), anyio.current_time()
        lines = self._lines(floor)
        errors: list[tuple[Line, RigError]] = []

        async def ask(line: Line) -> None:
            error, event = await list_models(line, self._policy, self._retry)
            if error is not None:
                errors.append((line, error))
            if event is not None:
                await self._tell(event)

        async with task_group() as tasks:
            for line in lines:
                fresh = line.listed is not None and now - line.listed_at < LISTED_S
                if line.endpoint.names is None and not fresh and line.ready_at <= now:
                    tasks.start_soon(ask, line)
        floor.changed()
        names = dict.fromkeys(
            name for line in lines for name in (line.endpoint.names or line.listed or ())
        )
        if not names and errors:
            line, fault = errors[0]
            error = final_error(fault, attempts=1, asked=(), name=line.name if lines[1:] else "")
            raise error
        if not names and any(line.ready_at > now for line in lines):
            raise UpstreamError("no endpoint of the pool can be asked now", reason="no_endpoint")
        return tuple(names)

    async def check(self) -> tuple[EndpointStatus, ...]:
        """Look at every endpoint now, at the same time: is it there, its models, window and slots.

        A pool needs none of that; it is for a page of its state, for slots that are not declared, and for
        knowing at the start who is missing. What it finds is used from then on. At most some fifteen
        small requests each, within `CHECK_S`; nothing is repeated. Not to be asked in a loop.

        Returns:
            How each endpoint is.
        """
        floor = self._floors.get()

        async def look(line: Line) -> None:
            for event in await check(line, self._policy, self._retry):
                await self._tell(event)

        async with task_group() as tasks:
            for line in self._lines(floor):
                tasks.start_soon(look, line)
        floor.changed()
        return self.endpoints

    async def context_window(self, model: str | None = None) -> int | None:
        """The smallest window in tokens among the endpoints that have a model: what fits everywhere.

        A prompt that is larger goes on from an endpoint it does not fit to one whose window is known
        to be larger, so that this also tells the pool where that is.

        Args:
            model: the model's name; the pool's own when None.

        Returns:
            The window; None where no endpoint says.
        """
        name = model or self.default_model
        now = anyio.current_time()
        lines = [
            line
            for line in self._lines(self._floors.get())
            if line.has_model(name, now) is not False
        ]

        async def ask(line: Line) -> None:
            line.learn_window(name, await line.client.context_window(line.model_there(name)))

        async with task_group() as tasks:
            for line in lines:
                if line.window(name) is None:
                    tasks.start_soon(ask, line)
        return min((size for line in lines if (size := line.window(name))), default=None)

    async def count_tokens(self, text: str, model: str | None = None) -> int | None:
        """The number of tokens of a text, counted by the first endpoint with the model that can.

        Args:
            text: the text alone, without chat template.
            model: the model's name; the pool's own when None.

        Returns:
            The count; None where no endpoint that is well gave one.
        """
        name = model or self.default_model
        now = anyio.current_time()
        for line in self._lines(self._floors.get()):
            if line.has_model(name, now) is False or line.health.resting:
                continue
            count = await line.client.count_tokens(text, line.model_there(name))
            if count is not None:
                return count
        return None

    def _lines(self, floor: Floor) -> list[Line]:
        return [line for line in floor.lines if self._tags.issubset(line.endpoint.tags)]

    def _floor(self) -> Floor:
        pairs = zip(self._endpoints, self._clients, strict=True)
        lines = [Line(index, *pair) for index, pair in enumerate(pairs)]
        return Floor(lines, self._policy)

    def _first_token_s(self, endpoint: Endpoint) -> float | None:
        limit_s = self._policy.first_token_s
        return (endpoint.timeouts or self._timeouts).first_byte_s if limit_s is None else limit_s

    def _named(self, request: ChatRequest) -> ChatRequest:
        name = self.named_model(request.model)
        return request if name == request.model else replace(request, model=name)

    def _call(self, errand: Errand) -> Call:
        """One request on its way.

        Raises:
            InvalidRequestError: the pool is closed.
        """
        if self._closed:
            raise InvalidRequestError(CLOSED)
        return Call(
            errand, self._floors.get(), policy=self._policy, retry=self._retry, tell=self._tell
        )

    async def _tell(self, event: RunEvent) -> None:
        if self._on_event is not None:
            self._on_event(event)
        if (listener := event_listener.get()) is not None:
            await listener(event)


def _errand(request: ChatRequest, tags: frozenset[str]) -> Errand:
    options = request.options
    return Errand(
        model=request.model,
        conversation=conversation(request.model, request.messages),
        tenant=options.tenant,
        priority=options.priority,
        tags=tags,
        greedy=options.greedy,
    )


def _there(request: ChatRequest, line: Line) -> ChatRequest:
    """The request as an endpoint knows its model."""
    name = line.model_there(request.model)
    return request if name == request.model else replace(request, model=name)


def _listener(on_event: OnEvent | None) -> OnEvent | None:
    """What is told of events.

    Raises:
        InvalidRequestError: it can't be called, or would have to be awaited.
    """
    if on_event is None:
        return None
    called = getattr(on_event, "__call__", None)  # noqa: B004 its kind matters, not that it is there
    if called is None or iscoroutinefunction(on_event) or iscoroutinefunction(called):
        raise InvalidRequestError(
            "on_event of a pool is called in line and never awaited: give it a function without async"
        )
    return on_event
