"""What a tool is, and `@tool`, which makes one of a function.

A tool is told to the model by name, description and schema, and it is checked when it is made: a
mistake of its author is an `InvalidRequestError` at start-up, not a confused model at night. Calling
one for a model, with everything that can go wrong then, is in `rig.agent.calling`.
"""

import functools
import inspect
import re
from collections.abc import Callable, Coroutine, Iterable, Mapping
from copy import copy
from dataclasses import field
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    ParamSpec,
    Self,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
    overload,
)

import anyio.to_thread
from pydantic import ValidationError
from pydantic_core import from_json, to_json

from rig.agent.inputs import check_input
from rig.agent.results import MAX_RESULT_CHARS, problems_of
from rig.agent.schema import Schema, object_schema, portable
from rig.agent.signature import Signature, is_type, read_signature, signature_of
from rig.errors import InvalidRequestError, ToolError
from rig.kept import Keeps
from rig.late_dataclass import dataclass
from rig.messages import ToolCall
from rig.text.finite import is_finite

if TYPE_CHECKING:  # loaded by the runs that have a budget
    from rig.agent.ledger import SharedBudget

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)

Effect = Literal["read", "write"]
"""Whether a tool only looks, or changes something that can't be taken back by looking away."""

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What a tool may know of the call it serves.

    Attributes:
        call: the model's call, with its id.
        iteration: the round of the run it belongs to, from 1.
        deps: what the caller of the run passed as `deps=`: connections, the user, a clock.
        budget: the run's budget, None where it has none. Give it to a run inside of the tool as
            `budget=`, so that it spends out of the same.
    """

    call: ToolCall
    iteration: int = 1
    deps: Any = field(default=None, repr=False)
    budget: "SharedBudget | None" = field(default=None, repr=False)


class ToolOptions(TypedDict, total=False):
    """The options of a tool, as keyword arguments; `Tool` says what each means."""

    effect: Effect
    confirm: bool
    timeout_s: float | None
    max_result_chars: int
    concurrent: bool
    tags: Iterable[str]
    keep_special_tokens: bool
    validate: bool
    accept_salvaged: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedInput:
    """Arguments after their check: what the tool takes, or why it can't.

    Attributes:
        value: the input in the form the tool's `invoke` takes; no use when there are problems.
        problems: what is wrong, one `path: problem` each.
    """

    value: Any = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, init=False, eq=False)
class Tool(Keeps):
    """Something a model may call.

    Args:
        name: 1 to 64 letters, digits, `_` and `-`.
        description: one sentence for the model: what it does, and when to use it.
        input_schema: JSON schema of the input, an object; None when the tool takes nothing.
        run: `run(input)` or `run(input, context)`, with the arguments as a dict and a
            `ToolContext`. The context is passed when the second parameter is required, is annotated
            `ToolContext`, or is named `context`. A coroutine function is awaited. Any other function
            runs in a worker thread; a thread can't be stopped, so when its time is up or the run is
            cancelled it is abandoned: nobody waits, its result is dropped, its effects are not.
        effect: read or write.
        confirm: a call waits until somebody agreed.
        timeout_s: seconds one call may take; None is no limit but the run's.
        max_result_chars: characters of a result the model is shown; its middle is cut out.
        concurrent: neighbouring calls that all carry this run at the same time.
        tags: words to select tools by.
        keep_special_tokens: show `<|` in results as it is; only for results you wrote yourself.
        validate: check the input against `input_schema` before `run` gets it; False when `run` does.
        accept_salvaged: run calls that came as text, not as proper calls; None does so unless the
            effect is write. A refused one is answered with the request to call properly.

    Attributes:
        input_schema: as it is sent: references written out, and what grammar converters refuse
            (patterns, very large bounds) moved to the description. To change it, make another tool: it is
            written once.

    Raises:
        InvalidRequestError: one of these can't be used; the sentence says what to change.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any] = field(repr=False)
    run: Callable[..., Any] = field(repr=False)
    effect: Effect
    confirm: bool
    timeout_s: float | None
    max_result_chars: int
    concurrent: bool
    tags: tuple[str, ...]
    keep_special_tokens: bool
    validate: bool
    accept_salvaged: bool
    _schema: Schema = field(init=False, repr=False)
    _takes_context: bool = field(init=False, repr=False)
    _in_thread: bool = field(init=False, repr=False)

    def __init__(
        self,
        name: str,
        description: str,
        input_schema: Mapping[str, Any] | None = None,
        run: Callable[..., object] | None = None,
        *,
        effect: Effect = "read",
        confirm: bool = False,
        timeout_s: float | None = None,
        max_result_chars: int = MAX_RESULT_CHARS,
        concurrent: bool = False,
        tags: Iterable[str] = (),
        keep_special_tokens: bool = False,
        validate: bool = True,
        accept_salvaged: bool | None = None,
    ) -> None:
        owner = _checked_name(name)
        schema = object_schema(input_schema, owner=owner)
        values = {
            "name": name,
            "description": _checked_description(description, owner),
            "input_schema": portable(schema),
            "run": _checked_run(run, owner),
            "effect": _checked_effect(effect, owner),
            "confirm": bool(confirm),
            "timeout_s": _checked_timeout(timeout_s, owner),
            "max_result_chars": _checked_limit(max_result_chars, owner),
            "concurrent": bool(concurrent),
            "tags": _checked_tags(tags, owner),
            "keep_special_tokens": bool(keep_special_tokens),
            "validate": bool(validate),
            "accept_salvaged": effect != "write"
            if accept_salvaged is None
            else bool(accept_salvaged),
            "_schema": schema,
            "_takes_context": _takes_context(run, owner),
            "_in_thread": not _is_async(_checked_run(run, owner)),
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)

    @property
    def schema(self) -> Mapping[str, Any]:
        """What the input is checked against: `input_schema` before anything was loosened."""
        return self._schema

    def described(self, description: str) -> Self:
        """The same tool under another description.

        Args:
            description: what the model is told of it.

        Raises:
            InvalidRequestError: it is blank.
        """
        checked = _checked_description(description, f'tool "{self.name}"')
        if checked == self.description:
            return self
        changed = copy(self)
        object.__setattr__(changed, "description", checked)
        return changed

    @property
    def in_thread(self) -> bool:
        """True when the tool runs in a worker thread, so that nothing can stop it."""
        return self._in_thread

    def check(self, arguments: str) -> CheckedInput:
        """Read the text of one JSON object as input of this tool.

        Raises:
            ValueError: the text is not JSON.
        """
        value: object = from_json(arguments, allow_inf_nan=False)
        problems = check_input(self._schema, value) if self.validate else ()
        return CheckedInput(value=value, problems=problems)

    def invoke(self, value: Any, context: ToolContext) -> Coroutine[Any, Any, object]:  # noqa: ANN401  what `check` gave
        """Run the tool on an input that passed `check`; whatever the tool raises comes out of awaiting it."""
        given = (value, context) if self._takes_context else (value,)
        if self._in_thread:
            return _called_in_thread(functools.partial(self.run, *given))
        called: Coroutine[Any, Any, object] = self.run(*given)
        return called


