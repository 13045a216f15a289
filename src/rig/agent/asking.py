"""Asking the model for the next reply: what is sent, what it may cost, what is told, and what follows."""

from collections.abc import Awaitable
from functools import partial
from typing import TYPE_CHECKING, Any

from rig.agent.budget import Counted, counted, prompt_size, usage_of
from rig.agent.deltas import events_of
from rig.agent.ladder import is_lost, tool_format
from rig.agent.next_request import next_request
from rig.agent.progress import Progress
from rig.agent.request import RunRequest
from rig.agent.state import Ask, Step
from rig.agent.turn import next_step, recovered, with_empty_reply
from rig.errors import EmptyReplyError, InvalidRequestError, RefusedError, RigError
from rig.events import (
    RepetitionCut,
    ReplyReceived,
    RoundStarted,
    event_listener,
    run_memory,
)
from rig.messages import Usage
from rig.model import ChatRequest, Model, Reply, ReplyStream, StreamingModel

if TYPE_CHECKING:  # loaded by the runs that have a budget, or a history to be made smaller
    from rig.agent.compactor import Compactor
    from rig.agent.ledger import Reservation


class Asking:
    """Who asks the model for one run.

    Args:
        model: what answers.
        progress: the run.
    """

    __slots__ = (
        "_compactor",
        "_counted",
        "_memory",
        "_model",
        "_progress",
        "_request",
        "_truncated",
    )

    def __init__(self, model: Model | StreamingModel, progress: Progress) -> None:
        self._model: Any = model  # which of both methods it has, the run has looked
        self._progress = progress
        self._request: RunRequest[Any] = progress.request
        given = self._request.compaction is not None or self._request.on_limit == "answer"
        self._compactor = _compactor(model, progress) if given else None
        self._counted: Counted | None = None  # the last prompt the server told the size of
        self._memory: dict[object, object] = {}  # of the models below, see rig.events.run_memory
        self._truncated = False  # told once

    def ask(self) -> Awaitable[Step]:
        """Ask the model once; what follows may be to ask it again in another form.

        Returns:
            What is to be awaited. It raises an InvalidRequestError where the request can't be made, any
            RigError where it failed for good.
        """
        progress = self._progress
        state = progress.state
        bare = self._compactor is None and progress.purse is None
        # Where there is nothing to be told, paid or fitted first, that takes no coroutine of its own.
        if bare and state.format == "native" and not state.untold:
            return self._exchange(next_request(self._request, progress.tools, state), None)
        return self._prepared()

    async def _prepared(self) -> Step:
        """Tell of what changed, make the request fit, set aside what it may cost, and send it.

        Raises:
            InvalidRequestError: the request can't be made.
            RigError: it failed for good.
        """
        progress = self._progress
        if progress.state.untold:
            await self._tell_of_changes()
        try:
            request = next_request(self._request, progress.tools, progress.state)
        except InvalidRequestError as error:  # a grammar that is too large
            step = recovered(progress.state, error)
            if step is None:
                raise
            return step
        if self._compactor is not None:
            request = await self._fitted(self._compactor, request)
        if progress.purse is None:
            return await self._exchange(request, None)
        size = prompt_size(request, self._counted)
        async with await progress.purse.reserve(request, size) as paid:
            return await self._exchange(paid.request, paid)

    async def _fitted(self, compactor: "Compactor", request: ChatRequest) -> ChatRequest:
        """The request with a history that fits.

        A summary is asked for where the run goes, but what is decided for it alone is not kept.
        """
        compactor.counted = self._counted or compactor.counted
        progress, memory = self._progress, run_memory.get()
        run_memory.set(dict(self._memory))
        try:
            progress.state, request = await compactor.fitted(progress.state, request)
        finally:
            run_memory.set(memory)
        progress.recount()
        return request

    async def _exchange(self, request: ChatRequest, paid: "Reservation | None") -> Step:
        """One request and its reply.

        Raises:
            EmptyReplyError: the model said nothing; what that cost is counted.
            RigError: it failed for good.
        """
        progress = self._progress
        if progress.observed:
            await progress.tell(RoundStarted(iteration=progress.state.iterations + 1))
        tokens, cost = 0, 0.0
        listener, memory = event_listener.get(), run_memory.get()
        try:
            run_memory.set(self._memory)
            if progress.observed:
                event_listener.set(progress.tell)
            try:
                reply = await self._complete(request)
            except RefusedError as error:  # that it declined is an answer, however it is told
                category, model = error.category, progress.state.model
                reply = Reply(finish_reason="content_filter", refusal=category, model=model)
            except EmptyReplyError as error:
                progress.state = with_empty_reply(progress.state, error.usage)
                raise
            finally:
                run_memory.set(memory)
                if progress.observed:
                    event_listener.set(listener)
            if paid is not None:
                tokens, cost = self._pay(paid, reply)
        except RigError as error:
            if paid is not None and not paid.settled and _was_answered(error):
                self._pay(paid, Reply(usage=getattr(error, "usage", None) or Usage()))
            step = None if error is progress.callers else self._recovered(request, error)
            if step is None:
                raise
            return step
        finally:
            if paid is not None and not paid.settled and progress.shown:
                self._pay(paid, Reply(text="".join(progress.shown)))
        if progress.observed:
            await self._tell_of_reply(reply)
        if paid is not None or self._compactor is not None:
            self._counted = counted(request, reply.usage) or self._counted
        if progress.observed or self._compactor is not None:
            await self._tell_of_truncation(request, reply)
        return next_step(progress.state, reply, tokens=tokens, cost=cost)

    def _recovered(self, request: ChatRequest, error: RigError) -> Step | None:
        if self._compactor is not None and self._compactor.overflowed(error, request):
            self._counted = None  # the compactor knows better
            return Ask(state=self._progress.state)
        return recovered(self._progress.state, error)

    def _pay(self, paid: "Reservation", reply: Reply) -> tuple[int, float]:
        """Write down what a reply took; the tokens and the money."""
        usage = usage_of(paid.request, reply)
        paid.settle(usage, reply.model)
        self._progress.recount(capped=paid.capped)
        return usage.total, paid.cost

    def _complete(self, request: ChatRequest) -> Awaitable[Reply]:
        """Ask the model; its own coroutine where that is all there is to do."""
        if self._request.stream:
            return self._streamed(request)
        if self._progress.state.format == "native":
            answering: Awaitable[Reply] = self._model.complete(request)
            return answering
        return self._completed_in_text(request)

    async def _completed_in_text(self, request: ChatRequest) -> Reply:
        """Ask the model, and find its calls where they travel as text."""
        reply: Reply = await self._model.complete(request)
        if not self._may_call:
            return reply
        return tool_format(self._progress.state).reply(reply, self._progress.tools)

    async def _streamed(self, request: ChatRequest) -> Reply:
        progress = self._progress
        async with self._model.stream(request) as raw:
            stream = self._readable(raw)
            async for delta in stream:
                if delta.retracted:
                    progress.shown.clear()
                if delta.text:
                    progress.shown.append(delta.text)
                if progress.observed:
                    for event in events_of(delta):
                        if (waiting := progress.telling(event)) is not None:
                            await waiting
            return stream.reply()

    def _readable(self, stream: ReplyStream) -> ReplyStream:
        """The stream with its calls as calls, however they travel."""
        form = tool_format(self._progress.state)
        if form.name == "native" or not self._may_call:
            return stream
        from rig.agent.format_stream import FormatStream  # noqa: PLC0415 most servers know tools

        return FormatStream(stream, form, self._progress.tools)

    @property
    def _may_call(self) -> bool:
        """Whether calls are looked for where they travel as text."""
        return bool(self._progress.tools) and self._request.options.tool_choice != "none"

    async def _tell_of_changes(self) -> None:
        untold = self._progress.state.untold
        self._progress.state = self._progress.state.but(untold=())
        for event in untold:
            await self._progress.tell(event)

    async def _tell_of_reply(self, reply: Reply) -> None:
        iteration = self._progress.state.iterations + 1
        await self._progress.tell(ReplyReceived(iteration=iteration, reply=reply))
        if reply.repetition is not None:
            await self._progress.tell(RepetitionCut(repetition=reply.repetition))

    async def _tell_of_truncation(self, request: ChatRequest, reply: Reply) -> None:
        """Tell once that the server reads less than it is sent."""
        from rig.agent.truncation import truncated_prompt  # noqa: PLC0415 of runs that are observed

        truncated = None
        if not self._truncated:
            truncated = truncated_prompt(request.messages, reply.usage)
        if truncated is not None:
            self._truncated = True
            if self._compactor is not None:
                self._compactor.truncated(truncated.read_tokens)
            await self._progress.tell(truncated)


def _compactor(model: Model | StreamingModel, progress: Progress) -> "Compactor | None":
    from rig.agent.compactor import Compactor, compaction_of  # noqa: PLC0415 few runs are long

    compaction = compaction_of(progress.request)
    if compaction is None:
        return None
    build = partial(next_request, progress.request, progress.tools)
    return Compactor(
        model, progress.request, compaction, purse=progress.purse, emit=progress.tell, build=build
    )


def _was_answered(error: RigError) -> bool:
    """Whether a request that failed had a reply all the same, which costs."""
    return isinstance(error, EmptyReplyError) or is_lost(error)
