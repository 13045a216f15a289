import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.text.pieces import Piece, Pieces, Trimmed


@given(st.lists(st.text(alphabet="ab \n\u00a0", max_size=4)))
def test_trimming_in_chunks_equals_trimming_the_whole(chunks: list[str]) -> None:
    trimmed = Trimmed()
    assert "".join(map(trimmed.add, chunks)) == "".join(chunks).strip()


def test_thoughts_are_separated_by_a_blank_line() -> None:
    pieces = Pieces()
    for thought in (" a ", " ", "b\n"):
        pieces.begin_thought()
        pieces.think(thought)
    assert [piece.text for piece in pieces.take()] == ["a", "\n\nb"]


def test_retracting_withdraws_all_text_and_nothing_twice() -> None:
    pieces = Pieces()
    pieces.show("a ")
    pieces.show(" b ")
    pieces.take()
    assert pieces.showing
    pieces.retract()
    pieces.retract()
    assert pieces.take() == [
        Piece(kind="retract", text="a  b"),
        Piece(kind="reasoning", text="a  b"),
    ]
    assert not pieces.showing


def test_pieces_are_taken_once() -> None:
    pieces = Pieces()
    pieces.show("a")
    assert len(pieces.take()) == 1
    assert pieces.take() == []


def test_a_thought_of_blanks_does_not_count_as_thinking() -> None:
    pieces = Pieces()
    pieces.begin_thought()
    pieces.think(" \n")
    assert not pieces.thinking
    pieces.think("a")
    assert pieces.thinking


def test_a_piece_is_a_value() -> None:
    with pytest.raises(AttributeError):
        Piece(kind="text", text="a").text = "b"  # type: ignore[misc]  # frozen: what is tested
