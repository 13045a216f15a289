"""The book of a budget: what was spent, what is set aside for requests under way, what is left.

Nothing is ever spent twice: a request sets aside what it may take before it is sent, in every budget it
belongs to, and between looking and setting aside nothing is awaited. What it did not take goes back when
its reply is there, or when it failed or was cancelled.

A request that would fit but for what others have set aside waits for them. Nobody who waits holds
anything, and whoever holds something has a request under way, which ends.
"""

import math
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from types import TracebackType
from typing import Final, Self

import anyio
from anyio.lowlevel import RunVar

from rig.agent.allowance import Aside, Grant, Need, grant
from rig.agent.budget import Budget, Left, Price, Size, out_of, prompt_size, usage_of
from rig.errors import EmptyReplyError, InvalidRequestError
from rig.events import Spent
from rig.messages import Usage
from rig.model import ChatRequest, Model, Reply

MAX_WAIT_S: Final = 600.0
"""Seconds a request waits for others to give back what they set aside: as long as the longest request
may take by default (`Timeouts.total_s`). It is refused then, as if they had spent it."""


class SharedBudget:
    """A budget that several runs spend out of, and what they have spent so far.

    ```python
    shared = SharedBudget(Budget(tokens=100_000, calls=50))
    async with anyio.create_task_group() as tasks:
        for question in questions:
            tasks.start_soon(answer, question, shared)  # client.run(..., budget=shared)
    print(shared.spent.tokens, shared.left.calls)
    ```

    However many runs use it at the same time, `calls` and `tool_calls` are never overspent, and tokens
    and cost only by as much as prompts were larger than their estimates: a request sets its estimated
    prompt and its `max_tokens` aside before it is sent, gets fewer `max_tokens` where less is left, and
    waits while others have set aside what it needs. It belongs to one event loop at a time; in the next one
    its clock goes on where it was read last.

    Args:
        budget: the limits. Seconds run from the first use.
        within: a larger budget it is a part of: what is spent here is spent there as well.

    Raises:
        InvalidRequestError: one of these is something else.
    """

    def __init__(self, budget: Budget, *, within: "SharedBudget | None" = None) -> None:
        if not isinstance(budget, Budget):  # pyright: ignore[reportUnnecessaryIsInstance] callers without a type checker
            raise InvalidRequestError("SharedBudget takes a Budget: SharedBudget(Budget(calls=10))")
        if within is not None and not isinstance(within, SharedBudget):  # pyright: ignore[reportUnnecessaryIsInstance] the same
            raise InvalidRequestError("within must be a SharedBudget, or None")
        self._book = _Book(budget)
        self._books: tuple[_Book, ...] = (self._book, *(within.books if within else ()))

    def __repr__(self) -> str:
        return f"SharedBudget({self.budget!r}, spent={self.spent!r})"

    @property
    def budget(self) -> Budget:
        """The limits."""
        return self._book.budget

    @property
    def spent(self) -> Spent:
        """What was spent out of it until now. A request under way counts as a call, its tokens not yet."""
        return self._book.total()

    @property
    def left(self) -> Left:
        """What is left of it, and of what it is a part of. What is set aside is not spent yet."""
        left = self._book.left()
        for book in self._books[1:]:
            left = left.within(book.left())
        return left

    @property
    def books(self) -> "tuple[_Book, ...]":
        """Its own book and those of what it is a part of; for the parts of this one."""
        return self._books

    @property
    def deadline_s(self) -> float:
        """When the first of its clocks runs out, in the time of the event loop; they must have started."""
        return min(book.deadline_s for book in self._books)

    def knows_price(self, model: str) -> bool:
        """Whether the cost of asking a model can be told, wherever it is limited.

        Args:
            model: the model's name.
        """
        books = (book.budget for book in self._books)
        return all(one.cost is None or one.price_of(model) is not None for one in books)

    def start(self) -> None:
        """Start its clock, and that of what it is a part of; the first run does it otherwise."""
        for book in self._books:
            book.start()

    async def complete(self, model: Model, request: ChatRequest) -> Reply:
        """Ask a model something that is paid out of this budget.

        Args:
            model: what answers.
            request: what to ask; it gets fewer `max_tokens` where less is left.

        Raises:
            BudgetExceededError: it does not fit what is left, and was not sent; or the time is over.
            InvalidRequestError: there is a limit of cost, and no price of its model.
            RigError: it failed.
        """
        self.start()
        deadline = self.deadline_s
        if deadline > anyio.current_time():
            with anyio.CancelScope(deadline=deadline):
                async with await self.reserve(request) as reservation:
                    reply = await model.complete(reservation.request)
                    reservation.settle(usage_of(reservation.request, reply), reply.model)
                return reply
        error = out_of("seconds")
        raise error

    async def reserve(self, request: ChatRequest, size: Size | None = None) -> "Reservation":
        """Set aside what a request may take; from here on it counts as a call.

        Inside of a request under way that is paid out of the same budget it does not wait, as it could
        wait for itself: it gets what is free.

        Args:
            request: what is to be sent.
            size: of its prompt; None to estimate it.

        Returns:
            What is set aside, with the request as it may be sent.

        Raises:
            BudgetExceededError: it does not fit what is left.
            InvalidRequestError: there is a limit of cost, and no price of its model.
        """
        self.start()
        size = prompt_size(request) if size is None else size
        needs = [(book, book.need(request, size)) for book in self._books]
        patient = paid_by.get() is None
        until = anyio.current_time() + MAX_WAIT_S
        while True:
            grants = [(book, book.grant(need, patient=patient)) for book, need in needs]
            _check(said for _, said in grants)
            busy = [book for book, said in grants if said.kind == "wait"]
            if not busy:
                least = min((said for _, said in grants), key=lambda said: said.max_tokens)
                return self._set_aside(request, needs, least)
            patient = await busy[0].change(until)

    def take_tool_calls(self, wanted: int) -> "ToolCallsTaken":
        """Set tool calls aside, as many as are left.

        Args:
            wanted: how many are asked for.
        """
        count = max(0, min(wanted, *(book.tool_calls_free for book in self._books)))
        return ToolCallsTaken(self._books, int(count))

    def _set_aside(
        self, request: ChatRequest, needs: "Sequence[tuple[_Book, Need]]", granted: Grant
    ) -> "Reservation":
        if granted.max_tokens < request.max_tokens:
            request = replace(request, max_tokens=granted.max_tokens)
        reservation = Reservation(request, self, capped=granted.reason)
        for book, need in needs:
            book.set_aside(reservation, need.aside(granted.max_tokens))
        return reservation


