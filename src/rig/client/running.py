"""`run` and `run_stream`, declared once: what turns a model that answers requests into one that runs agents.

The keywords stand three times: as the fields of `RunRequest`, which holds them; in `RunOptions`, which
types them for the overloads; and in the signature of `run`, which shows the defaults. A test keeps
the three the same. Only skills and preload are `run`'s alone: in a `RunRequest` they are a tool and
instructions.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from inspect import signature
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Required, TypedDict, TypeVar, Unpack, overload

from rig.errors import NotConfiguredError
from rig.messages import Message, ToolCall
from rig.model import DEFAULT_OPTIONS, ChatOptions, ChatRequest, Reply, ReplyStream

if TYPE_CHECKING:  # the loop and all it needs are loaded with the first run
    from rig.agent.budget import Budget
    from rig.agent.capabilities import Profiled
    from rig.agent.compaction import Compaction
    from rig.agent.ladder import ToolFormatChoice
    from rig.agent.ledger import SharedBudget
    from rig.agent.request import Prompt, RunRequest
    from rig.agent.run_stream import RunStream
    from rig.agent.tools import Tool
    from rig.events import RunEvent, RunResult
    from rig.skills import Skill

T = TypeVar("T")


class RunOptions(TypedDict, total=False):
    """The keywords of `run`; their meaning stands there and in `RunRequest`."""

    model: str | None
    max_tokens: Required[int]
    system: str
    tools: "Iterable[Tool]"
    skills: "Iterable[Skill]"
    preload: Iterable[str]
    max_iterations: int
    temperature: float | None
    history: Sequence[Message | Mapping[str, Any]]
    budget: "Budget | SharedBudget | None"
    options: ChatOptions
    on_limit: Literal["raise", "answer"]
    on_event: "Callable[[RunEvent], Awaitable[None] | None] | None"
    confirm: Callable[[ToolCall], Awaitable[bool] | bool] | None
    approve: Iterable[str]
    deps: object
    stream: bool
    tool_format: "ToolFormatChoice"
    profile: "Profiled | None"
    compaction: "Compaction | None"


class RunMixin:
    """Adds `run` to anything with `complete`, and `run_stream` to what has `stream` too.

    `Client` and `rig.testing.ScriptedModel` have both.

    Attributes:
        default_model: the model used where a call names none.
    """

    default_model: str = ""

    async def complete(self, request: ChatRequest, /) -> Reply:
        """Answer one request; every class that mixes this in says how.

        Raises:
            NotImplementedError: it does not.
        """
        raise NotImplementedError

    def stream(
        self,
        request: ChatRequest,  # noqa: ARG002 of the protocol
        /,
    ) -> AbstractAsyncContextManager[ReplyStream]:
        """Answer one request piece by piece; classes that can say how.

        Raises:
            NotConfiguredError: it can't.
        """
        raise NotConfiguredError("this model does not stream its replies")

    def named_model(self, model: str | None) -> str:
        """The model to ask.

        Args:
            model: the name the call gave, or nothing.

        Raises:
            NotConfiguredError: neither the call nor the client names one.
        """
        name = model or self.default_model
        if not name:
            raise NotConfiguredError("no model is named: pass model= to the call or to the client")
        return name

    def default_max_tokens(self, model: str) -> int | None:  # noqa: ARG002 of those that know one
        """The limit of a reply where a call names none, in tokens.

        Args:
            model: the model the call is for.

        Returns:
            None where the caller has to say it; a gateway knows one for each of its tiers.
        """
        return None

    @overload
    async def run(self, prompt: "RunRequest[T]", /) -> "RunResult[T]": ...
    @overload
    async def run(
        self, prompt: "Prompt", *, output: type[T], **options: Unpack[RunOptions]
    ) -> "RunResult[T]": ...
    @overload
    async def run(
        self, prompt: "Prompt", *, output: None = None, **options: Unpack[RunOptions]
    ) -> "RunResult[None]": ...
    @overload
    async def run(
        self, prompt: "Prompt", *, output: object, **options: Unpack[RunOptions]
    ) -> "RunResult[Any]": ...
    async def run(
        self,
        prompt: "Prompt | RunRequest[T]",
        *,
        max_tokens: int | None = None,
        model: str | None = None,
        system: str = "",
        tools: "Iterable[Tool]" = (),
        skills: "Iterable[Skill]" = (),
        preload: Iterable[str] = (),
        max_iterations: int = 8,
        temperature: float | None = None,
        output: object = None,
        history: Sequence[Message | Mapping[str, Any]] = (),
        budget: "Budget | SharedBudget | None" = None,
        options: ChatOptions = DEFAULT_OPTIONS,
        on_limit: Literal["raise", "answer"] = "raise",
        on_event: "Callable[[RunEvent], Awaitable[None] | None] | None" = None,
        confirm: Callable[[ToolCall], Awaitable[bool] | bool] | None = None,
        approve: Iterable[str] = (),
        deps: object = None,
        stream: bool = False,
        tool_format: "ToolFormatChoice" = "auto",
        profile: "Profiled | None" = None,
        compaction: "Compaction | None" = None,
    ) -> "RunResult[Any]":
        """Run an agent: ask, run the tools it calls, give it the results, until it answers.

        Args:
            prompt: the user's message, text or parts; or a `RunRequest`, which holds all keywords but
                skills and preload (their tool is `load_skill_tool`, and `advertise` and `preloaded`
                make the instructions), so that none may stand beside it.
            max_tokens: limit of each reply, in tokens; required, so that no reply is unbounded. Only a
                gateway has a default for it, and takes 0 for that.
            model: the model's name; the client's own when None.
            system: the system prompt; it replaces that of the history, which is kept where this is "".
            tools: what the model may call.
            skills: instructions the model may load; they are advertised in the system prompt of the
                requests, not in the transcript.
            preload: names of skills whose instructions this run has from the start, in the system
                prompt too; they are neither advertised nor loaded.
            max_iterations: rounds of request and reply, at most 32; 0 means 8.
            temperature: short for `options.temperature`.
            output: a pydantic model, or any type pydantic knows: the answer is parsed into it and
                asked for once more when it does not match.
            history: the conversation so far; `result.messages` of an earlier run, or OpenAI-style dicts.
            budget: what the whole run may take, a `Budget`; a `SharedBudget` is spent by several runs.
            options: sampling and everything else of a request.
            on_limit: `raise` an error when a limit is hit, or make one last call without tools and
                `answer` with that, told by `result.termination`.
            on_event: called, and awaited where it is a coroutine function, with each `RunEvent`.
            confirm: asked before a tool with `confirm=True` runs; without it such a call ends the
                run as needs_confirmation.
            approve: ids of `result.pending` calls that may run now that the run is resumed.
            deps: handed to tools as `context.deps`.
            stream: have replies streamed: the same result, and `on_event` is told of text, thoughts
                and calls while they come; see also `run_stream`.
            tool_format: how calls travel: native, heredoc, json, or auto, which begins with what `profile`
                says works and steps down where the run's own replies show that it does not.
            profile: what `client.profile()` returned, or `Capabilities`: chooses the format, and holds a
                typed answer to its schema where the server enforces one.
            compaction: when the history is made smaller because it does not fit the context window.

        Returns:
            The answer, with transcript, calls and usage.

        Raises:
            InvalidRequestError: an argument can't be used; nothing was sent.
            RigError: the run failed; `error.result` holds how far it came.
        """
        # By name: `from rig.client import runs` would ask the package each time.
        from rig.client.runs import run, run_request  # noqa: PLC0415 a third of rig: a chat needs none of it

        request = run_request(
            self,
            prompt,
            {  # not in a variable, where it would stay as long as the run goes on
                "max_tokens": max_tokens,
                "model": model,
                "system": system,
                "tools": tools,
                "skills": skills,
                "preload": preload,
                "max_iterations": max_iterations,
                "temperature": temperature,
                "output": output,
                "history": history,
                "budget": budget,
                "options": options,
                "on_limit": on_limit,
                "on_event": on_event,
                "confirm": confirm,
                "approve": approve,
                "deps": deps,
                "stream": stream,
                "tool_format": tool_format,
                "profile": profile,
                "compaction": compaction,
            },
        )
        return await run(self, request)

    @overload
    def run_stream(
        self, prompt: "RunRequest[T]", /
    ) -> "AbstractAsyncContextManager[RunStream[T]]": ...
    @overload
    def run_stream(
        self, prompt: "Prompt", *, output: type[T], **options: Unpack[RunOptions]
    ) -> "AbstractAsyncContextManager[RunStream[T]]": ...
    @overload
    def run_stream(
        self, prompt: "Prompt", *, output: None = None, **options: Unpack[RunOptions]
    ) -> "AbstractAsyncContextManager[RunStream[None]]": ...
    @overload
    def run_stream(
        self, prompt: "Prompt", *, output: object, **options: Unpack[RunOptions]
    ) -> "AbstractAsyncContextManager[RunStream[Any]]": ...
    def run_stream(
        self,
        prompt: "Prompt | RunRequest[T]",
        *,
        output: object = None,
        **options: Any,
    ) -> "AbstractAsyncContextManager[RunStream[Any]]":
        """Run an agent and iterate over what happens while it does.

        Errors come out of the iteration as themselves. Leaving the block ends the run: it cancels the
        request and the tools under way.

        Args:
            prompt: as for `run`.
            output: as for `run`.
            options: the keywords of `run`; replies are streamed in any case.

        Returns:
            A context manager; its block gets the `RunStream`, whose `result()` is the run's.

        Raises:
            InvalidRequestError: an argument can't be used; nothing was sent.
            NotConfiguredError: no model is named.
            TypeError: there is no such keyword.
        """
        unknown = sorted(set(options) - set(DEFAULTS))
        if unknown:
            raise TypeError(f"run_stream() got an unexpected keyword argument {unknown[0]!r}")
        from rig.client import runs  # noqa: PLC0415 as in `run`

        given: dict[str, Any] = {**options, "output": output}
        request = runs.run_request(self, prompt, given)
        return runs.stream_run(self, replace(request, stream=True))


DEFAULTS: Mapping[str, object] = MappingProxyType(
    {
        name: parameter.default
        for name, parameter in signature(RunMixin.run).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
)
"""The keywords of `run` and what each is where a call does not give it."""
