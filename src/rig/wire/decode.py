"""A chat completion's body to `Reply`. No I/O.

The rule of the file: what the reply says is read from the few fields that say it, in every shape
servers are known to write; all other fields may be missing, null or nonsense. An answer that is no
use is a typed error, never an empty success, also at status 200.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rig.errors import EmptyReplyError, ProtocolError
from rig.messages import ReasoningField, as_array, as_object
from rig.model import FinishReason, Reply
from rig.text.reasoning import separate_reasoning, strip_orphan_closer
from rig.wire.calls import Calls, read_calls
from rig.wire.content import Content, read_content, read_thoughts
from rig.wire.dialects import FINISH_REASONS
from rig.wire.fault_text import clean_line, read_fault
from rig.wire.faults import error_in_payload, filtered_category
from rig.wire.payload import parse_json
from rig.wire.usage import read_usage

_CHECK_URL: Final = "check that the base URL leads to an OpenAI-compatible API"

MAX_CATEGORY_CHARS: Final = 64
"""Characters kept of a word of the endpoint's, such as a refusal's category."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Visible:
    text: str
    reasoning: str
    reasoning_field: ReasoningField | None


def decode_chat(body: bytes, *, latency_s: float = 0.0) -> Reply:
    """The reply in the body of a 200.

    Args:
        body: the whole decoded body.
        latency_s: seconds the answer took, for the usage.

    Returns:
        The reply. Its text has no reasoning in it; its calls have unique ids.

    Raises:
        RigError: the body tells of a fault; classified as the same fault with its own status is.
        EmptyReplyError: there is no choice, or neither text nor calls in it.
        ProtocolError: the body is not a chat completion.
    """
    return read_completion(parse_object(body), body, latency_s=latency_s)


def read_completion(payload: Mapping[str, object], body: bytes, *, latency_s: float = 0.0) -> Reply:
    """The reply in a parsed chat completion.

    Args:
        payload: the completion.
        body: what it was read from: the seed of missing ids, and what errors quote on `detail`.
        latency_s: seconds the answer took, for the usage.

    Returns:
        The reply. Its text has no reasoning in it; its calls have unique ids.

    Raises:
        RigError: the payload tells of a fault; classified as the same fault with its own status is.
        EmptyReplyError: there is no choice, or neither text nor calls in it.
        ProtocolError: it is not a chat completion.
    """
    fault = error_in_payload(payload)
    if fault is not None:
        raise fault
    choice = _first_choice(payload, body)
    message = _message(choice)
    calls = read_calls(message, seed=body)
    finish = finish_reason(choice.get("finish_reason"), has_calls=bool(calls.calls))
    content = read_content(message.get("content"))
    refusal = _refusal(choice, message, content, finish)
    visible = _visible(message, content)
    usage = read_usage(
        payload.get("usage") or choice.get("usage"), payload.get("timings"), latency_s=latency_s
    )
    _check_calls(calls, finish, body)
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
            detail=read_fault(body).line,
        )
    return tuple(dict.fromkeys(_model_names(entries)))


def finish_reason(value: object, *, has_calls: bool = False) -> FinishReason:
    """The wire's word for why a reply ended, in rig's set.

    Args:
        value: the word; case and an enum's prefix (`FinishReason.STOP`) do not matter.
        has_calls: what a missing word means.

    Returns:
        One of rig's five; missing and empty words are tool_calls with calls and unknown without,
        words nobody knows are unknown.
    """
    word = value.strip().lower().rpartition(".")[2] if isinstance(value, str) else ""
    if not word:
        return "tool_calls" if has_calls else "unknown"
    return FINISH_REASONS.get(word, "unknown")


def _value(body: bytes) -> object:
    """The JSON value of a body; one that was sent as a JSON string is unwrapped once.

    Raises:
        ProtocolError: the body is not JSON.
    """
    try:
        value: object = parse_json(body)
        return parse_json(value) if isinstance(value, str) else value
    except ValueError:
        reason = _kind_of_text(body)
    raise ProtocolError(
        f"the answer is not JSON: {_CHECK_URL}", reason=reason, detail=read_fault(body).line
    )


