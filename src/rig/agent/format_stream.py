"""A streamed reply whose calls travel as text: shows its text without them. It awaits the stream only."""

from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from typing import Self

from rig.agent.formats import ToolFormat
from rig.agent.tool_formats import offered_tools
from rig.errors import InvalidRequestError
from rig.messages import ToolCall
from rig.model import CallDelta, Delta, Reply, ReplyStream, ToolSpec
from rig.text.heredoc_gate import HeredocGate
from rig.text.json_gate import JSONCallGate
from rig.text.salvage import SalvageGate


class FormatStream:
    """The stream of a reply, its calls found in its text.

    Text goes on while it can be no call; what a call is, the whole reply tells. So calls come at the end,
    one after the other, behind the rest of the text.

    Args:
        stream: the reply as it comes.
        form: how its calls travel.
        tools: what the model was told of.
    """

    def __init__(self, stream: ReplyStream, form: ToolFormat, tools: Sequence[ToolSpec]) -> None:
        self._stream = stream
        self._deltas: AsyncIterator[Delta] | None = None
        self._form = form
        self._tools = tools
        self._shown: list[str] = []
        self._gate = _Gate(form, tools)
        self._ready: deque[Delta] = deque()
        self._last: Delta | None = None
        self._reply: Reply | None = None

    @property
    def text(self) -> str:
        """The visible text of the deltas so far."""
        return "".join(self._shown)

    def reply(self) -> Reply:
        """The whole reply, once the last delta was handed out.

        Raises:
            InvalidRequestError: the stream has not ended yet.
            RigError: what ended it.
        """
        if self._reply is None or self._ready:
            raise InvalidRequestError(
                "the reply is not complete: iterate over its stream to the end before asking for it"
            )
        return self._reply

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delta:
        while not self._ready:
            if self._reply is not None:
                raise StopAsyncIteration
            await self._advance()
        return self._ready.popleft()

    async def _advance(self) -> None:
        if self._deltas is None:
            self._deltas = aiter(self._stream)
        delta = await anext(self._deltas, None)
        if delta is None:
            self._reply = self._form.reply(self._stream.reply(), self._tools)
            self._ready.extend(self._end(self._reply))
        else:
            self._take(delta)

    def _take(self, delta: Delta) -> None:
        """Put aside the end of the reply, and show of everything else what is no call."""
        if delta.retracted:
            self._retract()
            self._gate = _Gate(self._form, self._tools)
        if delta.reasoning or delta.tool_call is not None:
            self._ready.append(Delta(reasoning=delta.reasoning, tool_call=delta.tool_call))
        self._show(self._gate.feed(delta.text))
        if delta.finish_reason is not None:
            self._last = replace(delta, text="", reasoning="", tool_call=None, retracted="")

    def _end(self, reply: Reply) -> Iterator[Delta]:
        """What is left to be told once the reply is known."""
        if reply.repetition is None:  # a loop that was held back stays so
            shown = self.text
            rest = reply.text.removeprefix(shown)
            if not reply.text.startswith(shown):
                yield Delta(retracted=shown)
                self._shown = []
            if rest:
                self._shown.append(rest)
                yield Delta(text=rest)
        if reply.finish_reason != "length":
            written = [call for call in reply.tool_calls if call.origin != "native"]
            for index, call in enumerate(written):
                yield from (Delta(tool_call=news) for news in _news(index, call))
        if self._last is not None:
            yield replace(self._last, finish_reason=reply.finish_reason)

    def _show(self, text: str) -> None:
        if text:
            self._shown.append(text)
            self._ready.append(Delta(text=text))

    def _retract(self) -> None:
        if self._shown:
            self._ready.append(Delta(retracted=self.text))
            self._shown = []


class _Gate:
    """Lets text through that begins and ends with a word and can be no call.

    Neither in the format that was asked for nor in what the model may have learned.
    """

    def __init__(self, form: ToolFormat, tools: Sequence[ToolSpec]) -> None:
        self._asked_for = JSONCallGate() if form.name == "json" else HeredocGate()
        self._calls = SalvageGate(offered_tools(tools))
        self._begun = False
        self._space: list[str] = []

    def feed(self, chunk: str) -> str:
        text = "".join(self._calls.feed(self._asked_for.feed(chunk)))
        word = text.strip()
        if not word:
            self._space.append(text)
            return ""
        shown = "".join([*self._space, text]).rstrip()
        self._space = [text[len(text.rstrip()) :]]
        shown = shown if self._begun else shown.lstrip()
        self._begun = True
        return shown


def _news(index: int, call: ToolCall) -> Iterator[CallDelta]:
    """A call as three deltas; what its stages are is told by `rig.model.CallDelta`."""
    begun = CallDelta(stage="started", index=index, id=call.id, name=call.name)
    yield begun
    yield replace(begun, stage="arguments", arguments=call.arguments)
    yield replace(begun, stage="finished", arguments=call.arguments)
