import pytest

from rig.text.orphan_closer import OrphanCloserFilter, without_closers

CASES = {
    "closer": ("</think>\n\nIt is 21C.", "It is 21C."),
    "blanks before it": ("\n </think>a", "a"),
    "several": ("</think> </think>\na", "a"),
    "other family": ("[/THINK]a", "a"),
    "closer alone": ("</think>", ""),
    "none": ("a", "a"),
    "not at the head": ("a</think>b", "a</think>b"),
    "opener at the head": ("<think>a</think>b", "<think>a</think>b"),
    "after the head": ("</think>a</think>b", "a</think>b"),
    "beginning of one": ("</thi", "</thi"),
    "look-alike": ("</th>a", "</th>a"),
    "empty": ("", ""),
    "blanks": (" \n", ""),
}


@pytest.mark.parametrize("step", [1, 2, 7, 10_000])
@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES.keys())
def test_only_closers_at_the_head_go(text: str, expected: str, step: int) -> None:
    reader = OrphanCloserFilter()
    pieces = [
        piece
        for index in range(0, len(text), step)
        for piece in reader.feed(text[index : index + step])
    ]
    pieces += reader.close()
    assert "".join(piece.text for piece in pieces) == expected
    assert {piece.kind for piece in pieces} <= {"text"}
    assert without_closers(text).strip() == expected


def test_the_head_is_not_held_back_longer_than_a_tag() -> None:
    reader = OrphanCloserFilter()
    assert reader.feed("</th") == []
    assert [piece.text for piece in reader.feed("ree>")] == ["</three>"]
    assert [piece.text for piece in reader.feed("</think>")] == ["</think>"]
