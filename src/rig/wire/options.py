"""`ChatOptions` to body fields: one table of checks here, the names in the dialect. No I/O."""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, Literal, NamedTuple, get_args

from rig.errors import InvalidRequestError
from rig.kept import KEPT
from rig.messages import as_array, as_object
from rig.model import ChatOptions, Priority
from rig.text.finite import is_finite
from rig.wire.dialect import NO_FIELD, Dialect, Form, Refused, Sent
from rig.wire.dialects import GENERIC

MAX_TRACE_ID_CHARS: Final = 256
"""A trace id is a header: longer ones make servers answer 431 (RFC 9110 names no limit; W3C trace
context values are 55 characters, and 8 KiB is the usual limit of all headers together)."""

_RESERVED: Final = {
    "stream": "use complete() or stream()",  # how an answer is read follows from it
    "messages": "give them as messages",  # what is there was put in order, and what is kept is that
    "model": "give it as model",  # the server's dialect may follow from it
}
"""Fields `extra_body` may not set, and where to say them instead."""

_PLAIN: Final = (
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
    "enable_thinking",
    "reasoning_effort",
)
"""The options that need neither tools nor another option."""

_PRIORITIES: Final[tuple[str, ...]] = get_args(Priority)
_Mode = Literal["", "auto", "none", "required", "named"]
_MODES: Final[Mapping[str, _Mode]] = {"auto": "auto", "none": "none", "required": "required"}
_MERGED: Final = ("chat_template_kwargs", "structured_outputs")


def _at_least(low: float) -> Callable[[Any], bool]:
    return lambda value: is_finite(value) and value >= low


def _is_share(value: Any) -> bool:  # noqa: ANN401  whatever a caller without a type checker passed
    return is_finite(value) and 0 <= value <= 1


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
    ("frequency_penalty", is_finite, "a finite number"),
    ("presence_penalty", is_finite, "a finite number"),
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
    ("reasoning_effort", _is_text, "a word such as low, medium or high"),
    ("trace_id", _is_header_value, f"at most {MAX_TRACE_ID_CHARS} printable ASCII characters"),
    ("tenant", lambda value: isinstance(value, str), 'a text, or "" for none'),
    ("priority", lambda value: value in _PRIORITIES, " or ".join(_PRIORITIES)),
)


_checked_of: Final = attrgetter(*(name for name, _, _ in _CHECKS))
_plain_of: Final = attrgetter(*_PLAIN)
_NONE_CHECKED: Final = _checked_of(ChatOptions())
_NONE_PLAIN: Final = _plain_of(ChatOptions())
"""What both give where nobody set anything: most requests, and told apart by one comparison."""


def read_options(options: ChatOptions, dialect: Dialect = GENERIC) -> Mapping[str, object]:
    """Check the options, and give the fields of those that need no tools: both once for all requests.

    Options are kept read for the dialect that asked last, if nothing in them can change: a run says the same
    ones with each request. `extra_body` may come to hold something, so whoever has one is read anew.

    Args:
        options: what the caller asked for.
        dialect: who is asked.

    Returns:
        What `option_fields` gives.

    Raises:
        InvalidRequestError: as `check_options` and `option_fields`.
    """
    kept = getattr(options, KEPT, None)
    if kept is not None and kept[0] is dialect and not options.extra_body:
        fields: Mapping[str, object] = kept[1]
        return fields
    check_options(options)
    fields = option_fields(options, dialect)
    if _is_fixed(options):
        object.__setattr__(options, KEPT, (dialect, fields))
    return fields


def _is_fixed(options: ChatOptions) -> bool:
    """Whether all that is said are numbers, texts and words."""
    if type(options) is not ChatOptions or options.extra_body != {}:
        return False
    return options.response_format is None and isinstance(options.stop, str | None)


def check_options(options: ChatOptions) -> None:
    """Refuse what no server could make sense of, before anything is sent.

    Args:
        options: what the caller asked for.

    Raises:
        InvalidRequestError: an option has a value outside its range; the sentence names it.
    """
    values = _checked_of(options)
    if values != _NONE_CHECKED:
        for value, (name, is_good, sentence) in zip(values, _CHECKS, strict=True):
            if value is not None and not is_good(value):
                raise InvalidRequestError(f"the option {name} must be {sentence}", reason=name)
    if options.extra_body != {}:
        _check_extra(options)


def _check_extra(options: ChatOptions) -> None:
    """Refuse an `extra_body` that is none, or says what is to be said elsewhere.

    Raises:
        InvalidRequestError: so it is.
    """
    extra = as_object(options.extra_body)
    keys: list[object] = [*extra] if extra is not None else [None]
    if not all(isinstance(key, str) for key in keys):
        raise InvalidRequestError(
            "extra_body must be an object: a dict whose keys are texts", reason="extra_body"
        )
    for name, instead in _RESERVED.items():
        if name in options.extra_body:
            raise InvalidRequestError(
                f"extra_body can't set {name}: {instead}", reason="extra_body"
            )


def option_fields(options: ChatOptions, dialect: Dialect = GENERIC) -> dict[str, object]:
    """The body fields of the options that need no tools, without `extra_body`.

    Args:
        options: checked options.
        dialect: who is asked.

    Returns:
        Only what was set: None is not sent, 0 is.

    Raises:
        InvalidRequestError: an option the server can't be told of; the sentence names it.
    """
    fields: dict[str, object] = {}
    values = _plain_of(options)
    if values != _NONE_PLAIN:
        for name, value in zip(_PLAIN, values, strict=True):
            if value is not None:
                _check_format(name, value, dialect)
                put_option(fields, name, value, dialect)
    if options.reasoning_budget_tokens is not None and options.reasoning_budget_message:
        name = "reasoning_budget_message"
        put_option(fields, name, options.reasoning_budget_message, dialect)
    return fields


