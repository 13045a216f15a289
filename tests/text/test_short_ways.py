"""The short ways give what `feed` gives, wherever they are open."""

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.text.orphan_closer import OrphanCloserFilter
from rig.text.pieces import Piece
from rig.text.reasoning_filter import ReasoningFilter
from rig.text.reasoning_tags import may_hold_tag
from rig.text.short_ways import ShortOrphanCloserFilter, ShortReasoningFilter

Long = ReasoningFilter | OrphanCloserFilter
Short = ShortReasoningFilter | ShortOrphanCloserFilter

FILTERS: dict[str, tuple[Callable[[], Long], Callable[[], Short]]] = {
    "reasoning": (ReasoningFilter, ShortReasoningFilter),
    "thinking": (
        lambda: ReasoningFilter(thinking=True),
        lambda: ShortReasoningFilter(thinking=True),
    ),
    "orphan closer": (OrphanCloserFilter, ShortOrphanCloserFilter),
}
PARTS = [
    "<think>", "</think>", "[THINK]", "[/THINK]", "<|channel|>", "analysis", "final", "<|message|>", "<|end|>",
    "<|start|>", "assistant", "<", "</", "<thi", "nk>", "[", "a", " b", "c ", "d e", " ", "\n", "",
]  # fmt: skip
HEADED = ["Here is my", " thought process:", "a", "Here is my response:", "b"]


def told(pieces: Iterable[Piece]) -> list[tuple[str, str]]:
    """What pieces say, neighbours of one kind as one."""
    said: list[tuple[str, str]] = []
    for piece in pieces:
        if said and said[-1][0] == piece.kind != "retract":
            said[-1] = piece.kind, said[-1][1] + piece.text
        else:
            said.append((piece.kind, piece.text))
    return said


def fed(reader: Long, chunks: Iterable[str]) -> list[tuple[str, str]]:
    pieces = [piece for chunk in chunks for piece in reader.feed(chunk)]
    return told([*pieces, *reader.close()])


def one_by_one(reader: Short, chunk: str) -> str | None:
    return reader.pass_plain(chunk)


def together(reader: Short, chunk: str) -> str | None:
    texts = reader.pass_plain_all([chunk[:1], chunk[1:]], chunk)
    return None if texts is None else "".join(texts)


def added_to_the_pieces(reader: Short, chunk: str) -> str | None:
    return reader.pieces.pass_text(chunk) if reader.is_plain and not may_hold_tag(chunk) else None


def passed(
    reader: Short, way: Callable[[Short, str], str | None], chunks: Iterable[str]
) -> list[tuple[str, str]]:
    """The same, the short way taken wherever it is open."""
    pieces: list[Piece] = []
    for chunk in chunks:
        plain = way(reader, chunk)
        if plain is None:
            pieces += reader.feed(chunk)
        elif plain:
            pieces.append(Piece(kind="text", text=plain))
    return told([*pieces, *reader.close()])


ways = pytest.mark.parametrize("way", [one_by_one, together, added_to_the_pieces])
filters = pytest.mark.parametrize(("long", "short"), FILTERS.values(), ids=FILTERS.keys())


@filters
@ways
@given(chunks=st.lists(st.sampled_from(PARTS)))
def test_a_short_way_gives_what_the_long_one_gives(
    long: Callable[[], Long],
    short: Callable[[], Short],
    way: Callable[[Short, str], str | None],
    chunks: list[str],
) -> None:
    assert passed(short(), way, chunks) == fed(long(), chunks)


@filters
@ways
@pytest.mark.parametrize(
    "chunks",
    [HEADED, ["Here is my", "a"], ["<th<think>x</think>ink>", "a", " b"], ["<th", "a", " b"]],
)
def test_no_short_way_is_open_where_more_must_be_known(
    long: Callable[[], Long],
    short: Callable[[], Short],
    way: Callable[[Short, str], str | None],
    chunks: list[str],
) -> None:
    assert passed(short(), way, chunks) == fed(long(), chunks)


@pytest.mark.parametrize("short", [ShortReasoningFilter, ShortOrphanCloserFilter])
def test_a_token_in_the_middle_of_text_takes_the_short_way(short: Callable[[], Short]) -> None:
    reader = short()
    assert reader.pass_plain("The") is None
    reader.feed("The answer, at last, begins here and goes on.")
    assert reader.is_plain
    assert reader.pass_plain(" It is") == " It is"
    assert reader.pass_plain_all([" 4", "2."], " 42.") == [" 4", "2."]


def test_what_may_be_a_tag_does_not() -> None:
    reader = ShortReasoningFilter()
    reader.feed("The answer, at last, begins here and goes on.")
    assert reader.pass_plain(" <") is None
    assert reader.pass_plain_all([" <", "a"], " <a") is None
    reader.feed(" <")
    assert not reader.is_plain
    assert reader.pass_plain("a") is None
