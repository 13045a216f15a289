"""Prompts that were cut without a word, and prompts that only look like it."""

import base64
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig import ImagePart, Message, TextPart, ToolCall, Usage
from rig.agent import truncation
from rig.agent.truncation import CHARS_PER_TOKEN, least_tokens, likely_tokens, truncated_prompt
from rig.events import ContextTruncated

ENGLISH = (
    "The committee met on Tuesday to discuss the annual report, and after some debate about the "
    "figures for transport it agreed to publish them without further changes this spring. "
)
ENGLISH_CHARS_PER_TOKEN = 4.6  # the GPL's text with SmolLM2's vocabulary
PYTHON = """
    def _exchange(self, request: httpx.Request, deadline: Deadline) -> Response | RigError:
        response = self._client.send(request, stream=True, follow_redirects=False)
        if isinstance(response, RigError):
            return self._converted(response.status_code, headers_of(response), deadline.at)
        self._parts.extend(decoder.feed(raw_bytes) for raw_bytes in response.iter_raw())
        return Response(response.status_code, headers_of(response), b"".join(self._parts))
"""
CHINESE = (
    "\u4eba\u5de5\u667a\u80fd\u662f\u8ba1\u7b97\u673a\u79d1\u5b66\u7684\u4e00\u4e2a\u5206\u652f\uff0c"
    "\u5b83\u4f01\u56fe\u4e86\u89e3\u667a\u80fd\u7684\u5b9e\u8d28\u3002"
)  # 29 characters, 17 tokens at 1.7 characters each
THAI = "\u0e1b\u0e31\u0e0d\u0e0d\u0e32\u0e1b\u0e23\u0e30\u0e14\u0e34\u0e29\u0e10\u0e4c"  # 13 characters


def user(text: str) -> list[Message]:
    return [Message(role="system", content="Be brief."), Message(role="user", content=text)]


def read(tokens: int, **more: int) -> Usage:
    return Usage.model_validate({"prompt_tokens": tokens, "completion_tokens": 9, **more})


