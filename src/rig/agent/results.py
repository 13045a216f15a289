"""What a tool returned or raised, as text for a model. No I/O.

Everything here is bounded and can be encoded: a tool may return anything, and what it read may come
from strangers.
"""

import json
from collections import UserList, deque
from collections.abc import (
    AsyncIterable,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    MappingView,
    Set,
    Sized,
)
from dataclasses import fields, is_dataclass
from functools import partial
from inspect import isroutine
from itertools import islice
from typing import cast

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json, to_jsonable_python

from rig.errors import RigError, ToolError

MAX_RESULT_CHARS = 20_000
"""Characters of a result a model is shown unless its tool says otherwise: about 5,000 tokens. A
source file of 500 lines fits, and a window of 32k tokens holds several of them."""

MAX_ERROR_CHARS = 2_000
"""Characters of an error a model is shown. The sentence comes first; dumps after it only cost context."""

MAX_NAME_CHARS = 64
"""Characters shown of a name a model made up: as many as a tool's name may have."""

MAX_PROBLEMS = 10
"""Problems told at once. Each one costs context, and nobody mends more than that in one go."""

MAX_PROBLEM_CHARS = 300
"""Characters of one problem. Validators may quote their input, which can be a megabyte."""


MAX_ITEMS = 100_000
"""Items of a range or a view that are written out. It is far beyond what a model is shown, and a range costs
nothing until it is written: `range(10**12)` would end the memory."""


def result_text(value: object, *, max_chars: int, keep_special_tokens: bool = False) -> str:
    """The text a model is given for a tool's return value.

    Text stays as it is, None is no text, bytes must be UTF-8, and everything else is written as
    JSON: NaN and infinities as null, a single date, UUID or enum member without quotes.

    Args:
        value: what the tool returned.
        max_chars: limit of the text, in characters; what is beyond is cut out of its middle.
        keep_special_tokens: leave `<|` as it is; else it is written so that no chat template takes
            it for a control token.

    Raises:
        ToolError: the value can't be written as text.
    """
    # By `__str__`: not the name of a member of a text enum.
    text = str.__str__(value) if isinstance(value, str) else _text(value)
    if not text.isascii():
        text = encodable(text)
    if "<|" in text and not keep_special_tokens:
        text = without_special_tokens(text)
    return text if len(text) <= max_chars else cut_middle(text, max_chars)


def error_text(error: BaseException) -> str:
    """The text a model is given for an exception: `error: ` and its message, bounded.

    A group is told by the exceptions in it, an exception without message by its class.
    """
    messages = dict.fromkeys(_message(leaf) for leaf in islice(leaves(error), MAX_PROBLEMS))
    return refusal("; ".join(messages))


def refusal(message: str) -> str:
    """`error: ` and a message: encodable, without special tokens, at most `MAX_ERROR_CHARS` long."""
    text = without_special_tokens(encodable(message).strip())
    return f"error: {cut_middle(text, MAX_ERROR_CHARS)}"


def leaves(error: BaseException) -> Iterator[BaseException]:
    """The exceptions in a group, in order and at any depth; an exception that is none is its own leaf."""
    waiting = [error]
    while waiting:
        current = waiting.pop()
        if isinstance(current, BaseExceptionGroup):
            group = cast("BaseExceptionGroup[BaseException]", current)
            waiting.extend(reversed(group.exceptions))
        else:
            yield current


def problems_of(error: ValidationError) -> tuple[str, ...]:
    """What a pydantic check found, one `path: problem` each, bounded in number and length.

    Neither the input nor a link to pydantic's pages is part of it.
    """
    details = error.errors(include_url=False, include_context=False, include_input=False)
    told = [
        f"{path_of(detail['loc'])}: {_PROBLEMS.get(detail['type'], detail['msg'])}"
        for detail in details[:MAX_PROBLEMS]
    ]
    return bounded_problems(told, len(details))


# pydantic's words for these speak of fields and extra inputs; a model knows parameters.
_PROBLEMS = {"missing": "is required, but missing", "extra_forbidden": "is not a parameter"}


def bounded_problems(problems: list[str], total: int) -> tuple[str, ...]:
    """At most `MAX_PROBLEMS` of the problems, each on one line, and a word about the rest."""
    shown = [one_line(problem, MAX_PROBLEM_CHARS) for problem in problems[:MAX_PROBLEMS]]
    if total > len(shown):
        shown.append("and more")
    return tuple(shown)


def path_of(location: tuple[int | str, ...]) -> str:
    """Where in the input: `items[2].name`; the whole input is `input`."""
    path = ""
    for step in location:
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            path += f".{one_line(step, MAX_NAME_CHARS)}" if path else one_line(step, MAX_NAME_CHARS)
    return path or "input"


