"""What a run lets you observe: events while it goes on, its result at the end. No I/O."""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import field
from enum import StrEnum
from typing import Generic, Literal, TypeVar

from rig.errors import Backpressure, RigError
from rig.late_dataclass import dataclass
from rig.messages import Message, ToolCall, Usage
from rig.model import Priority, Reply
from rig.text.repetition import Repetition

OutputT_co = TypeVar("OutputT_co", covariant=True)

FormatName = Literal["native", "heredoc", "json"]
"""How calls travel: the server's own tools; `@@call` with a grammar; JSON objects, asked for in words."""

Constraint = Literal["schema", "grammar"]
"""What a server can hold a reply to: a JSON schema as `response_format`, or a GBNF grammar."""

OutputSource = Literal["schema", "grammar", "prompt"]
"""What made a typed answer take its form: one of those, or words in the prompt alone."""


class Termination(StrEnum):
    """How a run ended."""

    COMPLETED = "completed"
    REFUSED = "refused"
    TOOL_FAILURE = "tool_failure"
    BUDGET_EXHAUSTED = "budget_exhausted"
    ITERATION_LIMIT = "iteration_limit"
    NEEDS_CONFIRMATION = "needs_confirmation"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    """One call that was answered.

    Attributes:
        call: the call, with where it came from and what was mended.
        content: the text the model was given.
        is_error: the tool failed, is unknown, or its input was refused; content starts `error: `.
        executed: False when the tool was never started.
        duration_s: seconds the tool ran.
    """

    call: ToolCall
    content: str
    is_error: bool = False
    executed: bool = True
    duration_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What was spent of a budget.

    Attributes:
        tokens: prompt and completion tokens, estimated where no server reported them.
        seconds: seconds since the budget was used first.
        calls: requests to models, whatever came of them.
        tool_calls: tool calls that were executed.
        cost: money, in that of the budget's prices; 0 without any.
    """

    tokens: int = 0
    seconds: float = 0.0
    calls: int = 0
    tool_calls: int = 0
    cost: float = 0.0


# Without slots, so that RunResult[City](...) can be called; see rig.agent.request.RunRequest.
@dataclass(frozen=True, kw_only=True)
class RunResult(Generic[OutputT_co]):
    """What a run gave, whole or, on an error's `result`, as far as it came.

    Attributes:
        text: the last visible text, without reasoning.
        output: the typed value when `output=` was a model, else None.
        output_repairs: what the JSON of `output` needed to be JSON; usually nothing.
        output_source: what held the reply that `output` was read from to its form; None without output.
            `prompt` is also told where the caller's own options did.
        tool_format: how calls travelled at the end; where each one came from says `ToolCall.origin`.
        iterations: completed rounds of request and reply.
        tool_calls: every call that was answered, in order.
        usage: the sum over all replies.
        messages: the transcript; give it as `history` to go on.
        model: the name the server last gave.
        tier: the tier a gateway answered with, "" where none did.
        termination: how the run ended; None on the partial result of an error that is none of these.
        refusal: the category when it ended refused, else None.
        pending: the calls that wait for a confirmation.
        spent: what the run spent of its budget, runs inside of its tools included; None without one.
        compactions: how often the history was made smaller; `messages` then is what the model last saw.
    """

    text: str = ""
    output: OutputT_co | None = None
    iterations: int = 0
    tool_calls: tuple[ToolOutcome, ...] = ()
    usage: Usage = Usage.of({})
    messages: tuple[Message, ...] = ()
    model: str = ""
    termination: Termination | None = Termination.COMPLETED
    refusal: str | None = None
    pending: tuple[ToolCall, ...] = ()
    output_repairs: tuple[str, ...] = ()
    output_source: OutputSource | None = None
    tool_format: FormatName = "native"
    tier: str = ""
    spent: Spent | None = None
    compactions: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundStarted:
    """A request is about to be sent; `iteration` counts from 1."""

    iteration: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """Visible text to append to what stands of the reply under way. Streamed replies only."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRetracted:
    """All visible text of the reply under way is taken back: it was a thought, or not to be shown."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningDelta:
    """Thoughts to append. Streamed replies only."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallStarted:
    """The model began to write a call. Streamed replies only.

    Attributes:
        index: tells the calls of one reply apart, from 0.
        name: the tool's name.
    """

    index: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallArguments:
    """The model wrote on at the arguments of a call. Streamed replies only.

    Attributes:
        index: the call's.
        name: the tool's name.
        arguments: the fragment, JSON text.
    """

    index: int
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallFinished:
    """A call is complete, and so is its reply. It has not run yet: `ToolStarted` tells that.

    Attributes:
        index: the call's.
        name: the tool's name.
        arguments: all of them, JSON text, mended where that was needed.
    """

    index: int
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReported:
    """What the reply that just ended cost, where the server said so. Streamed replies only."""

    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyReceived:
    """A reply arrived; `iteration` counts from 1."""

    iteration: int
    reply: Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class RepetitionCut:
    """The reply just received was cut because it repeated itself; it is asked for again, or fails."""

    repetition: Repetition


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted:
    """A tool is about to run."""

    call: ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished:
    """A call was answered, by its tool or by a refusal to run it."""

    outcome: ToolOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputRejected:
    """The reply did not match `output=`; the model is asked once more. `problem` is what it is told."""

    problem: str


