"""Which model is taken where none was named."""

import pytest

from rig.extras.cli.choosing import MAX_MODEL_CHARS, MAX_OFFERED, Offer

NAMES = ("qwen", "llama", "mistral")


def test_models_that_do_not_chat_come_last() -> None:
    names = ("nomic-embed-text", "qwen", "whisper-1", "llama", "bge-m3")
    assert Offer.of(names).names == ("qwen", "llama", "nomic-embed-text", "whisper-1", "bge-m3")


def test_what_is_no_name_is_left_out() -> None:
    assert Offer.of(("", "  ", "x" * (MAX_MODEL_CHARS + 1), "qwen")).names == ("qwen",)


ANSWERS = {
    "nothing": ("", "qwen"),
    "a number": ("2", "llama"),
    "with blanks": (" 3 ", "mistral"),
    "a name": ("llama", "llama"),
    "zero": ("0", None),
    "too high": ("4", None),
    "digits without end": ("9" * 5000, None),
    "digits of another script": ("\u0662", None),
    "a word": ("no", None),
}


@pytest.mark.parametrize(("answer", "model"), ANSWERS.values(), ids=ANSWERS)
def test_an_answer_is_a_number_or_a_name(answer: str, model: str | None) -> None:
    assert Offer.of(NAMES).pick(answer) == model


def test_a_model_whose_name_is_a_number_can_be_named() -> None:
    assert Offer.of(("a", "b", "1")).pick("1") == "1"


def test_a_long_list_is_cut_and_counted() -> None:
    lines = Offer.of([f"m{number}" for number in range(MAX_OFFERED + 5)]).lines()
    assert len(lines) == MAX_OFFERED + 1
    assert "5 more" in lines[-1]


def test_a_hostile_name_is_listed_clean_and_taken_as_it_is() -> None:
    offer = Offer.of(("\x1b[31m[red]a", "b"))
    assert offer.lines()[0].endswith("[red]a")
    assert "\x1b" not in offer.lines()[0]
    assert offer.pick("1") == "\x1b[31m[red]a"
