"""What an error body says, whatever its shape. No I/O, linear time, bounded.

Seen in the field: OpenAI's object, a bare string under `error`, FastAPI's `detail` text and list, a
message at the top level, JSON inside a JSON string, HTML, plain text and nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Final, cast

from rig.late_dataclass import dataclass
from rig.messages import as_array, as_object
from rig.text.escapes import without_escapes
from rig.wire.payload import parse_json
from rig.wire.spelling import snake_case

MAX_FAULT_BYTES: Final = 16 * 1024
"""Bytes of an error body that are read. Messages of use are under 1 KiB; llama.cpp and litellm
append the whole request or a stack trace behind them."""

MAX_LINE_CHARS: Final = 2000
"""Characters of the endpoint's own line that are kept, as in `rig.errors`."""

SEARCHED_HEAD_CHARS: Final = 1024
"""Characters at a message's start that phrases are looked for in: what follows is often the prompt
sent back, and a prompt may hold any phrase."""

SEARCHED_TAIL_CHARS: Final = 256
"""The same for its end, where Jinja tracebacks and Ollama's parser name the cause."""

MAX_LAYERS: Final = 5
"""Objects inside objects, or JSON inside strings, that are opened. The deepest seen is three
(OpenRouter's provider error inside its own)."""

MAX_CODE_CHARS: Final = 128
"""Characters of a code that are kept; the longest seen, with its package, has 60 (AWS)."""

MAX_NUMBERED_CODE: Final = 1_000_000
"""Codes that are numbers are below this: Baidu's have six digits."""

MAX_DETAILS: Final = 8
"""Entries of `details` that are read; Google sends three."""

_INSIDE: Final = (
    "error", "errors", "detail", "message", "msg", "error_message", "error_msg", "status_msg",
    "description", "base_resp",
)  # fmt: skip
_CODES: Final = (
    "type", "__type", "code", "error_type", "error_code", "status", "statusCode", "status_code",
)  # fmt: skip
_LAST_STATUS: Final = 599


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultText:
    """What an error body says.

    Attributes:
        line: the message, one clean line; for `error.detail` only.
        search: what phrases are looked for in, lower-case.
        codes: its words for the kind of error, lower-case; of a word in camel case also the form
            with underscores, of a number the digits.
        status: the HTTP status the body names, None when it names none.
        fields: the fields beside the message, inner ones over outer ones.
    """

    line: str = ""
    search: str = ""
    codes: frozenset[str] = frozenset()
    status: int | None = None
    fields: Mapping[str, object] = field(default_factory=dict[str, object])

    def says(self, *words: str) -> bool:
        """Whether all of the words occur; they are lower-case."""
        return all(word in self.search for word in words)


def read_fault(body: bytes) -> FaultText:
    """What the body of an error says.

    Args:
        body: the decoded body; only its first `MAX_FAULT_BYTES` are read.
    """
    head = body[:MAX_FAULT_BYTES]
    text = head.decode(errors="replace").removeprefix("\ufeff")
    try:
        fault = fault_of(parse_json(head, partial=len(body) > len(head)))
    except ValueError:
        return fault_of(text)
    if fault.line:
        return fault
    return replace(fault, line=clean_line(text), search=_searched(text, fault.codes))


def fault_of(value: object) -> FaultText:
    """What a parsed error says.

    Args:
        value: any JSON value; a text that is no JSON is read as plain text or HTML.
    """
    layers: list[Mapping[str, object]] = []
    message = _unwrap(value, layers)
    codes = frozenset(code for layer in layers for code in _codes(layer))
    statuses = (_status(layer) for layer in reversed(layers))
    fields: dict[str, object] = {}
    for layer in layers:
        fields |= layer
    return FaultText(
        line=clean_line(message) or clean_line(" ".join(sorted(_words(layers)))),
        search=_searched(message, codes),
        codes=codes,
        status=next((status for status in statuses if status), None),
        fields=fields,
    )


def clean_line(text: str) -> str:
    """One line of printable characters, at most `MAX_LINE_CHARS`.

    Line breaks and runs of blanks become one space; escape sequences, and control, bidirectional and other
    invisible characters are dropped, so that the line can be shown in a terminal.

    Args:
        text: text of an endpoint.
    """
    words = without_escapes(text[: 4 * MAX_LINE_CHARS]).split()
    return "".join(char for char in " ".join(words) if char.isprintable())[:MAX_LINE_CHARS]


def _searched(message: str, codes: Iterable[str]) -> str:
    head, rest = message[:SEARCHED_HEAD_CHARS], message[SEARCHED_HEAD_CHARS:]
    return " ".join((head, rest[-SEARCHED_TAIL_CHARS:], *codes)).lower()


