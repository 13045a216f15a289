import io
import logging
import os
import pathlib
from importlib.resources.abc import Traversable
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.agent.calling import execute
from rig.agent.tools import ToolContext
from rig.errors import InvalidRequestError, SkillError, SkillsNotFoundError
from rig.messages import ToolCall
from rig.skills import (
    MAX_ENTRIES,
    MAX_SKILL_BYTES,
    Skill,
    advertise,
    load_skill_tool,
    load_skills,
    merge_skills,
    preloaded,
)

ALPHA = Skill("alpha", "first", "alpha body")
ZETA = Skill("zeta", "last\n of  all", "zeta body")
GOOD = "---\nname: good\ndescription: fine\n---\nbody\n"


def written(root: Any, files: Any) -> Any:
    """A directory with the given files, text or bytes by path."""
    for path, content in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def front(**values: Any) -> Any:
    lines = "".join(f"{key}: {value}\n" for key, value in values.items())
    return f"---\n{lines}---\nbody\n"


def problems_in(directory: Any) -> Any:
    with pytest.raises(SkillError) as caught:
        load_skills(directory)
    return caught.value.problems


# the two layouts


def test_skills_are_read_from_direct_children_and_sorted_by_name(tmp_path: pathlib.Path) -> None:
    files = {
        "z.md": "---\nname: alpha\ndescription: first\n---\nalpha body\n",
        "a.md": "---\r\nname: beta\r\ndescription: 'use when: second'\r\n---\r\nbeta body\r\n",
        "notes.txt": "no skill",
        "nested/inner.md": "no skill either",
        "UPPER.MD": "nor this",
    }
    skills = load_skills(written(tmp_path, files))
    assert skills == (
        Skill("alpha", "first", "alpha body"),
        Skill("beta", "use when: second", "beta body"),
    )
    assert [skill.source for skill in skills] == ["z.md", "a.md"]


def test_folders_with_a_skill_file_stand_beside_flat_files(tmp_path: pathlib.Path) -> None:
    files = {
        "pdf/SKILL.md": front(name="pdf", description="Read PDFs"),
        "pdf/scripts/run.py": "print()",
        "pdf/deeper/SKILL.md": front(name="deeper", description="never read"),
        "flat.md": front(name="flat", description="a file"),
        "empty-folder/readme.md": "",
        "x.md/SKILL.md": front(name="x", description="a folder named like a file"),
    }
    skills = load_skills(str(written(tmp_path, files)))
    assert [skill.name for skill in skills] == ["flat", "pdf", "x"]
    assert skills[1].source == "pdf/SKILL.md"


def test_an_empty_directory_has_no_skills(tmp_path: pathlib.Path) -> None:
    assert load_skills(tmp_path) == ()


class Resource:
    """What `importlib.resources` gives for a package in an archive: no path, no links."""

    def __init__(self, name: str, content: Any) -> None:
        self.name = name
        self.content = content

    def is_dir(self) -> Any:
        return isinstance(self.content, dict)

    def is_file(self) -> Any:
        return not self.is_dir()

    def iterdir(self) -> Any:
        if not self.is_dir():
            raise NotADirectoryError
        return (Resource(*item) for item in self.content.items())

    def joinpath(self, name: str) -> Any:
        return Resource(name, self.content.get(name, {}))

    def open(self, mode: Any = "r", **_: Any) -> Any:
        if isinstance(self.content, OSError):
            raise self.content
        return io.BytesIO(self.content.encode())


def packaged(tree: dict[str, Any]) -> Traversable:
    return cast("Traversable", Resource("skills", tree))


def test_skills_are_read_from_a_packages_resources() -> None:
    tree = {
        "b.md": front(name="b", description="flat"),
        "a": {"SKILL.md": front(name="a", description="folder")},
    }
    assert [skill.name for skill in load_skills(packaged(tree))] == ["a", "b"]


# front matter

OTHER_KEYS = """license: MIT
name: x
metadata:
  name: inner
  description: inner
  deep:
    name: deeper
allowed-tools: Bash Read
tags:
- name: a
- b
flow: {name: z, description: [1]}
description: one
bad line"""

