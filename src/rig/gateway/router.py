"""A model that chooses which model answers. It awaits; what it decides is decided in the modules beside it."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import cast

from rig.agent.ledger import sent_to
from rig.client.running import RunMixin
from rig.errors import InvalidRequestError, ModelNotFoundError
from rig.events import RouteFellBack
from rig.gateway.categories import AUTO, Categories, Category
from rig.gateway.classifier import Classifier
from rig.gateway.classify import ClassifierPolicy
from rig.gateway.heuristics import Heuristics
from rig.gateway.listing import Listing
from rig.gateway.route import (
    Reads,
    Route,
    Sorting,
    Topic,
    is_named,
    preferences,
    select,
    topic_of,
    without_help,
)
from rig.gateway.streaming import ChangedStream, open_stream
from rig.gateway.telling import remember, remembered, tell
from rig.gateway.windows import window_of
from rig.model import ChatOptions, ChatRequest, Model, Reply, ReplyStream, StreamingModel

DEFAULT_POLICY = ClassifierPolicy()


class Router(RunMixin):
    """Sends each request to the model that suits it.

    ```python
    router = Router(
        pool,
        categories={
            "code": Category(models=("qwen3-coder", "qwen3"), code=True, patterns=("refactor*",)),
            "chat": Category(models=("qwen3",), description="small talk and simple questions"),
        },
        default_category="chat",
        default="qwen3",
        router_model="qwen3-0.6b",
    )
    result = await router.run("Why does this loop never end?", max_tokens=1024)
    ```

    A model that a request names is asked. Else its text is looked at; where that does not tell, a small
    model is asked for a category; where that does not help, it is `default_category`. The first model of the
    category that is there answers, else `default`. No run fails for any of this: what had to be done
    without is told by `RouteFellBack`. A run is routed once, by its first request; all of its rounds go the
    same way.

    Args:
        model: what asks the models: a client, a pool, a script in a test.
        categories: what there is, by name.
        default: the model of everything else.
        default_category: the category of what nothing tells; None sends that to `default`.
        router_model: the small model that sorts, by its name below; None asks nobody.
        policy: how the small model is asked.
        reads: which user turn says what a conversation is about: the newest, so that each run of a
            conversation goes where its question belongs; or the first, so that all of them stay
            with one model, and with the cache of its server.

    Attributes:
        default_model: "auto", which asks the router to choose.

    Raises:
        InvalidRequestError: an argument can't be used; the message says what to change.
    """

    default_model = AUTO

    def __init__(
        self,
        model: Model | StreamingModel,
        *,
        categories: Mapping[str, Category],
        default: str,
        default_category: str | None = None,
        router_model: str | None = None,
        policy: ClassifierPolicy = DEFAULT_POLICY,
        reads: Reads = "newest",
    ) -> None:
        _check(model, router_model, policy, reads)
        self._model = model
        self._categories = Categories(
            by_name=categories, default=default, fallback=default_category or ""
        )
        self._heuristics = Heuristics(self._categories.by_name)
        self._listing = Listing(model)
        self._reads: Reads = reads
        self._classifier: Classifier | None = None
        if router_model is not None:
            asked = cast("Model", model)
            described = self._categories.descriptions
            self._classifier = Classifier(asked, router_model, described, policy)

    def __repr__(self) -> str:
        return f"Router({', '.join(self._categories.by_name)})"

    async def complete(self, request: ChatRequest, /) -> Reply:
        """Ask the model that suits a request.

        Args:
            request: what to ask; its model is chosen where it is "auto" or "".

        Raises:
            RigError: as the model that was asked raises it.
        """
        route = await self._routed(request)
        model = cast("Model", self._model)
        while len(route.models) > 1:
            try:
                return _named(await model.complete(_for(request, route)), route)
            except ModelNotFoundError:
                wanted, route = route.model, route.without_first()
            await self._missed(wanted, route)
        return _named(await model.complete(_for(request, route)), route)

    @asynccontextmanager
    async def stream(self, request: ChatRequest, /) -> AsyncGenerator[ReplyStream]:
        """Ask the model that suits a request for its reply piece by piece.

        A model that can't stream gives its reply in one piece.

        Args:
            request: what to ask; its model is chosen where it is "auto" or "".

        Raises:
            RigError: as the model that was asked raises it.
        """
        route = await self._routed(request)
        async with AsyncExitStack() as stack:
            stream, used = await self._opened(stack, request, route)
            yield ChangedStream(stream, lambda reply: _named(reply, used))

    async def route(self, request: ChatRequest | str) -> Route:
        """Where a request would go, which is not sent.

        For those who choose more by it than the model, for example `toolbox.select(route.category)`.

        Args:
            request: a request, or what the user says.
        """
        if isinstance(request, str):
            return await self._decided(Topic(text=request), ChatOptions())
        if is_named(request.model):
            return _explicit(request.model)
        return await self._decided(topic_of(request.messages, self._reads), request.options)

    async def context_window(self, model: str | None = None) -> int | None:
        """The size of a model's context window, in tokens, as what is below knows it.

        Args:
            model: the model's name; None or "auto" for the one the run under way goes to, else the default.

        Returns:
            None where nobody knows.
        """
        name = model or AUTO
        if not is_named(name):
            known = remembered(self)
            name = known.model if isinstance(known, Route) else self._categories.default
        return await window_of(self._model, name)

    async def _opened(
        self, stack: AsyncExitStack, request: ChatRequest, route: Route
    ) -> tuple[ReplyStream, Route]:
        """The stream of the first model that is there, and the route to it.

        Raises:
            RigError: as the model that was asked raises it.
        """
        while len(route.models) > 1:
            try:
                opened = open_stream(self._model, _for(request, route))
                return await stack.enter_async_context(opened), route
            except ModelNotFoundError:
                wanted, route = route.model, route.without_first()
            await self._missed(wanted, route)
        opened = open_stream(self._model, _for(request, route))
        return await stack.enter_async_context(opened), route

    async def _routed(self, request: ChatRequest) -> Route:
        """The route of a request; within a run that of its first, which is told."""
        if is_named(request.model):
            route = _explicit(request.model)
            await self._tell_once(route)
            return route
        known = remembered(self)
        if isinstance(known, Route):
            return known
        route = await self._decided(topic_of(request.messages, self._reads), request.options)
        remember(self, route)
        await tell(route.told())
        return route

    async def _tell_once(self, route: Route) -> None:
        key = (self, route.model)
        if remembered(key) is None:
            remember(key, True)
            await tell(route.told())

    async def _missed(self, wanted: str, route: Route) -> None:
        """A model was not there after all; the rest of the run does without."""
        remember(self, route)
        await tell(RouteFellBack(reason="model_not_found", wanted=wanted, used=route.model))

    async def _decided(self, topic: Topic, options: ChatOptions) -> Route:
        found = await self._sorted(topic, options)
        wanted = preferences(found.category, self._categories)
        selection = select(wanted, await self._listing.known(wanted))
        for name in selection.missing:
            used = selection.models[0]
            await tell(RouteFellBack(reason="model_missing", wanted=name, used=used))
        return found.to(selection.models)

    async def _sorted(self, topic: Topic, options: ChatOptions) -> Sorting:
        """The category: by the text, else by the small model, else the default."""
        guess = self._heuristics.guess(topic.text, has_images=topic.has_images)
        if guess.category:
            return Sorting(category=guess.category, by="heuristic", reason=guess.reason)
        otherwise = without_help(guess, self._categories)
        classifier = self._classifier
        if classifier is None or not topic.text.strip():
            return otherwise
        verdict = await classifier.sort(topic.text, options)
        if verdict.problem is not None:
            wanted, used = classifier.model, otherwise.category
            await tell(RouteFellBack(reason=verdict.problem, wanted=wanted, used=used))
            return replace(otherwise, usage=verdict.usage)
        return Sorting(
            category=verdict.category,
            by="cached" if verdict.cached else "classified",
            reason=f"{classifier.model} says so",
            usage=verdict.usage,
        )


def _explicit(model: str) -> Route:
    return Route(category="", models=(model,), by="explicit", reason="the request names it")


def _for(request: ChatRequest, route: Route) -> ChatRequest:
    """The request to the model of a route, whose price is to be paid."""
    sent_to(route.model)
    return request if request.model == route.model else replace(request, model=route.model)


def _named(reply: Reply, route: Route) -> Reply:
    """The reply with the name of its model, which not every server gives."""
    return reply if reply.model else replace(reply, model=route.model)


def _check(model: object, router_model: object, policy: object, reads: object) -> None:
    """What a router is given beside its categories.

    Raises:
        InvalidRequestError: it can't be used.
    """
    if not callable(getattr(model, "complete", None)):
        raise InvalidRequestError(
            "a router needs something to ask: a Client, a Pool, anything with complete(request)"
        )
    if router_model is not None and not (isinstance(router_model, str) and is_named(router_model)):
        raise InvalidRequestError(
            "router_model must be the name of a small model, or None to ask nobody"
        )
    if not isinstance(policy, ClassifierPolicy):
        raise InvalidRequestError("policy must be a ClassifierPolicy(...)")
    if reads not in {"newest", "first"}:
        raise InvalidRequestError('reads must be "newest" or "first"')