def put_option(fields: dict[str, object], name: str, value: object, dialect: Dialect) -> None:
    """Add an option to a body, as the dialect spells it.

    Args:
        fields: the body's fields.
        name: the option.
        value: what it was set to.
        dialect: who is asked.

    Raises:
        InvalidRequestError: the server can't be told of it.
    """
    spelling = dialect.options.get(name, NO_FIELD)
    if isinstance(spelling, Sent):
        rewritten = next((sent for given, sent in spelling.rewrite if given == value), value)
        shaped = _FORMS[spelling.form](rewritten)
        if shaped is not None:
            _put(fields, spelling.path, shaped)
    elif isinstance(spelling, Refused) and value not in spelling.unless:
        raise dialect.refusal(name, spelling.hint)


def _put(fields: dict[str, object], path: str, value: object) -> None:
    """Set a field; dots in its path lead into objects, which are made where they are missing."""
    *outer, last = path.split(".")
    for name in outer:
        inner = fields.setdefault(name, {})
        fields = inner if isinstance(inner, dict) else {}  # pyright: ignore[reportUnknownVariableType] ours: text keys
    fields[last] = value


def _check_format(name: str, value: object, dialect: Dialect) -> None:
    """Refuse a type of `response_format` the server does not take.

    Raises:
        InvalidRequestError: so it is.
    """
    taken = dialect.response_formats
    if name != "response_format" or taken is None:
        return
    if (as_object(value) or {}).get("type") not in taken:
        hint = f"it takes only the types {' and '.join(sorted(taken))}"
        raise dialect.refusal(name, hint)


def _texts(value: Any) -> list[str]:  # noqa: ANN401  a checked option: a text or texts
    return [value] if isinstance(value, str) else list(value)


def _schema(value: Any) -> object:  # noqa: ANN401  a checked option: an object
    """OpenAI's `{"type": "json_schema", "json_schema": {"schema"}}` as Anthropic's format."""
    inner = as_object(value.get("json_schema")) or value
    schema = as_object(inner.get("schema"))
    return {"type": "json_schema", "schema": schema} if schema is not None else None


def _thinking(value: Any) -> object:  # noqa: ANN401  a checked option: a whole number
    """A budget as Anthropic's switch: off by absence, and there is no such thing as no limit."""
    return {"type": "enabled", "budget_tokens": value} if value > 0 else None


_FORMS: Final[Mapping[Form, Callable[[Any], object]]] = {
    "as_is": lambda value: value,
    "texts": _texts,
    "schema": _schema,
    "thinking": _thinking,
}


class Choice(NamedTuple):
    """A tool choice as it is to be said.

    Attributes:
        mode: auto, none, required or named; "" when nothing is to be sent.
        name: the tool, where the mode is named.
        offers: whether the tools are to be offered at all.
    """

    mode: _Mode = ""
    name: str = ""
    offers: bool = True


def read_choice(options: ChatOptions, names: Sequence[str], dialect: Dialect = GENERIC) -> Choice:
    """The tool choice of a request that offers tools.

    Args:
        options: checked options.
        names: the offered tools.
        dialect: who is asked.

    Returns:
        What to say. A tool demanded by its name from a server that can't be told names is
        `required`, where it is the only one.

    Raises:
        InvalidRequestError: it names a tool that is not offered, or the server can't be told.
    """
    choice = options.tool_choice
    if choice is None or not names:
        return Choice()  # vLLM: 'When using `tool_choice`, `tools` must be set.'
    mode: _Mode = _MODES.get(choice, "named")
    if mode == "named" and choice not in names:
        raise InvalidRequestError(
            "the option tool_choice must be auto, none, required or the name of an offered tool",
            reason="tool_choice",
        )
    how = dialect.tool_choices.get(mode)
    if how is None and mode == "named" and len(names) == 1:
        mode, how = "required", dialect.tool_choices.get("required")
    if how is None:
        known = ", ".join(dialect.tool_choices)
        alone = "; offer that tool alone and require a call" if mode == "named" else ""
        raise dialect.refusal("tool_choice", f"it knows only {known}{alone}")
    if how == "sent":
        return Choice(mode, choice if mode == "named" else "")
    return Choice(offers=how == "default")


def tool_option_fields(
    options: ChatOptions, names: Sequence[str], dialect: Dialect = GENERIC
) -> dict[str, object]:
    """The body fields of the options that speak of tools; nothing when no tool is offered.

    Args:
        options: checked options.
        names: the offered tools.
        dialect: who is asked.

    Returns:
        tool_choice and parallel_tool_calls where they were set.

    Raises:
        InvalidRequestError: `tool_choice` names a tool that is not offered, or the server can't be
            told of it.
    """
    fields: dict[str, object] = {}
    if not names:
        return fields
    choice = read_choice(options, names, dialect)
    if choice.mode == "named":
        fields["tool_choice"] = {"type": "function", "function": {"name": choice.name}}
    elif choice.mode:
        fields["tool_choice"] = choice.mode
    if options.parallel_tool_calls is not None:
        put_option(fields, "parallel_tool_calls", options.parallel_tool_calls, dialect)
    return fields


def merge_extra(fields: dict[str, object], extra: Mapping[str, object]) -> dict[str, object]:
    """The body with the caller's own fields, which win; a field set to None is left out.

    `chat_template_kwargs` and `structured_outputs` are merged one level deep, so that an option and
    further arguments of the same object can be given side by side.
    """
    if not extra:
        return fields
    merged = {**fields, **extra}
    for name in _MERGED:
        ours, theirs = fields.get(name), extra.get(name)
        if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
            merged[name] = {**ours, **theirs}
    return {name: value for name, value in merged.items() if value is not None}
