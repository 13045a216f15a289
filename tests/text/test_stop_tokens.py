"""A stop token that a server left at the end of a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.text.stop_tokens import STOP_TOKENS, StopTokenFilter, strip_stop_token


def streamed(text: str, size: int) -> str:
    reader = StopTokenFilter()
    chunks = [text[at : at + size] for at in range(0, len(text), size)]
    return "".join([*map(reader.feed, chunks), reader.close()])


STRIPPED: dict[str, tuple[str, str]] = {
    **{f"{token} at the end": (f"Paris.{token}", "Paris.") for token in STOP_TOKENS},
    "upper case": ("Paris.<|IM_END|>", "Paris."),
    "blanks around it": ("Paris. \n<|im_end|>\n", "Paris."),
    "one alone": ("<|im_end|>", ""),
    "only one of two": ("Paris.</s></s>", "Paris.</s>"),
    "invisible characters alone": ("\u200b\u200d\ufeff\u2060", ""),
    "invisible and a token": ("\u200b</s>", ""),
}


@pytest.mark.parametrize(("text", "rest"), STRIPPED.values(), ids=STRIPPED)
def test_one_stop_token_at_the_end_goes(text: str, rest: str) -> None:
    assert strip_stop_token(text) == rest


STAYS: dict[str, str] = {
    "nothing": "",
    "text": "Paris.",
    "in the middle": "The token <|im_end|> ends a turn.",
    "in code": "`<|im_end|>`",
    "in a string": '{"stop": "</s>"}',
    "half of one": "Paris.<|im_e",
    "a tag of HTML": "<b>Paris</b>",
    "an angle": "a <",
    "another token": "Paris.<|im_start|>",
    "blanks inside": "a\n\nb",
}


@pytest.mark.parametrize("text", STAYS.values(), ids=STAYS)
def test_anything_else_stays(text: str) -> None:
    assert strip_stop_token(text) == text
    assert all(streamed(text, size) == text for size in (1, 3, 100))


pieces = st.lists(
    st.sampled_from(["a", " ", "\n", "<", "</", "s>", "<|", "im_end", "|>", "<|im_end|>", "</s>", "<eos>"]),
    max_size=12,
).map("".join)  # fmt: skip


@given(pieces, st.integers(1, 9))
def test_a_stream_ends_where_the_whole_does(text: str, size: int) -> None:
    assert streamed(text, size).strip() == strip_stop_token(text).strip()


@given(pieces)
def test_no_text_is_held_back_longer_than_a_token(text: str) -> None:
    reader = StopTokenFilter()
    shown = reader.feed(text)
    assert text.startswith(shown)
    held = text.removeprefix(shown).strip()
    assert not held or held.lower() in "".join(STOP_TOKENS)
