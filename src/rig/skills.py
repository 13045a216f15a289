"""Skills: instructions in Markdown files that a model loads when a task calls for them. Reads disk.

Two layouts may stand side by side in one directory: `NAME.md`, and the folder of the Agent Skills
specification, `NAME/SKILL.md` (https://agentskills.io/specification). Both begin with front matter of
which two keys are read, `name` and `description`; whatever else stands there is left alone. It looks
like YAML and is read by rules of our own (`_front_matter`), so that `yes` stays text and a colon in a
description is a colon.

Loading is quick, blocking work for start-up. In a running service use `anyio.to_thread.run_sync`.
"""

import logging
import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, cast

from rig.agent.results import one_line
from rig.agent.tools import Tool
from rig.errors import InvalidRequestError, SkillError, SkillsNotFoundError, ToolError
from rig.late_dataclass import dataclass

MAX_SKILL_BYTES = 256 * 1024
"""Bytes of one skill file: about 64,000 tokens, more than most self-hosted models can read at once. The
specification recommends less than 5,000 tokens."""

MAX_ENTRIES = 2_000
"""Entries of a skills directory, the bound the specification's guide gives to clients."""

MAX_LISTED = 100
"""Names listed after an unknown one; a catalogue beyond that has filled the prompt already."""

MAX_SHOWN_NAME_CHARS = 80
"""Characters shown of a name that a model made up."""

_SPECIFIED_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_SPECIFIED_NAME_CHARS = 64
_SPECIFIED_DESCRIPTION_CHARS = 1024
_FOLDER_FILE = "SKILL.md"
_DELIMITER = "---"
_KEYS = ("name", "description")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Skill:
    """Instructions for one kind of task.

    Args:
        name: what the model asks for it by.
        description: when to use it, shown to the model beforehand.
        body: the instructions, in Markdown.
        source: the file it was read from, "" for one made in code; no part of a comparison.

    Raises:
        SkillError: name or description is blank, or the name has what can't be printed in it.
    """

    name: str
    description: str
    body: str
    source: str = field(default="", compare=False, kw_only=True)

    def __post_init__(self) -> None:
        for key in (*_KEYS, "body", "source"):
            if not isinstance(getattr(self, key), str):
                raise SkillError(f"{key} of a skill must be text")
        for key in _KEYS:
            if not getattr(self, key).strip():
                raise SkillError(f"a skill needs a {key}: {_ADVICE[key]}")
        if not self.name.isprintable():
            raise SkillError(f"the name of a skill holds {_UNPRINTABLE}")


_ADVICE = {
    "name": "one or more words that the model asks for it by",
    "description": "a sentence that says when to use it",
}


_UNPRINTABLE = "line breaks or control characters: write it as plain words on one line"


class _BrokenFileError(Exception):
    """What is wrong with one file."""


def load_skills(directory: str | Path | Traversable) -> tuple[Skill, ...]:
    """Read every skill of one directory.

    Read are its direct children `*.md`, and `SKILL.md` in its direct sub-directories; other files
    and folders are passed over. A folder's skill whose name is not the folder's, or breaks another
    rule of the specification about names and lengths, is loaded and reported to the log.

    Args:
        directory: where the skills are; a resource of a package works too. Several directories are
            joined by `merge_skills`.

    Returns:
        the skills, sorted by name.

    Raises:
        SkillsNotFoundError: the directory does not exist; also a `FileNotFoundError`.
        SkillError: it is no directory or can't be read, or files are broken. One error lists every
            problem, and nothing is loaded as long as there is one.
        InvalidRequestError: what was given is no path at all.
    """
    root = Path(directory) if isinstance(directory, str) else directory
    if not callable(getattr(root, "iterdir", None)):
        raise InvalidRequestError(
            f"load_skills takes the path of a directory, not a {type(root).__name__}"
        )
    files, problems = _skill_files(root)
    skills: dict[str, Skill] = {}
    for label, file in files:
        try:
            skill = _read_skill(label, file)
        except _BrokenFileError as error:
            problems.append(f"{label}: {error}")
            continue
        if earlier := skills.get(skill.name):
            taken = f'its name "{skill.name}" is taken by {earlier.source}: rename one of them'
            problems.append(f"{label}: {taken}")
        else:
            skills[skill.name] = skill
    if problems:
        many = f"{len(problems)} skill files are" if len(problems) > 1 else "a skill file is"
        broken = SkillError(f"{many} broken: {'; '.join(problems)}", reason="broken_files")
        broken.problems = tuple(problems)
        raise broken
    for skill in skills.values():
        _report_style(skill)
    return tuple(skills[name] for name in sorted(skills))


