import pytest

from rig.text.escapes import without_escapes

CASES = {
    "colours": ("\x1b[31;1mred\x1b[0m", "red"),
    "8-bit": ("\x9b31mred", "red"),
    "a link": ("\x1b]8;;http://evil\x1b\\name\x1b]8;;\x1b\\", "name"),
    "a link that ends in a bell": ("\x1b]8;;http://evil\x07name\x1b]8;;\x07", "name"),
    "an 8-bit title": ("\x9d0;owned\x9cname", "name"),
    "a private string": ("\x1bPq#0\x1b\\\x1b_x\x1b\\\x1b^y\x1b\\name", "name"),
    "a character set": ("\x1b(0name", "name"),
    "cut": ("name\x1b[31", "name"),
    "a lone one": ("name\x1b", "name"),
    "brackets": ("[31m name", "[31m name"),
}


@pytest.mark.parametrize(("text", "left"), CASES.values(), ids=CASES)
def test_what_a_terminal_obeys_goes_whole(text: str, left: str) -> None:
    assert without_escapes(text) == left
