"""A conversation as it may be sent: order, pairs, ids and arguments put right. No I/O.

`prepare` is the only function between a transcript and the wire. It is idempotent and linear, and it
hands back the very messages it was given where nothing was wrong with them.

Rules for whoever edits this file: never invent what somebody said. What is added says so of itself
(`error: no result was recorded`), and what is dropped could not have been sent.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TypeVar

from rig.agent.calls import REPLACED, UNNAMED_TOOL, UniqueIds, sendable, with_id
from rig.agent.in_order import is_blank, is_in_order
from rig.messages import Content, ContentPart, Message, TextPart, ToolCall, read_messages
from rig.model import Reply
from rig.text.reasoning import may_hold_thought, separate_reasoning

NO_RESULT = "error: no result was recorded for this call; it was NOT executed"
"""Answers a call of a given history that has no result: every server's template needs the pair."""

_BLANK_LINE = "\n\n"

ValueT = TypeVar("ValueT", Message, ToolCall)


class Prepared(tuple[Message, ...]):
    """A conversation that `prepare` has seen, so that it is put right once and not once a round."""

    __slots__ = ()


def prepare(messages: Sequence[Message]) -> Prepared:
    """The conversation as every server takes it.

    One system message first; neighbours of one speaker joined; every call with an id of its own,
    arguments that are a JSON object, and its result right behind it; no reasoning but the thoughts
    of the tool loop under way; no empty assistant turns.

    Args:
        messages: the conversation, oldest first.

    Returns:
        An equal tuple when nothing was to be done.
    """
    if isinstance(messages, Prepared):
        return messages
    return Prepared(messages) if is_in_order(messages) else put_in_order(messages)


def put_in_order(messages: Sequence[Message]) -> Prepared:
    """The same without a look whether anything is to be done.

    Args:
        messages: the conversation, oldest first.
    """
    return _prepared(messages, _paired(messages))


def prepare_open(messages: Sequence[Message]) -> tuple[tuple[Message, ...], tuple[ToolCall, ...]]:
    """The same, but the calls of a last assistant turn that could still be run stay without result.

    Args:
        messages: the conversation, oldest first.

    Returns:
        The conversation, and its open calls in order; no calls when nothing is open.
    """
    if is_in_order(messages):
        return Prepared(messages), ()
    turns = _paired(messages)
    prepared = _prepared(messages, turns)
    pending = turns[-1].pending if turns and isinstance(turns[-1], _CallTurn) else ()
    if not pending:
        return prepared, ()
    ids = {call.id for call in pending}
    return tuple(turn for turn in prepared if turn.tool_call_id not in ids), pending


def read_history(history: Iterable[object]) -> tuple[Message, ...]:
    """A given history as messages.

    Args:
        history: `Message` values, or mappings in the shape of the wire.

    Raises:
        InvalidRequestError: an item is neither; the message names its index.
    """
    return read_messages(history, name="history")


def assistant_turn(reply: Reply, calls: Sequence[ToolCall]) -> Message:
    """The turn that records a reply: leaked reasoning never goes back.

    Args:
        reply: what the model answered.
        calls: the calls it is recorded with: `sendable`, ids from `give_ids`.
    """
    turn = Message.made(
        role="assistant",
        content=reply.text,
        tool_calls=tuple(calls),
        reasoning=reply.reasoning if reply.reasoning_field else None,
        reasoning_field=reply.reasoning_field or "reasoning_content",
        thoughts=reply.thoughts,
    )
    return _without_leaks(turn) if reply.text else turn


def tool_turn(call: ToolCall, content: str) -> Message:
    """The turn that answers a call.

    Args:
        call: the call, with the id it has in the assistant turn.
        content: what the model is told.
    """
    return Message.made(
        role="tool", content=content, tool_call_id=call.id, name=call.name or UNNAMED_TOOL
    )


# Pairs


@dataclass(slots=True, kw_only=True)
class _CallTurn:
    """An assistant turn with calls while its results are being found."""

    turn: Message
    results: list[Message | None]
    _next: int = 0
    _named: dict[str, deque[int]] = field(default_factory=dict[str, deque[int]])

    def __post_init__(self) -> None:
        for index, call in enumerate(self.turn.tool_calls):
            self._named.setdefault(call.name, deque()).append(index)

    @property
    def pending(self) -> tuple[ToolCall, ...]:
        """The calls that could still be run."""
        return tuple(
            call
            for call, result in zip(self.turn.tool_calls, self.results, strict=True)
            if result is None and REPLACED not in call.repairs
        )

    def next_open(self) -> int | None:
        """The first call without a result; looks at each call once in its life."""
        while self._next < len(self.results) and self.results[self._next] is not None:
            self._next += 1
        return self._next if self._next < len(self.results) else None

    def next_open_of(self, name: str) -> int | None:
        """The first call of that name without a result; looks at each call once in its life."""
        waiting = self._named.get(name, deque())
        while waiting and self.results[waiting[0]] is not None:
            waiting.popleft()
        return waiting[0] if waiting else None

    def turns(self) -> list[Message]:
        """The turn and one result a call, in the order of the calls."""
        return [self.turn, *map(_result_turn, self.turn.tool_calls, self.results)]


def _result_turn(call: ToolCall, result: Message | None) -> Message:
    if result is None:
        return tool_turn(call, NO_RESULT)
    return result if result.tool_call_id == call.id else _changed(result, tool_call_id=call.id)


