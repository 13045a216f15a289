"""A model without a wire, for tests of agents: it answers what it was told to answer."""

from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from inspect import isawaitable

import anyio.lowlevel

from rig.client.running import RunMixin
from rig.client.whole_reply import WholeReply
from rig.errors import RigError, StreamCutError
from rig.model import ChatRequest, Reply

PIECE_CHARS = 3
"""Characters of a streamed delta: short enough that nothing an agent looks for comes in one piece."""

ScriptedReply = (
    Reply | str | RigError | Callable[[ChatRequest], "Reply | str | Awaitable[Reply | str]"]
)
"""One answer: a reply, its text, an error to raise, or a function of the request."""


class ScriptedModel(RunMixin):
    """Answers requests from a script, in order, and remembers them; runs agents like a client.

    ```python
    model = ScriptedModel(
        Reply(tool_calls=(ToolCall(id="1", name="add", arguments='{"a": 1, "b": 2}'),)),
        "The sum is 3.",
    )
    result = await model.run("add 1 and 2", max_tokens=100, tools=[add])
    ```

    Args:
        replies: one for each request.

    Attributes:
        requests: what was asked, in order.
        default_model: the model's name where a call names none.
    """

    def __init__(self, *replies: ScriptedReply) -> None:
        self.default_model = "scripted"
        self.requests: list[ChatRequest] = []
        self._waiting = deque(replies)

    @property
    def unused(self) -> int:
        """Replies that no request has asked for."""
        return len(self._waiting)

    async def complete(self, request: ChatRequest, /) -> Reply:
        """Give the next reply.

        Args:
            request: recorded; a callable reply is given it.

        Raises:
            AssertionError: the script has run out.
            RigError: the next reply is that error.
        """
        reply = await self._next(request)
        if isinstance(reply, RigError):
            raise reply
        return reply

    @asynccontextmanager
    async def stream(self, request: ChatRequest, /) -> AsyncGenerator[WholeReply]:
        """Give the next reply in deltas of three characters.

        Args:
            request: recorded; a callable reply is given it.

        Raises:
            AssertionError: the script has run out.
            RigError: the next reply is that error; a `StreamCutError` comes behind its text.
        """
        reply = await self._next(request)
        if isinstance(reply, RigError) and not isinstance(reply, StreamCutError):
            raise reply
        yield WholeReply(reply, piece_chars=PIECE_CHARS)

    async def _next(self, request: ChatRequest) -> Reply | RigError:
        """The next reply or error.

        Raises:
            AssertionError: the script has run out.
        """
        self.requests.append(request)
        await anyio.lowlevel.checkpoint()
        if not self._waiting:
            raise AssertionError(
                f"ScriptedModel was asked {len(self.requests)} times and had "
                f"{len(self.requests) - 1} replies: give it one more, or find out why it is asked"
            )
        reply = self._waiting.popleft()
        if callable(reply):
            made = reply(request)
            reply = await made if isawaitable(made) else made
        return Reply(text=reply, model=request.model) if isinstance(reply, str) else reply
