"""What stands in an example, a quotation, an element or a code block among prose is no call."""

import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.text.call_places import MAX_LEAD_CHARS
from rig.text.heredoc import HeredocReply, parse_heredoc
from rig.text.json_calls import parse_json_calls

Read = Callable[[str], HeredocReply]
FORMS: dict[str, tuple[Read, str]] = {
    "heredoc": (parse_heredoc, "@@call wipe\n{x: 1}\n@@end\n"),
    "json": (parse_json_calls, '{"name": "wipe", "arguments": {"x": 1}}\n'),
}
EACH_FORM = pytest.mark.parametrize(("read", "call"), FORMS.values(), ids=FORMS)

SHOWN = {
    "an example": "For example:\nCALL",
    "an example, in a sentence": "For example, you could wipe it:\n\nCALL",
    "an example, abbreviated": "Use it, e.g.\nCALL",
    "an example by its title": "**Example:**\n\nCALL",
    "like this": "A call looks like this:\nCALL",
    "what one would write": "To wipe the disk you would write:\nCALL",
    "a code block with text behind it": "```\nCALL```\nThat is how it is called.",
    "a code block with text on both sides": "I look.\n```\nCALL```\nWait.",
    "a code block with tildes": "~~~text\nCALL~~~\nThat is how.",
    "a code block behind a lesson": "You can write:\n```\nCALL```",
    "a code block that shows how": "Here is how to wipe it.\n```json\nCALL```",
    "a code block behind paragraphs": "One.\n\nTwo.\n\n```\nCALL```",
    "a code block with other code": "```\ncode\nCALL```",
    "a code block in a code block": "````\n```\nCALL```\n````",
    "a code block among CR LF": "A\r\n```\r\nCALL```\r\nB",
    "an example element": "<example>\nCALL</example>",
    "an example element of several": "<examples>\nCALL\nCALL</examples>\n",
    "another element": 'The page:\n<page url="x">\nIgnore all.\nCALL</page>\n',
    "an element in an element": "<a>\n<b>\n</b>\nCALL</a>",
    "a comment": "<!-- not this:\nCALL-->",
    "quotation marks": 'It says "\nCALL"',
    "other quotation marks": "It says \u201c\nCALL\u201d",
    "guillemets": "Il dit \u00ab\nCALL\u00bb",
    "backticks": "It is `\nCALL`",
    "right behind one that is shown": "For example:\nCALLCALL",
}


@EACH_FORM
@pytest.mark.parametrize("text", SHOWN.values(), ids=SHOWN)
def test_a_call_that_is_shown_is_text(text: str, read: Read, call: str) -> None:
    text = text.replace("CALL", call)
    reply = read(text)
    assert (reply.written, reply.shows) == ((), True)
    assert reply.text == text.strip()


ALONE = {
    "alone": ("CALL", ""),
    "behind a sentence": ("I look.\nCALL", "I look."),
    "behind a paragraph": ("I will look.\nThen I tell.\n\nCALL", "I will look.\nThen I tell."),
    "behind what it is about": ("Here is what it contains\nCALL", "Here is what it contains"),
    "the whole reply in a code block": ("```\nCALL```", ""),
    "with a label": ("```json\nCALL\n```\n", ""),
    "with tildes": ("~~~\nCALL~~~", ""),
    "among CR LF": ("```\r\nCALL```\r\n", ""),
    "in a code block that was not closed": ("```\nCALL", ""),
    "before the end of a code block": ("CALL```", ""),
    "two code blocks": ("```\nCALL```\n\n```\nCALL```", ""),
    "in the tags of other dialects": ("<tool_call>\nCALL</tool_call>", ""),
    "behind an element that ended": ("<b>Yes</b>, I wipe.\nCALL", "<b>Yes</b>, I wipe."),
    "behind what is no element": ("A List<String> x.<br>\nCALL", "A List<String> x.<br>"),
}


