import collections
import dataclasses
import datetime as dt
import decimal
import enum
import functools
import itertools
import pathlib
import types
import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr, ValidationError

from rig.agent.results import (
    MAX_ERROR_CHARS,
    MAX_PROBLEM_CHARS,
    MAX_PROBLEMS,
    cut_middle,
    encodable,
    error_text,
    one_line,
    path_of,
    problems_of,
    result_text,
)
from rig.errors import ServerError, ToolError


def shown(value: Any, **options: Any) -> Any:
    return result_text(value, **{"max_chars": 10_000, **options})


class Color(enum.Enum):
    RED = "red"


class Mode(enum.StrEnum):
    FAST = "fast"


class Old(str, enum.Enum):  # noqa: UP042  its str() is the name, unlike StrEnum's
    ONE = "one"


@dataclasses.dataclass
class Point:
    x: int
    y: float


class Person(BaseModel):
    name: str
    token: SecretStr = SecretStr("hunter2")


class Spoken:
    def __str__(self) -> Any:
        return "spoken"


class Callable(Spoken):
    def __call__(self) -> None:
        """Never called."""


TEXTS = {
    "text": ("hi \u00fc\n", "hi \u00fc\n"),
    "empty text": ("", ""),
    "none": (None, ""),
    "true": (True, "true"),
    "zero": (0, "0"),
    "float": (1.5, "1.5"),
    "nan is null": (float("nan"), "null"),
    "infinity in a list is null": ([float("inf")], "[null]"),
    "huge integer": (10**30, "1" + "0" * 30),
    "dict": ({"a": [1, None], "\u00fc": True}, '{"a":[1,null],"\u00fc":true}'),
    "keys that are no text": ({1: "a", (1, 2): "b"}, '{"1":"a","1,2":"b"}'),
    "list of text": (["a"], '["a"]'),
    "tuple": ((1, "a"), '[1,"a"]'),
    "set": ({1}, "[1]"),
    "dataclass": (Point(1, 2.0), '{"x":1,"y":2.0}'),
    "model, secrets masked": (Person(name="Ada"), '{"name":"Ada","token":"**********"}'),
    "enum": (Color.RED, "red"),
    "text enum": (Mode.FAST, "fast"),
    "older text enum": (Old.ONE, "one"),
    "date": (dt.date(2026, 1, 2), "2026-01-02"),
    "date inside": ([dt.date(2026, 1, 2)], '["2026-01-02"]'),
    "decimal": (decimal.Decimal("1.10"), "1.10"),
    "uuid": (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    "path": (pathlib.PurePosixPath("/a"), "/a"),
    "bytes of text": (b"h\xc3\xbc", "h\u00fc"),
    "bytearray": (bytearray(b"a"), "a"),
    "bytes inside": ({"a": b"\xff"}, '{"a":"_w=="}'),
    "object with its own text": (Spoken(), "spoken"),
    "object with its own text, inside": ({"a": Spoken()}, '{"a":"spoken"}'),
    "exception": (ValueError("bad"), "bad"),
    "keys of a dict": ({"a": 1}.keys(), '["a"]'),
    "values of a dict, inside": ({"a": {"b": 1}.values()}, '{"a":[1]}'),
    "items of a dict": ({"a": 1}.items(), '[["a",1]]'),
    "range": (range(3), "[0,1,2]"),
    "range, inside": ([range(2)], "[[0,1]]"),
    "frozen set": (frozenset({1}), "[1]"),
    "deque": (collections.deque([1]), "[1]"),
    "read-only mapping": (types.MappingProxyType({"a": 1}), '{"a":1}'),
    "mapping of mappings": (collections.ChainMap({"a": 1}), '{"a":1}'),
    "user's own dict": (collections.UserDict(a=range(2)), '{"a":[0,1]}'),
    "user's own list": (collections.UserList([1]), "[1]"),
    "callable with a text of its own": (Callable(), "spoken"),
    "special token": ("a <|im_start|> b", "a &lt;|im_start|> b"),
    "special token inside": ({"a": "<|x|>"}, '{"a":"&lt;|x|>"}'),
    "lone surrogate": ("a\ud800b", "a\ufffdb"),
    "lone surrogate inside": ({"a": "\ud800", "b": float("nan")}, '{"a":"\ufffd","b":null}'),
    "surrogate pair": ("\ud83d\ude00", "\U0001f600"),
}


@pytest.mark.parametrize(("value", "expected"), TEXTS.values(), ids=TEXTS.keys())
def test_results_become_text(value: Any, expected: Any) -> None:
    text = shown(value)
    assert text == expected
    assert type(text) is str
    text.encode()


cycle: list[object] = []
cycle.append(cycle)


def nested(depth: int) -> Any:
    value: list[object] = []
    for _ in range(depth):
        value = [value]
    return value


async def later() -> AsyncIterator[int]:
    yield 1


class Later:
    def __aiter__(self) -> AsyncIterator[int]:
        return later()


class Awaited:
    def __await__(self) -> Iterator[None]:
        yield None


WITHOUT_TEXT = {
    "binary": b"\x89PNG\xff",
    "object": object(),
    "object inside": {"a": object()},
    "cycle": cycle,
    "nested without end": nested(100_000),
    "generator": (i for i in range(3)),
    "endless iterator": itertools.count(),
    "endless iterator, inside": {"a": [itertools.count()]},
    "endless iterator, in a dataclass": [Point(1, itertools.count())],  # type: ignore[arg-type]  # as tools do
    "generator, inside": [(i for i in range(3))],
    "mapped": map(str, [1]),
    "async generator": later(),
    "async iterable": Later(),
    "awaitable": Awaited(),
    "awaitable, inside": ({"a": Awaited()},),
    "function": shown,
    "lambda": lambda: 1,
    "builtin": print,
    "bound method": "a".upper,
    "method, inside": {"a": "a".upper},
    "class": Point,
    "type": dict,
    "partial": functools.partial(print, "a"),
    "a range without end": range(10**12),
}


@pytest.mark.parametrize("value", WITHOUT_TEXT.values(), ids=WITHOUT_TEXT.keys())
def test_what_has_no_text_is_an_error_of_the_tool(value: Any) -> None:
    with pytest.raises(ToolError) as caught:
        shown(value)
    assert " at 0x" not in str(caught.value)


def test_special_tokens_stay_when_asked_for() -> None:
    assert shown("<|im_start|>", keep_special_tokens=True) == "<|im_start|>"


CUTS = [(1, 1), (100, 10), (1_000, 100), (1_000, 999), (10_001, 10_000), (50, 1), (1_000, 35)]


@pytest.mark.parametrize(("length", "limit"), CUTS)
def test_cut_text_is_never_longer_than_its_limit(length: int, limit: int) -> None:
    assert len(cut_middle("x" * length, limit)) <= limit


def test_a_cut_keeps_two_thirds_head_and_one_third_tail_and_counts_the_rest() -> None:
    text = "".join(chr(0x4E00 + i) for i in range(3_000))
    cut = cut_middle(text, 1_000)
    head, _, tail = cut.partition("\n[... ")
    count, _, tail = tail.partition(" characters cut ...]\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) == pytest.approx(2 * len(tail), abs=2)
    assert len(head) + len(tail) + int(count) == len(text)
    assert len(cut) == pytest.approx(1_000, abs=2)


def test_text_at_the_limit_is_whole() -> None:
    assert cut_middle("x" * 1_000, 1_000) == "x" * 1_000


class SilentError(Exception):
    pass


class BrokenError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


ERRORS = {
    "tool error": (ToolError("no such file"), "error: no such file"),
    "any exception": (ValueError("bad value"), "error: bad value"),
    "key error": (KeyError("k"), "error: 'k'"),
    "without message": (SilentError(), "error: SilentError"),
    "blank message": (SilentError("  "), "error: SilentError"),
    "message that fails": (BrokenError(), "error: BrokenError"),
    "group": (
        ExceptionGroup("g", [ValueError("a"), ExceptionGroup("h", [KeyError(1)])]),
        "error: a; 1",
    ),
    "the same thing twice": (ExceptionGroup("g", [ValueError("a"), ValueError("a")]), "error: a"),
    "rig's own, without status": (ServerError("it failed", status=500), "error: it failed"),
    "special token": (ValueError("<|end|>"), "error: &lt;|end|>"),
    "surrogate": (ValueError("\ud800"), "error: \ufffd"),
    "time-out": (TimeoutError(), "error: TimeoutError"),
}


@pytest.mark.parametrize(("error", "expected"), ERRORS.values(), ids=ERRORS.keys())
def test_errors_become_text(error: Any, expected: Any) -> None:
    assert error_text(error) == expected


def test_long_errors_are_cut() -> None:
    assert len(error_text(ValueError("x" * 10**6))) <= MAX_ERROR_CHARS + len("error: ")
    many = ExceptionGroup("g", [ValueError(str(i) * 1_000) for i in range(1_000)])
    assert len(error_text(many)) <= MAX_ERROR_CHARS + len("error: ")


class Strict(BaseModel, extra="forbid"):
    items: list[int] = []
    name: str


def refused(model: Any, **values: Any) -> Any:
    with pytest.raises(ValidationError) as caught:
        model(**values)
    return caught.value


def test_problems_name_the_place_and_hide_input_and_links() -> None:
    error = refused(Strict, items=[1, "secret-input"], other=1)
    problems = problems_of(error)
    assert [problem.partition(":")[0] for problem in problems] == ["items[1]", "name", "other"]
    assert "secret-input" not in "".join(problems)
    assert "http" not in "".join(problems)
    assert error_text(error).startswith("error: items[1]: ")


def test_problems_are_bounded() -> None:
    problems = problems_of(refused(Strict, items=["x"] * 5_000, **{"y" * 10_000: 1}))
    assert len(problems) == MAX_PROBLEMS + 1
    assert all(len(problem) <= MAX_PROBLEM_CHARS for problem in problems)


def test_paths() -> None:
    assert path_of(()) == "input"
    assert path_of(("a", 0, "b")) == "a[0].b"
    assert path_of((0,)) == "[0]"


@given(st.text(alphabet=st.characters(), max_size=50), st.integers(4, 20))
def test_one_line_is_printable_and_short(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert line.isprintable()


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=50))
def test_encodable_text_can_be_encoded_and_changes_nothing_else(text: str) -> None:
    result = encodable(text)
    assert encodable(result) == result
    result.encode()
    if not any("\ud800" <= char <= "\udfff" for char in text):
        assert result == text
