"""`ChatOptions` to body fields: one table of checks, one of names. No I/O."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from rig.errors import InvalidRequestError
from rig.messages import as_array, as_object
from rig.model import ChatOptions

MAX_TRACE_ID_CHARS: Final = 256
"""A trace id is a header: longer ones make servers answer 431 (RFC 9110 names no limit; W3C trace
context values are 55 characters, and 8 KiB is the usual limit of all headers together)."""

_RESERVED: Final = frozenset({"stream"})
"""Fields `extra_body` may not set: how an answer is read follows from them."""

_SENT_AS_THEY_ARE: Final = (
    "temperature",
    "top_p",
    "min_p",
    "top_k",
    "seed",
    "stop",
    "frequency_penalty",
    "presence_penalty",
    "repeat_penalty",
    "response_format",
    "grammar",
    "logprobs",
    "top_logprobs",
    "reasoning_budget_tokens",
)
_MODES: Final = frozenset({"auto", "none", "required"})


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _at_least(low: float) -> Callable[[Any], bool]:
    return lambda value: _is_number(value) and value >= low


def _is_share(value: Any) -> bool:  # noqa: ANN401  whatever a caller without a type checker passed
    return _is_number(value) and 0 <= value <= 1


def _is_whole(low: int | None = None) -> Callable[[object], bool]:
    def check(value: object) -> bool:
        if not isinstance(value, int) or isinstance(value, bool):
            return False
        return low is None or value >= low

    return check


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_stop(value: object) -> bool:
    if isinstance(value, str):
        return bool(value)
    entries = as_array(value)
    return bool(entries) and all(_is_text(item) for item in entries or ())


def _is_object(value: object) -> bool:
    return bool(as_object(value))


def _is_header_value(value: object) -> bool:
    """Visible ASCII only: a line break would let the caller's data write headers (RFC 9110, 5.5)."""
    if not isinstance(value, str) or len(value) > MAX_TRACE_ID_CHARS:
        return False
    return value.isascii() and value.isprintable()


_CHECKS: Final[tuple[tuple[str, Callable[[Any], bool], str], ...]] = (
    ("temperature", _at_least(0), "a finite number, 0 or more, for example 0.7"),
    ("top_p", _is_share, "a number from 0 to 1"),
    ("min_p", _is_share, "a number from 0 to 1"),
    ("top_k", _is_whole(-1), "a whole number; 0 or -1 switches it off"),
    ("seed", _is_whole(), "a whole number"),
    ("stop", _is_stop, "a text or a list of texts, none of them empty; None for no stop"),
    ("frequency_penalty", _is_number, "a finite number"),
    ("presence_penalty", _is_number, "a finite number"),
    ("repeat_penalty", _at_least(0), "a finite number, 0 or more; 1.0 is off"),
    ("tool_choice", _is_text, "auto, none, required or the name of one offered tool"),
    ("parallel_tool_calls", _is_bool, "True or False"),
    ("response_format", _is_object, "an object such as {'type': 'json_object'}"),
    ("grammar", _is_text, "the text of a grammar"),
    ("logprobs", _is_bool, "True or False"),
    ("top_logprobs", _is_whole(0), "a whole number, 0 or more"),
    ("reasoning_budget_tokens", _is_whole(-1), "a whole number of tokens; -1 is no limit"),
    ("reasoning_budget_message", lambda value: isinstance(value, str), "a text"),
    ("enable_thinking", _is_bool, "True or False"),
    ("trace_id", _is_header_value, f"at most {MAX_TRACE_ID_CHARS} printable ASCII characters"),
)


def check_options(options: ChatOptions) -> None:
    """Refuse what no server could make sense of, before anything is sent.

    Args:
        options: what the caller asked for.

    Raises:
        InvalidRequestError: an option has a value outside its range; the sentence names it.
    """
    for name, is_good, sentence in _CHECKS:
        value = getattr(options, name)
        if value is not None and not is_good(value):
            raise InvalidRequestError(f"the option {name} must be {sentence}", reason=name)
    extra = as_object(options.extra_body)
    keys: list[object] = [*extra] if extra is not None else [None]
    if not all(isinstance(key, str) for key in keys):
        raise InvalidRequestError(
            "extra_body must be an object: a dict whose keys are texts", reason="extra_body"
        )
    if not _RESERVED.isdisjoint(options.extra_body):
        raise InvalidRequestError(
            "extra_body can't set stream: use complete() or stream()", reason="extra_body"
        )


def option_fields(options: ChatOptions) -> dict[str, object]:
    """The body fields of the options that need no tools, without `extra_body`.

    Args:
        options: checked options.

    Returns:
        Only what was set: None is not sent, 0 is.
    """
    fields: dict[str, object] = {
        name: value for name in _SENT_AS_THEY_ARE if (value := getattr(options, name)) is not None
    }
    if options.reasoning_budget_tokens is not None and options.reasoning_budget_message:
        fields["reasoning_budget_message"] = options.reasoning_budget_message
    if options.enable_thinking is not None:
        fields["chat_template_kwargs"] = {"enable_thinking": options.enable_thinking}
    return fields


def tool_option_fields(options: ChatOptions, names: Sequence[str]) -> dict[str, object]:
    """The body fields of the options that speak of tools; nothing when no tool is offered.

    Args:
        options: checked options.
        names: the offered tools.

    Returns:
        tool_choice and parallel_tool_calls where they were set.

    Raises:
        InvalidRequestError: `tool_choice` names a tool that is not offered.
    """
    fields: dict[str, object] = {}
    if not names:
        return fields  # vLLM: 'When using `tool_choice`, `tools` must be set.'
    choice = options.tool_choice
    if choice in _MODES:
        fields["tool_choice"] = choice
    elif choice in names:
        fields["tool_choice"] = {"type": "function", "function": {"name": choice}}
    elif choice is not None:
        raise InvalidRequestError(
            "the option tool_choice must be auto, none, required or the name of an offered tool",
            reason="tool_choice",
        )
    if options.parallel_tool_calls is not None:
        fields["parallel_tool_calls"] = options.parallel_tool_calls
    return fields


def merge_extra(fields: dict[str, object], extra: Mapping[str, object]) -> dict[str, object]:
    """The body with the caller's own fields, which win; a field set to None is left out.

    `chat_template_kwargs` is merged one level deep, so that `enable_thinking` and other arguments of
    the template can be given side by side.
    """
    merged = {**fields, **extra}
    ours, theirs = fields.get("chat_template_kwargs"), extra.get("chat_template_kwargs")
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        merged["chat_template_kwargs"] = {**ours, **theirs}
    return {name: value for name, value in merged.items() if value is not None}