FormatChangeReason = Literal["salvaged", "refused", "unreadable", "unsupported"]
"""Why a run changes how calls travel: two replies in a row whose calls had to be dug out of their text, or
of which the last had calls that could not be read; a reply that was lost because nobody could read its
call; or a server that takes no tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFormatChanged:
    """From the next request on, calls travel in another form; the transcript stays as it is.

    Attributes:
        previous: the form so far.
        current: the form from now on; a run never goes back.
        reason: why.
    """

    previous: FormatName
    current: FormatName
    reason: FormatChangeReason


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintRefused:
    """What was to hold a reply to its form can't be used: the request is sent without.

    The server refused it, or it is a grammar of tools that would be too large.

    Attributes:
        constraint: what it was; it is not sent again in this run.
        purpose: what it was for: the typed answer, or the form of calls.
    """

    constraint: Constraint
    purpose: Literal["output", "tools"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished:
    """The run ended with a result."""

    result: RunResult[object]


TruncationEvidence = Literal["counted", "bound", "pinned"]
"""Why a prompt is taken for cut: an exact count of it is larger than what was read; its texts can't be
so few tokens; or they are likely more, and what was read is a number servers cut to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextTruncated:
    """The server read less of the prompt than it was sent, and did not say so; see `truncated_prompt`.

    What is missing is usually the beginning: the system prompt, the tools, the task.

    Attributes:
        read_tokens: tokens of the prompt the server reported.
        sent_tokens: tokens that were sent: exactly where the evidence is counted, else at least.
        cut_to_tokens: the round number the prompt seems to have been cut to, the window or half of it;
            None when there is none.
        evidence: why it is taken for cut.
    """

    read_tokens: int
    sent_tokens: int
    cut_to_tokens: int | None = None
    evidence: TruncationEvidence = "bound"

    def __str__(self) -> str:
        sent = f"{'' if self.evidence == 'counted' else 'at least '}{self.sent_tokens:,}"
        return (
            f"the server read {self.read_tokens:,} tokens of a prompt of {sent}, and did not say so:"
            " serve the model with a larger context (Ollama: num_ctx), or send less"
        )


