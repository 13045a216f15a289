"""What a run is asked to do, checked before anything is sent. No I/O."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from itertools import compress
from operator import is_not, itemgetter
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar, cast

from pydantic import ValidationError

from rig.agent.budget import Budget
from rig.agent.capabilities import Capabilities, Profiled
from rig.agent.history import prepare_open, read_history
from rig.agent.ladder import ToolFormatChoice
from rig.agent.prompt import is_said
from rig.agent.toolbox import Toolbox, validate_tools
from rig.errors import InvalidRequestError
from rig.events import RunEvent
from rig.messages import Content, ContentPart, Message, ToolCall, message_problem
from rig.model import DEFAULT_OPTIONS, ChatOptions
from rig.text.finite import is_finite

if TYPE_CHECKING:  # loaded by whoever gives one
    from rig.agent.compaction import Compaction
    from rig.agent.ledger import SharedBudget
    from rig.agent.tools import Tool

DEFAULT_ITERATIONS = 8
"""Rounds of a run that names no number. Most tasks of small models end within four, and one that has
not ended after eight is usually going round in circles."""

MAX_ITERATIONS = 32
"""Rounds a run may ask for at most: a bound on requests nobody is watching. A task that needs more is
continued by a second run over the transcript of the first."""

Prompt = str | Sequence[ContentPart | Mapping[str, Any]]
"""What the user says: text, or parts of text, images and audio, also in the shape of the wire."""

OutputT = TypeVar("OutputT")

_NOTHING_KNOWN = Capabilities()


# Without slots: dataclasses makes such a class anew, and the frozen __setattr__ of the old one then
# raises TypeError when typing sets __orig_class__ for RunRequest[City](...) (seen on CPython 3.11).
@dataclass(frozen=True)
class RunRequest(Generic[OutputT]):
    """Everything a run is asked to do.

    Attributes:
        prompt: the user's message, text or parts. It may be blank only where the history ends with a
            user or tool turn, or with calls that wait for `approve`.
        model: the model's name on the endpoint; "" where the client knows its own.
        max_tokens: limit of each reply, in tokens; at least 1.
        system: the system prompt; "" keeps that of the history, anything else replaces it.
        tools: what the model may call, in the order it is shown to it.
        max_iterations: rounds of request and reply, at most 32; 0 means 8.
        temperature: short for `options.temperature`.
        output: the answer's type: a pydantic model or any type pydantic knows. The answer is asked for
            as JSON, checked, and asked for once more where it does not match; that takes a round.
        history: the conversation so far: messages, or mappings in the shape of the wire.
        budget: what the whole run may take: tokens, seconds, requests, tool calls, money. A `Budget` is
            this run's own, a `SharedBudget` is spent by several. None for no limit.
        options: sampling and everything else. A `tool_choice` that forces a call holds for the first
            round only: kept up, the model could never answer.
        on_limit: what happens at a limit. `raise` raises IterationLimitError, OutputLimitError or
            BudgetExceededError. `answer` ends the tool rounds with one more request without tools;
            `result.termination` then is iteration_limit or budget_exhausted. For that, a token budget
            ends the rounds while it can still pay for an answer; with nothing left it raises, as a
            deadline always does. A reply cut at max_tokens is kept where it has text and no calls
            (budget_exhausted); one without is asked for once more, shorter, without tools.
        on_event: called, and awaited where it returns an awaitable, with each event in order. What it
            raises ends the run.
        confirm: asked before each call of a tool with `confirm=True`; anything but True answers the
            model that the user declined. Without it such a call ends the run as needs_confirmation,
            before any call of that reply runs.
        approve: ids of calls, out of `result.pending` of the run this one resumes, that may run. The
            other pending calls are answered as declined: none of them runs unless its id is here.
        deps: handed to tools as `context.deps`.
        stream: have replies streamed: the same result, and events tell of them while they come. A reply
            in which the model only repeats itself is cut and asked for again, three in a row raise
            OutputLimitError (with `answer`, what was kept of the third ends the run).
        tool_format: how calls travel: by the server's own tools (native), as `@@call` text held by a
            grammar (heredoc), or as JSON the model is asked for in words (json). auto takes native, unless
            `profile` says that it does not work, and steps down where the run's own replies show it.
        profile: what the server is known to do: the result of `client.profile()`, or `Capabilities`. With
            it a typed answer is held to its schema where the server enforces one.
        compaction: when the history is made smaller because it does not fit the context window, and how;
            `result.messages` is then the smaller one. None does so only where `on_limit` is answer, and
            only where the window is known from `profile` or the server refuses the prompt.
        instructions: more for the system prompt, sent with every request and kept out of the transcript:
            what belongs to this run alone, as `advertise(skills)` does.

    Raises:
        InvalidRequestError: a field can't be used; the message says what to change.
    """

    prompt: Prompt
    _: KW_ONLY
    max_tokens: int
    model: str = ""
    system: str = ""
    tools: "Iterable[Tool]" = ()
    max_iterations: int = DEFAULT_ITERATIONS
    temperature: float | None = None
    output: type[OutputT] | None = None
    history: Sequence[Message | Mapping[str, Any]] = ()
    budget: "Budget | SharedBudget | None" = None
    options: ChatOptions = DEFAULT_OPTIONS
    on_limit: Literal["raise", "answer"] = "raise"
    on_event: Callable[[RunEvent], object] | None = None
    confirm: Callable[[ToolCall], Awaitable[bool] | bool] | None = None
    approve: Iterable[str] = ()
    deps: object = field(default=None, repr=False)
    stream: bool = False
    tool_format: ToolFormatChoice = "auto"
    profile: Profiled | None = None
    compaction: "Compaction | None" = None
    instructions: str = ""

    @property
    def content(self) -> Content:
        """The prompt, read."""
        return self.prompt  # type: ignore[return-value]  # as read when it was made

    @property
    def messages(self) -> tuple[Message, ...]:
        """The history, read."""
        return self.history  # type: ignore[return-value]  # as read when it was made

    @property
    def capabilities(self) -> Capabilities:
        """What the server is known to do."""
        return self.profile.capabilities if self.profile is not None else _NOTHING_KNOWN

    def __post_init__(self) -> None:
        values = self.__dict__
        box = values["_toolbox"] = validate_tools(self.tools)
        values["tools"] = box.tools
        # What nobody set is right already.
        for name in compress(_NAMES, map(is_not, _values(values), _DEFAULTS)):
            values[name] = _READERS[name](values[name])
        if self.temperature is not None:
            values["options"] = _with_temperature(self.options, self.temperature)
        if self.approve or not is_said(self.content):
            _check_opening(self)


def request_of(given: dict[str, Any]) -> RunRequest[Any]:
    """`RunRequest(**given)`, without setting its fields one by one: 3 us less a run (measured).

    Args:
        given: fields of a request by name, prompt and max_tokens among them, and nothing else.

    Raises:
        InvalidRequestError: a field can't be used.
    """
    request: RunRequest[Any] = object.__new__(RunRequest)  # pyright: ignore[reportUnknownVariableType] no type has arguments here
    object.__setattr__(request, "__dict__", _UNSET | given)
    request.__post_init__()
    return request


def toolbox_of(request: RunRequest[Any]) -> Toolbox:
    """The tools of a request as the box they were checked in.

    Args:
        request: what a run is asked to do.
    """
    box: Toolbox = request.__dict__["_toolbox"]
    return box


def _checked_prompt(prompt: object) -> Content:
    problem = "it is neither text nor a list of content parts"
    if isinstance(prompt, str):
        return prompt
    if isinstance(prompt, list | tuple):
        try:
            return Message.model_validate({"role": "user", "content": prompt}).content
        except ValidationError as error:
            problem = message_problem(error)
    raise InvalidRequestError(f"prompt can't be sent: {problem}")


def _checked_iterations(iterations: object) -> int:
    if isinstance(iterations, bool) or not isinstance(iterations, int):
        raise InvalidRequestError("max_iterations must be a whole number of rounds, for example 8")
    if not 0 <= iterations <= MAX_ITERATIONS:
        raise InvalidRequestError(
            f"max_iterations must be between 1 and the cap of {MAX_ITERATIONS} rounds, "
            f"or 0 for the default of {DEFAULT_ITERATIONS}"
        )
    return iterations or DEFAULT_ITERATIONS


def _checked_max_tokens(max_tokens: object) -> int:
    if isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or max_tokens < 1:
        raise InvalidRequestError(
            "max_tokens must be a whole number of tokens from 1 up, for example 1024"
        )
    return max_tokens


def _checked_options(options: object) -> ChatOptions:
    if not isinstance(options, ChatOptions):
        raise InvalidRequestError("options must be a ChatOptions(...) value")
    return options


def _with_temperature(options: ChatOptions, temperature: object) -> ChatOptions:
    if isinstance(temperature, bool) or not isinstance(temperature, int | float):
        raise InvalidRequestError("temperature must be a number, for example 0.7, or None")
    if not is_finite(temperature) or temperature < 0:
        raise InvalidRequestError("temperature must be 0 or more, and finite")
    if options.temperature not in {None, temperature}:
        raise InvalidRequestError(
            "temperature and options.temperature differ: give one of them, or both the same"
        )
    return replace(options, temperature=temperature)


def _checked_ids(ids: object) -> tuple[str, ...]:
    given = _items("approve", ids)
    if not all(isinstance(item, str) for item in given):
        raise InvalidRequestError(
            "approve must hold the ids of calls: [call.id for call in pending]"
        )
    return cast("tuple[str, ...]", given)


def _items(name: str, given: object) -> tuple[object, ...]:
    """What was given, as a tuple.

    Raises:
        InvalidRequestError: it is no list; text and mappings are iterable too, and never meant.
    """
    if isinstance(given, list | tuple):
        return tuple(cast("Iterable[object]", given))
    kind = type(given)
    if not isinstance(given, Iterable) or issubclass(kind, str | bytes | Mapping):
        raise InvalidRequestError(f"{name} must be a list or tuple, not a {kind.__name__}")
    return tuple(cast("Iterable[object]", given))


def _checked_history(history: object) -> tuple[Message, ...]:
    return read_history(_items("history", history))


def _checked_text(name: str) -> Callable[[object], str]:
    def checked(value: object) -> str:
        if not isinstance(value, str):
            raise InvalidRequestError(f'{name} must be text; leave it out or give "" for none')
        return value

    return checked


def _checked_callback(name: str) -> Callable[[object], object]:
    def checked(value: object) -> object:
        if value is not None and not callable(value):
            raise InvalidRequestError(f"{name} must be a function, or None")
        return value

    return checked


def _checked_choice(on_limit: object) -> object:
    if on_limit not in {"raise", "answer"}:
        raise InvalidRequestError('on_limit must be "raise" or "answer"')
    return on_limit


def _checked_format(tool_format: object) -> object:
    if tool_format not in {"auto", "native", "heredoc", "json"}:
        raise InvalidRequestError('tool_format must be "auto", "native", "heredoc" or "json"')
    return tool_format


def _checked_profile(profile: object) -> object:
    known = getattr(profile, "capabilities", None)
    if profile is not None and not isinstance(known, Capabilities):
        raise InvalidRequestError(
            "profile must be the result of client.profile(), or Capabilities(...), or None"
        )
    return profile


def _checked_budget(budget: object) -> object:
    if budget is None:
        return None
    from rig.agent.ledger import SharedBudget  # noqa: PLC0415 of runs that have a budget

    if not isinstance(budget, Budget | SharedBudget):
        raise InvalidRequestError(
            "budget must be a Budget(...), a SharedBudget(...), or None for no limit"
        )
    return budget


def _checked_compaction(compaction: object) -> object:
    if compaction is None:
        return None
    from rig.agent.compaction import Compaction  # noqa: PLC0415 of runs that were given one

    if not isinstance(compaction, Compaction):
        raise InvalidRequestError("compaction must be a Compaction(...), or None")
    return compaction


def _checked_output(output: Any) -> object:  # noqa: ANN401 any type
    if output is not None:
        from rig.agent.output import output_for  # noqa: PLC0415 of typed answers

        output_for(output)
    return output


_READERS: Mapping[str, Callable[[object], object]] = {
    "prompt": _checked_prompt,
    "max_tokens": _checked_max_tokens,
    "model": _checked_text("model"),
    "system": _checked_text("system"),
    "max_iterations": _checked_iterations,
    "output": _checked_output,
    "history": _checked_history,
    "budget": _checked_budget,
    "options": _checked_options,
    "on_limit": _checked_choice,
    "on_event": _checked_callback("on_event"),
    "confirm": _checked_callback("confirm"),
    "approve": _checked_ids,
    "tool_format": _checked_format,
    "profile": _checked_profile,
    "compaction": _checked_compaction,
    "instructions": _checked_text("instructions"),
}
"""What makes of a field that was given the value a run takes, or refuses it. The others hold anything, but for
tools and temperature, which are read in view of another."""

_NAMES: Final = tuple(_READERS)
_UNSET: Final = {field.name: field.default for field in fields(RunRequest)}
_DEFAULTS: Final = tuple(_UNSET[name] for name in _NAMES)
_values: Final[Callable[[Mapping[str, object]], tuple[object, ...]]] = itemgetter(*_NAMES)  # pyright: ignore[reportUnknownVariableType] of no items


def _check_opening(request: RunRequest[OutputT]) -> None:
    """There is something to answer, and every approved call waits.

    Raises:
        InvalidRequestError: not so.
    """
    prepared, pending = prepare_open(request.messages)
    unknown = set(request.approve) - {call.id for call in pending}
    if unknown:
        raise InvalidRequestError(
            f"approve names {len(unknown)} call(s) that do not wait at the end of history: "
            "give result.messages of the run as history, and ids of its result.pending"
        )
    if is_said(request.content) or pending:
        return
    if not prepared or prepared[-1].role not in {"user", "tool"}:
        raise InvalidRequestError(
            "prompt is empty, and history leaves nothing to answer: give a prompt, or a history "
            "that ends with a user or tool turn or with calls that wait for approve"
        )