@dataclass(frozen=True, slots=True, init=False, eq=False)
class FunctionTool(Tool, Generic[P, R_co]):
    """A tool made of a function by `@tool`; calling it calls the function.

    Its input is always checked against the signature, and reaches the function as values of the
    annotated types. `help` and `inspect.signature` show the function.

    Attributes:
        function: the function.
        signature: what was read of it.
    """

    function: Callable[P, R_co] = field(repr=False)
    signature: Signature = field(repr=False)

    def __init__(
        self,
        name: str,
        description: str,
        input_schema: Mapping[str, Any] | None = None,
        run: Callable[..., object] | None = None,
        *,
        function: Callable[P, R_co],
        signature: Signature,
        **options: Unpack[ToolOptions],
    ) -> None:
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "signature", signature)
        schema = signature.schema if input_schema is None else input_schema
        Tool.__init__(self, name, description, schema, run or self._run, **options)
        in_thread = not _is_async(cast("Callable[..., object]", function))
        object.__setattr__(self, "_in_thread", in_thread)

    @property
    def __name__(self) -> str:
        """The function's name, which may be another than the tool's."""
        return str(getattr(self.function, "__name__", self.name))

    @property
    def __wrapped__(self) -> Callable[P, R_co]:
        """The function."""
        return self.function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the function as if it had never been decorated."""
        return self.function(*args, **kwargs)

    def check(self, arguments: str) -> CheckedInput:
        """Read the text of one JSON object as arguments of the function.

        What a validator of the author raises, but for `ValueError`, comes out as it is.
        """
        try:
            return CheckedInput(value=self.signature.read(arguments))
        except ValidationError as error:
            return CheckedInput(problems=problems_of(error))

    def invoke(self, value: Any, context: ToolContext | None) -> Coroutine[Any, Any, object]:  # noqa: ANN401  what `check` gave
        """Call the function with arguments that passed `check`; whatever it raises comes out of awaiting it.

        Raises:
            InvalidRequestError: the function takes the context, and there is none.
        """
        arguments: Mapping[str, object] = value
        if self.signature.context is not None:
            if context is None:
                raise InvalidRequestError(
                    f'tool "{self.name}" needs a ToolContext: pass one to run'
                )
            arguments = {**arguments, self.signature.context: context}
        function: Callable[..., Any] = self.function
        if self._in_thread:
            return _called_in_thread(functools.partial(function, **arguments))
        called: Coroutine[Any, Any, object] = function(**arguments)
        return called

    async def _run(
        self,
        input: Mapping[str, object],  # noqa: A002  the name of the contract
        context: ToolContext | None = None,
    ) -> object:
        checked = self.check(to_json(input).decode())
        if checked.problems:
            raise ToolError("; ".join(checked.problems))
        return await self.invoke(checked.value, context)


class _Docstring:
    """The class's docstring on the class, and on an instance its function's."""

    def __init__(self, of_class: str | None) -> None:
        self._of_class = of_class

    def __get__(self, instance: FunctionTool[..., object] | None, owner: type) -> str | None:
        return self._of_class if instance is None else instance.function.__doc__


# Not in the class: there it would take the place of the docstring it needs.
type.__setattr__(FunctionTool, "__doc__", _Docstring(FunctionTool.__doc__))


@overload
def tool(
    function: Callable[P, R_co],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    **options: Unpack[ToolOptions],
) -> FunctionTool[P, R_co]: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    **options: Unpack[ToolOptions],
) -> Callable[[Callable[P, R_co]], FunctionTool[P, R_co]]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    **options: Unpack[ToolOptions],
) -> Any:
    """Make a tool of a function: `@tool`, `@tool(effect="write")`, or `tool(server.method)`.

    Name and description are the function's name and the first paragraph of its docstring. The
    schema is read off the signature: every parameter needs a type, its description comes from the
    docstring (Google, NumPy or Sphinx style), and a parameter annotated `ToolContext` is given the
    context and not shown to the model. Arguments are checked, and reach the function as values of
    the annotated types. The result stays callable like the function.

    Bound methods, static methods and `functools.partial` work, what a partial has bound stays
    hidden; for other callables pass the method that does the work.

    Args:
        function: the function, when used without parentheses.
        name: instead of the function's name.
        description: instead of the docstring's first paragraph.
        **options: the options of `Tool`.

    Raises:
        InvalidRequestError: a model could not use the function; the sentence says what to change.
        TypeError: there is no such option.
    """
    unknown = [name for name in options if name not in ToolOptions.__annotations__]
    if unknown:
        known = ", ".join(("name", "description", *ToolOptions.__annotations__))
        raise TypeError(f"tool() takes no {unknown[0]}: its options are {known}")

    def made(target: Callable[P, R_co]) -> FunctionTool[P, R_co]:
        signature = read_signature(target, ToolContext)
        if not (name or signature.name):
            raise InvalidRequestError('a tool made of a lambda needs a name: tool(name="...")')
        words = signature.docstring.summary if description is None else description
        if description is None and not words:
            raise InvalidRequestError(
                f"tool function {signature.name or name} has no docstring: say in its first"
                ' sentence what it does, or pass description="..."'
            )
        return FunctionTool(
            name or signature.name, words, function=target, signature=signature, **options
        )

    return made if function is None else made(function)


async def _called_in_thread(function: Callable[[], object]) -> object:
    """The function's result out of a worker thread; awaited where it can be.

    Waiting for a thread that hangs would make a time-out, and the run's end, hang with it. The tuple hides
    a returned coroutine from trio, which would close it.
    """
    (result,) = await anyio.to_thread.run_sync(lambda: (function(),), abandon_on_cancel=True)
    return await result if inspect.isawaitable(result) else result


def _is_async(function: Callable[..., object]) -> bool:
    while isinstance(function, functools.partial):
        function = cast("functools.partial[object]", function).func
    called = getattr(function, "__call__", None)  # noqa: B004  its kind matters, not that it is there
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)


def _takes_context(run: object, owner: str) -> bool:
    """Whether `run` is called with the context as its second argument.

    Raises:
        InvalidRequestError: it can't be called with an input.
    """
    try:
        parameters = signature_of(cast("Callable[..., object]", run)).parameters.values()
    except (TypeError, ValueError):
        return False
    given = [item for item in parameters if item.kind in _POSITIONAL]
    needed = [item for item in given if item.default is item.empty]
    any_number = any(item.kind is item.VAR_POSITIONAL for item in parameters)
    by_name = [
        item for item in parameters if item.kind is item.KEYWORD_ONLY and item.default is item.empty
    ]
    if len(needed) > 2 or by_name or not (given or any_number):
        raise InvalidRequestError(
            f"run of {owner} must be callable as run(input) or run(input, context)"
        )
    if len(given) < 2:
        return False
    second = given[1]
    return (
        second.default is second.empty
        or is_type(second.annotation, ToolContext)
        or second.name == "context"
    )


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _checked_name(name: object) -> str:
    """What messages call the tool of that name.

    Raises:
        InvalidRequestError: no server takes the name.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidRequestError(
            f"{_shown(name)} can't be the name of a tool: use 1 to 64 letters, digits, _ and -"
        )
    return f'tool "{name}"'


