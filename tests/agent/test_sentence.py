"""One sentence, whatever stands in it."""

import pytest

from rig.agent.sentence import first_sentence

SENTENCES: dict[str, tuple[str, str]] = {
    "one": ("Look it up.", "Look it up."),
    "without an end": ("Look it up", "Look it up"),
    "two": ("Look it up. It is slow.", "Look it up."),
    "over lines": ("Look it\n  up.\n\nIt is slow.", "Look it up."),
    "a question": ("Where is it? Look it up.", "Where is it?"),
    "in quotes": ('Say "Hello." Then go.', 'Say "Hello."'),
    "in brackets": ("Look (it helps.) Then go.", "Look (it helps.)"),
    "an abbreviation": ("Look at a place, e.g. Rome. It is slow.", "Look at a place, e.g. Rome."),
    "before a capital": ("Look at No. 5 or etc. Rome. Slow.", "Look at No. 5 or etc. Rome."),
    "an initial": ("Ask J. Smith. He knows.", "Ask J. Smith."),
    "a number": ("At most 1.5 of them. Not more.", "At most 1.5 of them."),
    "a file": ("Read config.toml at once. Then go.", "Read config.toml at once."),
    "lower case goes on": ("Wait... and look. Then go.", "Wait... and look."),
    "Chinese": ("\u67e5\u627e\u3002\u5f88\u6162\u3002", "\u67e5\u627e\u3002"),
    "nothing": ("", ""),
    "blank": (" \n ", ""),
    "only marks": ("... ...", "..."),
}


@pytest.mark.parametrize(("text", "sentence"), SENTENCES.values(), ids=SENTENCES)
def test_the_first_sentence_is_told(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence


def test_a_long_text_is_looked_at_once() -> None:
    text = "a. " * 100_000
    assert len(first_sentence(text)) == len(text.strip())
