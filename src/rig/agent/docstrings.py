"""Docstrings of functions: what a model should be told of each parameter. No I/O.

Reads the three conventions in use, Google, NumPy and Sphinx, line by line in linear time. It is no
reStructuredText parser: markup inside a description stays as it was written.
"""

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import field

from rig.late_dataclass import dataclass

# Google: https://google.github.io/styleguide/pyguide.html section 3.8.3, plus the aliases that
# Sphinx's napoleon accepts.
_PARAMETER_HEADINGS = frozenset(
    {"args", "arguments", "parameters", "params", "keyword args", "keyword arguments"}
    | {"other parameters", "keyword parameters"}
)
_OTHER_HEADINGS = frozenset(
    {"attributes", "example", "examples", "note", "notes", "raises", "references", "return"}
    | {"returns", "see also", "todo", "warning", "warnings", "warns", "yield", "yields"}
)

_SPHINX_FIELD = re.compile(r":(\w+)(?: ([^:]*))?:(?:\s+(.*))?$")
_SPHINX_PARAMETERS = frozenset({"param", "parameter", "arg", "argument", "key", "keyword"})

# `name (type, optional): text` and `name: text`; the type is not wanted.
_GOOGLE_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\([^:]*?\)|\(.*?\))?\s*:(?:\s+(.*))?$")

# `name : type` or `name, other : type`; the text is on the following, indented lines.
_NUMPY_ENTRY = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Docstring:
    """What a docstring says.

    Attributes:
        summary: its first paragraph as one line, "" when it begins with a section.
        parameters: the text for each parameter it describes, as one line.
    """

    summary: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(slots=True)
class _Entry:
    names: tuple[str, ...]
    lines: list[str]


def read_docstring(text: str | None) -> Docstring:
    """Read the summary and the parameters' descriptions.

    Args:
        text: the docstring as Python keeps it; None when there is none.
    """
    lines = inspect.cleandoc(text or "").splitlines()
    parameters: dict[str, str] = {}
    for entry in _entries(lines):
        description = _joined(entry.lines)
        if description:
            parameters.update(dict.fromkeys(entry.names, description))
    return Docstring(summary=_joined(_first_paragraph(lines)), parameters=parameters)


def _first_paragraph(lines: list[str]) -> Iterator[str]:
    for index, line in enumerate(lines):
        if not line.strip() or _SPHINX_FIELD.match(line) or _heading(lines, index):
            return
        yield line


def _entries(lines: list[str]) -> Iterator[_Entry]:
    """Every described parameter, with the lines of its description."""
    index = 0
    while index < len(lines):
        heading = _heading(lines, index)
        if heading in _PARAMETER_HEADINGS:
            numpy = _is_underline(lines, index + 1)
            start = index + (2 if numpy else 1)
            index = _end_of_section(lines, start, indented=not numpy)
            yield from _section(lines[start:index], _NUMPY_ENTRY if numpy else _GOOGLE_ENTRY)
        elif match := _SPHINX_FIELD.match(lines[index]):
            index, entry = _sphinx_field(lines, index, match)
            if entry:
                yield entry
        else:
            index += 1


def _heading(lines: list[str], index: int) -> str:
    """The section's name in lower case, "" when no section begins on this line."""
    line = lines[index].rstrip()
    if _is_underline(lines, index + 1):
        name = line.strip().removesuffix(":").lower()
    elif line.endswith(":") and not line.startswith((" ", "\t")):
        name = line[:-1].strip().lower()
    else:
        return ""
    return name if name in _PARAMETER_HEADINGS or name in _OTHER_HEADINGS else ""


def _is_underline(lines: list[str], index: int) -> bool:
    if index >= len(lines):
        return False
    line = lines[index].strip()
    return len(line) > 2 and set(line) in ({"-"}, {"="})


def _end_of_section(lines: list[str], start: int, *, indented: bool) -> int:
    """Index of the first line after the section that begins at `start`."""
    for index in range(start, len(lines)):
        outside = indented and lines[index].strip() and not lines[index].startswith((" ", "\t"))
        if outside or _heading(lines, index) or _SPHINX_FIELD.match(lines[index]):
            return index
    return len(lines)


def _section(lines: list[str], pattern: re.Pattern[str]) -> Iterator[_Entry]:
    """The entries of one section: less indented lines open an entry, deeper ones go on with it."""
    body = inspect.cleandoc("\n".join(["", *lines])).splitlines()
    entry: _Entry | None = None
    for line in body:
        if line.startswith((" ", "\t")) or not line.strip():
            if entry:
                entry.lines.append(line)
            continue
        if entry:
            yield entry
        match = pattern.match(line)
        entry = _entry(match) if match else None
    if entry:
        yield entry


def _entry(match: re.Match[str]) -> _Entry:
    names = tuple(name.strip().lstrip("*") for name in match[1].split(","))
    text = match[2] if match.re is _GOOGLE_ENTRY else None
    return _Entry(names, [text] if text else [])


def _sphinx_field(lines: list[str], index: int, match: re.Match[str]) -> tuple[int, _Entry | None]:
    """The field that begins at `index`, and the index after it."""
    end = index + 1
    while end < len(lines) and lines[end].startswith((" ", "\t")):
        end += 1
    # `:param int limit: text` names the type before the parameter.
    name = (match[2] or "").split()[-1:]
    if match[1] not in _SPHINX_PARAMETERS or not name:
        return end, None
    return end, _Entry((name[0].lstrip("*"),), [match[3] or "", *lines[index + 1 : end]])


def _joined(lines: Iterator[str] | list[str]) -> str:
    return " ".join(" ".join(lines).split())
