from rig.text.salvage.gate import _MARK_CHARS
from rig.text.salvage.signs import SIGNS
from rig.text.salvage.table import ALL, BY_MARK, DIALECTS, MAX_MARK_CHARS

MARKS = [mark for dialect in ALL for mark in dialect.marks]


def test_marks_are_in_lower_case() -> None:
    assert [mark for mark in MARKS if mark != mark.lower()] == []


def test_no_mark_is_longer_than_what_is_held_back_for_it() -> None:
    assert max(map(len, MARKS)) <= MAX_MARK_CHARS


def test_every_mark_begins_with_a_character_the_gate_stops_at_or_with_a_word() -> None:
    odd = [mark for mark in MARKS if not _MARK_CHARS.match(mark) and not mark[0].isalpha()]
    assert odd == []


def test_every_mark_holds_a_sign() -> None:
    assert [mark for mark in MARKS if SIGNS.search(mark) is None] == []


def test_a_longer_mark_is_read_by_the_dialects_of_its_beginnings_too() -> None:
    assert [dialect.name for dialect in BY_MARK["[tool_calls]"]] == ["mistral", "pythonic"]


def test_every_dialect_has_a_name_of_its_own_or_shares_it_knowingly() -> None:
    names = [dialect.name for dialect in DIALECTS]
    assert {name for name in names if names.count(name) > 1} == {
        "harmony",
        "hermes",
        "gemma",
        "minimax",
        "react",
        "functionary",
        "qwen_coder",
    }