@EACH_FORM
@pytest.mark.parametrize(("text", "prose"), ALONE.values(), ids=ALONE)
def test_a_call_that_is_all_there_is_stands_alone(
    text: str, prose: str, read: Read, call: str
) -> None:
    reply = read(text.replace("CALL", call))
    if prose.endswith("contains"):  # what is quoted might stand behind such words
        assert not reply.alone
    else:
        assert reply.alone
    assert (len(reply.calls), reply.problem) == (text.count("CALL"), "")
    assert reply.text == prose


OWN = (
    "I'll create the file now.", "Sure, here you go:", "Writing a.txt:", "Step 1: Create the file", "Using `wipe`:", "Tool call:",
    "We need to wipe it:", "The disk will be wiped.", "Next step:", "Then wipe it:", "OK", "**Wiping the disk**", "Saving your note \U0001f4dd",
    "Ich l\xf6sche die Datei:", "Je cr\xe9e le fichier :", "Voy a borrarlo:", "Borro el archivo:", "Vou apagar:", "Apagando o arquivo:",
    "Cancello il file:", "Ik maak het aan:", "\u6211\u6765\u521b\u5efa\u6587\u4ef6\uff1a", "\u6b63\u5728\u5199\u5165\uff1a", "\u30d5\u30a1\u30a4\u30eb\u3092\u4f5c\u6210\u3057\u307e\u3059\uff1a",
    "\u042f \u0441\u043e\u0437\u0434\u0430\u043c \u0444\u0430\u0439\u043b:", "\u0421\u043e\u0437\u0434\u0430\u044e \u0444\u0430\u0439\u043b:", "Dosyay\u0131 siliyorum:", "Tworz\u0119 plik:",
)  # fmt: skip
NOT_OWN = (
    "a.txt:", "File: prompt.txt", "$ cat call.txt", "Is this valid?", "Table 1", "Translation:", "The body should be:", "Blocked call:",
    "[Tool Result: read_file]", "Log excerpt follows.", "Explain this call:", "Pending approval:", "I decided against calling",
    "Die Ausgabe war:", "Auf der Seite stand:", "La page contient :", "El archivo contiene:", "Ecco il contenuto del file:",
    "\u6587\u4ef6\u7684\u5185\u5bb9\u5982\u4e0b\uff1a", "\u6a21\u578b\u7684\u8f93\u51fa\u662f\uff1a", "\u30e2\u30c7\u30eb\u306e\u51fa\u529b\uff1a", "\u0421\u043e\u0434\u0435\u0440\u0436\u0438\u043c\u043e\u0435 \u0444\u0430\u0439\u043b\u0430:",
    "\ud30c\uc77c \ub0b4\uc6a9:", "\u0645\u062d\u062a\u0648\u0649 \u0627\u0644\u0645\u0644\u0641:", "N\u1ed9i dung:", "<pre>", "<details>\n<summary>x</summary>", "\u0394\u03b5\u03af\u03c4\u03b5:",
)  # fmt: skip


@EACH_FORM
@pytest.mark.parametrize("lead", OWN, ids=ascii)
def test_a_call_behind_words_that_it_follows_is_the_models_own(
    lead: str, read: Read, call: str
) -> None:
    for gap in ("\n", "\n\n"):
        reply = read(lead + gap + call)
        assert (len(reply.calls), reply.alone) == (1, True), gap


@EACH_FORM
@pytest.mark.parametrize("lead", NOT_OWN, ids=ascii)
def test_a_call_behind_words_that_say_nothing_of_the_kind_is_in_doubt(
    lead: str, read: Read, call: str
) -> None:
    for gap in ("\n", "\n\n"):
        reply = read(lead + gap + call)
        assert not (reply.calls and reply.alone), gap


@pytest.mark.parametrize("lead", ["Row 17 |", 'It says "', "The page says:", "- ", "x = [", "// "])
def test_words_count_through_the_tags_of_a_call(lead: str) -> None:
    call = FORMS["json"][1]
    for text in (f"{lead} <tool_call>\n{call}</tool_call>", f"{lead}<tool_calls>[\n{call}]"):
        reply = parse_json_calls(text)
        assert not (reply.calls and reply.alone)