def parse_object(body: bytes) -> Mapping[str, object]:
    """The JSON object of a body; Google's shim wraps its errors in a list.

    Args:
        body: the whole decoded body.

    Raises:
        ProtocolError: the body is not a JSON object.
    """
    value = _value(body)
    wire = as_object(value)
    entries = as_array(value)
    if entries:
        first = as_object(entries[0]) or {}
        wire = first if "error" in first else None
    if wire is None:
        raise ProtocolError(
            f"the answer is JSON, but not an object: {_CHECK_URL}",
            reason="not_object",
            detail=read_fault(body).line,
        )
    return wire


def _kind_of_text(body: bytes) -> str:
    head = body[:64].lstrip()
    if head.startswith(b"<"):
        return "html"
    return "event_stream" if head.startswith((b"data:", b"event:")) else "not_json"


def _first_choice(payload: Mapping[str, object], body: bytes) -> Mapping[str, object]:
    """Choice 0.

    Raises:
        EmptyReplyError: there is none.
        ProtocolError: it is not an object.
    """
    choices = payload.get("choices")
    entries = as_array(choices)
    if choices is None or (entries is not None and not entries):
        raise EmptyReplyError(
            "the reply holds no choice at all",
            reason="no_choices",
            detail=clean_line("fields of the answer: " + ", ".join(payload)),
        )
    first = as_object(entries[0]) if entries else None
    if first is None:
        raise ProtocolError(
            f"the answer's choices are no objects: {_CHECK_URL}",
            reason="not_completion",
            detail=read_fault(body).line,
        )
    return first


def _message(choice: Mapping[str, object]) -> Mapping[str, object]:
    """The choice's message; the text of a legacy completion is one too."""
    for name in ("message", "delta"):
        wire = as_object(choice.get(name))
        if wire is not None:
            return wire
    return {"content": choice.get("message") or choice.get("text")}


def _check_calls(calls: Calls, finish: FinishReason, body: bytes) -> None:
    """A call nobody can answer is an error, unless other calls are left or the reply was cut.

    Raises:
        ProtocolError: there are only such calls.
    """
    if calls.unusable and not calls.calls and finish != "length":
        raise ProtocolError(
            "the reply asks for a tool without a name, or for a kind of tool rig does not offer",
            reason="tool_call",
            detail=read_fault(body).line,
        )


def _visible(message: Mapping[str, object], content: Content) -> _Visible:
    """Text and thoughts apart: tags count only where the server sent no thoughts of its own.

    A server that separates reasoning leaves tags in the text only when they belong there, except
    for a closer at the very start (koma 63).
    """
    field, thoughts = read_thoughts(message)
    thoughts = thoughts or content.thoughts
    if not thoughts:
        leaked = separate_reasoning(content.text)
        return _Visible(text=leaked.text, reasoning=leaked.reasoning, reasoning_field=None)
    rest = strip_orphan_closer(content.text)
    return _Visible(text=rest.text.strip(), reasoning=thoughts.strip(), reasoning_field=field)


def _refusal(
    choice: Mapping[str, object],
    message: Mapping[str, object],
    content: Content,
    finish: FinishReason,
) -> str | None:
    """The category of a refusal: the filter that hit, the server's finish word, or `refusal`."""
    if finish == "content_filter":
        return filtered_category(choice.get("content_filter_results")) or _word(
            choice.get("finish_reason")
        )
    return "refusal" if _refusal_text(message, content) else None


def _refusal_text(message: Mapping[str, object], content: Content) -> str:
    refusal = message.get("refusal")
    return refusal.strip() if isinstance(refusal, str) and refusal.strip() else content.refusal


def _word(value: object) -> str:
    return clean_line(value).lower()[:MAX_CATEGORY_CHARS] if isinstance(value, str) else ""


def _model_names(entries: Sequence[object]) -> Iterator[str]:
    for entry in entries:
        wire = as_object(entry) or {"id": entry}
        names = (wire.get(key) for key in ("id", "name", "model"))
        name = next((name for name in names if isinstance(name, str) and name.strip()), None)
        if name is not None:
            yield name
