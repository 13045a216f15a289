"""Where a run stands, and what its driver can be told to do. Values only, no I/O."""

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypedDict, Unpack

from rig.agent.budget import UNLIMITED, Left
from rig.agent.calling import ReadyCall
from rig.agent.constraints import Held
from rig.errors import RigError
from rig.events import (
    Constraint,
    ConstraintRefused,
    FormatName,
    RunResult,
    Termination,
    ToolFormatChanged,
    ToolOutcome,
)
from rig.late_dataclass import dataclass
from rig.messages import Message, ToolCall, Usage
from rig.model import Reply

if TYPE_CHECKING:  # loaded for typed answers
    from rig.agent.output import Output

NOTHING_USED: Final = Usage.of({})
"""The usage of a run before anything was told: the first thing that is takes its place. A sum with it would
never be reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What bounds a run and how its answer is read.

    Attributes:
        max_iterations: rounds of request and reply.
        on_limit: raise at a limit, or make one last request without tools.
        may_ask: somebody can be asked to confirm a call while the run goes on.
        output: how a typed answer is read; None for text.
        held: what the server can be held to for it, while no tools are offered; None for nothing.
        has_tools: the run offers tools.
        formats: how calls travel: what the run starts with, then what it may step down to.
        call_grammar: calls as text may be held to their form by a grammar.
        json_grammar: those as JSON too: a typed answer is JSON as well, and would be locked out.
        grammar_holds: a grammar that is sent is known to be enforced, and is rig's own.
    """

    max_iterations: int = 8
    on_limit: Literal["raise", "answer"] = "raise"
    may_ask: bool = False
    output: "Output[Any] | None" = None
    held: Held | None = None
    has_tools: bool = False
    formats: tuple[FormatName, ...] = ("native",)
    call_grammar: bool = False
    json_grammar: bool = False
    grammar_holds: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """How often in a row a call gave one result, and was refused for it."""

    content: str
    count: int
    refusals: int = 0


NO_REPEATS: Final[Mapping[tuple[str, str], Repeat]] = MappingProxyType({})
"""Of a round in which nothing was called."""


class Changes(TypedDict, total=False):
    """What `RunState.but` may change: its attributes, so that a checker knows their types."""

    messages: tuple[Message, ...]
    iterations: int
    outcomes: tuple[ToolOutcome, ...]
    usage: Usage
    left: Left
    last_tokens: int
    last_cost: float
    capped: str
    text: str
    model: str
    tier: str
    rejected: bool
    cuts: int
    closing: Termination | None
    notice: str
    repeats: Mapping[tuple[str, str], Repeat]
    fresh_repeats: Mapping[tuple[str, str], Repeat]
    format: FormatName
    strikes: int
    refused: frozenset[Constraint]
    untold: tuple[ToolFormatChanged | ConstraintRefused, ...]
    compactions: int


# Without slots: each step of a run is a changed state, and a dict is copied in a tenth of the time.
@dataclass(frozen=True, kw_only=True)
class RunState:
    """A run between two awaits.

    Attributes:
        rules: what bounds it.
        messages: the transcript; prepared, but for calls that are being answered.
        iterations: completed rounds.
        outcomes: the answered calls, in order.
        usage: the sum over all replies.
        left: what is left of the budgets, after the last reply or tool.
        last_tokens: what the last round took, in tokens, estimated where nothing was reported.
        last_cost: what it cost.
        capped: the limit for which the last request got fewer max_tokens, "" for none.
        text: the last visible text.
        model: the name the server last gave.
        tier: the tier a gateway last answered with, "" where there is none.
        rejected: a typed answer was refused once already.
        cuts: replies in a row that were cut because the model repeated itself.
        closing: why the next reply is the last and gets no tools; None while it is not.
        notice: what the model is told with the next request, "" for nothing.
        repeats: the results of the last round, by name and arguments of the call.
        fresh_repeats: the same for the round under way.
        format: how calls travel now, one of the rules' formats.
        strikes: replies in a row whose calls speak against it.
        refused: what the server refused to hold a reply to.
        untold: what changed, to be told before the next request.
        compactions: how often the history was made smaller.
    """

    rules: Rules = Rules()
    messages: tuple[Message, ...] = ()
    iterations: int = 0
    outcomes: tuple[ToolOutcome, ...] = ()
    usage: Usage = NOTHING_USED
    left: Left = UNLIMITED
    last_tokens: int = 0
    last_cost: float = 0.0
    capped: str = ""
    text: str = ""
    model: str = ""
    tier: str = ""
    rejected: bool = False
    cuts: int = 0
    closing: Termination | None = None
    notice: str = ""
    repeats: Mapping[tuple[str, str], Repeat] = field(default_factory=lambda: NO_REPEATS)
    fresh_repeats: Mapping[tuple[str, str], Repeat] = field(default_factory=lambda: NO_REPEATS)
    format: FormatName = "native"
    strikes: int = 0
    refused: frozenset[Constraint] = frozenset()
    untold: tuple[ToolFormatChanged | ConstraintRefused, ...] = ()
    compactions: int = 0

    def but(self, **changes: Unpack[Changes]) -> Self:
        """The same state with other values: `dataclasses.replace` in 0.3 us instead of 4.

        Args:
            changes: attributes by name.
        """
        changed = object.__new__(type(self))
        object.__setattr__(changed, "__dict__", self.__dict__ | changes)
        return changed


Admitted = ReadyCall | ToolOutcome
"""A call that may run, or the answer of one that must not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Send the transcript; with tools unless the state is closing."""

    state: RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class AskAgain:
    """Tell of the rejected answer, then send the transcript."""

    state: RunState
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmitCalls:
    """Check which of these calls can run; nothing of them is in the transcript yet.

    Attributes:
        reply: the reply that holds them.
        calls: its calls, with ids that are unique in the run.
    """

    state: RunState
    reply: Reply
    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTools:
    """Answer these calls, in order: run those that are ready, pass on the answers of the others."""

    state: RunState
    calls: tuple[Admitted, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """The run is over and has a result."""

    result: RunResult[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """The run is over without an answer."""

    state: RunState
    error: RigError


Step = Ask | AskAgain | AdmitCalls | CallTools | Finish | Fail
"""What a driver has to do next."""