def _shown(name: object) -> str:
    return repr(name[:80]) if isinstance(name, str) else f"a {type(name).__name__}"


def _checked_description(description: object, owner: str) -> str:
    if not isinstance(description, str) or not description.strip():
        raise InvalidRequestError(
            f"{owner} needs a description: one sentence that tells the model what it does"
        )
    return description.strip()


def _checked_run(run: object, owner: str) -> Callable[..., object]:
    if not callable(run):
        raise InvalidRequestError(f"{owner} needs run: a function that takes the input as a dict")
    return run


_EFFECTS: tuple[Effect, ...] = ("read", "write")


def _checked_effect(effect: object, owner: str) -> Effect:
    for known in _EFFECTS:
        if effect == known:
            return known
    raise InvalidRequestError(f'effect of {owner} must be "read" or "write"')


def _checked_timeout(timeout_s: object, owner: str) -> float | None:
    if timeout_s is None:
        return None
    if is_finite(timeout_s) and timeout_s > 0:
        return float(timeout_s)
    raise InvalidRequestError(
        f"timeout_s of {owner} must be a number of seconds above 0, or None for no limit"
    )


def _checked_limit(max_result_chars: object, owner: str) -> int:
    if isinstance(max_result_chars, int) and max_result_chars > 0 and max_result_chars is not True:
        return max_result_chars
    raise InvalidRequestError(
        f"max_result_chars of {owner} must be a whole number of characters above 0"
    )


def _checked_tags(tags: object, owner: str) -> tuple[str, ...]:
    listed = tuple(cast("Iterable[object]", tags)) if _is_listing(tags) else (None,)
    if not all(isinstance(tag, str) and tag for tag in listed):
        raise InvalidRequestError(
            f'tags of {owner} must be a tuple of words, for example ("files",)'
        )
    return cast("tuple[str, ...]", listed)


def _is_listing(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)
