"""Replies that models write and should not: leaks, cuts, broken calls. No I/O."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from rig.testing.answers import Answer, Repeat, answer, repeat
from rig.testing.completions import completion, reply, stream

ANSWER = "The answer is 42."
"""The text a model means to give, where a fault lets one through."""

THOUGHT = "The user asks for the answer. It is 42."
"""The thought a fault leaks."""

TOOL = "get_weather"
"""The tool that faulty calls call."""

ARGUMENTS = '{"city": "Paris"}'
"""Its arguments, where a fault leaves them whole."""


def leaked_reasoning(
    text: str = ANSWER,
    reasoning: str = THOUGHT,
    *,
    kind: Literal["closed", "orphan", "unclosed"] = "closed",
    tag: str = "think",
) -> Answer:
    """Reasoning in the text of the reply.

    Args:
        text: the visible text; not there in an unclosed thought.
        reasoning: the thought.
        kind: closed has both tags; orphan only the closing one, since the template ate the opener;
            unclosed only the opening one, so that there is no visible text.
        tag: name of the tags.
    """
    written = {
        "closed": f"<{tag}>\n{reasoning}\n</{tag}>\n\n{text}",
        "orphan": f"{reasoning}\n</{tag}>\n\n{text}",
        "unclosed": f"<{tag}>\n{reasoning}",
    }
    return reply(written[kind])


def reasoning_field(
    text: str = ANSWER, reasoning: str = THOUGHT, *, field: str = "reasoning_content"
) -> Answer:
    """Reasoning where it belongs, in a field of its own.

    Args:
        text: the visible text.
        reasoning: the thought.
        field: reasoning_content (llama.cpp, SGLang) or reasoning (vLLM, Ollama).
    """
    return reply(text, reasoning=reasoning, reasoning_field=field)


def leaked_call(
    name: str = TOOL,
    arguments: str = ARGUMENTS,
    *,
    dialect: Literal["hermes", "qwen_coder", "fenced_json"] = "hermes",
) -> Answer:
    """A tool call written as text: the server had no parser for it.

    Args:
        name: the tool.
        arguments: its arguments, JSON text.
        dialect: the markup.
    """
    written = {
        "hermes": f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>',
        "qwen_coder": (
            f"<tool_call>\n<function={name}>\n{_parameters(arguments)}</function>\n</tool_call>"
        ),
        "fenced_json": f'```json\n{{"name": "{name}", "arguments": {arguments}}}\n```',
    }
    return reply(written[dialect])


def _parameters(arguments: str) -> str:
    parsed: dict[str, Any] = json.JSONDecoder().decode(arguments)
    return "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in parsed.items())


def broken_arguments(name: str = TOOL, arguments: str = '{"city": "Paris",}') -> Answer:
    """A call whose arguments are not quite JSON, but all there.

    Args:
        name: the tool.
        arguments: the text, sent as it is.
    """
    return reply(tool_calls=[(name, arguments)])


def arguments_as_object(name: str = TOOL, arguments: Mapping[str, Any] | None = None) -> Answer:
    """A call whose arguments are an object instead of the text of one.

    Args:
        name: the tool.
        arguments: the object; `ARGUMENTS` when None.
    """
    value = dict(arguments) if arguments is not None else {"city": "Paris"}
    call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": value}}
    message = {"role": "assistant", "content": "", "tool_calls": [call]}
    return answer(body=completion(message, finish_reason="tool_calls"))


def cut_arguments(name: str = TOOL, arguments: str = '{"city": "Par') -> Answer:
    """A call that ran into max_tokens.

    Args:
        name: the tool.
        arguments: the text as far as it came.
    """
    return reply(tool_calls=[(name, arguments)], finish_reason="length")


def cut_arguments_finished(name: str = TOOL, arguments: str = '{"city": "Par') -> Answer:
    """A cut call with a clean finish reason: a stop string matched inside it (seen in llama.cpp).

    Args:
        name: the tool.
        arguments: the text as far as it came.
    """
    return reply(tool_calls=[(name, arguments)], finish_reason="tool_calls")


def unknown_tool(name: str = "no_such_tool", arguments: str = "{}") -> Answer:
    """A call of a tool nobody offered.

    Args:
        name: what the model calls it.
        arguments: its arguments, JSON text.
    """
    return reply(tool_calls=[(name, arguments)])


def calls_without_ids(name: str = TOOL, arguments: str = ARGUMENTS, *, count: int = 2) -> Answer:
    """Several calls that all have the id "".

    Args:
        name: the tool.
        arguments: their arguments, JSON text.
        count: how many.
    """
    return reply(tool_calls=[("", name, arguments)] * count)


def cut_text(text: str = "The answer to the question of") -> Answer:
    """A reply that ran into max_tokens.

    Args:
        text: the text as far as it came.
    """
    return reply(text, finish_reason="length")


def empty_reply(*, reasoning: str | None = None) -> Answer:
    """A finished reply without text and without calls.

    Args:
        reasoning: a thought that came instead, in its own field.
    """
    return reply("", reasoning=reasoning)


def many_calls(count: int = 500, name: str = TOOL, arguments: str = ARGUMENTS) -> Answer:
    """A reply full of tool calls.

    Args:
        count: how many.
        name: the tool.
        arguments: their arguments, JSON text.
    """
    return reply(tool_calls=[(name, arguments)] * count)


def endless_calls(name: str = TOOL, arguments: str = ARGUMENTS) -> Repeat:
    """A model that answers every request with one more call.

    Args:
        name: the tool.
        arguments: its arguments, JSON text.
    """
    return repeat(reply(tool_calls=[(name, arguments)]))


def cut_stream(*deltas: str) -> Answer:
    """A stream that ends, in good order for HTTP, without a finish reason and without `[DONE]`.

    Args:
        deltas: the pieces of text that came.
    """
    return stream(*(deltas or ("The answer ", "is")), finish_reason=None, usage=None, done=False)