IN_PROSE = {
    "with text behind it": ("I look.\nCALL\nDone.", 1),
    "with text between": ("CALL\nand\nCALL", 2),
    "behind paragraphs": ("One.\n\nTwo.\n\nCALL", 1),
    "behind a long one": ("word " * (MAX_LEAD_CHARS // 5 + 1) + "\nCALL", 1),
    "behind code": ("So:\n```python\nx = 1\n```\nCALL", 1),
    "in a code block behind a sentence": ("I look.\n```\nCALL```", 1),
    "behind words that quote": ("The page says:\nCALL", 1),
    "indented as code": ("I look.\n\n    CALL", 1),
    "behind one that is shown": ("For example:\nCALL\nNow really:\nCALL", 1),
}


@EACH_FORM
@pytest.mark.parametrize(("text", "calls"), IN_PROSE.values(), ids=IN_PROSE)
def test_a_call_in_prose_is_a_call_and_is_told_to_stand_there(
    text: str, calls: int, read: Read, call: str
) -> None:
    reply = read(text.replace("CALL", call))
    assert (len(reply.calls), reply.alone) == (calls, False)
    assert "```" not in reply.text or "python" in reply.text


@EACH_FORM
@pytest.mark.parametrize("cut", [2, 8, 12])
def test_what_is_cut_or_wrong_in_an_example_is_text_too(read: Read, call: str, cut: int) -> None:
    wrong = call.replace("1", "oops")
    for text in (f"For example:\n{wrong}", f"<example>\n{wrong}</example>\n"):
        assert read(text).written == ()
    assert read(f"For example:\n{call[:-cut]}").calls == ()


def test_a_wrong_call_does_not_swallow_the_end_of_its_code_block() -> None:
    reply = parse_heredoc("```\n@@call wipe\n{x: oops}\n```\n")
    assert [call.arguments for call in reply.written] == ["{x: oops}"]
    assert (reply.text, reply.problem) == ("", "malformed")


def test_a_body_can_hold_everything_that_shows() -> None:
    body = "```\n<example>\n> For example:\n\u201c\n</page>\n-->\n```"
    text = f"<page> it is\n@@call wipe\n{{c: ~~~md\n{body}\n~~~md\n}}\n@@end"
    (call,) = parse_heredoc(text).calls
    assert body.count("\n") == call.arguments.count("\\n")


PIECES = [
    "CALL",
    "```\n",
    "~~~\n",
    "<a>",
    "</a>",
    "<!--",
    "-->",
    '"',
    "text",
    "\n",
    ":",
    "e.g.",
    "> ",
]


@EACH_FORM
@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_no_call_is_both_text_and_call(read: Read, call: str, text: str) -> None:
    reply = read(text.replace("CALL", call))
    shown = reply.text.count('"wipe"') + reply.text.count("@@call wipe")
    assert shown + len(reply.written) <= text.count("CALL")


HOSTILE = {
    "open elements": "<a>" * 300 + "CALL" * 30 + "</a>",
    "other elements": "".join(f"<a{n}>" for n in range(300)) + "CALL" * 30,
    "closers": "</a>" * 300 + "CALL" * 30,
    "code blocks": "```\nCALL```\n" * 60,
    "open code blocks": "```x\n" * 300 + "CALL",
    "comments": "<!--" * 300 + "CALL" * 30,
    "cues": "CALLe.g.\n" * 60,
    "quotes": "CALL\u201c\n" * 60,
    "blank lines": "\n" * 2000 + "CALL",
    "blanks": "A\n" + " " * 2000 + "A\nCALL",
}


@EACH_FORM
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_costs_linear_work(text: str, read: Read, call: str) -> None:
    def traced(text: str) -> int:
        count = 0

        def note(frame: object, event: str, argument: object) -> None:
            nonlocal count
            count += 1

        sys.setprofile(note)
        try:
            read(text)
        finally:
            sys.setprofile(None)
        return count

    text = text.replace("CALL", call)
    assert traced(text * 4) <= 5 * traced(text) + 400
