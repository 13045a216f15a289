"""A chat completion's body to `Reply`. No I/O.

The rule of the file: what the reply says is read from the few fields that say it, in every shape
servers are known to write; all other fields may be missing, null or nonsense. An answer that is no
use is a typed error, never an empty success, also at status 200.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pydantic_core import from_json

from rig.errors import EmptyReplyError, ProtocolError, StreamCutError
from rig.late_dataclass import dataclass
from rig.messages import ReasoningField, ToolCall, as_array, as_object
from rig.model import FinishReason, Reply
from rig.text.reasoning import separate_reasoning, strip_orphan_closer, strip_repeated_thought
from rig.text.salvage import OfferedTool
from rig.text.salvage.signs import SIGNS
from rig.text.stop_tokens import strip_stop_token
from rig.wire.calls import Calls, read_calls
from rig.wire.content import Content, read_content, read_thoughts
from rig.wire.finish import ending, finish_reason, finish_word
from rig.wire.payload import ARRAY, OBJECT, is_parsed_object, parse_json
from rig.wire.plain_reply import read_plain_reply
from rig.wire.salvaged import read_text_calls, unread_call
from rig.wire.told_faults import error_in_payload, first_choice
from rig.wire.usage import read_usage, usage_in

MAX_QUOTED_BYTES: Final = 512
"""Bytes of an answer that is no completion which errors quote on `detail`."""

_CHECK_URL: Final = "check that the base URL leads to an OpenAI-compatible API"
_EVENT_STARTS: Final = (b"data:", b"event:", b"id:", b"retry:", b":")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Visible:
    text: str
    reasoning: str
    reasoning_field: ReasoningField | None


def decode_chat(body: bytes, *, latency_s: float = 0.0, tools: Sequence[OfferedTool] = ()) -> Reply:
    """The reply in the body of a 200.

    Args:
        body: the whole decoded body.
        latency_s: seconds the answer took, for the usage.
        tools: what was offered; where there are any, calls that came as text are read too.

    Returns:
        The reply. Its text has no reasoning in it; its calls have unique ids.

    Raises:
        RigError: the body tells of a fault; classified as the same fault with its own status is.
        StreamCutError: the reply failed, says the server; what came of it is on the error.
        EmptyReplyError: there is no choice, or neither text nor calls in it.
        TruncatedToolCallError: it ends in the middle of a call that came as text.
        ProtocolError: the body is not a chat completion, or a call that came as text can't be made.
    """
    return read_completion(parse_object(body), body, latency_s=latency_s, tools=tools)


def read_completion(
    payload: Mapping[str, object],
    body: bytes,
    *,
    latency_s: float = 0.0,
    tools: Sequence[OfferedTool] = (),
) -> Reply:
    """The reply in a parsed chat completion.

    Args:
        payload: the completion.
        body: what it was read from: the seed of missing ids, and what errors quote on `detail`.
        latency_s: seconds the answer took, for the usage.
        tools: what was offered; where there are any, calls that came as text are read too.

    Returns:
        The reply. Its text has no reasoning in it; its calls have unique ids.

    Raises:
        RigError: the payload tells of a fault; classified as the same fault with its own status is.
        StreamCutError: the reply failed, says the server; what came of it is on the error.
        EmptyReplyError: there is no choice, or neither text nor calls in it.
        TruncatedToolCallError: it ends in the middle of a call that came as text.
        ProtocolError: it is not a chat completion, or a call that came as text can't be made.
    """
    choice = _plain_choice(payload)
    if choice is not None:
        reply = read_plain_reply(payload, choice, body, latency_s=latency_s, tools=tools)
        if reply is not None:
            return reply
    return read_any_completion(payload, body, latency_s=latency_s, tools=tools)


def read_any_completion(
    payload: Mapping[str, object],
    body: bytes,
    *,
    latency_s: float = 0.0,
    tools: Sequence[OfferedTool] = (),
) -> Reply:
    """The same as `read_completion`, whatever the shape, without looking for the plain one first.

    Args:
        payload: the completion.
        body: what it was read from.
        latency_s: seconds the answer took, for the usage.
        tools: what was offered.

    Raises:
        RigError: as `read_completion`, also the following.
        StreamCutError: the reply failed.
        EmptyReplyError: it holds nothing.
        TruncatedToolCallError: a call that came as text was cut.
        ProtocolError: it is not a chat completion, or a call can't be made.
    """
    choice = _plain_choice(payload)
    if choice is None:
        fault = error_in_payload(payload)
        if fault is not None:
            raise fault
        choice = _only_choice(payload, body)
    message = _message(choice)
    content = read_content(message.get("content"))
    calls = _calls(choice, message, content, body)
    word = finish_word(choice)
    finish = finish_reason(word, has_calls=bool(calls.calls))
    refusal = _refusal(choice, message, content, finish)
    visible = _visible(message, content)
    usage = read_usage(usage_in(payload, choice), payload.get("timings"), latency_s=latency_s)
    if ending(word) == "failed":
        failure = failed_reply(word, visible.text, calls.calls)
        raise failure
    _check_calls(calls, finish, body, has_text=bool(visible.text))
    is_prose = visible.text and SIGNS.search(content.text) is None
    if tools and not calls.calls and refusal is None and not is_prose:
        visible, salvaged = _with_text_calls(message, content, visible, tools, finish, body)
        calls = Calls(calls=salvaged)
        finish = finish_reason(word, has_calls=bool(salvaged))
    if not (visible.text or calls.calls or refusal or finish == "length"):
        error = EmptyReplyError("the reply holds neither text nor tool calls", reason="no_answer")
        error.reasoning, error.usage = visible.reasoning, usage
        raise error
    model = payload.get("model")
    return Reply(
        text=visible.text or (_refusal_text(message, content) if refusal else ""),
        reasoning=visible.reasoning,
        tool_calls=calls.calls,
        finish_reason=finish,
        usage=usage,
        model=model if isinstance(model, str) else "",
        refusal=refusal,
        reasoning_field=visible.reasoning_field,
    )


def decode_models(body: bytes) -> tuple[str, ...]:
    """The names in an answer to GET /models.

    Args:
        body: the whole decoded body: OpenAI's `{"data": [{"id"}]}`, Ollama's
            `{"models": [{"name"}]}`, or a bare list.

    Returns:
        The names in the server's order, each once.

    Raises:
        RigError: the body tells of a fault.
        ProtocolError: the body is not a list of models.
    """
    value = _value(body)
    wire = as_object(value)
    if wire is not None:
        listed = [wire[key] for key in ("data", "models") if as_array(wire.get(key)) is not None]
        fault = None if listed else error_in_payload(wire)
        if fault is not None:
            raise fault
        value = next((entries for entries in listed if entries), listed[0] if listed else None)
    entries = as_array(value)
    if entries is None:
        raise ProtocolError(
            f"the answer is not a list of models: {_CHECK_URL}",
            reason="not_models",
            detail=_quoted(body),
        )
    return tuple(dict.fromkeys(_model_names(entries)))


def _value(body: bytes) -> object:
    """The JSON value of a body; one that was sent as a JSON string is unwrapped once.

    Raises:
        ProtocolError: the body is not JSON.
    """
    try:
        value: object = parse_json(body, mend=True)
        return parse_json(value, mend=True) if isinstance(value, str) else value
    except ValueError:
        reason = _kind_of_text(body)
    raise ProtocolError(
        f"the answer is not JSON: {_CHECK_URL}", reason=reason, detail=_quoted(body)
    )


def parse_object(body: bytes) -> Mapping[str, object]:
    """The JSON object of a body; Google's shim wraps its errors in a list.

    Args:
        body: the whole decoded body.

    Raises:
        ProtocolError: the body is not a JSON object.
    """
    try:
        value: object = from_json(body)
    except ValueError:
        value = None
    if is_parsed_object(value):  # of nearly every answer
        return value
    value = _value(body)
    wire = as_object(value)
    entries = as_array(value) if wire is None else None
    if entries:
        first = as_object(entries[0]) or {}
        wire = first if "error" in first else None
    if wire is None:
        raise ProtocolError(
            f"the answer is JSON, but not an object: {_CHECK_URL}",
            reason="not_object",
            detail=_quoted(body),
        )
    return wire


def _quoted(body: bytes) -> str:
    """The line of an answer that is none, for an error's `detail`."""
    from rig.wire.fault_text import read_fault  # noqa: PLC0415 of answers that are none

    return read_fault(body).line


