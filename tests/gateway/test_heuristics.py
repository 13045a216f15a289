"""What a text alone tells of its category."""

import pytest

from rig.gateway.categories import Category
from rig.gateway.heuristics import MAX_READ_CHARS, Guess, Heuristics


def category(**fields: object) -> Category:
    return Category(models=("m",), **fields)  # type: ignore[arg-type]  # tables of fields


KINDS = Heuristics(
    {
        "translate": category(patterns=("translat*", "in french", "\u7ffb\u8bd1")),
        "code": category(code=True, patterns=("refactor*", "unit test", "c++")),
        "sql": category(code=("sql",)),
        "vision": category(images=True, patterns=("screenshot",)),
        "greeting": category(max_chars=12),
        "document": category(min_chars=5000),
        "short": category(patterns=("tl;dr",), max_chars=40),
        "other": category(),
    }
)

TABLE: dict[str, tuple[str, str]] = {
    "a word": ("Please say it in French, for my aunt", "translate"),
    "any ending": ("I need a translation of this letter", "translate"),
    "the ending may be nothing": ("translat this for me please", "translate"),
    "in any case": ("TRANSLATE this letter for me", "translate"),
    "blanks do not count": ("could it be in\n  french, please", "translate"),
    "no word has it inside": ("the mistranslator ate my homework", ""),
    "a phrase needs its end": ("it was written in frenchtown", ""),
    "a script without blanks": ("\u8bf7\u7ffb\u8bd1\u8fd9\u6bb5\u8bdd\uff0c\u8c22\u8c22\u4f60\u4e86\u54c8", "translate"),
    "signs count as they are": ("my favourite is C++ by far", "code"),
    "code": ("why?\n```python\nx\n```", "code"),
    "nothing": ("what is the capital of France?", ""),
    "length alone": ("hi", "greeting"),
    "a pattern beats a length": ("refactor", "code"),
    "a long text": ("word " * 1001, "document"),
    "a pattern in a text too long for it": ("tl;dr " * 10, ""),
    "a pattern and a length that fits": ("tl;dr of the news, please", "short"),
    "more patterns win": ("refactor the unit test that must translate", "code"),
    "an empty text": ("", "greeting"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "name"), TABLE.values(), ids=TABLE)
def test_a_text_tells_its_category(text: str, name: str) -> None:
    assert KINDS.guess(text).category == name


def test_an_image_decides() -> None:
    assert KINDS.guess("refactor", has_images=True).category == "vision"


def test_a_category_of_images_may_have_patterns_too() -> None:
    assert KINDS.guess("here is a screenshot of it").category == "vision"


def test_what_fits_alike_is_left_to_others() -> None:
    guess = KINDS.guess("SELECT a FROM b")
    assert (guess.category, guess.tied) == ("", ("code", "sql"))
    assert KINDS.guess("nothing of all this here") == Guess()


def test_the_reason_quotes_the_pattern_and_not_the_text() -> None:
    assert KINDS.guess("translate my secret letter").reason == 'the pattern "translat*"'
    assert KINDS.guess("```rust\nx\n```").reason == "rust in the text"


def test_of_a_long_text_both_ends_are_read() -> None:
    kinds = Heuristics({"code": category(patterns=("refactor",))})
    filler = "word " * MAX_READ_CHARS
    assert kinds.guess(f"refactor {filler}").category == "code"
    assert kinds.guess(f"{filler} refactor").category == "code"
    assert kinds.guess(f"{filler} refactor {filler}").category == ""
