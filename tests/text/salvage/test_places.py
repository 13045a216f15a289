"""The same call where it is said, and where it is only shown."""

from pathlib import Path
from typing import Any

import pytest
from pydantic_core import from_json

from rig.text.salvage import OfferedTool, SalvageGate, salvage

DATA = Path(__file__).parents[2] / "data" / "text"
TOOLS = tuple(
    OfferedTool(tool["name"], tool["parameters"])
    for tool in from_json((DATA / "salvage-tools.json").read_text(encoding="utf-8"))
)
PLACES: list[dict[str, Any]] = [
    from_json(line)
    for line in (DATA / "salvage-places.jsonl").read_text(encoding="utf-8").splitlines()
]

OBJECT = '{"name": "search", "arguments": {"q": "cats"}}'
FORMS = {
    "bare": OBJECT,
    "hermes": f"<tool_call>{OBJECT}</tool_call>",
    "hermes on lines": f"<tool_call>\n{OBJECT}\n</tool_call>",
    "qwen coder": "<function=search>\n<parameter=q>\ncats\n</parameter>\n</function>",
    "function in brackets": '<function(search)>{"q": "cats"}</function>',
    "invoke": '<invoke name="search">\n<parameter name="q">cats</parameter>\n</invoke>',
    "mistral": '[TOOL_CALLS]search[ARGS]{"q": "cats"}',
    "llama": f"<|python_tag|>{OBJECT}",
    "glm": "<tool_call>search\n<arg_key>q</arg_key>\n<arg_value>cats</arg_value>\n</tool_call>",
    "other tags": f"<tools>{OBJECT}</tools>",
    "id of a call": f'<tool_call id="call_1">\n{OBJECT}\n</tool_call>',
    "Grok's element": '<xai:function_call name="search">\n<parameter name="q">cats</parameter>\n</xai:function_call>',
}
WEAK_FORMS = {
    "the name as a tag": "<search>\n<q>cats</q>\n</search>",
    "the name as a tag, on one line": "<search><q>cats</q></search>",
    "the name as a tag of an object": '<search>{"q": "cats"}</search>',
}
by_place = pytest.mark.parametrize("place", PLACES, ids=lambda place: ascii(place["text"]))


@by_place
def test_a_call_is_made_where_it_is_said_and_nowhere_else(place: dict[str, Any]) -> None:
    for name, form in FORMS.items():
        text = place["text"].replace("@", form)
        found = salvage(text, TOOLS)
        calls = [(call.name, call.arguments) for call in found.calls]
        assert calls == [("search", '{"q": "cats"}')] * place["calls"], name
        assert found.problem == "", name
        if not calls:
            # Of a call whose first line alone is quoted, a closing tag may be left over.
            assert seen(found.text) == seen(text), name


@by_place
def test_a_tag_that_is_a_tool_makes_no_call_where_no_other_form_does(place: dict[str, Any]) -> None:
    for name, form in WEAK_FORMS.items():
        text = place["text"].replace("@", form)
        found = salvage(text, TOOLS)
        calls = [(call.name, call.arguments) for call in found.calls]
        assert set(calls) <= {("search", '{"q": "cats"}')}, name
        assert len(calls) <= place["calls"], name
        assert found.problem == "", name
        if not calls:
            assert seen(found.text) == seen(text), name


def seen(text: str) -> str:
    return "".join(text.replace("</tool_call>", "").split())


def chunks(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


@by_place
def test_no_more_is_shown_on_the_way_than_in_the_end(place: dict[str, Any]) -> None:
    for name in ("bare", "hermes on lines", "other tags", "the name as a tag"):
        text = place["text"].replace("@", {**FORMS, **WEAK_FORMS}[name])
        end = "".join(salvage(text, TOOLS).text.split())
        for size in (1, 7, 10_000):
            gate = SalvageGate(TOOLS)
            shown = "".join(part for chunk in chunks(text, size) for part in gate.feed(chunk))
            visible, held = gate.close()
            assert shown + visible + held == text
            assert end.startswith("".join((shown + visible).split())), (name, size)