def english(tokens: int) -> str:
    chars = int(tokens * ENGLISH_CHARS_PER_TOKEN)
    return (ENGLISH * (chars // len(ENGLISH) + 1))[:chars]


CUT: dict[str, tuple[str, int, str, int | None]] = {
    # llama.cpp b4747 with a window of 2,048, measured: 9,031 tokens were sent.
    "llama.cpp of early 2025": ("word " * 9000, 1862, "bound", None),
    # ollama/ollama 17889: about 7,900 tokens at a window of 4,096.
    "half of Ollama's default": (english(7900), 2050, "bound", 2048),
    # haoxiang-xu/PuPu 129
    "the same, three over": (english(15750), 2051, "bound", 2048),
    # ollama/ollama 3839: 160,689 tokens at 32,768
    "half of a large window": (english(160_689), 16387, "bound", 16384),
    # ed-donner/llm_engineering 80: prompt=3940 limit=2048 new=2048
    "the whole of an older Ollama's": (english(3940), 2048, "bound", 2048),
    # ollama/ollama 6026: a window of 2,048
    "half of an older default": (english(4000), 1026, "bound", 1024),
    # itayinbarr/little-coder 128: 159,062 characters of Python at 32,768
    "code": ((PYTHON * 300)[:159_062], 16386, "pinned", 16384),
    "somewhat more than the window": (english(6000), 4096, "pinned", 4096),
    "Chinese": (CHINESE * 800, 4096, "pinned", 4096),
    "much Chinese": (CHINESE * 8000, 4099, "bound", 4096),
    "messages dropped to fit": (english(12000), 3712, "bound", None),
}


@pytest.mark.parametrize(("text", "tokens", "evidence", "pin"), CUT.values(), ids=CUT.keys())
def test_a_cut_prompt_is_told_with_its_evidence(
    text: str, tokens: int, evidence: str, pin: int | None
) -> None:
    found = truncated_prompt(user(text), read(tokens))
    assert found is not None
    assert (found.read_tokens, found.evidence, found.cut_to_tokens) == (tokens, evidence, pin)
    assert found.sent_tokens > tokens


PICTURE = (TextPart(text="What is it?"), ImagePart.from_bytes("image/png", b"\x89PNG" * 100_000))
WRITE = ToolCall(id="1", name="write", arguments='{"text": "' + "word " * 9000 + '"}')

WHOLE: dict[str, tuple[list[Message], Usage]] = {
    "a short prompt": (user("hi"), read(31)),
    "English": (user(english(8000)), read(7980)),
    "English of exactly a window": (user(english(4090)), read(4096)),
    "a window that is just not full": (user(english(65_500)), read(65_530)),  # ollama 17427
    "Python, at four characters a token": (user(PYTHON * 10), read(len(PYTHON) * 10 // 4)),
    "the same, on a number servers cut to": (user((PYTHON * 20)[:8192]), read(2048)),
    "Chinese, at 1.8 characters a token": (user(CHINESE * 400), read(29 * 400 * 10 // 18)),
    "Chinese, at 2.5 on such a number": (user((CHINESE * 800)[: 4096 * 5 // 2]), read(4096)),
    "Thai without blanks, at 9 a token": (user(THAI * 1000), read(13_000 // 9)),
    # Measured with SmolLM2's vocabulary of 49,000: characters and tokens.
    "ruled lines": (user(("=" * 80 + "\nTitle here\n" + "-" * 80 + "\n") * 100), read(900)),
    "indentation": (user(" " * 40_000 + "x = 1\n" * 300), read(1500)),
    "a table": (user("| a | b | c |\n|---|---|---|\n" * 300), read(4800)),
    "base64": (user(base64.b64encode(bytes(range(256)) * 40).decode()), read(10_869)),
    "words joined by the tokenizer": (user(english(4000)), read(int(0.87 * len(english(4000).split())))),
    "a cached prompt, which counts": (
        user(english(8000)),
        read(7980, cached_tokens=7900),
    ),
    "Anthropic's, where the cache does not": (
        user(english(8000)),
        read(600, cache_read_input_tokens=7400),
    ),
    "Anthropic's first, written to the cache": (
        user(english(8000)),
        read(4096, cache_creation_input_tokens=3800, cache_read_input_tokens=100),
    ),
    "an image": ([Message(role="user", content=PICTURE)], read(1400)),
    "calls a template leaves out": (
        [*user(english(600)), Message(role="assistant", tool_calls=(WRITE,))],
        read(640),
    ),
    "thoughts a template leaves out": (
        [*user(english(600)), Message(role="assistant", content="x", reasoning="word " * 9000)],
        read(640),
    ),
    "no usage": (user("word " * 9000), Usage()),
    "a usage of zeros": (user("word " * 9000), read(0)),
    "a constant that is none": (user("word " * 9000), read(10)),
    "only what was not cached, of 2024": (user("word " * 9000), read(312)),
}  # fmt: skip


@pytest.mark.parametrize(("messages", "usage"), WHOLE.values(), ids=WHOLE.keys())
def test_a_prompt_that_was_read_is_no_false_alarm(messages: list[Message], usage: Usage) -> None:
    assert truncated_prompt(messages, usage) is None


@pytest.mark.parametrize(
    ("counted", "tokens", "cut"),
    [
        (3940, 2048, True),
        (5000, 4096, True),
        (4600, 4100, True),
        (4400, 4096, False),
        (4096, 4096, False),
        (4000, 4096, False),
        (600, 10, False),
    ],
)
def test_an_exact_count_decides_alone(counted: int, tokens: int, cut: bool) -> None:
    found = truncated_prompt(user("word " * 9000), read(tokens), counted_tokens=counted)
    assert (found is not None) == cut
    if found is not None:
        assert (found.evidence, found.sent_tokens) == ("counted", counted)


@pytest.mark.parametrize(("tokens", "window"), [(6000, 6000), (3002, 6000), (6003, 6000)])
def test_a_known_window_and_its_half_are_numbers_servers_cut_to(tokens: int, window: int) -> None:
    text = english(tokens * 3 // 2)
    assert truncated_prompt(user(text), read(tokens)) is None
    found = truncated_prompt(user(text), read(tokens), window_tokens=window)
    assert found is not None
    assert found.evidence == "pinned"


def test_a_small_window_is_no_evidence() -> None:
    assert truncated_prompt(user(english(800)), read(600), window_tokens=600) is None


def test_the_sentence_says_what_to_change_and_nothing_of_the_prompt() -> None:
    exact = str(ContextTruncated(read_tokens=2050, sent_tokens=7900, evidence="counted"))
    least = str(ContextTruncated(read_tokens=2050, sent_tokens=7900))
    assert "num_ctx" in exact
    assert "at least" in least
    assert "at least" not in exact


@given(st.text())
def test_the_lower_bound_is_below_what_is_likely_and_below_the_characters(text: str) -> None:
    assert 0 <= least_tokens(text) <= likely_tokens(text) <= len(text)


@given(st.text(alphabet="ab=. \n\t", max_size=300))
def test_the_quick_look_never_lets_a_cut_pass(text: str) -> None:
    assert likely_tokens(text) <= truncation._at_most(text)


@given(st.text(max_size=200), st.integers(1, 50))
def test_a_tokenizer_of_words_and_pieces_of_ten_never_alarms(text: str, times: int) -> None:
    prompt = f"{text} " * times * 20
    pieces = len(re.findall(r"[^\W]{1,4}|\S", prompt))
    assert truncated_prompt(user(prompt), read(max(pieces, 1))) is None


@pytest.mark.parametrize("text", ["=" * 400_000, "ab" * 200_000, "aab" * 130_000, "\n" * 400_000])
def test_long_runs_count_little(text: str) -> None:
    assert least_tokens(text) <= len(text) // CHARS_PER_TOKEN
