"""The one door to models: requests name what they are worth, the deployment what that buys. It awaits."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any, Self, cast

from rig.agent.ledger import sent_to
from rig.client.running import RunMixin
from rig.client.whole_reply import WholeReply
from rig.errors import InvalidRequestError, RefusedError
from rig.events import TierFellBack
from rig.gateway.streaming import open_stream
from rig.gateway.telling import remember, remembered, tell
from rig.gateway.tiers import DEFAULT_TIER, Deployment, Tier, TierChoice, TierModel
from rig.gateway.validation import check_request
from rig.gateway.windows import window_of
from rig.messages import Message
from rig.model import (
    ChatOptions,
    ChatRequest,
    Delta,
    Model,
    Reply,
    ReplyStream,
    StreamingModel,
    ToolSpec,
)

DEFAULT_OPTIONS = ChatOptions()


class Gateway(RunMixin):
    """Answers requests by tier: fast, balanced or deep. Which model that is, and how hard it thinks, is said here.

    ```python
    gateway = Gateway(
        pool,
        tiers={
            Tier.FAST: TierModel(model="qwen3-4b", effort="low", max_tokens=1024),
            Tier.BALANCED: "qwen3-14b",
            Tier.DEEP: TierModel(model="qwen3-32b", effort="high", max_tokens=16_384),
        },
    )
    result = await gateway.run("Is this contract valid?", model=Tier.DEEP, max_tokens=0)
    ```

    It sends one request and reports one result: it checks requests before they cost anything, names the model and the
    tier on each reply, and returns a refusal as an outcome (`Reply.refusal`), never as an exception. It puts
    no prompts together, authorises nobody and does not loop; `run` is the same loop as everywhere.

    A tier that nobody knows, and one the deployment has no model for, fall back and are told
    (`TierFellBack`): a tier says what a request may cost, not whether it is allowed.

    Args:
        model: what asks the models: a client, a pool, a router, a script in a test.
        tiers: what each tier buys; one that is missing is stood in for by its neighbour.
        default_tier: the tier of requests that name none, or an unknown one.

    Attributes:
        default_model: the name of the default tier.

    Raises:
        NotConfiguredError: there is no tier at all.
        InvalidRequestError: an argument can't be used; the message says what to change.
    """

    def __init__(
        self,
        model: Model | StreamingModel,
        *,
        tiers: Mapping[Tier, TierModel | str],
        default_tier: Tier = DEFAULT_TIER,
    ) -> None:
        if not callable(getattr(model, "complete", None)):
            raise InvalidRequestError(
                "a gateway needs something to ask: a Client, a Pool, anything with complete(request)"
            )
        self._model = model
        self._deployment = Deployment(
            tiers=cast("Mapping[Tier, TierModel]", tiers), default=default_tier
        )
        self.default_model = self._deployment.default.value

    def __repr__(self) -> str:
        return f"Gateway({', '.join(self._deployment.tiers)})"

    def default_max_tokens(self, model: str) -> int:
        """The limit of a reply of a tier, in tokens, for calls that name none.

        Args:
            model: the tier's name.
        """
        return self._deployment.choose(model).model.max_tokens

    def request(
        self,
        messages: Iterable[Message | Mapping[str, Any]],
        *,
        tier: Tier | str | None = "",
        system: str = "",
        tools: Sequence[ToolSpec] = (),
        max_tokens: int = 0,
        options: ChatOptions = DEFAULT_OPTIONS,
    ) -> ChatRequest:
        """A request of a tier.

        Args:
            messages: the conversation so far, oldest first.
            tier: what it is worth; "" or None is the default tier.
            system: the system prompt, put at the head. Never give retrieved text here: that belongs into
                a user message, see `with_documents`.
            tools: what the model may call. Their order is part of the prefix a server caches: sort them
                once and keep it.
            max_tokens: limit of the reply, in tokens; 0 takes the tier's own.
            options: sampling and everything else; what is set wins over the tier's.

        Raises:
            InvalidRequestError: it is no request; the sentence names the index of what is wrong.
        """
        given = tuple(messages)
        head = ({"role": "system", "content": system},) if system.strip() else ()
        named = "" if tier is None else tier
        limit = max_tokens or self.default_max_tokens(named)
        made = ChatRequest(
            model=named, messages=given, max_tokens=limit, tools=tools, options=options
        )
        check_request(made)
        return replace(made, messages=(*map(Message.model_validate, head), *made.messages))

    async def complete(self, request: ChatRequest, /) -> Reply:
        """Send one request and report what came of it.

        Args:
            request: what to ask; its model is the name of a tier.

        Returns:
            The reply, with the model that was used, its tier, and what it cost; a refusal too.

        Raises:
            InvalidRequestError: something is wrong with the request; nothing was sent.
            RigError: no usable reply came back; `gateway_fault` tells it in seven codes.
        """
        check_request(request)
        choice = await self._chosen(request.model)
        try:
            reply = await cast("Model", self._model).complete(choice.model.applied(request))
        except RefusedError as error:
            reply = _refusal(error)
        return _signed(reply, choice)

    @asynccontextmanager
    async def stream(self, request: ChatRequest, /) -> AsyncGenerator[ReplyStream]:
        """Send one request and hand out its reply while it arrives; whole where the model can't stream.

        Args:
            request: what to ask; its model is the name of a tier.

        Raises:
            InvalidRequestError: something is wrong with the request; nothing was sent.
            RigError: nothing of a reply came back.
        """
        check_request(request)
        choice = await self._chosen(request.model)

        def sign(reply: Reply) -> Reply:
            return _signed(reply, choice)

        async with AsyncExitStack() as stack:
            opened = open_stream(self._model, choice.model.applied(request))
            try:
                stream = await stack.enter_async_context(opened)
            except RefusedError as error:
                stream = WholeReply(_refusal(error))
            yield GatewayStream(stream, sign)

    async def context_window(self, model: str | None = None) -> int | None:
        """The size of the context window of a tier's model, in tokens, as what is below knows it.

        Args:
            model: the name of a tier; None is the default tier.

        Returns:
            None where nobody knows.
        """
        return await window_of(self._model, self._deployment.choose(model or "").model.model)

    async def _chosen(self, asked: str) -> TierChoice:
        """The tier of a request; that it is another than was asked for is told, once in a run."""
        choice = self._deployment.choose(asked)
        sent_to(choice.model.model)
        key = (self, choice.asked)
        if choice.fell_back is not None and remembered(key) is None:
            remember(key, choice)
            await tell(
                TierFellBack(asked=choice.asked, used=choice.tier.value, reason=choice.fell_back)
            )
        return choice


class GatewayStream:
    """A reply while it arrives. That the model declined ends it like any other answer.

    Args:
        stream: the stream.
        sign: what becomes of its reply.
    """

    def __init__(self, stream: ReplyStream, sign: Callable[[Reply], Reply]) -> None:
        self._stream = stream
        self._sign = sign
        self._deltas: AsyncIterator[Delta] = aiter(stream)
        self._refusal: Reply | None = None

    @property
    def text(self) -> str:
        """The visible text of the deltas so far, without what was retracted."""
        return self._stream.text

    def reply(self) -> Reply:
        """The whole reply, once the last delta was handed out.

        Raises:
            InvalidRequestError: the stream has not ended yet.
            RigError: what ended it.
        """
        return self._sign(self._stream.reply() if self._refusal is None else self._refusal)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delta:
        if self._refusal is not None:
            raise StopAsyncIteration
        try:
            return await anext(self._deltas)
        except RefusedError as error:
            self._refusal = _refusal(error, self._stream.text)
        return Delta(finish_reason="content_filter")


def _refusal(error: RefusedError, text: str = "") -> Reply:
    """The reply that an endpoint's refusal is."""
    return Reply(text=text or error.text, finish_reason="content_filter", refusal=error.category)


def _signed(reply: Reply, choice: TierChoice) -> Reply:
    """The reply with its model, which not every server names, and its tier."""
    return replace(reply, model=reply.model or choice.model.model, tier=choice.tier.value)