def _check(grants: Iterable[Grant]) -> None:
    """None of these is a no.

    Raises:
        BudgetExceededError: one is.
    """
    for said in grants:
        if said.kind == "refused":
            error = out_of(said.reason)
            raise error


class Reservation:
    """What is set aside for one request. Leaving its block gives back what was not settled.

    A reply that says nothing costs all the same.

    Args:
        request: the request, with the `max_tokens` it was granted.
        payer: the budget.
        capped: why these are fewer than it asked for, tokens or cost; "" where they are not.

    Attributes:
        request: the same.
        capped: the same.
        settled: what it took is written down.
        cost: what that cost, in the budget it was dearest in.
        sent_to: the model it was sent to under another name, as far as anybody said so; "" for nobody.
    """

    def __init__(self, request: ChatRequest, payer: SharedBudget, *, capped: str = "") -> None:
        self.request = request
        self.capped = capped
        self.settled = False
        self.cost = 0.0
        self.sent_to = ""
        self._payer = payer

    async def __aenter__(self) -> Self:
        self._outer = paid_by.get(), _under_way.get()
        paid_by.set(self._payer)
        _under_way.set(self)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        payer, reservation = self._outer
        paid_by.set(payer)
        _under_way.set(reservation)
        if isinstance(exc, EmptyReplyError) and not self.settled:
            self.settle(usage_of(self.request, Reply(usage=exc.usage or Usage())))
        self.release()

    def settle(self, usage: Usage, answered: str = "") -> None:
        """Write down what the request took, and give back the rest.

        Args:
            usage: its tokens.
            answered: the model that says it answered.
        """
        self.settled = True
        names = (self.request.model, self.sent_to, answered)
        for book in self._payer.books:
            self.cost = max(self.cost, book.charge(usage, names))
        self.release()

    def release(self) -> None:
        """Give back what is still set aside; once is enough."""
        for book in self._payer.books:
            book.give_back(self)


class ToolCallsTaken:
    """Tool calls that are set aside. Leaving its block gives back those that were not executed.

    Args:
        books: of the budget, and of what it is a part of.
        count: how many.

    Attributes:
        count: how many were set aside.
    """

    def __init__(self, books: "Sequence[_Book]", count: int) -> None:
        self.count = count
        self._books = books
        self._waiting = count
        for book in books:
            book.tool_calls_aside += count

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for book in self._books:
            book.tool_calls_aside -= self._waiting
        self._waiting = 0

    def executed(self) -> None:
        """One of them is executed."""
        self._waiting -= 1
        for book in self._books:
            book.count_tool_call()


paid_by: ContextVar[SharedBudget | None] = ContextVar("rig_paid_by", default=None)
"""The budget of the run whose request is under way. Set around each request of a run that has one."""

_under_way: ContextVar[Reservation | None] = ContextVar("rig_under_way", default=None)


def sent_to(model: str) -> None:
    """Say which model the request under way goes to, where it asked for another name: an alias costs no less.

    For what chooses models, as a router does. Who says it last knows best.

    Args:
        model: the model's name.
    """
    reservation = _under_way.get()
    if reservation is not None:
        reservation.sent_to = model


