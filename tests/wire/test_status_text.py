"""A number is a status only where it is used as one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.wire.status_text import CONTEXT_CHARS, statuses_in

STATUSES: dict[str, tuple[str, list[int]]] = {
    "returned": ("llm: upstream returned 503", [503]),
    "by its name": ("502 bad gateway", [502]),
    "in a title": ("<html><head><title>504 gateway time-out</title>", [504]),
    "http": ("http 503", [503]),
    "a status line": ("http/1.1 502 nobody knows why", [502]),
    "rig's own": ("the server failed (http 500)", [500]),
    "status": ("request failed: status 502", [502]),
    "a status code": ("unexpected status code: 504, giving up", [504]),
    "a field": ('{"error":{"code":503,"message":"x"}}', [503]),
    "a field of text": ('{"code": "429"}', [429]),
    "a keyword": ("apierror(status_code=529)", [529]),
    "openai's sentence": ("error code: 429 - {'error': {}}", [429]),
    "httpx's sentence": ("server error '503 service unavailable' for url 'http://x/v1'", [503]),
    "error in front": ("api error 429: slow down", [429]),
    "error behind": ("got a 502 error from the proxy", [502]),
    "error at the end": ("this is a 429 error", [429]),
    "got": ("got 504 from the proxy", [504]),
    "with": ("failed with 502.", [502]),
    "alone": ("503", [503]),
    "at the start": ("429: slow down", [429]),
    "backpressure": ("exhausted after 5m40s of 429 backpressure", [429]),
    "several": ("status 400, and before that status 503", [400, 503]),
    "a bad request": ("llm: provider returned 400", [400]),
}


@pytest.mark.parametrize(("text", "expected"), STATUSES.values(), ids=STATUSES)
def test_a_status(text: str, expected: list[int]) -> None:
    assert list(statuses_in(text)) == expected


OTHER_NUMBERS = [
    "input (15023 tokens) is too large",
    "the prompt has 503 tokens",
    "returned 503 rows",
    "error on line 502",
    "dial tcp 10.0.0.1:503",
    "dial tcp 10.0.4.29.503",
    "took 502 ms",
    "stream id 503",
    "id 429abc",
    "request-429",
    "model-503b",
    "code 5030",
    "code 503.5",
    "status 50%",
    "status 502%",
    "code 1,503",
    "http://host/v1/503",
    "with 429 messages",
    "unicode 503",
    "costs $429",
    "encode 502",
    "terror 503 ducks",
    "0x503",
    "-503",
    "502-504",
    "issue #503",
    "max turns (40) exceeded",
    "503 tokens left",
    "503 error messages",
    "429 errors",
    "",
]


@pytest.mark.parametrize("text", OTHER_NUMBERS)
def test_any_other_number(text: str) -> None:
    assert list(statuses_in(text)) == []


@given(
    st.text(alphabet="45029 .:=('\"codehttpstatus", max_size=200),
    st.text(alphabet=st.characters(exclude_categories=["Nd"]), max_size=20),
)
def test_what_stands_far_away_changes_nothing(text: str, far: str) -> None:
    apart = " " * CONTEXT_CHARS + "x" + " " * CONTEXT_CHARS
    assert list(statuses_in(far + apart + text + apart + far)) == list(
        statuses_in(apart + text + apart)
    )


def test_only_a_window_beside_each_number_is_read() -> None:
    text = "status" + " " * 4 + "503 "
    assert list(statuses_in(text * 1000)) == [503] * 1000
    assert list(statuses_in("status" + " " * 100 + "503 ducks")) == []
