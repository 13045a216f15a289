"""A request checked before it costs anything: what is wrong, and where. No I/O."""

from collections.abc import Iterator, Sequence
from itertools import chain

from rig.errors import InvalidRequestError
from rig.messages import Message
from rig.model import ChatRequest, ToolSpec


def check_request(request: ChatRequest) -> None:
    """Refuse what a model could only answer with an error, or with nonsense.

    A message has to say something: text, an image or audio, calls, or the result of one. System messages stand at the
    head. A tool has a name, and a description, which is what the model reads instead of documentation.

    Args:
        request: what is about to be sent. That it has messages, and that they are messages, is checked where
            it is made.

    Raises:
        InvalidRequestError: something is wrong; the sentence names the place, and quotes no message.
    """
    problem = next(chain(message_problems(request.messages), tool_problems(request.tools)), "")
    if problem:
        raise InvalidRequestError(problem, reason=problem.partition("[")[0])


def message_problems(messages: Sequence[Message]) -> Iterator[str]:
    """What is wrong with messages, each with its index.

    Args:
        messages: the conversation, oldest first.
    """
    for index, message in enumerate(messages):
        if message.role == "system" and index and messages[index - 1].role != "system":
            yield f"messages[{index}]: a system message stands at the head of a conversation"
        elif is_empty(message):
            yield f"messages[{index}]: a message can't be empty"
    if all(message.role == "system" for message in messages):
        yield f"messages[{len(messages) - 1}]: somebody has to say something beside the system"


def is_empty(message: Message) -> bool:
    """Whether a message says nothing. The result of a call may be empty: the call is answered.

    Args:
        message: any message.
    """
    if message.role == "tool" or message.tool_calls:
        return False
    if isinstance(message.content, str):
        return not message.content.strip()
    return not message.text.strip() and all(part.type == "text" for part in message.content)


def tool_problems(tools: Sequence[ToolSpec]) -> Iterator[str]:
    """What is wrong with tools, each with its index.

    Args:
        tools: what is offered.
    """
    seen: dict[str, int] = {}
    for index, tool in enumerate(tools):
        if not _says(tool.name):
            yield f"tools[{index}]: a tool needs a name"
        elif not _says(tool.description):
            yield f"tools[{index}]: {tool.name} has no description"
        elif tool.name in seen:
            yield f"tools[{index}]: {tool.name} is the name of tools[{seen[tool.name]}] too"
        else:
            seen[tool.name] = index


def _says(text: object) -> bool:
    return isinstance(text, str) and bool(text.strip())
