"""Loops in the deltas of a stream: found in every channel, wherever the stream was cut."""

import math

import pytest

from rig.client.loop_watch import LoopWatch
from rig.model import CallDelta, Delta
from rig.text.repetition import RepetitionGuard

BLOCK = "EXCLUSIVE OF THE EASTERLY 100 FEET\\nOF SAID LOTS 7 TO 10, EXCLUSIVE OF THE EASTERLY "


def texts(text: str, size: int) -> list[Delta]:
    return [Delta(text=text[at : at + size]) for at in range(0, len(text), size)]


def thoughts(text: str, size: int) -> list[Delta]:
    return [Delta(reasoning=text[at : at + size]) for at in range(0, len(text), size)]


def arguments(text: str, size: int) -> list[Delta]:
    return [
        Delta(
            tool_call=CallDelta(
                stage="arguments", index=0, name="save", arguments=text[at : at + size]
            )
        )
        for at in range(0, len(text), size)
    ]


@pytest.mark.parametrize("size", [1, 3, len(BLOCK), 5000], ids="{} characters a delta".format)
@pytest.mark.parametrize(
    ("make", "where"),
    [(texts, "content"), (thoughts, "reasoning"), (arguments, "tool:save arguments")],
    ids=["text", "reasoning", "arguments"],
)
def test_a_loop_is_found_in_every_channel(make: object, where: str, size: int) -> None:
    assert callable(make)
    watch = LoopWatch(RepetitionGuard())
    deltas = make(BLOCK * 200, size)
    cut = watch.find(deltas)
    assert cut is not None
    assert watch.found is not None
    assert (watch.found.period, watch.found.where) == (len(BLOCK), where)
    assert cut * size <= 8192


@pytest.mark.parametrize("batch", [1, 7, 10_000])
def test_it_makes_no_difference_how_many_deltas_come_at_once(batch: int) -> None:
    watch = LoopWatch(RepetitionGuard())
    deltas = texts(BLOCK * 200, 3)
    for at in range(0, len(deltas), batch):
        cut = watch.find(deltas[at : at + batch])
        if cut is not None:
            assert at + cut == 258
            return
    pytest.fail("not found")


def test_nothing_is_found_in_ordinary_text() -> None:
    watch = LoopWatch(RepetitionGuard())
    text = "".join(f"{number}. a row of a table\n" for number in range(2000))
    assert watch.find(texts(text, 3)) is None
    assert watch.found is None


def test_a_guard_that_is_off_finds_nothing() -> None:
    watch = LoopWatch(RepetitionGuard.off())
    assert watch.find(texts(BLOCK * 200, 3)) is None
    assert watch.max_blank == math.inf


def test_text_that_was_retracted_is_forgotten() -> None:
    watch = LoopWatch(RepetitionGuard())
    assert watch.find(texts(BLOCK * 2, 3)) is None
    assert watch.find([Delta(retracted=BLOCK * 2), *texts(BLOCK * 2, 3)]) is None


@pytest.mark.parametrize("where", ["content", "reasoning", "tool:save arguments"])
@pytest.mark.parametrize(("blank", "found"), [(8192, False), (8193, True)])
def test_whitespace_that_no_delta_tells_of_is_a_loop_too(
    blank: int, found: bool, where: str
) -> None:
    watch = LoopWatch(RepetitionGuard())
    assert watch.find([Delta(text="{")]) is None
    assert (blank > watch.max_blank) is found
    watch.find_blank(blank, where)
    assert watch.found is not None
    assert watch.found.where == where
    assert watch.found.trimmed("{") == "{"


def test_any_whitespace_may_be_let_pass() -> None:
    assert LoopWatch(RepetitionGuard(max_whitespace=None)).max_blank == math.inf


def test_what_the_end_of_a_reply_repeats_is_not_watched() -> None:
    watch = LoopWatch(RepetitionGuard())
    news = CallDelta(stage="finished", index=0, name="save", arguments=BLOCK * 50)
    assert watch.find([Delta(tool_call=news), Delta(text=BLOCK * 50, finish_reason="stop")]) is None