CompactionStep = Literal["summarised", "dropped", "shortened"]
"""How a history was made smaller: old rounds became a summary; they were left out; or long results of
tools were cut in their middle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryCompacted:
    """The history was too large for the context window and was made smaller; see `rig.Compaction`.

    Attributes:
        how: what was done.
        before_tokens: the size of the prompt before, estimated.
        after_tokens: its size after, estimated.
        rounds: rounds that were summarised or left out, or results that were cut.
        summary_error: why there is no summary although there should be one: the code of an error, or
            empty, too_long, cut; "" where nothing failed.
    """

    how: CompactionStep
    before_tokens: int
    after_tokens: int
    rounds: int = 0
    summary_error: str = ""


RetryKind = Literal["transport", "429", "5xx", "recovered", "giveup"]
"""Why the client waits: no answer, backpressure, a server error; or that it is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryEvent:
    """One decision of the retry loop.

    Attributes:
        kind: what failed, or how it ended.
        attempt: the attempt this tells of, from 1: the one that failed or, on recovered, succeeded.
        delay_s: seconds until the next attempt; 0 on recovered and giveup.
        elapsed_s: seconds spent in this call so far.
        budget_s: ceiling of seconds for the whole call; None when unbounded.
        status: HTTP status, None when no answer came.
        attempts_5xx: server errors so far; 0 outside that path.
        max_5xx: how many are allowed; 0 outside that path.
        server_asked: the delay is what the server asked for, not our schedule.
        backpressure: what it said about its queue.
        reason: a sentence for people: what failed and what happens next.
        detail: the endpoint's own first line, bounded; show it only to people you trust with it.
        error: the fault of the connection; None where an answer came.
    """

    kind: RetryKind
    attempt: int
    delay_s: float = 0.0
    elapsed_s: float = 0.0
    budget_s: float | None = None
    status: int | None = None
    attempts_5xx: int = 0
    max_5xx: int = 0
    server_asked: bool = False
    backpressure: Backpressure | None = None
    reason: str = ""
    detail: str = field(default="", repr=False)
    error: RigError | None = field(default=None, repr=False, compare=False)

    @property
    def unbounded(self) -> bool:
        """True when only the caller ends the waiting, so that "no limit" can be shown."""
        return self.budget_s is None

    def __str__(self) -> str:
        return self.reason


SlotWaitKind = Literal["waiting", "granted"]
"""A request waits for a slot, or has got one after a wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotWait:
    """A request waits for its turn, since as many as allowed are under way.

    Told when the wait begins, again whenever the position has halved, and when the wait is over; a
    request that finds a slot free tells nothing.

    Attributes:
        kind: what is told.
        position: in at most how many turns it has its own, from 1, if nobody else comes; 0 on granted.
        slots: how many requests may be under way at a time.
        busy: how many are.
        waited_s: seconds it has waited so far.
        tenant: whose request it is.
        priority: whether somebody waits for its answer.
        endpoint: the name of the endpoint whose slot it is, "" where none has a name.
    """

    kind: SlotWaitKind
    position: int = 0
    slots: int = 0
    busy: int = 0
    waited_s: float = 0.0
    tenant: str = ""
    priority: Priority = "interactive"
    endpoint: str = ""

    def __str__(self) -> str:
        if self.kind == "granted":
            return f"got a slot after {self.waited_s:.1f} s"
        return f"waiting for a slot, position {self.position}: {self.busy} of {self.slots} are busy"


EndpointState = Literal["unknown", "healthy", "busy", "loading", "cooling", "down"]
"""How an endpoint of a pool is: nothing was asked yet; well; full or limiting, and loading its model,
which is neither well nor dead; left alone since it failed; and without a connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointChanged:
    """An endpoint of a pool is not as it was.

    Attributes:
        endpoint: its name.
        before: how it was.
        after: how it is.
        reason: the fault that changed it, a word of rig's; "" where an answer did.
        pause_s: seconds it is left alone for.
    """

    endpoint: str
    before: EndpointState
    after: EndpointState
    reason: str = ""
    pause_s: float = 0.0

    def __str__(self) -> str:
        reason = f" ({self.reason})" if self.reason else ""
        pause = f" for {self.pause_s:.1f} s" if self.pause_s else ""
        return f"{self.endpoint} is {self.after}{reason}{pause}, it was {self.before}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedOver:
    """The request that failed at one endpoint of a pool is about to be sent to another.

    Whatever was streamed of its reply is void, calls that were begun too: its text is retracted.

    Attributes:
        from_endpoint: the name of the one that failed.
        to_endpoint: the name of the other.
        reason: the fault, a word of rig's.
        attempt: the number of the request to come, from 2.
        begun: some of the reply had been streamed.
    """

    from_endpoint: str
    to_endpoint: str
    reason: str
    attempt: int
    begun: bool = False

    def __str__(self) -> str:
        return f"{self.from_endpoint} failed ({self.reason}): attempt {self.attempt} goes to {self.to_endpoint}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointWait:
    """No endpoint of a pool can be asked now: the first one to come back is waited for.

    Attributes:
        delay_s: seconds until then at most; an answer to somebody else may end it before.
        endpoints: the names of those that are waited for, and how each is.
    """

    delay_s: float
    endpoints: tuple[tuple[str, EndpointState], ...] = ()

    def __str__(self) -> str:
        states = ", ".join(f"{name} is {state}" for name, state in self.endpoints)
        return f"waiting {self.delay_s:.1f} s for an endpoint: {states}"


