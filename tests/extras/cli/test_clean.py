"""What strangers wrote can do nothing to a terminal, and keys stay out of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.client.probes.facts import listed_models
from rig.client.probes.finding import Finding
from rig.extras.cli.clean import (
    HIDDEN,
    MAX_NAME_CHARS,
    hidden,
    shown,
    shown_name,
    shown_url,
    without_secret,
)

HOSTILE = {
    "colours": ("\x1b[31;1mred\x1b[0m", "red"),
    "8-bit colours": ("\x9b31mred", "red"),
    "the title of the window": ("\x1b]0;owned\x07name", "name"),
    "a link": ("\x1b]8;;http://evil\x1b\\name\x1b]8;;\x1b\\", "name"),
    "clearing the screen": ("\x1b[2J\x1b[Hname", "name"),
    "a lone escape": ("na\x1bme", "nae"),
    "a link that ends in a bell": ("\x1b]8;;http://evil\x07name\x1b]8;;\x07", "name"),
    "8-bit strings": ("\x9d0;owned\x9cna\x90q\x9cme\x85", "name"),
    "zero width": ("na\u200b\u200c\u200d\u2060\ufeffme\u00ad", "name"),
    "marks of direction": (
        "\u202a\u202b\u202d\u2066na\u2067me\u2069\u202c\u200e\u200f\u061c",
        "name",
    ),
    "other line ends": ("a\x0bb\x0cc\x1cd\x85e\u2029f", "a b c d e f"),
    "a lone C1": ("na\x84me", "name"),
    "backspaces": ("name\x08\x08\x08", "name"),
    "lines": ("one\r\ntwo\u2028three", "one two three"),
    "turned around": ("\u202eeman", "eman"),
    "a lone surrogate": ("na\ud800me", "name"),
    "markup stays text": ("[bold]name[/bold] :smile:", "[bold]name[/bold] :smile:"),
}


@pytest.mark.parametrize(("text", "seen"), HOSTILE.values(), ids=HOSTILE)
def test_only_printable_text_is_left(text: str, seen: str) -> None:
    assert shown(text) == seen


@given(st.text(st.characters(codec=None), max_size=400), st.integers(4, 80))
def test_whatever_comes_is_one_bounded_line(text: str, max_chars: int) -> None:
    line = shown(text, max_chars)
    assert len(line) <= max_chars
    assert all(char.isprintable() for char in line)


def test_a_long_name_is_cut_and_says_so() -> None:
    assert shown_name("x" * 1_000_000) == "x" * (MAX_NAME_CHARS - 3) + "..."


def test_a_name_of_nothing_visible_is_told() -> None:
    assert shown_name("\x1b[31m\u200b").startswith("(")


URLS = {
    "as it is": ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1"),
    "user and password": ("https://user:pw@host/v1", "https://host/v1"),
    "two at signs": ("https://user:p@w@host/v1", "https://host/v1"),
    "a key in the query": ("https://host/v1?key=secret#secret", "https://host/v1"),
    "no URL": ("localhost", ""),
    "brackets": ("http://[::1", ""),
    "escapes": ("http://host/\x1b[31m/v1", "http://host//v1"),
}


@pytest.mark.parametrize(("url", "seen"), URLS.values(), ids=URLS)
def test_a_url_is_shown_without_what_is_secret_in_it(url: str, seen: str) -> None:
    assert shown_url(url) == seen


SAID = {
    "the key": ("bad key sk-12345 here", f"bad key {HIDDEN} here"),
    "twice": ("sk-12345sk-12345", HIDDEN * 2),
    "cut at the end": ("bad key sk-12", f"bad key {HIDDEN}"),
    "three letters of it": ("bad key sk-", "bad key sk-"),
    "not there": ("bad", "bad"),
}


@pytest.mark.parametrize(("text", "seen"), SAID.values(), ids=SAID)
def test_the_key_is_taken_out_of_what_was_said(text: str, seen: str) -> None:
    assert hidden(text, "sk-12345") == seen


def test_placeholders_for_keys_are_not_looked_for() -> None:
    assert hidden("no tools, no key", "no") == "no tools, no key"


def test_a_document_loses_the_key_wherever_it_stands() -> None:
    document = {"a": ["sk-12345", {"b": "x sk-12345"}], "n": 1, "none": None}
    assert without_secret(document, "sk-12345") == {
        "a": [HIDDEN, {"b": f"x {HIDDEN}"}],
        "n": 1,
        "none": None,
    }


@pytest.mark.parametrize(("text", "seen"), HOSTILE.values(), ids=HOSTILE)
def test_what_an_endpoint_calls_its_models_is_clean_before_it_is_kept(text: str, seen: str) -> None:
    """An escape that is dropped there alone would leave its rest to be shown."""
    assert listed_models((text,)) == (seen,)
    found = Finding[str](value=text, evidence="", detail=text)
    assert (found.detail, shown(found.detail)) == (seen, seen)