def _kind_of_text(body: bytes) -> str:
    head = body[:64].lstrip()
    if head.startswith(b"<"):
        return "html"
    return "event_stream" if head.startswith(_EVENT_STARTS) else "not_json"


def _plain_choice(payload: Any) -> Mapping[str, Any] | None:  # noqa: ANN401 what is in it is looked at here
    """The choice of an answer that has one, and nothing that could tell of a fault; None of any other."""
    choices = payload.get("choices")
    if type(choices) is not ARRAY or len(choices) != 1:
        return None
    choice = choices[0]
    if type(choice) is not OBJECT or choice.get("error") or choice.get("index"):
        return None
    if payload.get("error") or payload.get("object") == "error" or "base_resp" in payload:
        return None
    plain: Mapping[str, Any] = choice
    return plain


def _only_choice(payload: Mapping[str, object], body: bytes) -> Mapping[str, object]:
    """Choice 0.

    Raises:
        EmptyReplyError: there is none.
        ProtocolError: it is not an object, or the answer is one of another API.
    """
    choices = payload.get("choices")
    entries = as_array(choices)
    if choices is None or (entries is not None and not entries):
        from rig.wire.fault_text import clean_line  # noqa: PLC0415 of answers that are none
        from rig.wire.other_apis import other_api  # noqa: PLC0415 the same

        says = other_api(payload)
        if says:
            told = body[:MAX_QUOTED_BYTES].decode(errors="replace")
            raise ProtocolError(says, reason="other_api", detail=clean_line(told))
        raise EmptyReplyError(
            "the reply holds no choice at all",
            reason="no_choices",
            detail=clean_line("fields of the answer: " + ", ".join(payload)),
        )
    first = first_choice(entries) if entries else None
    if first is None:
        raise ProtocolError(
            f"the answer's choices are no objects: {_CHECK_URL}",
            reason="not_completion",
            detail=_quoted(body),
        )
    return first