def checked_skills(skills: object) -> tuple[Skill, ...]:
    """The skills somebody gave, once through where it is an iterator.

    Args:
        skills: any number of `Skill`; None is none.

    Raises:
        InvalidRequestError: it is something else, a path for example.
    """
    if skills is None:
        return ()
    if isinstance(skills, str | Path):
        raise InvalidRequestError("skills must be loaded first: skills=load_skills(directory)")
    if isinstance(skills, Skill) or not isinstance(skills, Iterable):
        raise InvalidRequestError("skills must be a list of skills: put a single one in brackets")
    given = tuple(cast("Iterable[object]", skills))
    for skill in given:
        if not isinstance(skill, Skill):
            raise InvalidRequestError(
                f"skills holds a {type(skill).__name__}, which is no Skill: see load_skills"
            )
    return cast("tuple[Skill, ...]", given)


def checked_names(names: object) -> tuple[str, ...]:
    """The names of skills somebody gave, each once.

    Args:
        names: any number of names.

    Raises:
        InvalidRequestError: it is something else, a single name for example.
    """
    listed = isinstance(names, Iterable) and not isinstance(names, str)
    given = tuple(cast("Iterable[object]", names)) if listed else (None,)
    if not all(isinstance(name, str) for name in given):
        raise InvalidRequestError('preload must be a list of names of skills: preload=["refunds"]')
    return tuple(dict.fromkeys(cast("tuple[str, ...]", given)))


def merge_skills(base: Iterable[Skill], overrides: Iterable[Skill]) -> tuple[Skill, ...]:
    """Both collections by name, sorted; an override replaces the whole skill of its name.

    Args:
        base: for example the skills a package ships.
        overrides: for example those of its user.
    """
    by_name = {skill.name: skill for skill in (*checked_skills(base), *checked_skills(overrides))}
    return tuple(by_name[name] for name in sorted(by_name))


def advertise(skills: Iterable[Skill]) -> str:
    """The list of skills for a system prompt: what there is, and to load one before acting on it.

    Args:
        skills: what the model may load; their order does not matter.

    Returns:
        a text without line end, "" when there are no skills.
    """
    listed = merge_skills((), skills)
    if not listed:
        return ""
    lines = (f"- {skill.name}: {' '.join(skill.description.split())}" for skill in listed)
    return "\n".join((_HEADER, "", *lines))


_HEADER = (
    "Available skills. Before you act on a task that one of them covers, call load_skill with its name"
    " and follow the instructions it returns."
)


def preloaded(skills: Iterable[Skill], names: Iterable[str]) -> str:
    """Whole skills for a system prompt, for a task that is known to need them: nothing is to be loaded.

    Args:
        skills: what there is; of two with one name the last.
        names: which, in the order they are to be read.

    Returns:
        their instructions, "" without names.

    Raises:
        InvalidRequestError: names is no list of names, or there is no skill of a name.
    """
    by_name = {skill.name: skill for skill in merge_skills((), skills)}
    wanted = checked_names(names)
    unknown = [name for name in wanted if name not in by_name]
    if unknown:
        listed = ", ".join(f'"{name}"' for name in unknown)
        known = ", ".join(list(by_name)[:MAX_LISTED]) or "none"
        raise InvalidRequestError(f"there is no skill {listed} to preload; there are: {known}")
    return "\n\n".join(f"{_PRELOADED.format(name=name)}\n\n{by_name[name].body}" for name in wanted)


_PRELOADED = (
    "Instructions of the skill {name}. Follow them where they apply; they are loaded already."
)


