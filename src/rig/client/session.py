"""A conversation that is kept between runs: what was said, and the tools it is held with.

Nothing is sent but by `run`, and what a run leaves behind is taken over whole, or not at all.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self, TypeVar, Unpack, cast, overload

from rig.agent.budget import estimate_tokens
from rig.agent.calls import give_ids
from rig.agent.continuing import continues
from rig.agent.history import NO_RESULT, prepare_open, read_history, tool_turn
from rig.agent.pairing import pairing_problem, waiting_calls
from rig.agent.request import Prompt
from rig.agent.toolbox import validate_tools
from rig.agent.tools import Tool
from rig.agent.trimming import trimmed
from rig.client.running import RunMixin, RunOptions
from rig.client.transcript import (
    MAX_SESSION_BYTES,
    Transcript,
    read_transcript,
    write_transcript,
)
from rig.errors import InvalidRequestError
from rig.events import RunResult
from rig.messages import Content, Message, ToolCall

T = TypeVar("T")

_BLANK_LINE = "\n\n"
_OWN_OPTIONS = ("history", "system")


class Session:
    """A conversation kept between runs.

    ```python
    session = Session("You are a terse assistant.", tools=[lookup])
    result = await session.run(client, "Weather in Paris?", max_tokens=256)
    result = await session.run(client, "And in Rome?", max_tokens=256)
    store(session.to_json())
    ```

    Calls and results always stand in pairs, whatever is added or trimmed: a result must answer a call that
    waits, and calls that nobody answered before somebody else speaks are answered with a note that they
    were not executed. One task at a time may use a session.

    Args:
        system: the system prompt; "" for none.
        tools: what the model may call, in the order it is shown to it.
        messages: what was said so far: messages, or mappings in the shape of the wire. It is mended as a
            `history` is; system messages in it are added to the system prompt.
        id: a name for the conversation, for whoever keeps it; never sent.

    Raises:
        InvalidRequestError: an argument can't be used; the message says what to change.
    """

    def __init__(
        self,
        system: str = "",
        *,
        tools: Iterable[Tool] = (),
        messages: Iterable[Message | Mapping[str, Any]] = (),
        id: str = "",  # noqa: A002  the word everybody looks for
    ) -> None:
        self.id = _checked_text("id", id)
        self._running = False
        self._tools = tuple(validate_tools(tools))
        _checked_text("system", system)
        said = read_history(messages)
        self._system = _joined(system, *(turn.text for turn in said if turn.role == "system"))
        self._turns = _paired([turn for turn in said if turn.role != "system"])

    def __repr__(self) -> str:
        return f"Session(id={self.id!r}, messages={len(self.messages)}, tools={len(self._tools)})"

    @property
    def system(self) -> str:
        """The system prompt, "" for none; may be set."""
        return self._system

    @system.setter
    def system(self, system: str) -> None:
        self._check_idle()
        self._system = _checked_text("system", system)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What the model may call, in the order it was given; may be set."""
        return self._tools

    @tools.setter
    def tools(self, tools: Iterable[Tool]) -> None:
        self._check_idle()
        self._tools = tuple(validate_tools(tools))

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation, oldest first, the system prompt at its head; what a `history` takes."""
        if not self._system.strip():
            return tuple(self._turns)
        return (Message.made(role="system", content=self._system), *self._turns)

    @property
    def pending(self) -> tuple[ToolCall, ...]:
        """The calls that wait for a result, in order."""
        return waiting_calls(self._turns)

    # --- Adding ---

    def add(self, message: Message | Mapping[str, Any]) -> Message:
        """Add a message of any role; a system message is added to the system prompt.

        Args:
            message: a message, or a mapping in the shape of the wire.

        Returns:
            The message as it is kept: its calls have ids of their own.

        Raises:
            InvalidRequestError: it is no message, or a result that answers no waiting call.
        """
        self._check_idle()
        (turn,) = read_history([message])
        if turn.role == "system":
            self._system = _joined(self._system, turn.text)
            return turn
        if turn.role == "tool":
            return self._add_result(turn)
        if turn.tool_calls:
            calls = give_ids(turn.tool_calls, self._turns) if turn.role == "assistant" else ()
            turn = turn.model_copy(update={"tool_calls": calls})
        self._turns += [*(tool_turn(call, NO_RESULT) for call in self.pending), turn]
        return turn

    def add_user(self, content: Content) -> Message:
        """Add what the user says.

        Args:
            content: text, or parts of text, images and audio.

        Returns:
            The message as it is kept.

        Raises:
            InvalidRequestError: the content is neither.
        """
        return self.add({"role": "user", "content": _checked_content(content)})

    def add_assistant(
        self, content: Content = "", *, tool_calls: Iterable[ToolCall] = ()
    ) -> Message:
        """Add what the model said, when no run did it; for a `Reply` use `add(reply.message())`.

        Args:
            content: its text.
            tool_calls: the calls it asks for.

        Returns:
            The message as it is kept: its calls have ids of their own.

        Raises:
            InvalidRequestError: the content is neither text nor parts.
        """
        calls = tuple(tool_calls)
        return self.add(
            {"role": "assistant", "content": _checked_content(content), "tool_calls": calls}
        )

    def add_tool_result(self, call: ToolCall | str, content: str) -> Message:
        """Add the result of a call that waits.

        Args:
            call: the call, or its id.
            content: what the model is told.

        Returns:
            The message as it is kept.

        Raises:
            InvalidRequestError: no such call waits for a result.
        """
        identity = call if isinstance(call, str) else call.id
        return self.add(
            {"role": "tool", "content": _checked_content(content), "tool_call_id": identity}
        )

    def extend(self, result: RunResult[Any]) -> None:
        """Take over what a run left.

        Args:
            result: of a run that was given `messages` as its history: the session then holds what the
                run holds. Of any other run: its turns are added at the end.
        """
        self._check_idle()
        turns = [turn for turn in result.messages if turn.role != "system"]
        goes_on = continues(self._turns, turns, compacted=result.compactions > 0)
        self._turns = _paired(turns if goes_on else [*self._turns, *turns])

    # --- Trimming ---

    def trim(
        self,
        *,
        max_messages: int | None = None,
        max_tokens: int | None = None,
        count: Callable[[Message], int] | None = None,
    ) -> tuple[Message, ...]:
        """Forget the oldest turns.

        The system prompt stays, and no result loses its call nor a call its results. Whole exchanges go
        first; of one that fits in part, the question and the latest steps stay.

        Args:
            max_messages: how many messages may stay, the system message included.
            max_tokens: how many tokens they may have, the system message included.
            count: the tokens of one message; None estimates them by four bytes each.

        Returns:
            What was forgotten, oldest first: for a summary, or an archive. The last question and what
            followed it last always stay, even where they alone are more than the limit.

        Raises:
            InvalidRequestError: there is no limit, or one below 1.
        """
        self._check_idle()
        limits = (("max_messages", max_messages), ("max_tokens", max_tokens))
        if all(limit is None for _, limit in limits):
            raise InvalidRequestError("trim needs max_messages or max_tokens")
        for name, limit in limits:
            _check_limit(name, limit)
        kept = tuple(self._turns)
        if max_messages is not None:
            kept = self._trimmed(kept, max_messages, lambda _: 1)
        if max_tokens is not None:
            kept = self._trimmed(kept, max_tokens, count or (lambda turn: estimate_tokens([turn])))
        gone = _gone(self._turns, kept)
        self._turns = list(kept)
        return gone

    def _trimmed(
        self, turns: Sequence[Message], limit: int, weigh: Callable[[Message], int]
    ) -> tuple[Message, ...]:
        head = self.messages[: len(self.messages) - len(self._turns)]
        return trimmed(turns, limit - sum(map(weigh, head)), weigh)

    # --- Running ---

    @overload
    async def run(
        self, client: RunMixin, prompt: Prompt, *, output: type[T], **options: Unpack[RunOptions]
    ) -> RunResult[T]: ...
    @overload
    async def run(
        self,
        client: RunMixin,
        prompt: Prompt,
        *,
        output: None = None,
        **options: Unpack[RunOptions],
    ) -> RunResult[None]: ...
    @overload
    async def run(
        self, client: RunMixin, prompt: Prompt, *, output: object, **options: Unpack[RunOptions]
    ) -> RunResult[Any]: ...
    async def run(
        self,
        client: RunMixin,
        prompt: Prompt,
        *,
        output: object = None,
        **options: Unpack[RunOptions],
    ) -> RunResult[Any]:
        """Run an agent that knows the conversation, and add what it said and did.

        A run that fails or is cancelled leaves the session as it was; `extend(error.result)` keeps
        what it had done by then.

        Args:
            client: the client, or anything else with `run`.
            prompt: the user's message; "" where the conversation already ends with one, or with calls
                that `approve` names.
            output: the answer's type, as in `client.run`.
            options: all other keywords of `client.run`, of which `max_tokens` is required. `tools` are the
                session's unless given; `history` and `system` always are.

        Returns:
            What `client.run` returns.

        Raises:
            InvalidRequestError: an argument can't be used, or another run of this session is under way.
            RigError: the run failed.
        """
        self._check_idle()
        for name in _OWN_OPTIONS:
            if name in options:
                raise InvalidRequestError(f"{name} is the session's own: set it there")
        options.setdefault("tools", self._tools)
        options["history"] = self.messages
        self._running = True
        try:
            result = await client.run(prompt, output=output, **options)
        finally:
            self._running = False
        self._turns = _paired([turn for turn in result.messages if turn.role != "system"])
        return result

    # --- Keeping ---

    def to_json(self) -> str:
        """The session as JSON text, without its tools.

        Lone surrogates, which can't be written, become U+FFFD. The same session always gives the same
        text, and so does what `from_json` makes of it.
        """
        return write_transcript(
            Transcript(id=self.id, system=self._system, turns=tuple(self._turns))
        )

    @classmethod
    def from_json(
        cls, text: str | bytes, *, tools: Iterable[Tool] = (), max_bytes: int = MAX_SESSION_BYTES
    ) -> Self:
        """A session out of `to_json`; the text need not be trusted.

        What it says is another matter: who can change it puts words into the model's mouth, and calls
        that wait into the next run.

        Args:
            text: what `to_json` gave.
            tools: what the model may call; never taken from the text.
            max_bytes: size beyond which the text is not even parsed.

        Raises:
            InvalidRequestError: the text is too large, or anything in it is not as `to_json` writes it;
                the message names the index and the field, and nothing of their content.
        """
        kept = read_transcript(text, max_bytes=max_bytes)
        return cls(kept.system, tools=tools, messages=kept.turns, id=kept.id)

    # --- Inside ---

    def _check_idle(self) -> None:
        """One at a time: what is said while a run is under way would be lost.

        Raises:
            InvalidRequestError: a run is under way.
        """
        if self._running:
            raise InvalidRequestError(
                "a run of this session is under way: wait for it, or use a session of its own"
            )

    def _add_result(self, turn: Message) -> Message:
        call = next((call for call in self.pending if _answers(turn, call)), None)
        if call is None:
            raise InvalidRequestError("no call of that id waits for a result in this session")
        turn = turn.model_copy(update={"name": turn.name or call.name, "tool_call_id": call.id})
        self._turns.append(turn)
        return turn


def _answers(result: Message, call: ToolCall) -> bool:
    """Whether a result belongs to a call: by its id, or by name where it has none (legacy functions)."""
    if result.tool_call_id:
        return result.tool_call_id == call.id
    return bool(result.name) and result.name == call.name


def _gone(turns: Sequence[Message], kept: Sequence[Message]) -> tuple[Message, ...]:
    """The turns that are not kept. One and the same message may stand in a conversation twice."""
    staying = list(kept)
    gone: list[Message] = []
    for turn in reversed(turns):
        if staying and staying[-1] is turn:
            staying.pop()
        else:
            gone.append(turn)
    return tuple(reversed(gone))


def _check_limit(name: str, limit: object) -> None:
    if limit is None:
        return
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise InvalidRequestError(f"{name} must be a whole number from 1 up, or None")


def _checked_content(content: object) -> object:
    if not isinstance(content, str | list | tuple):
        raise InvalidRequestError("content must be text, or a list of content parts")
    return cast("object", content)


def _checked_text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidRequestError(f'{name} must be text; leave it out or give "" for none')
    return value


def _joined(*texts: str) -> str:
    spoken = [text for text in texts if text.strip()]
    return _BLANK_LINE.join(spoken) if spoken else texts[0]


def _paired(turns: list[Message]) -> list[Message]:
    """The turns as they are where they are in order, else mended."""
    return turns if pairing_problem(turns) is None else list(prepare_open(turns)[0])