VALUES = {
    "plain": ("name: x\ndescription: one", "one"),
    "a colon in it": ("name: x\ndescription: use when: second", "use when: second"),
    "no space after the colon": ("name:x\ndescription:one", "one"),
    "double quotes": ('name: "x"\ndescription: "one: two"', "one: two"),
    "single quotes": ("name: 'x'\ndescription: 'one'", "one"),
    "escaped quotes": ('name: x\ndescription: "say \\"hi\\" \\\\ there"', 'say "hi" \\ there'),
    "doubled single quotes": ("name: x\ndescription: 'it''s'", "it's"),
    "an odd quote stays": ("name: x\ndescription: \"it's", "\"it's"),
    "quotes inside stay": ('name: x\ndescription: a "b" c', 'a "b" c'),
    "quoted, then a comment": ('name: x\ndescription: "one" # really', "one"),
    "a sharp in plain text stays": (
        "name: x\ndescription: Fix issue #12 in C #",
        "Fix issue #12 in C #",
    ),
    "folded": ("name: x\ndescription: >\n  one\n  two\n\n  three\n", "one two\nthree"),
    "folded, stripped": ("name: x\ndescription: >-\n  one\n  two", "one two"),
    "folded with indentation and comment": (
        "name: x\ndescription: >2- # folded\n  one\n  two",
        "one two",
    ),
    "folded keeps deeper lines": (
        "name: x\ndescription: >\n  one\n    - a\n    - b\n  two",
        "one\n  - a\n  - b\ntwo",
    ),
    "literal": ("name: x\ndescription: |\n  one\n    two\n\n  three", "one\n  two\n\nthree"),
    "literal, kept": ("name: x\ndescription: |+\n  one\n\n", "one"),
    "block before another key": (
        "description: |\n  one: two\n  name: no\nname: x",
        "one: two\nname: no",
    ),
    "plain over several lines": (
        "name: x\ndescription: one\n  two\n  three: four",
        "one two three: four",
    ),
    "plain below its key": ("name: x\ndescription:\n  one\n  two", "one two"),
    "quoted over several lines": ('name: x\ndescription: "one\n  two"', "one two"),
    "a repeated key": ("name: y\nname: x\ndescription: zero\ndescription: one", "one"),
    "quoted keys": ("\"name\": x\n'description': one", "one"),
    "indented as a whole": ("  name: x\n  description: one", "one"),
    "tabs and blanks": ("name:\tx  \ndescription:   one\t", "one"),
    "comments and blank lines": ("# name: no\n\nname: x\n# c\ndescription: one", "one"),
    "other keys of every kind": (OTHER_KEYS, "one"),
    "delimiters with blanks": (" \nname: x\ndescription: one\n  ", "one"),
    "words that mean something in YAML": ("name: x\ndescription: yes", "yes"),
    "not ascii": ("name: x\ndescription: \u00fcber \u2028 eins", "\u00fcber \u2028 eins"),
}


@pytest.mark.parametrize(("matter", "description"), VALUES.values(), ids=VALUES.keys())
@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["", "bom"])
def test_two_keys_are_read_and_all_else_is_left_alone(
    tmp_path: pathlib.Path, matter: str, description: str, line_end: str, mark: str
) -> None:
    text = f"{mark}---\n{matter}\n---\nbody\n".replace("\n", line_end)
    written(tmp_path, {"x.md": text})
    assert load_skills(tmp_path) == (Skill("x", description, "body"),)


BODIES = {
    "trimmed": ("\n\n  # Title\n\ntext  \n\n", "# Title\n\ntext"),
    "may hold delimiters": ("one\n---\ntwo\n", "one\n---\ntwo"),
    "may be empty": ("", ""),
}


@pytest.mark.parametrize(("body", "expected"), BODIES.values(), ids=BODIES.keys())
def test_the_body_is_everything_after_the_front_matter(
    tmp_path: pathlib.Path, body: str, expected: Any
) -> None:
    written(tmp_path, {"x.md": f"---\nname: x\ndescription: y\n---\n{body}"})
    assert load_skills(tmp_path)[0].body == expected


# what is wrong

