import pytest

from rig.text.json_gate import MAX_HELD_CHARS, JSONCallGate

CALL = '{"name": "look", "arguments": {"what": "a"}}'
CASES = {
    "only a call": (CALL, ""),
    "prose and a call": (f"I look.\n{CALL}\nDone.", "I look.\n"),
    "a fence": (f"I look.\n```json\n{CALL}\n```\n", "I look.\n"),
    "a fence of tildes": (f"I look.\n~~~ json x\n{CALL}\n~~~\n", "I look.\n"),
    "a list": (f"I look.\n[\n  {CALL}\n]", "I look.\n"),
    "a fence, blanks, a list": (f"A\n\n```\n\n [ {CALL}]", "A\n\n"),
    "arguments first": ('A\n{"arguments": {}, "name": "look"}', "A\n"),
    "quotes that are none": ("A\n{'name': 'look'}", "A\n"),
    "no quotes": ("A\n{ name: 'look'}", "A\n"),
    "in the middle of a line": (f"It is {CALL}\n", f"It is {CALL}\n"),
    "another object": ('{"a": 1}\n{"b": [2]}\n', '{"a": 1}\n{"b": [2]}\n'),
    "code": ("```python\nx = {}\n```\nDone.\n", "```python\nx = {}\n```\nDone.\n"),
    "code that begins a line with a brace": ("```c\n{ int n; }\n```\n", "```c\n{ int n; }\n```\n"),
    "a link": ("[rig](x) is\n[1]\n", "[rig](x) is\n[1]\n"),
    "ticks": ("`a`\n``b``\n", "`a`\n``b``\n"),
    "an object behind another": (f'{{"a": 1}}\n{CALL}', '{"a": 1}\n'),
}


@pytest.mark.parametrize("size", [1, 2, 5, 10_000])
@pytest.mark.parametrize(("text", "wanted"), CASES.values(), ids=CASES)
def test_text_passes_up_to_the_first_call(text: str, wanted: str, size: int) -> None:
    gate = JSONCallGate()
    shown = "".join(gate.feed(text[at : at + size]) for at in range(0, len(text), size))
    assert shown + gate.close() == wanted
    assert gate.is_closed is (wanted != text)


@pytest.mark.parametrize("text", ["[", "```json\n[\n", "  {", '{"na'], ids=repr)
def test_what_may_still_become_a_call_is_held(text: str) -> None:
    assert JSONCallGate().feed(f"A\n{text}") == "A\n"


@pytest.mark.parametrize("piece", [" ", "\n", "`", "["], ids=repr)
def test_no_more_is_held_than_a_call_needs(piece: str) -> None:
    gate = JSONCallGate()
    count = 20 * MAX_HELD_CHARS
    shown = "".join(gate.feed(piece) for _ in range(count))
    assert count - len(shown) <= MAX_HELD_CHARS
