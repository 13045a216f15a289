"""What a run tells the model beyond the caller's own words. No I/O.

Every sentence here is short because each one is paid for in every round, and plain because the
models are small.
"""

from collections.abc import Sequence

from pydantic_core import to_json

from rig.agent.history import Prepared
from rig.agent.schema import Schema
from rig.messages import Content, Message, TextPart

LAST_CALL = (
    "The tool rounds of this task are used up, and tools are no longer available. "
    "Answer now with what you know, and say what is missing."
)
"""Sent with the last request of a run whose `on_limit` is answer. It stands behind the newest turn,
where small models heed it, keeps the server's cache of everything before it, and is no turn of its own:
Mistral's templates refuse a user turn behind a tool's. It is not kept in the transcript."""

CUT_REPLY = (
    "Your last reply was cut off because it was too long, and was discarded. "
    "Answer now in a few words, without tools."
)
"""The same, where the reply was cut at max_tokens before it said anything."""

REPEATED_ITSELF = (
    "Your last reply was cut off because it kept repeating itself; no tool call of it was executed. "
    "Go on without repeating anything, and keep it short."
)
"""Sent after a reply that was cut for its repetition: as a turn behind what was kept of it, else as the
above."""

_OUTPUT = (
    "Give your final answer as one JSON object and nothing else: no other text, no code fence. "
    "It must match this JSON schema:\n"
)
_REJECTED = (
    "That answer could not be used:\n{problem}\n\n"
    "Answer again with one JSON object that matches the schema, and nothing else."
)


def output_instructions(schema: Schema) -> str:
    """What the system prompt says of a typed answer.

    Args:
        schema: the JSON schema of the object to answer with, references written out.
    """
    return _OUTPUT + to_json(schema).decode()


def rejection(problem: str) -> str:
    """The user turn that asks for a typed answer once more.

    Args:
        problem: what was wrong with the first one.
    """
    return _REJECTED.format(problem=problem)


def opening(system: str, history: Sequence[Message], prompt: Content) -> tuple[Message, ...]:
    """The conversation a run starts with.

    A run with a system prompt of its own replaces that of the history, so that the transcript of one run
    can be the history of the next under other instructions; a run without one keeps what is there.

    Args:
        system: the run's system prompt; blank when there is none.
        history: the conversation so far.
        prompt: the user's message; blank when there is none.
    """
    turns: list[Message] = []
    if system.strip():
        turns.append(Message.made(role="system", content=system))
        history = [turn for turn in history if turn.role != "system"] if history else ()
    turns += history
    if is_said(prompt):
        turns.append(Message.made(role="user", content=prompt))
    return tuple(turns)


def with_instructions(messages: Sequence[Message], instructions: str) -> Prepared:
    """The conversation with more in its system message, or with a system message.

    Args:
        messages: a prepared conversation.
        instructions: what to add at the end of it.
    """
    if messages[0].role != "system":
        return Prepared((Message(role="system", content=instructions), *messages))
    return Prepared((_with_text(messages[0], instructions), *messages[1:]))


def with_notice(messages: Sequence[Message], notice: str) -> Prepared:
    """The conversation with a word of the run's own at its end.

    Args:
        messages: a prepared conversation.
        notice: what the model is told.
    """
    if messages[-1].role == "assistant":
        return Prepared((*messages, Message(role="user", content=notice)))
    return Prepared((*messages[:-1], _with_text(messages[-1], notice)))


def is_said(content: Content) -> bool:
    """True unless the content is empty or blank text."""
    return bool(content.strip() if isinstance(content, str) else content)


def _with_text(turn: Message, text: str) -> Message:
    content = turn.content
    if isinstance(content, str):
        return turn.model_copy(update={"content": f"{content}\n\n{text}" if content else text})
    return turn.model_copy(update={"content": (*content, TextPart(text=text))})