def _message(choice: Mapping[str, object]) -> Mapping[str, object]:
    """The choice's message; the text of a legacy completion is one too."""
    for name in ("message", "delta"):
        wire = as_object(choice.get(name))
        if wire is not None:
            return wire
    return {"content": choice.get("message") or choice.get("text")}


def failed_reply(word: str, text: str, calls: tuple[ToolCall, ...]) -> StreamCutError:
    """The error of a reply that the server itself calls failed.

    Args:
        word: its word for why the reply ended.
        text: the visible text that had come.
        calls: the calls that had begun.
    """
    error = StreamCutError(
        "the server ended the reply with an error: what came of it is no answer",
        reason="failed",
        detail=word,
        retryable=True,
    )
    error.text, error.tool_calls = text, calls
    return error


def _calls(
    choice: Mapping[str, object], message: Mapping[str, object], content: Content, body: bytes
) -> Calls:
    """The calls from the first place that has any: the message, the choice, the content's parts."""
    calls = read_calls(message, seed=body)
    if calls.calls:
        return calls
    for elsewhere in (choice.get("tool_calls"), content.calls):
        if elsewhere and not calls.calls:
            found = read_calls({"tool_calls": elsewhere}, seed=body)
            calls = found if found.calls or not calls.unusable else calls
    return calls


def _check_calls(calls: Calls, finish: FinishReason, body: bytes, *, has_text: bool) -> None:
    """A call nobody can answer is an error, unless other calls are left or the reply was cut.

    One that says nothing at all is no call where there is a text beside it. One that holds arguments
    is an error beside others too: they may belong to one of those, which must not run without them.

    Raises:
        ProtocolError: there are only such calls, or one of them holds arguments.
    """
    unusable = calls.unusable - (calls.blank if has_text else 0)
    lost = unusable if not calls.calls else calls.nameless
    if lost and finish != "length":
        raise ProtocolError(
            "the reply asks for a tool without a name, or for a kind of tool rig does not offer",
            reason="tool_call",
            detail=_quoted(body),
        )


def _visible(message: Mapping[str, object], content: Content) -> _Visible:
    """Text and thoughts apart: tags count only where the server sent no thoughts of its own.

    A server that separates reasoning leaves tags in the text only when they belong there, except
    for a closer at the very start (koma 63) and for the same thought a second time.
    """
    field, thoughts = read_thoughts(message)
    thoughts = thoughts or content.thoughts
    if not thoughts:
        leaked = separate_reasoning(content.text)
        text, thoughts = leaked.text, leaked.reasoning
    else:
        text = strip_orphan_closer(strip_repeated_thought(content.text, thoughts)).text
    return _Visible(
        text=strip_stop_token(text).strip(), reasoning=thoughts.strip(), reasoning_field=field
    )


def _with_text_calls(
    message: Mapping[str, object],
    content: Content,
    visible: _Visible,
    tools: Sequence[OfferedTool],
    finish: FinishReason,
    body: bytes,
) -> tuple[_Visible, tuple[ToolCall, ...]]:
    """Text and thoughts without the calls in them, and those calls.

    Raises:
        RigError: there is a call, but it can't be made.
    """
    thoughts = read_thoughts(message)[1] or content.thoughts
    text = strip_repeated_thought(content.text, thoughts) if thoughts else content.text
    found = read_text_calls(text, thoughts, tools, seed=body)
    if found.problem and finish != "length":
        error = unread_call(found.problem, _quoted(body))
        raise error
    kept = replace(visible, text=strip_stop_token(found.text).strip(), reasoning=found.reasoning)
    return kept, found.calls


def _refusal(
    choice: Mapping[str, object],
    message: Mapping[str, object],
    content: Content,
    finish: FinishReason,
) -> str | None:
    """The category of a refusal: the filter that hit, the server's finish word, or `refusal`."""
    if finish == "content_filter":
        from rig.wire.faults import filtered_category  # noqa: PLC0415 of replies that were refused

        return filtered_category(choice.get("content_filter_results")) or finish_word(choice)
    return "refusal" if _refusal_text(message, content) else None


def _refusal_text(message: Mapping[str, object], content: Content) -> str:
    refusal = message.get("refusal")
    return refusal.strip() if isinstance(refusal, str) and refusal.strip() else content.refusal


def _model_names(entries: Sequence[object]) -> Iterator[str]:
    for entry in entries:
        wire = as_object(entry) or {"id": entry}
        names = (wire.get(key) for key in ("id", "name", "model"))
        name = next((name for name in names if isinstance(name, str) and name.strip()), None)
        if name is not None:
            yield name