def _unwrap(value: Any, layers: list[Mapping[str, object]]) -> str:  # noqa: ANN401  JSON is any value
    """The innermost message; every object on the way to it goes to `layers`, outermost first."""
    said = ""
    for _ in range(MAX_LAYERS):
        if isinstance(value, str):
            inner = _nested(value)
            if inner is None:
                return _join(said, _plain(value))
            value = inner
        wire = as_object(value)
        if wire is not None:
            layers.append(wire)
            said, value = _join(said, _label(wire)), _inside(wire)
        elif (entries := as_array(value)) is not None:
            if not _is_detail_list(entries):
                value = entries[0] if entries else ""
                continue
            return _join(said, "; ".join(_detail_lines(entries)))
        else:
            return said if value is None or isinstance(value, bool) else _join(said, str(value))
    return said


def _inside(wire: Mapping[str, object]) -> object:
    """The next layer: the first field that can hold a message and holds something."""
    found: object = None
    for name in _INSIDE:
        value = wire.get(name)
        if value and (isinstance(value, str) or as_object(value) or as_array(value)):
            found = value
            break
    metadata = as_object(wire.get("metadata")) or {}
    raw = metadata.get("raw")  # OpenRouter keeps the provider's own error here
    return raw if isinstance(found, str) and isinstance(raw, str) and raw else found


def _label(wire: Mapping[str, object]) -> str:
    """A second text of a layer that would get lost: `error` is a short word, the message is beside it."""
    texts = [text for name in _INSIDE if isinstance(text := wire.get(name), str) and text.strip()]
    chosen = _inside(wire)
    return " ".join(text for text in texts[:3] if text is not chosen)


def _join(first: str, second: str) -> str:
    return f"{first}: {second}" if first and second else first or second


def _nested(text: str) -> object | None:
    """The object inside a text that is JSON itself; None when it is not."""
    head = text[:MAX_FAULT_BYTES].strip()
    if not head.startswith(("{", "[{")):
        return None
    try:
        return cast("object", parse_json(head))
    except ValueError:
        return None


def _plain(text: str) -> str:
    """Plain text as it is; of HTML the title, or the text between the tags."""
    if not text.lstrip().startswith("<"):
        return text
    lower = text.lower()
    start, end = lower.find("<title>"), lower.find("</title>")
    if 0 <= start < end:
        return text[start + len("<title>") : end]
    return " ".join(piece.partition(">")[2] for piece in text.split("<"))


def _is_detail_list(entries: Sequence[object]) -> bool:
    return any("msg" in (as_object(entry) or {}) for entry in entries[:1])


def _detail_lines(entries: Sequence[object]) -> Iterator[str]:
    """FastAPI's validation errors as `body.messages.1.content: Input should be a valid string`."""
    for entry in entries[:5]:
        wire = as_object(entry) or {}
        where = as_array(wire.get("loc")) or ()
        path = ".".join(str(step) for step in where[:16])
        yield _join(path, str(wire.get("msg", "")))


def _words(layers: Iterable[Mapping[str, object]]) -> set[str]:
    """The codes that are words, as they came but for their case."""
    values = (layer.get(name) for layer in layers for name in _CODES)
    return {value[:MAX_CODE_CHARS].lower() for value in values if isinstance(value, str)}


def _codes(layer: Mapping[str, object]) -> Iterator[str]:
    for name in _CODES:
        yield from _code(name, layer.get(name), numbered="status_msg" in layer)
    inner = as_object(layer.get("innererror"))
    if inner is not None:
        yield from _codes(inner)
    for entry in (as_array(layer.get("details")) or ())[:MAX_DETAILS]:  # Google's ErrorInfo
        yield from _code("reason", (as_object(entry) or {}).get("reason"))
    if layer.get("contentFilter"):
        yield "content_filter"  # GLM says beside the error what its filter found


def _code(name: str, value: object, *, numbered: bool = False) -> Iterator[str]:
    """A code as the tables have it; numbers of providers that count alike keep their field's name."""
    if isinstance(value, str) and value:
        word = value[:MAX_CODE_CHARS].rpartition("#")[
            2
        ]  # AWS: com.amazon.coral.service#NameException
        yield from {value[:MAX_CODE_CHARS].lower(), word.lower(), snake_case(word)}
    elif isinstance(value, int) and not isinstance(value, bool) and 0 < value < MAX_NUMBERED_CODE:
        if numbered or name == "error_code":
            yield f"{name}:{value}"
        elif value > _LAST_STATUS:
            yield str(value)


def _status(layer: Mapping[str, object]) -> int | None:
    for name in _CODES:
        value = layer.get(name)
        if isinstance(value, str) and len(value) == 3 and value.isascii() and value.isdigit():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599:
            return value
    return None