async def complete_paid(model: Model, request: ChatRequest) -> Reply:
    """Ask a model something for the sake of the request under way, out of its run's budget if it has one.

    For what stands between a run and its model and asks models itself, as a router does to classify.

    Args:
        model: what answers.
        request: what to ask.

    Raises:
        BudgetExceededError: it does not fit what the budget has free, or has no price where one is
            needed; it was not sent.
        RigError: it failed.
    """
    payer = paid_by.get()
    if payer is None:
        return await model.complete(request)
    if not payer.knows_price(request.model):
        error = out_of("cost")
        raise error
    return await payer.complete(model, request)


_CLOCK: RunVar[object] = RunVar("rig.agent.ledger")


def _clock_here() -> object:
    """Whatever stands for the clock of the running event loop: each has one of its own.

    Raises:
        RuntimeError: none runs.
    """
    try:
        return _CLOCK.get()
    except LookupError:
        clock = object()
        _CLOCK.set(clock)
        return clock


class _Book:
    """What was spent of one budget, and what is set aside."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.tool_calls_aside = 0
        self._started_s: float | None = None
        self._seen_s = 0.0
        self._clock: object = None
        self._spent = Spent()
        self._aside: dict[Reservation, Aside] = {}
        self._total_aside = Aside()
        self._freed: anyio.Event | None = None

    # Time

    def start(self) -> None:
        """Start the clock, or go on in another event loop, whose time is another."""
        clock = _clock_here()
        if clock is self._clock:
            return
        now = anyio.current_time()
        elapsed = 0.0 if self._started_s is None else self._seen_s - self._started_s
        self._started_s, self._seen_s, self._clock = now - elapsed, now, clock

    @property
    def deadline_s(self) -> float:
        if self._started_s is None or self.budget.seconds is None:
            return math.inf
        return self._started_s + self.budget.seconds

    def _elapsed_s(self) -> float:
        if self._started_s is None:
            return 0.0
        try:
            if _clock_here() is self._clock:
                self._seen_s = anyio.current_time()
        except RuntimeError:  # no event loop any more: somebody reads what was spent
            pass
        return self._seen_s - self._started_s

    # What is there

    def total(self) -> Spent:
        return replace(self._spent, seconds=self._elapsed_s())

    def left(self) -> Left:
        budget, spent = self.budget, self._spent
        return Left(
            tokens=None if budget.tokens is None else budget.tokens - spent.tokens,
            seconds=None if budget.seconds is None else budget.seconds - self._elapsed_s(),
            calls=None if budget.calls is None else budget.calls - spent.calls,
            tool_calls=None if budget.tool_calls is None else budget.tool_calls - spent.tool_calls,
            cost=None if budget.cost is None else budget.cost - spent.cost,
        )

    @property
    def tool_calls_free(self) -> float:
        limit = self.budget.tool_calls
        return math.inf if limit is None else limit - self._spent.tool_calls - self.tool_calls_aside

    # Requests

    def need(self, request: ChatRequest, size: Size) -> Need:
        """What a request needs of this budget.

        Raises:
            InvalidRequestError: it can't be told what it costs.
        """
        price = self.budget.price_of(request.model)
        if price is None and self.budget.cost is not None:
            raise InvalidRequestError(
                "the budget limits the cost, and its prices have none for the model that is asked:"
                " add it, or give Prices(..., default=Price(...))"
            )
        return Need(size=size, max_tokens=request.max_tokens, price=price or Price())

    def grant(self, need: Need, *, patient: bool) -> Grant:
        others = patient and bool(self._aside)
        return grant(need, self.left(), self._total_aside, others=others)

    def set_aside(self, reservation: Reservation, aside: Aside) -> None:
        self._aside[reservation] = aside
        self._total_aside += aside
        self._spent = replace(self._spent, calls=self._spent.calls + 1)

    def give_back(self, reservation: Reservation) -> None:
        aside = self._aside.pop(reservation, None)
        if aside is None:
            return
        # Sums of floats drift; with nothing set aside there is nothing.
        self._total_aside = self._total_aside - aside if self._aside else Aside()
        if self._freed is not None:
            self._freed.set()
            self._freed = None

    async def change(self, until_s: float) -> bool:
        """Wait until somebody gives something back; False when that takes too long."""
        if self._freed is None:
            self._freed = anyio.Event()
        freed = self._freed
        with anyio.CancelScope(deadline=until_s):
            await freed.wait()
        return freed.is_set()

    # Spending

    def charge(self, usage: Usage, names: Iterable[str]) -> float:
        """Write down what a request took; what it cost.

        Of the model that was asked for, the one it was sent to and the one that says it answered the
        dearest is paid, so that neither an alias nor a server makes itself cheap.
        """
        prices = [self.budget.price_of(name) for name in dict.fromkeys(names) if name]
        cost = max((price.of(usage) for price in prices if price is not None), default=0.0)
        spent = self._spent
        self._spent = replace(spent, tokens=spent.tokens + usage.total, cost=spent.cost + cost)
        return cost

    def count_tool_call(self) -> None:
        self.tool_calls_aside -= 1
        self._spent = replace(self._spent, tool_calls=self._spent.tool_calls + 1)
