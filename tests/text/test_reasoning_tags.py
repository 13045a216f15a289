import pytest

from rig.text.reasoning_tags import (
    ANSWER_TAGS,
    FIXED_TAGS,
    HARMONY_ENDS,
    HARMONY_STARTS,
    MAX_TAG_CHARS,
    WRAPPERS,
    find_tag,
    match_tag,
    unfinished_from,
)

TAGS = [
    *(tag for _, opener, closer in FIXED_TAGS for tag in (opener, closer)),
    *ANSWER_TAGS,
    *HARMONY_ENDS,
    *HARMONY_STARTS,
    *(f"<{slash}{prefix}{name}>" for slash in ("", "/") for prefix in ("", "seed:", "longcat_")
      for name in ("think", "thinking", "thought", "thoughts", "reasoning")),
    *(f"<{slash}{name}>" for slash in ("", "/")
      for name in (*WRAPPERS, "antthinking", "scratchpad", "reflection", "inner_monologue", "inner_thoughts")),
    "<  /  abcdefghijklmnop:longcat_reasoning  >",
    "<\u00a0think\n>",
]  # fmt: skip


@pytest.mark.parametrize("spell", [str, str.upper, str.title], ids=["lower", "upper", "title"])
@pytest.mark.parametrize("tag", TAGS)
def test_a_tag_is_found_in_any_letter_case(tag: str, spell: type[str]) -> None:
    found = find_tag(f"ab{spell(tag)}cd")
    assert found is not None
    assert (found.start, found.end) == (2, 2 + len(tag))


@pytest.mark.parametrize("tag", TAGS)
def test_every_beginning_of_a_tag_is_unfinished(tag: str) -> None:
    for length in range(1, len(tag)):
        assert unfinished_from(f"a<b[c{tag[:length]}") == 5


@pytest.mark.parametrize("tag", TAGS)
def test_no_tag_holds_a_start_of_another(tag: str) -> None:
    assert len(tag) <= MAX_TAG_CHARS
    assert not set("<[\u25c1") & set(tag[1:])


def test_openers_and_closers_of_one_row_are_one_family() -> None:
    for family, opener, closer in FIXED_TAGS:
        begin, end = match_tag(opener), match_tag(closer)
        assert begin is not None
        assert end is not None
        assert (begin.kind, begin.family) == ("open", family)
        assert (end.kind, end.family) == ("close", family)


@pytest.mark.parametrize(
    "text",
    ["<th>", "<think-tank>", "<thinks>", "<think/>", "<think x>", "<my_think>", "[THINKING]",
     "<answers>", "<response id=1>", "<output/>", "< answer>", "<reflections>", "<scratchpad-1>",
     "<     think>", "<\uff54hink>", "<thin\u212a>", "<a:b:think>", "\u25c1think>", "&lt;think&gt;"],
)  # fmt: skip
def test_look_alikes_are_text(text: str) -> None:
    assert find_tag(text) is None
    assert unfinished_from(text) == len(text)


@pytest.mark.parametrize("text", ["", "a", "a b", "<1", "<|x", "a > b", "[x", "]", "<a b"])
def test_what_cannot_become_a_tag_is_not_held_back(text: str) -> None:
    assert unfinished_from(text) == len(text)