@dataclass(slots=True, kw_only=True)
class _Pairing:
    """Finds the call each result answers, by the id both had before ids were made unique."""

    latest: _CallTurn | None = None
    waiting: dict[str, deque[tuple[_CallTurn, int]]] = field(
        default_factory=dict[str, deque[tuple[_CallTurn, int]]]
    )

    def open(self, turn: _CallTurn, ids: Iterable[str]) -> None:
        """Expect results for the calls of a turn; an older call of the same id waits no more."""
        fresh: dict[str, deque[tuple[_CallTurn, int]]] = {}
        for index, identity in enumerate(ids):
            fresh.setdefault(identity, deque()).append((turn, index))
        self.waiting.update(fresh)
        self.latest = turn

    def place(self, result: Message) -> None:
        """Put a result with its call: by id, else by name, else in order; one nobody asked for is dropped."""
        latest = self.latest
        if not result.tool_call_id and result.name and latest is not None:
            named = latest.next_open_of(result.name)
            if named is not None:
                latest.results[named] = result
                return
        waiting = self.waiting.get(result.tool_call_id or "", deque())
        while waiting:
            turn, index = waiting.popleft()
            if turn.results[index] is None:
                turn.results[index] = result
                return
        if not result.tool_call_id and latest is not None:
            index_or_none = latest.next_open()
            if index_or_none is not None:
                latest.results[index_or_none] = result


def _paired(messages: Sequence[Message]) -> list[Message | _CallTurn]:
    """All turns but the system's, each result with its call, every call sendable."""
    ids = UniqueIds((), reserved={call.id for turn in messages for call in turn.tool_calls})
    pairing = _Pairing()
    turns: list[Message | _CallTurn] = []
    for message in messages:
        if message.role == "tool":
            pairing.place(message)
        elif message.role == "user":
            turns.append(message)
        elif message.role == "assistant":
            clean = _without_leaks(message)
            if clean.tool_calls:
                turn = _CallTurn(
                    turn=_with_sendable_calls(clean, ids), results=[None] * len(clean.tool_calls)
                )
                pairing.open(turn, (call.id for call in clean.tool_calls))
                turns.append(turn)
            elif not is_blank(clean.content):
                turns.append(clean)
    return turns


def _with_sendable_calls(turn: Message, ids: UniqueIds) -> Message:
    calls = tuple(with_id(sendable(call), ids.take(call.id)) for call in turn.tool_calls)
    return turn if _same(calls, turn.tool_calls) else _changed(turn, tool_calls=calls)


# Order


def _prepared(messages: Sequence[Message], turns: Sequence[Message | _CallTurn]) -> Prepared:
    flat: list[Message] = []
    for turn in turns:
        flat.extend(turn.turns() if isinstance(turn, _CallTurn) else (turn,))
    return Prepared(_without_old_reasoning([*_system(messages), *_joined(flat)]))


def _system(messages: Sequence[Message]) -> Sequence[Message]:
    """The system messages as one, wherever they stood; none when they say nothing."""
    spoken = [turn for turn in messages if turn.role == "system" and not is_blank(turn.content)]
    return spoken if len(spoken) < 2 else [_merged(spoken)]


def _joined(turns: Sequence[Message]) -> list[Message]:
    """Neighbours of one speaker as one turn; a turn with calls ends what it is joined to.

    Mistral's templates raise on two user turns, or two plain assistant turns, in a row.
    """
    joined: list[Message] = []
    for role, group in groupby(turns, key=lambda turn: turn.role):
        neighbours = list(group)
        if role == "tool" or len(neighbours) == 1:
            joined.extend(neighbours)
        else:
            joined.append(_merged(neighbours))
    return joined


def _merged(turns: Sequence[Message]) -> Message:
    """Turns of one speaker as one. Only the last can hold calls: results stand behind each call."""
    thoughts = [turn.reasoning for turn in turns if turn.reasoning is not None]
    reasoning = _BLANK_LINE.join(filter(None, thoughts)) if thoughts else None
    content = _joined_content([turn.content for turn in turns])
    signed = tuple(thought for turn in turns for thought in turn.thoughts)
    return _changed(turns[-1], content=content, reasoning=reasoning, thoughts=signed)


def _joined_content(contents: Sequence[Content]) -> Content:
    spoken = [content for content in contents if not is_blank(content)]
    texts = [content for content in spoken if isinstance(content, str)]
    if len(texts) == len(spoken):
        return _BLANK_LINE.join(texts)
    parts: list[ContentPart] = []
    for content in spoken:
        parts.extend([TextPart(text=content)] if isinstance(content, str) else content)
    return tuple(parts)


def _without_leaks(turn: Message) -> Message:
    """The turn without reasoning that leaked into its text.

    A server that sent reasoning in its own field has separated it: a tag in that text is text.
    """
    if turn.reasoning is not None or not isinstance(turn.content, str):
        return turn
    content = turn.content
    text = separate_reasoning(content).text if may_hold_thought(content) else content.strip()
    return turn if text == content else _changed(turn, content=text)


def _without_old_reasoning(turns: Sequence[Message]) -> list[Message]:
    """Keep thoughts only behind the last user turn.

    Inside a tool loop DeepSeek and Qwen want them back, older ones they reject or ignore. An emptied
    field still says that the text beside it is clean.
    """
    last_user = max((i for i, turn in enumerate(turns) if turn.role == "user"), default=0)
    return [
        _unthought(turn) if index < last_user and (turn.reasoning or turn.thoughts) else turn
        for index, turn in enumerate(turns)
    ]


def _unthought(turn: Message) -> Message:
    return _changed(turn, reasoning="" if turn.reasoning else turn.reasoning, thoughts=())


def _same(left: Sequence[object], right: Sequence[object]) -> bool:
    return all(a is b for a, b in zip(left, right, strict=True))


def _changed(value: ValueT, **changes: object) -> ValueT:
    return value.model_copy(update=changes)
