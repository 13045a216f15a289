"""The small model that sorts what a text alone does not tell: asked once for each text. It awaits."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field, replace
from hashlib import sha256

import anyio

from rig.agent.ledger import complete_paid
from rig.client.per_loop import PerLoop
from rig.errors import BudgetExceededError, InvalidRequestError, RigError
from rig.events import RouteFallReason, event_listener, run_memory
from rig.gateway.classify import ClassifierPolicy, classify_request, read_category
from rig.gateway.delimited import excerpt
from rig.late_dataclass import dataclass
from rig.messages import Usage
from rig.model import ChatOptions, ChatRequest, Model, Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What came of asking.

    Attributes:
        category: the answer, "" where there is none.
        problem: why there is none.
        cached: the answer was known, or somebody else was just asking.
        usage: what it cost.
        unpaid: the run's budget could not pay for it. That says nothing of the small model, nor of other runs.
    """

    category: str = ""
    problem: RouteFallReason | None = None
    cached: bool = False
    usage: Usage | None = None
    unpaid: bool = False


@dataclass(slots=True)
class _Flight:
    """A question under way, and those who wait for its answer."""

    done: anyio.Event
    answer: Verdict | None = None


@dataclass(slots=True)
class _Here:
    """What belongs to one event loop."""

    flights: dict[bytes, _Flight] = field(default_factory=dict[bytes, _Flight])
    failures: int = 0
    paused_until: float = 0.0


class Classifier:
    """Asks a small model for the category of a text, and remembers the answers.

    Never raises what goes wrong with that, and is never waited for longer than its policy says. After
    several failures in a row it is left alone for a while, so that a model that is down does not make
    every run wait.

    Args:
        asked: what answers requests.
        model: the small model's name.
        descriptions: what each category is, by its name.
        policy: how to ask.
    """

    def __init__(
        self,
        asked: Model,
        model: str,
        descriptions: Mapping[str, str],
        policy: ClassifierPolicy,
    ) -> None:
        self.model = model
        self._asked = asked
        self._descriptions = descriptions
        self._policy = policy
        self._known: OrderedDict[bytes, str] = OrderedDict()
        self._here = PerLoop(_Here)
        self._in_words = False  # once a server refused the schema

    async def sort(self, text: str, options: ChatOptions) -> Verdict:
        """The category of a text.

        Args:
            text: what the user says.
            options: of the request that is sorted.
        """
        key = self._key(text)
        known = self._recall(key)
        if known:
            return Verdict(category=known, cached=True)
        here = self._here.get()
        if anyio.current_time() < here.paused_until:
            return Verdict(problem="classifier_paused")
        deadline = anyio.current_time() + self._policy.timeout_s
        while (flight := here.flights.get(key)) is not None:
            with anyio.CancelScope(deadline=deadline) as waiting:
                await flight.done.wait()
            if flight.answer is not None:
                return replace(flight.answer, cached=True, usage=None)
            if waiting.cancelled_caught:
                return Verdict(problem="classifier_timeout")
        return await self._lead(here, key, lambda: self._judged(here, text, options, deadline))

    def _key(self, text: str) -> bytes:
        """What is shown of a text decides."""
        shown = excerpt(text, self._policy.max_chars)
        return sha256(shown.encode("utf-8", "surrogatepass")).digest()

    async def _lead(
        self, here: _Here, key: bytes, ask: Callable[[], Awaitable[Verdict]]
    ) -> Verdict:
        """Ask for all who come with the same text meanwhile; if this is cancelled or can't pay, one of them asks."""
        flight = here.flights[key] = _Flight(anyio.Event())
        try:
            answer = await ask()
            flight.answer = None if answer.unpaid else answer
        finally:
            del here.flights[key]
            flight.done.set()
        if answer.category:
            self._remember(key, answer.category)
        return answer

    async def _judged(
        self, here: _Here, text: str, options: ChatOptions, deadline: float
    ) -> Verdict:
        """Ask in time, and keep count of failures."""
        answer = Verdict(problem="classifier_timeout")
        with anyio.CancelScope(deadline=deadline):
            answer = await self._answer(text, options)
        if answer.unpaid:
            return answer
        if answer.problem in {"classifier_failed", "classifier_timeout"}:
            here.failures += 1
            if here.failures >= self._policy.pause_after:
                here.failures = 0
                here.paused_until = anyio.current_time() + self._policy.pause_s
        else:
            here.failures = 0
        return answer

    async def _answer(self, text: str, options: ChatOptions) -> Verdict:
        try:
            reply = await self._reply(text, options)
        except BudgetExceededError:
            return Verdict(problem="classifier_failed", unpaid=True)
        except RigError:
            return Verdict(problem="classifier_failed")
        usage = reply.usage if reply.usage.reported else None
        category = read_category(reply, self._descriptions)
        return Verdict(category=category, problem=None if category else "unreadable", usage=usage)

    async def _reply(self, text: str, options: ChatOptions) -> Reply:
        """The small model's answer; asked for without a schema where the server refuses one.

        Raises:
            RigError: there is none.
        """
        if not self._in_words:
            try:
                return await self._quietly(self._request(text, options))
            except InvalidRequestError:
                pass  # was it the schema? if words do, it was
        reply = await self._quietly(self._request(text, options, in_words=True))
        self._in_words = True
        return reply

    def _request(self, text: str, options: ChatOptions, *, in_words: bool = False) -> ChatRequest:
        return classify_request(
            text,
            model=self.model,
            descriptions=self._descriptions,
            policy=self._policy,
            asked_with=options,
            in_words=in_words,
        )

    async def _quietly(self, request: ChatRequest) -> Reply:
        """Ask outside of the run: its events and its memory are about another request.

        Raises:
            RigError: no usable reply came back.
        """
        listener, memory = event_listener.get(), run_memory.get()
        event_listener.set(None)
        run_memory.set(None)
        try:
            return await complete_paid(self._asked, request)
        finally:
            event_listener.set(listener)
            run_memory.set(memory)

    def _recall(self, key: bytes) -> str:
        known = self._known.pop(key, "")
        if known:
            self._known[key] = known  # last used, last to go
        return known

    def _remember(self, key: bytes, category: str) -> None:
        self._known[key] = category
        while len(self._known) > self._policy.cache_size:
            self._known.popitem(last=False)