BROKEN = {
    "no front matter": "just a body\n",
    "front matter without end": "---\nname: x\ndescription: y\n",
    "no name": "---\ndescription: y\n---\nbody\n",
    "no description": "---\nname: x\n---\nbody\n",
    "empty name": "---\nname:\ndescription: y\n---\n",
    "quoted nothing": "---\nname: ''\ndescription: y\n---\n",
    "empty block": "---\nname: x\ndescription: >\n---\n",
    "name of several lines": "---\nname: |\n  a\n  b\ndescription: y\n---\n",
    "empty file": "",
    "text before the front matter": "\n---\nname: x\ndescription: y\n---\n",
    "only keys of something else": "---\nmetadata:\n  name: x\n  description: y\n---\n",
    "no utf-8": b"---\nname: x\ndescription: \xff\n---\n",
    "utf-16": "---\nname: x\ndescription: y\n---\n".encode("utf-16"),
    "too large": "---\nname: x\ndescription: y\n---\n" + "x" * MAX_SKILL_BYTES,
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_file_is_loud_and_named(tmp_path: pathlib.Path, content: str) -> None:
    written(tmp_path, {"bad.md": content, "good.md": GOOD})
    (problem,) = problems_in(tmp_path)
    assert problem.startswith("bad.md: ")


def test_a_file_at_the_limit_is_read(tmp_path: pathlib.Path) -> None:
    head = "---\nname: x\ndescription: y\n---\n"
    written(tmp_path, {"x.md": head + "x" * (MAX_SKILL_BYTES - len(head))})
    assert len(load_skills(tmp_path)) == 1


def test_all_problems_are_in_one_error_in_the_order_of_the_files(tmp_path: pathlib.Path) -> None:
    files = {
        f"{name}.md": content
        for name, content in zip("dcba", list(BROKEN.values())[:4], strict=True)
    }
    written(tmp_path, {**files, "e/SKILL.md": "nothing", "good.md": GOOD})
    with pytest.raises(SkillError) as caught:
        load_skills(tmp_path)
    labels = [problem.partition(":")[0] for problem in caught.value.problems]
    assert labels == ["a.md", "b.md", "c.md", "d.md", "e/SKILL.md"]
    assert "; ".join(caught.value.problems) in caught.value.message
    assert not isinstance(caught.value, FileNotFoundError)


def test_a_double_name_is_told_on_the_later_file_and_names_the_earlier(
    tmp_path: pathlib.Path,
) -> None:
    written(tmp_path, {"b.md": GOOD, "a/SKILL.md": GOOD, "c.md": GOOD})
    problems = problems_in(tmp_path)
    assert [problem.partition(":")[0] for problem in problems] == ["b.md", "c.md"]
    assert all("a/SKILL.md" in problem for problem in problems)


def test_a_missing_directory_can_be_told_from_broken_files(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        load_skills(tmp_path / "missing")
    assert isinstance(caught.value, SkillsNotFoundError)
    assert isinstance(caught.value, SkillError)
    assert caught.value.reason == "missing_directory"
    assert str(tmp_path) not in str(caught.value)


def test_a_file_is_no_directory(tmp_path: pathlib.Path) -> None:
    written(tmp_path, {"skills": "text"})
    with pytest.raises(SkillError) as caught:
        load_skills(tmp_path / "skills")
    assert caught.value.reason == "unreadable_directory"


def test_links_that_lead_nowhere_or_in_circles_are_loud(tmp_path: pathlib.Path) -> None:
    written(tmp_path, {"good.md": GOOD, "folder/notes": ""})
    (tmp_path / "gone.md").symlink_to(tmp_path / "missing")
    (tmp_path / "loop.md").symlink_to(tmp_path / "loop.md")
    (tmp_path / "folder" / "SKILL.md").symlink_to(tmp_path / "missing")
    labels = [problem.partition(":")[0] for problem in problems_in(tmp_path)]
    assert labels == ["folder/SKILL.md", "gone.md", "loop.md"]


def test_a_linked_file_and_a_linked_folder_are_read(tmp_path: pathlib.Path) -> None:
    outside = written(
        tmp_path / "outside",
        {
            "one.md": front(name="one", description="d"),
            "two/SKILL.md": front(name="two", description="d"),
        },
    )
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "one.md").symlink_to(outside / "one.md")
    (inside / "two").symlink_to(outside / "two")
    assert [skill.name for skill in load_skills(inside)] == ["one", "two"]


@pytest.mark.parametrize("given", [None, 5, b"skills", ["skills"], ALPHA])
def test_what_is_no_path_is_refused_with_a_sentence(given: Any) -> None:
    with pytest.raises(InvalidRequestError):
        load_skills(given)


HIDDEN = ["a\x1b[2J", "a\tb", "a\x00", "a\u2028b", "\u202eab", "a\x85b"]


@pytest.mark.parametrize("name", [*HIDDEN, "a\nb"])
def test_a_name_that_would_not_show_as_it_is_is_refused(name: str) -> None:
    with pytest.raises(SkillError):
        Skill(name, "when", "do")


@pytest.mark.parametrize("name", HIDDEN)
def test_so_is_one_in_a_file(tmp_path: pathlib.Path, name: str) -> None:
    text = f"---\nname: x{name}y\ndescription: when\n---\ndo\n"
    with pytest.raises(SkillError) as caught:
        load_skills(written(tmp_path, {"a.md": text}))
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize("field", ["name", "description", "body", "source"])
def test_the_fields_of_a_skill_are_text(field: str) -> None:
    fields: dict[str, Any] = {"name": "a", "description": "b", "body": "c", field: None}
    with pytest.raises(SkillError):
        Skill(**fields)


def test_a_circle_of_folders_ends(tmp_path: pathlib.Path) -> None:
    written(tmp_path, {"a/SKILL.md": front(name="a", description="d")})
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to(tmp_path)
    assert [skill.name for skill in load_skills(tmp_path)] == ["a"]


def test_a_pipe_is_not_read(tmp_path: pathlib.Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    (problem,) = problems_in(tmp_path)
    assert problem.startswith("pipe.md: ")


def test_what_can_not_be_opened_is_a_problem_like_others() -> None:
    tree = {
        "a.md": PermissionError(13, "Permission denied"),
        "b.md": FileNotFoundError(2, "gone"),
        "c.md": GOOD,
    }
    with pytest.raises(SkillError) as caught:
        load_skills(packaged(tree))
    assert len(caught.value.problems) == 2
    # Deleted while it was read is no missing directory: nobody may take it for one.
    assert not isinstance(caught.value, FileNotFoundError)


def test_the_number_of_entries_is_bounded() -> None:
    tree = {f"{i}.txt": "" for i in range(MAX_ENTRIES + 1)}
    with pytest.raises(SkillError):
        load_skills(packaged(tree))
    del tree["0.txt"]
    assert load_skills(packaged(tree)) == ()


UNUSUAL = {
    "another name than its folder's": {"folder/SKILL.md": front(name="other", description="d")},
    "a name with capitals": {"Big/SKILL.md": front(name="Big", description="d")},
    "a long name": {f"{'x' * 65}/SKILL.md": front(name="x" * 65, description="d")},
    "a long description": {"a/SKILL.md": front(name="a", description="d" * 1_025)},
}


@pytest.mark.parametrize("files", UNUSUAL.values(), ids=UNUSUAL.keys())
def test_a_folder_that_breaks_the_specifications_style_is_loaded_and_logged(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture, files: Any
) -> None:
    with caplog.at_level(logging.WARNING, "rig.skills"):
        assert len(load_skills(written(tmp_path, files))) == 1
    assert len(caplog.records) == 1


def test_flat_files_have_no_style(tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "rig.skills"):
        load_skills(written(tmp_path, {"a.md": front(name="Big Name", description="d" * 2_000)}))
    assert caplog.records == []


@given(st.text(alphabet=st.sampled_from("nameription:>|-'\"# \n\r\t\\{[\ufeff"), max_size=80))
def test_any_text_is_a_skill_or_a_problem(text: str) -> None:
    try:
        (skill,) = load_skills(packaged({"x.md": f"---\n{text}"}))
    except SkillError:
        return
    assert skill.name == skill.name.strip() != ""


@pytest.mark.parametrize("key", ["name", "description"])
@pytest.mark.parametrize("blank", ["", " \n"])
def test_a_skill_made_in_code_needs_name_and_description(key: str, blank: str) -> None:
    with pytest.raises(SkillError):
        Skill(**{"name": "n", "description": "d", "body": "", key: blank})


# merging, advertising, loading


def test_an_override_replaces_a_skill_wholly_and_nothing_is_changed() -> None:
    base = [ZETA, ALPHA]
    overrides = [Skill("alpha", "mine", ""), Skill("beta", "new", "b")]
    merged = merge_skills(base, overrides)
    assert merged == (Skill("alpha", "mine", ""), Skill("beta", "new", "b"), ZETA)
    assert base == [ZETA, ALPHA]
    assert len(overrides) == 2


def test_skills_are_sorted_by_code_point() -> None:
    names = ["b", "B", "a-b", "a", "\u00e9"]
    merged = merge_skills((), [Skill(name, "d", "") for name in names])
    assert [skill.name for skill in merged] == sorted(names)


def test_the_advertisement_is_a_header_a_blank_line_and_a_line_for_each_skill() -> None:
    text = advertise([ZETA, ALPHA, Skill("beta", "operator\n override", "")])
    header, blank, *lines = text.split("\n")
    assert header.startswith("Available skills")
    assert "load_skill" in header
    assert blank == ""
    assert lines == ["- alpha: first", "- beta: operator override", "- zeta: last of all"]


def test_preloaded_skills_come_in_the_order_they_are_named() -> None:
    text = preloaded([ALPHA, ZETA], [ZETA.name, ALPHA.name, ZETA.name])
    assert text.index(ZETA.body) < text.index(ALPHA.body)
    assert text.count(ZETA.body) == 1
    assert preloaded([ALPHA], []) == preloaded([], []) == ""


def test_what_is_not_there_can_not_be_preloaded() -> None:
    with pytest.raises(InvalidRequestError, match="nobody"):
        preloaded([ALPHA], ["nobody"])


def test_the_advertisement_does_not_depend_on_the_order() -> None:
    assert advertise([ALPHA, ZETA]) == advertise(iter([ZETA, ALPHA]))
    assert advertise([]) == ""


def test_the_tool_is_told_with_the_names_there_are() -> None:
    one = load_skill_tool([ZETA, ALPHA])
    assert one.name == "load_skill"
    assert one.input_schema["required"] == ["name"]
    assert one.input_schema["additionalProperties"] is False
    assert one.input_schema["properties"]["name"]["type"] == "string"
    assert one.input_schema["properties"]["name"]["enum"] == ["alpha", "zeta"]
    assert "enum" not in load_skill_tool([]).input_schema["properties"]["name"]


async def loaded(skills: Any, arguments: str) -> Any:
    call = ToolCall.model_construct(id="c", name="load_skill", arguments=arguments)
    return await execute([load_skill_tool(skills)], call, ToolContext(call=call))


@pytest.mark.parametrize("name", ["alpha", "  alpha ", "alpha\\n"])
async def test_a_hit_is_the_body(name: str) -> None:
    outcome = await loaded([ALPHA, ZETA], f'{{"name": "{name}"}}')
    assert (outcome.content, outcome.is_error) == ("alpha body", False)


async def test_a_body_arrives_whole_and_unchanged() -> None:
    body = "<|im_start|>" + "x" * 100_000
    assert (await loaded([Skill("a", "d", body)], '{"name": "a"}')).content == body


async def test_the_last_of_two_skills_with_one_name_counts() -> None:
    outcome = await loaded([ALPHA, Skill("alpha", "again", "second body")], '{"name": "alpha"}')
    assert outcome.content == "second body"


MISSES = {
    "unknown": (
        [ZETA, ALPHA],
        '{"name": "missing"}',
        'error: unknown skill "missing", available skills: alpha, zeta',
    ),
    "another case": (
        [ALPHA],
        '{"name": "Alpha"}',
        'error: unknown skill "Alpha", available skills: alpha',
    ),
    "cleaned": (
        [ALPHA],
        '{"name": "a\\nb"}',
        'error: unknown skill "a b", available skills: alpha',
    ),
}


@pytest.mark.parametrize(("skills", "arguments", "content"), MISSES.values(), ids=MISSES.keys())
async def test_a_miss_is_answered_with_the_names(skills: Any, arguments: str, content: str) -> None:
    outcome = await loaded(skills, arguments)
    assert (outcome.content, outcome.is_error) == (content, True)


async def test_without_skills_a_miss_says_so() -> None:
    outcome = await loaded([], '{"name": "x"}')
    assert outcome.is_error
    assert "available skills:" not in outcome.content


@pytest.mark.parametrize(
    "arguments",
    [
        "{}",
        '{"name": 1}',
        '{"name": null}',
        '{"name": "alpha", "more": 1}',
        '{"skill": "alpha"}',
        "no json",
        "[]",
        '{"name": "alp',
    ],
)
async def test_input_without_a_name_is_an_error(arguments: str) -> None:
    outcome = await loaded([ALPHA], arguments)
    assert outcome.is_error
    assert outcome.content.startswith("error: ")


async def test_the_answer_to_a_miss_is_bounded() -> None:
    many = [Skill(f"skill-{i}", "d", "") for i in range(1_000)]
    outcome = await loaded(many, '{"name": "%s"}' % ("x" * 100_000))
    assert len(outcome.content) < 2_100
    assert "and 900 more" in outcome.content
