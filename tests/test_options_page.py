"""The page of options says what the dialects do. `python tests/test_options_page.py` rewrites its table."""

from dataclasses import fields
from pathlib import Path

from rig.model import ChatOptions
from rig.wire.dialect import Dialect, Sent, Unsent
from rig.wire.dialects import DIALECTS

PAGE = Path(__file__).parent.parent / "docs" / "guide" / "options.md"
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->"
EVERYWHERE = {"trace_id", "extra_body", "tool_choice"}
NEVER_SENT = {"tenant", "priority"}
CHOICES = ("auto", "none", "required", "named")
SAID = {"sent": "yes", "default": "not sent", "without_tools": "tools are not sent"}


def table() -> str:
    notes: list[str] = []
    names = list(DIALECTS)
    rows = [
        "| option | " + " | ".join(names) + " |",
        "|---" * (len(names) + 1) + "|",
        "| `max_tokens` | " + " | ".join(map(limit, DIALECTS.values())) + " |",
    ]
    for option in fields(ChatOptions):
        if option.name not in EVERYWHERE | NEVER_SENT:
            cells = [cell(dialect, option.name, notes) for dialect in DIALECTS.values()]
            rows.append(f"| `{option.name}` | " + " | ".join(cells) + " |")
    for choice in CHOICES:
        said = [
            SAID.get(dialect.tool_choices.get(choice, ""), "refused")
            for dialect in DIALECTS.values()
        ]
        label = "a tool's name" if choice == "named" else choice
        rows.append(f"| `tool_choice`: {label} | " + " | ".join(said) + " |")
    footnotes = [f"{number}. {note}" for number, note in enumerate(notes, start=1)]
    return "\n".join(["", *rows, "", *footnotes, ""]) + "\n"


def limit(dialect: Dialect) -> str:
    return f"`{dialect.max_tokens_field}`" if dialect.max_tokens_field else "by the model's name"


def cell(dialect: Dialect, option: str, notes: list[str]) -> str:
    spelling = dialect.options[option]
    if isinstance(spelling, Sent):
        values = ", ".join(f"{given} is {sent}" for given, sent in spelling.rewrite)
        formats = dialect.response_formats if option == "response_format" else None
        only = f" ({' or '.join(sorted(formats))})" if formats else ""
        path = "yes" if spelling.path == option else f"`{spelling.path}`"
        return path + only + (f" ({values})" if values else "")
    if isinstance(spelling, Unsent):
        if spelling.why not in notes:
            notes.append(spelling.why)
        return f"not sent ({notes.index(spelling.why) + 1})"
    return "refused"


def test_the_table_of_the_page_is_that_of_the_code() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.partition(BEGIN)[2].partition(END)[0] == table()


def test_the_page_names_every_dialect() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in DIALECTS if f'"{name}"' not in text] == []


if __name__ == "__main__":
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(before + BEGIN + table() + END + rest.partition(END)[2], encoding="utf-8")