RouteBy = Literal["explicit", "heuristic", "classified", "cached", "default"]
"""How a router chose: the request named a model; the text itself was enough; a small model was asked, now
or for the same text before; or nothing told, and it is what everything else gets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteChosen:
    """A router chose the model for a run, or for a request that belongs to none. Told once.

    Attributes:
        category: what the request is about, one of the router's names; "" where a model was named, or
            the default has no category.
        model: the model that is asked.
        by: how it was chosen.
        reason: the same for people, without a word of the request.
        usage: what asking the small model cost, which is no part of the run's usage; None where it was
            not asked, or did not say.
    """

    category: str
    model: str
    by: RouteBy
    reason: str = ""
    usage: Usage | None = None


RouteFallReason = Literal[
    "classifier_failed",
    "classifier_timeout",
    "classifier_paused",
    "unreadable",
    "model_missing",
    "model_not_found",
]
"""What a router could not do: the small model failed, took too long, or rests after it did so several
times; it named no category; a preferred model is not among those below; or the endpoint denied having it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteFellBack:
    """A router took the next best; the run goes on.

    Attributes:
        reason: why.
        wanted: the model that could not be used: the small one, or a preferred one.
        used: what is used instead: a category where the small model was of no help ("" for none), else
            a model.
    """

    reason: RouteFallReason
    wanted: str
    used: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TierFellBack:
    """A gateway used another tier than it was asked for. Told once in a run.

    Attributes:
        asked: what was asked for, cut at 64 characters.
        used: the tier that is used.
        reason: unknown where that is the name of no tier, missing where the deployment has no model
            for it.
    """

    asked: str
    used: str
    reason: Literal["unknown", "missing"]


RunEvent = (
    RoundStarted
    | ContextTruncated
    | HistoryCompacted
    | RetryEvent
    | SlotWait
    | EndpointChanged
    | FailedOver
    | EndpointWait
    | RouteChosen
    | RouteFellBack
    | TierFellBack
    | TextDelta
    | TextRetracted
    | ReasoningDelta
    | ToolCallStarted
    | ToolCallArguments
    | ToolCallFinished
    | UsageReported
    | ReplyReceived
    | RepetitionCut
    | ToolStarted
    | ToolFinished
    | OutputRejected
    | ToolFormatChanged
    | ConstraintRefused
    | RunFinished
)
"""What `on_event=` of a run receives, and what a `RunStream` gives."""

EventListener = Callable[[RunEvent], Awaitable[None]]

event_listener: ContextVar[EventListener | None] = ContextVar("rig_event_listener", default=None)
"""Told of what happens to the request under way below the loop: retries, waits for a slot, another
endpoint. How a run learns of them whatever the model is. A run sets it around each request."""

run_memory: ContextVar[dict[object, object] | None] = ContextVar("rig_run_memory", default=None)
"""What models below the loop keep for the length of one run, by a key of their own: which model a router
chose, what was told already. A run sets it around each request, and it is gone with the run; None where
a request belongs to no run."""