def load_skill_tool(skills: Iterable[Skill]) -> Tool:
    """The tool `load_skill`, which gives a model the body of the skill it names.

    Args:
        skills: what it can load; of two with one name the last.
    """
    bodies = {skill.name: skill.body for skill in merge_skills((), skills)}
    name: dict[str, Any] = {"type": "string", "description": "name of the skill"}
    if bodies:
        name["enum"] = list(bodies)

    async def load_skill(input: dict[str, object]) -> str:  # noqa: A002  the name of the contract
        return _loaded(bodies, input.get("name"), alone=len(input) == 1)

    return Tool(
        "load_skill",
        "Load the full instructions of a skill by its name.",
        {
            "type": "object",
            "properties": {"name": name},
            "required": ["name"],
            "additionalProperties": False,
        },
        load_skill,
        # A body is the caller's own text and must arrive whole.
        max_result_chars=max(MAX_SKILL_BYTES, *map(len, bodies.values()), 1),
        keep_special_tokens=True,
        # A wrong name is answered with the list of right ones.
        validate=False,
    )


def _loaded(bodies: dict[str, str], name: object, *, alone: bool) -> str:
    """The body of the named skill.

    Raises:
        ToolError: there is no such skill, no name, or something beside the name.
    """
    if not isinstance(name, str) or not alone:
        raise ToolError('load_skill takes one argument: {"name": "the name of a skill"}')
    body = bodies.get(name.strip())
    if body is not None:
        return body
    shown = one_line(name, MAX_SHOWN_NAME_CHARS)
    if not bodies:
        raise ToolError(f'unknown skill "{shown}", there are no skills to load')
    names = list(bodies)
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    raise ToolError(
        f'unknown skill "{shown}", available skills: {", ".join(names[:MAX_LISTED])}{more}'
    )


def _skill_files(root: Traversable) -> tuple[list[tuple[str, Traversable]], list[str]]:
    """The files to read with their names, in the order of their names, and what can't be one.

    Raises:
        SkillError: the directory can't be listed.
    """
    files: list[tuple[str, Traversable]] = []
    problems: list[str] = []
    for entry in _listed(root):
        try:
            if entry.is_dir():
                inner = entry.joinpath(_FOLDER_FILE)
                if _is_there(inner):
                    files.append((f"{entry.name}/{_FOLDER_FILE}", inner))
            elif entry.name.endswith(".md"):
                files.append((entry.name, entry))
        except OSError as error:
            problems.append(f"{entry.name}: {_io_problem(error)}")
    return files, problems


def _listed(root: Traversable) -> list[Traversable]:
    """The directory's entries in the order of their names.

    Raises:
        SkillsNotFoundError: it does not exist.
        SkillError: it is no directory, can't be read, or holds too many entries.
    """
    shown = f'the skills directory "{root.name}"'
    entries: list[Traversable] = []
    problem = ""
    missing = False
    try:
        for entry in root.iterdir():
            entries.append(entry)
            if len(entries) > MAX_ENTRIES:
                problem = f"holds more than {MAX_ENTRIES} entries: split it"
                break
    except FileNotFoundError:
        missing = True
    except NotADirectoryError:
        problem = "is a file: pass the directory that holds the skill files"
    except OSError as error:
        problem = _io_problem(error)
    if missing:
        raise SkillsNotFoundError(
            f"{shown} does not exist: create it, or don't load it", reason="missing_directory"
        )
    if problem:
        raise SkillError(f"{shown} {problem}", reason="unreadable_directory")
    return sorted(entries, key=lambda entry: entry.name)


def _is_there(file: Traversable) -> bool:
    """Whether there is a file, or a link that leads to none: a broken skill should be loud."""
    return file.is_file() or (isinstance(file, Path) and file.is_symlink())


def _read_skill(label: str, file: Traversable) -> Skill:
    """Read one file.

    Raises:
        _BrokenFileError: it is no skill.
    """
    text = _read_text(file)
    values, body = _front_matter(text)
    for key in _KEYS:
        if not values.get(key):
            raise _BrokenFileError(f'no {key}: add a line "{key}: {_ADVICE[key]}"')
    if not values["name"].isprintable():
        raise _BrokenFileError(f"the name holds {_UNPRINTABLE}")
    return Skill(values["name"], values["description"], body, source=label)


