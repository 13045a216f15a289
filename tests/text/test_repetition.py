"""The repetition guard: what is a loop, what is honest text, and what the watching costs."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rig.errors import InvalidRequestError
from rig.text.repetition import (
    DEFAULT_MAX_WHITESPACE,
    MAX_CHANNELS,
    Repetition,
    RepetitionGuard,
    RepetitionWatch,
    RepetitionWatcher,
)

# The block of the report that led to the guard: OCR of land records, 84 bytes with a literal \n.
DEED = r"EXCLUSIVE OF THE EASTERLY 100 FEET\nOF SAID LOTS 7 TO 10, EXCLUSIVE OF THE EASTERLY "
BLOCK_24 = "the same two dozen bytes"
BLOCK_57 = "Lot 7 of Block 12 as recorded in Book 3 of Plats, page 4\n"


def varied(size: int) -> str:
    """Text without any loop."""
    return "".join(f"{n * n:x} " for n in range(1, size))[:size]


def watch(
    text: str | bytes, step: int, guard: RepetitionGuard | None = None
) -> tuple[int, Repetition | None]:
    """Feed in pieces until a loop is found; return the bytes read until then."""
    data = text.encode() if isinstance(text, str) else text
    watcher = RepetitionWatcher(guard)
    for start in range(0, len(data), step):
        found = watcher.feed(data[start : start + step])
        if found is not None:
            return min(start + step, len(data)), found
    return len(data), None


CUTS: dict[str, tuple[str, int, int, int, int]] = {
    # text, bytes a piece; bytes read, period, copies when it is cut
    "a deed, block by block": (DEED * 100, 84, 672, 84, 8),
    "a period of 24, byte by byte": (BLOCK_24 * 100, 1, 768, 24, 32),
    "prose that falls into a period of 57, 64 bytes at a time": (
        varied(880) + BLOCK_57 * 60,
        64,
        1536,
        57,
        11,
    ),
    "the longest period, 1024": (varied(1024) * 4, 256, 3072, 1024, 3),
    "the shortest span, 512": (varied(128) * 5, 128, 512, 128, 4),
    "a block of 44 bytes in 26 characters": (
        (("\u00e9\u4e2d" * 8) + "\u00fc  ") * 40,
        1,
        768,
        44,
        17,
    ),
}


@pytest.mark.parametrize(("text", "step", "read", "period", "reps"), CUTS.values(), ids=CUTS.keys())
def test_a_loop_is_cut_as_soon_as_enough_of_it_was_read(
    text: str, step: int, read: int, period: int, reps: int
) -> None:
    consumed, found = watch(text, step)
    assert consumed == read
    assert found is not None
    assert (found.period, found.reps, found.trailing) == (period, reps, (reps - 1) * period)
    assert found.where == "content"


HONEST: dict[str, str] = {
    "4000 newlines": "\n" * 4000,
    "8000 tabs": "\t" * 8000,
    "table rules": "| --- | --- |\n" * 300,
    "two letters, 4000 times": "ab" * 4000,
    "400 numbered rows": "".join(f"| {n} | value of row {n} | checked |\n" for n in range(400)),
    "clauses that recur and vary": "".join(
        f"The party of part {n} shall deliver the goods listed in annex {n % 7} within {n} days.\n"
        for n in range(200)
    ),
    "three copies of a short header": "== report of the day ==\n\n" * 3 + varied(400),
    "two copies of a long page": varied(1000) * 2 + "the end" * 20,
    "a period longer than the longest": varied(1025) * 6,
    "a loop that ended": BLOCK_57 * 6 + varied(2000),
}


@pytest.mark.parametrize("step", [1, 7, 64, 256, 100_000])
@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST.keys())
def test_honest_repetition_passes(text: str, step: int) -> None:
    assert watch(text, step)[1] is None


def test_a_short_period_is_a_loop_where_the_guard_says_so() -> None:
    _, found = watch("ab" * 4000, 1, RepetitionGuard(min_period=2, min_span=64))
    assert found is not None
    assert (found.period, found.sample) == (2, "ab")


def test_only_the_shortest_block_that_occurs_twice_is_judged() -> None:
    text = (
        varied(100) + "-" * 60
    )  # 60 dashes end every copy: their period of 1 is no loop, and hides 160
    assert watch(text * 40, 160)[1] is None


def test_the_report_shows_one_block_and_what_to_trim() -> None:
    block = varied(700)
    _, found = watch(block * 5, 64)
    assert found is not None
    assert found.period == 700
    assert len(found.sample) == 200
    assert "700 bytes" in str(found)


def test_trimming_what_trails_leaves_the_text_and_one_block() -> None:
    text = varied(300) + DEED * 30
    consumed, found = watch(text, 64)
    assert found is not None
    kept = text[: consumed - found.trailing]
    assert kept.startswith(varied(300))
    assert watch(kept, 1)[1] is None


WHITESPACE_RUNS = {
    "spaces": " ",
    "newlines": "\n",
    "tabs and newlines": "\n\t",
    "mixed": " \r\n\t ",
}


@pytest.mark.parametrize("step", [1, 5, 1000, 1_000_000])
@pytest.mark.parametrize("run", WHITESPACE_RUNS.values(), ids=WHITESPACE_RUNS.keys())
def test_whitespace_without_end_is_a_loop(run: str, step: int) -> None:
    text = '{"a": 1' + run * 10_000
    consumed, found = watch(text, step)
    assert found is not None
    assert found.sample.strip() == ""
    assert found.trailing >= DEFAULT_MAX_WHITESPACE
    assert consumed <= 7 + DEFAULT_MAX_WHITESPACE + step
    assert text.encode()[: consumed - found.trailing].strip() == b'{"a": 1'


@pytest.mark.parametrize("step", [1, 5, 1_000_000])
def test_exactly_the_allowed_whitespace_passes(step: int) -> None:
    text = "a" + " " * DEFAULT_MAX_WHITESPACE + "b"
    assert watch(text, step)[1] is None
    assert watch("a" + " " * (DEFAULT_MAX_WHITESPACE + 1), step)[1] is not None


def test_whitespace_may_be_let_pass() -> None:
    assert watch("\n" * 100_000, 64, RepetitionGuard(max_whitespace=None))[1] is None


def test_a_guard_that_is_off_finds_nothing() -> None:
    assert watch(DEED * 1000, 64, RepetitionGuard.off())[1] is None
    assert watch(" " * 100_000, 64, RepetitionGuard.off())[1] is None


@pytest.mark.parametrize("reps", [-1, 0, 1])
def test_no_copy_is_no_repetition_so_such_a_number_means_three(reps: int) -> None:
    assert RepetitionGuard(min_reps=reps) == RepetitionGuard()


def test_the_defaults_are_a_promise() -> None:
    guard = RepetitionGuard()
    assert (guard.min_period, guard.max_period, guard.min_reps) == (24, 1024, 3)
    assert (guard.min_span, guard.check_every, guard.window_bytes) == (512, 256, 3072)


@pytest.mark.parametrize(
    "settings",
    [
        {"min_period": 0},
        {"min_span": -1},
        {"check_every": 0},
        {"max_whitespace": 0},
        {"min_period": 100, "max_period": 99},
    ],
    ids=str,
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError) as raised:
        RepetitionGuard(**settings)
    assert raised.value.reason in {*settings, "max_period"}


def test_the_text_may_come_as_bytes_cut_anywhere_and_may_hold_surrogates() -> None:
    raw = ("\u4e2d\u6587 says the model, again and again. " * 40).encode()
    assert watch(raw, 7)[1] is not None
    assert RepetitionWatcher().feed("\ud83d" * 1000) is None
    loop = RepetitionWatcher().feed(("\ud83d " + BLOCK_57) * 60)
    assert loop is not None
    assert loop.sample.isprintable() or "\n" in loop.sample


def test_channels_are_watched_apart() -> None:
    watch = RepetitionWatch()
    half = BLOCK_57 * 5  # 285 bytes: a span only two of them reach
    assert watch.text(half) is None
    assert watch.reasoning(half) is None
    assert watch.arguments(0, "save", half) is None
    assert watch.arguments(1, "save", half) is None
    names = [
        found.where
        for found in (
            watch.text(half),
            watch.reasoning(half),
            watch.arguments(0, "save", half),
            watch.arguments(1, "send", half),
        )
        if found is not None
    ]
    assert names == ["content", "reasoning", "tool:save arguments", "tool:save arguments"]


def test_the_number_of_channels_is_bounded() -> None:
    watch = RepetitionWatch()
    found = [watch.arguments(index, "save", BLOCK_57 * 20) for index in range(MAX_CHANNELS * 2)]
    assert sum(item is not None for item in found) == MAX_CHANNELS - 2


def test_a_watch_that_is_off_finds_nothing() -> None:
    assert RepetitionWatch(RepetitionGuard.off()).text(BLOCK_57 * 1000) is None


def naive(data: bytes, guard: RepetitionGuard) -> tuple[int, int] | None:
    """The rule as it is written down: period and copies of the loop the text ends in."""
    data = data[-guard.window_bytes :]
    for p in range(guard.min_period, guard.max_period + 1):
        if p * guard.min_reps > len(data):
            return None
        if data[-p:] != data[-2 * p : -p]:
            continue
        block = data[-p:]
        d = next(d for d in range(1, p + 1) if p % d == 0 and block[:d] * (p // d) == block)
        if d < guard.min_period:
            return None
        reps = 1
        while data[-(reps + 1) * d : -reps * d] == data[-d:]:
            reps += 1
        return (d, reps) if reps >= guard.min_reps and reps * d >= guard.min_span else None
    return None


SMALL = RepetitionGuard(
    min_period=3, max_period=12, min_reps=2, min_span=8, check_every=1, max_whitespace=None
)


@given(
    st.lists(st.tuples(st.text("ab", min_size=1, max_size=5), st.integers(1, 6)), max_size=8),
    st.integers(1, 9),
)
@example([("aab", 4)], 1)
@example([("a", 5), ("ab", 6), ("ba", 5)], 3)
def test_every_scan_agrees_with_the_rule_as_written(
    parts: list[tuple[str, int]], step: int
) -> None:
    data = "".join(block * times for block, times in parts).encode()
    watcher = RepetitionWatcher(SMALL)
    for start in range(0, len(data), step):
        found = watcher.feed(data[start : start + step])
        expected = naive(data[: start + step], SMALL)
        assert (found and (found.period, found.reps)) == expected


WORK: dict[str, Callable[[int], str]] = {
    "honest prose": varied,
    "one byte for ever": lambda n: "a" * n,
    "a table": lambda n: ("| --- | --- |\n" * n)[:n],
    "runs that nearly repeat": lambda n: "".join("a" * (24 + k % 23) + "b" for k in range(n // 30)),
    "whitespace": lambda n: " " * n,
}


@pytest.mark.parametrize("step", [1, 50, 1_000_000])
@pytest.mark.parametrize("build", WORK.values(), ids=WORK.keys())
def test_work_grows_with_the_text_and_no_faster(build: Callable[[int], str], step: int) -> None:
    def work(size: int) -> int:
        watcher = RepetitionWatcher(RepetitionGuard(max_whitespace=None))
        text = build(size)
        for start in range(0, len(text), step):
            watcher.feed(text[start : start + step])
        return watcher.work

    assert work(80_000) <= 4.5 * work(20_000)


TRIMMED: dict[str, tuple[str, int, str]] = {
    "all copies but the first": ("a: loopxloopxloopx", 10, "a: loopx"),
    "nothing": ("text", 0, "text"),
    "more than there is": ("text", 99, ""),
    "whole characters only": ("\u00e9\u00e9\u00e9", 3, "\u00e9"),
    "inside a character of four bytes": ("a\U0001f600", 1, "a"),
    "a lone surrogate": ("a\ud800b", 1, "a\ud800"),
}


@pytest.mark.parametrize(("text", "trailing", "left"), TRIMMED.values(), ids=TRIMMED.keys())
def test_what_says_nothing_new_is_cut_off(text: str, trailing: int, left: str) -> None:
    found = Repetition(period=5, reps=3, trailing=trailing, sample="", where="content")
    assert found.trimmed(text) == left


@pytest.mark.parametrize("copies", [16, 40, 500])
@pytest.mark.parametrize("piece", [64, 1 << 20], ids=["pieces", "one delta"])
def test_trimming_leaves_one_copy_however_large_the_delta_was(copies: int, piece: int) -> None:
    head = "A sentence of its own. "
    block = "EXCLUSIVE OF THE EASTERLY 100 FEET OF SAID LOTS 7 TO 10, AND OF ALL THE OTHERS. "
    text = head + block * copies
    watcher = RepetitionWatcher(RepetitionGuard(), where="content")
    fed, found = "", None
    for start in range(0, len(text), piece):
        fed += text[start : start + piece]
        if found := watcher.feed(text[start : start + piece]):
            break
    assert found is not None
    kept = found.trimmed(fed)
    assert kept.startswith(head)
    assert len(kept) <= len(head) + 2 * len(block)
