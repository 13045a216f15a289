import pytest

from rig.text.harmony import Header, MessageKind, match_header, may_be_header

HEADERS: dict[str, tuple[str, MessageKind]] = {
    "analysis": ("<|channel|>analysis<|message|>", "thought"),
    "analysis with its role": ("<|start|>assistant<|channel|>analysis<|message|>", "thought"),
    "final": ("<|start|>assistant<|channel|>final<|message|>", "answer"),
    "final in json": ("<|channel|>final <|constrain|>json<|message|>", "answer"),
    "no channel": ("<|start|>assistant<|message|>", "answer"),
    "preamble": ("<|channel|>commentary<|message|>", "preamble"),
    "call": ("<|channel|>commentary to=functions.f <|constrain|>json<|message|>", "call"),
    "call without constrain": ("<|channel|>commentary to=functions.f json<|message|>", "call"),
    "call on the analysis channel": ("<|channel|>analysis to=python code<|message|>", "call"),
    "recipient in the role": ("<|start|>assistant to=f<|channel|>commentary<|message|>", "call"),
    "after an end": ("<|end|>\n<|start|>assistant<|channel|>final<|message|>", "answer"),
    "upper case": ("<|CHANNEL|>Final<|MESSAGE|>", "answer"),
}


@pytest.mark.parametrize(("text", "kind"), HEADERS.values(), ids=HEADERS.keys())
def test_a_header_is_recognised(text: str, kind: MessageKind) -> None:
    assert match_header(f"ab{text}cd", 2) == Header(kind=kind, end=2 + len(text))


@pytest.mark.parametrize(("text", "kind"), HEADERS.values(), ids=HEADERS.keys())
def test_every_beginning_of_a_header_may_be_one(text: str, kind: MessageKind) -> None:
    for length in range(1, len(text)):
        assert may_be_header(f"ab{text[:length]}", 2)
        assert match_header(text[:length], 0) is None


@pytest.mark.parametrize(
    "text",
    ["<|end|>", "<|message|>", "<|constrain|>json<|message|>", "<|start|>user<|message|>",
     "<|start|>assistants<|message|>", "<|channel|>other<|message|>", "<|channel|>finale<|message|>",
     "<|start|>assistant{<|message|>", "<|channel|>final" + " x" * 100 + "<|message|>"],
)  # fmt: skip
def test_other_markup_is_no_header(text: str) -> None:
    assert match_header(text, 0) is None


@pytest.mark.parametrize(
    "text", ["<|start|> there", "<|end|>x", "<|channel|>fix", "<|channel|>final<b"]
)
def test_what_cannot_become_a_header_is_known_at_once(text: str) -> None:
    assert not may_be_header(text, 0)