def one_line(text: str, max_chars: int) -> str:
    """The text on one line, printable and at most `max_chars` long; for what a stranger may have written."""
    line = " ".join(encodable(text[: 4 * max_chars]).split())
    line = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)
    return line if len(line) <= max_chars else f"{line[: max_chars - 3]}..."


def encodable(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates replaced, so that UTF-8 can hold it."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def without_special_tokens(text: str) -> str:
    """The text with `<|` written as `&lt;|`: llama.cpp would read `<|im_start|>` as a control token."""
    return text.replace("<|", "&lt;|")


def cut_middle(text: str, max_chars: int) -> str:
    """At most `max_chars` characters: two thirds head, a marker saying how much is cut, one third tail.

    A limit too small for the marker keeps the head only.
    """
    if len(text) <= max_chars:
        return text
    # The count in the marker takes at most as many digits as the whole length.
    room = max_chars - len(_marker(len(text)))
    if room < 1:
        return text[:max_chars]
    head = room - room // 3
    tail = room - head
    return f"{text[:head]}{_marker(len(text) - room)}{text[len(text) - tail :]}"


def _marker(chars: int) -> str:
    return f"\n[... {chars} characters cut ...]\n"


def _text(value: object) -> str:
    if value is None:
        return ""
    if type(value) in _NUMBERS:
        return _json(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return _decoded(bytes(cast("bytes", value)))
    unwritable = _unwritable(value)
    if unwritable is not None:
        raise ToolError(
            f"the tool ran, but returned {_kind(unwritable)}, which has no text: return what it gives,"
            " for example a list"
        )
    return _json(value)


def _unwritable(value: object) -> object | None:
    """What first in the value is no value yet: iterators, which may never end, awaitables, and functions.

    pydantic would write an iterator as the list of its items, and `itertools.count()` until the memory ends.
    """
    waiting: list[object] = [value]
    seen: set[int] = set()
    while waiting:
        current = waiting.pop()
        kind = type(current)
        if kind in _PLAIN:
            continue
        if kind not in _CONTAINERS and _is_unwritable(current):
            return current
        if id(current) not in seen:
            seen.add(id(current))
            waiting.extend(_parts(current))
    return None


_CONTAINERS = frozenset({dict, list, tuple, set, frozenset})
_NUMBERS = frozenset({int, float, bool})
_PLAIN = frozenset({str, int, float, bool, type(None), bytes})


def _parts(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return cast("dict[object, object]", value).values()
    if isinstance(value, list | tuple | set | frozenset | deque):
        return cast("Iterable[object]", value)
    if is_dataclass(value):
        return [getattr(value, field.name, None) for field in fields(value)]
    return ()


def _is_unwritable(value: object) -> bool:
    if isinstance(value, Iterator | AsyncIterable | Awaitable):
        return True
    return isroutine(value) or isinstance(value, type | partial)


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        pass
    raise ToolError(f"the tool ran, but returned {len(data)} bytes that are not UTF-8 text")


def _json(value: object) -> str:
    for write in _WRITERS:
        try:
            text = write(value)
        except (PydanticSerializationError, ValueError, RecursionError):
            continue
        return from_json(text) if text.startswith('"') else text
    raise ToolError(
        f"the tool ran, but its result ({_kind(value)}) can't be written as text or JSON"
    )


def _strict_json(value: object) -> str:
    return to_json(value, inf_nan_mode="null", fallback=_own_form).decode()


def _lenient_json(value: object) -> str:
    """Slower, for text with lone surrogates, which no UTF-8 writer takes, and for bytes."""
    plain: object = to_jsonable_python(
        value, inf_nan_mode="null", bytes_mode="base64", fallback=_own_form
    )
    return json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


_WRITERS: tuple[Callable[[object], str], ...] = (_strict_json, _lenient_json)


def _own_form(value: object) -> object:
    """What pydantic does not know, as something it does: a list, a dict, or the object's own text.

    The default text, with its address, tells nobody anything.

    Raises:
        ValueError: it has only that, or is too long to be written out.
    """
    if isinstance(value, Mapping):
        return dict(cast("Mapping[object, object]", value))
    if isinstance(value, range | MappingView | Set | UserList):
        if len(cast("Sized", value)) > MAX_ITEMS:
            raise ValueError("too many items")
        return list(cast("Iterable[object]", value))
    kind = type(value)
    if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:
        raise ValueError("no text of its own")
    return encodable(str(value))


def _message(error: BaseException) -> str:
    try:
        if isinstance(error, ValidationError):
            return "; ".join(problems_of(error))
        text = error.message if isinstance(error, RigError) else str(error)
    except Exception:  # noqa: BLE001  a message that can't be made must not hide that the tool failed
        text = ""
    return text.strip() or _kind(error)


def _kind(value: object) -> str:
    return type(value).__name__