def _read_text(file: Traversable) -> str:
    """The text of a file, without byte order mark, lines ended by LF.

    Raises:
        _BrokenFileError: it can't be read, is too large, or is not UTF-8.
    """
    problem = ""
    data = b""
    try:
        # A pipe or a device would block or never end.
        if file.is_file():
            with file.open("rb") as stream:
                data = stream.read(MAX_SKILL_BYTES + 1)
        else:
            problem = "is not a readable file: replace or remove it"
    except OSError as error:
        problem = _io_problem(error)
    if len(data) > MAX_SKILL_BYTES:
        problem = f"larger than {MAX_SKILL_BYTES} bytes: shorten it"
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text, problem = "", problem or "not UTF-8 text: save it as UTF-8"
    if problem:
        raise _BrokenFileError(problem)
    return text.replace("\r\n", "\n")


def _io_problem(error: OSError) -> str:
    return f"can't be read ({error.strerror or type(error).__name__})"


def _report_style(skill: Skill) -> None:
    """Log what the specification asks of a folder's skill beyond what is needed to use it."""
    folder, slash, _ = skill.source.partition("/")
    if not slash:
        return
    if skill.name != folder:
        logger.warning("%s: the name %r is not the folder's", skill.source, skill.name)
    if len(skill.name) > _SPECIFIED_NAME_CHARS or not _SPECIFIED_NAME.fullmatch(skill.name):
        logger.warning(
            "%s: the name should be at most 64 lower-case letters, digits and hyphens", skill.source
        )
    if len(skill.description) > _SPECIFIED_DESCRIPTION_CHARS:
        logger.warning("%s: the description is longer than 1024 characters", skill.source)


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    """The values of the two keys, trimmed, and the body.

    Raises:
        _BrokenFileError: a delimiter is missing.
    """
    lines = text.split("\n")
    if lines[0].strip() != _DELIMITER:
        raise _BrokenFileError("no front matter: the first line must be ---")
    for index in range(1, len(lines)):
        if lines[index].strip() == _DELIMITER:
            return dict(_values(lines[1:index])), "\n".join(lines[index + 1 :]).strip()
    raise _BrokenFileError("the front matter does not end: close it with a line ---")


def _values(lines: list[str]) -> Iterator[tuple[str, str]]:
    """The two keys with their values; of a key that is repeated, the last one counts.

    A key stands as far left as the first line does. What is indented deeper belongs to the key before:
    the rest of a text, or a map or list nobody asked for.
    """
    margin = next((_indent(line) for line in lines if line.strip() and ":" in line), 0)
    starts = [index for index, line in enumerate(lines) if line.strip() and _indent(line) <= margin]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        key, colon, value = lines[start].partition(":")
        key = key.strip().strip("\"'")
        if colon and key in _KEYS:
            yield key, _value(value.strip(), lines[start + 1 : end])


def _value(first: str, rest: list[str]) -> str:
    """A value that begins on its key's line and may go on below."""
    if block := _BLOCK.fullmatch(first):
        return _literal(rest) if block[1] == "|" else _folded(rest)
    more = [line.strip() for line in rest]
    more = [line for line in more if line and not line.startswith("#")]
    return _unquoted(" ".join((first, *more)).strip()).strip()


# YAML 1.2, 8.1: style, then indentation and chomping in either order, then a comment.
_BLOCK = re.compile(r"([|>])(?:[1-9]?[+-]?|[+-][1-9])(?:\s+#.*)?")

_COMMENTED = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s+#.*""")


def _unquoted(value: str) -> str:
    """The value without one pair of quotes around it; escaped quotes and backslashes are undone."""
    if commented := _COMMENTED.fullmatch(value):
        value = commented[1]
    if len(value) < 2 or value[0] != value[-1] or value[0] not in "\"'":
        return value
    inner = value[1:-1]
    if value[0] == "'":
        return inner.replace("''", "'")
    return re.sub(r"\\([\"\\])", r"\1", inner)


def _literal(lines: list[str]) -> str:
    margin = min((_indent(line) for line in lines if line.strip()), default=0)
    return "\n".join(line[margin:].rstrip() for line in lines).strip()


def _folded(lines: list[str]) -> str:
    """Lines joined by spaces; an empty line breaks the text, and deeper indented lines keep theirs."""
    pieces: list[str] = []
    breaks, was_deeper = 0, False
    for line in _literal(lines).split("\n"):
        if not line:
            breaks += 1
            continue
        deeper = line[0] in " \t"
        kept = breaks + (deeper or was_deeper)
        pieces.append("\n" * kept if kept else " ")
        pieces.append(line)
        breaks, was_deeper = 0, deeper
    return "".join(pieces).strip()


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))
