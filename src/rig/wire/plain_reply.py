"""The completion nearly every server answers with, read by a few tests of types. No I/O.

A text as text, or calls as OpenAI defines them; thoughts, if any, in a field of their own; a finish word everybody
knows; nothing that tells of a refusal. That is what llama.cpp, vLLM, SGLang, Ollama, LM Studio and OpenAI itself send.
Whatever else comes is left to `rig.wire.decode`, which reads every shape; what is read here reads the same there.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rig.messages import ReasoningField
from rig.model import FinishReason, Reply
from rig.text.reasoning import may_hold_thought
from rig.text.reasoning_tags import holds_tag
from rig.text.salvage import OfferedTool
from rig.text.salvage.signs import SIGNS
from rig.text.stop_tokens import strip_stop_token
from rig.wire.calls import read_plain_calls
from rig.wire.content import read_thoughts
from rig.wire.dialects import REASONING_FIELDS
from rig.wire.finish import FINISH_REASONS
from rig.wire.payload import ARRAY, OBJECT
from rig.wire.salvaged import read_text_calls
from rig.wire.usage import read_usage, usage_in

_FINISHES: Final[Mapping[str, FinishReason]] = {
    word: means
    for word, means in FINISH_REASONS.items()
    if means == "stop" or means == "length" or means == "tool_calls"
}
"""The words of replies that ended well, or were cut."""

_THOUGHTS: Final = frozenset(name for name, _ in REASONING_FIELDS)


def read_plain_reply(
    payload: Mapping[str, Any],
    choice: Any,  # noqa: ANN401 what is in it is looked at here
    body: bytes,
    *,
    latency_s: float = 0.0,
    tools: Sequence[OfferedTool] = (),
) -> Reply | None:
    """The reply in a completion of the usual shape, in a third of the time.

    Args:
        payload: the completion, which tells of no fault.
        choice: its only choice.
        body: what it was read from: the seed of missing ids.
        latency_s: seconds the answer took, for the usage.
        tools: what was offered; where there are any, calls that came as text are read too.

    Returns:
        What `rig.wire.decode` reads in it; None when it has to look.
    """
    word, message = choice.get("finish_reason"), choice.get("message")
    finish = _FINISHES.get(word) if type(word) is str else None
    if finish is None or type(message) is not OBJECT or message.get("refusal"):
        return None
    content = message.get("content") or ""
    if type(content) is not str:
        return None
    field: ReasoningField | None = None
    text = thoughts = ""
    if not _THOUGHTS.isdisjoint(message):
        field, thoughts = read_thoughts(message)
    if content:
        if holds_tag(content) if thoughts else may_hold_thought(content):
            return None
        text = strip_stop_token(content).strip()
    if told := message.get("tool_calls"):
        calls = read_plain_calls(told) if type(told) is ARRAY else None
        if calls is None:
            return None
    elif not text or choice.get("tool_calls") or message.get("function_call"):
        return None
    else:
        calls = ()
        if tools and SIGNS.search(content) is not None:
            found = read_text_calls(content, thoughts, tools, seed=body)
            text, thoughts, calls = (
                strip_stop_token(found.text).strip(),
                found.reasoning,
                found.calls,
            )
            if found.problem or not (text or calls):
                return None
    model = payload.get("model")
    usage = payload.get("usage") or usage_in(payload, choice)
    return Reply(
        text=text,
        reasoning=thoughts.strip(),
        tool_calls=calls,
        finish_reason=finish,
        usage=read_usage(usage, payload.get("timings"), latency_s=latency_s),
        model=model if isinstance(model, str) else "",
        reasoning_field=field,
    )
