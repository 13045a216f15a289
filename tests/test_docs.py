"""The pages say what the code does: limits, errors, links, excerpts."""

import ast
import importlib
import inspect
import re
from itertools import pairwise
from pathlib import Path

import pytest

import rig
import rig.errors

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
EXAMPLES = "\n".join(path.read_text(encoding="utf-8") for path in ROOT.glob("examples/*.py"))
LIMITS = ROOT / "docs" / "limits.md"


def limits() -> str:
    """Every public number of rig and the reason beside it, as the table of the page."""
    rows = ["| constant | value | what it bounds, and why that much |", "|---|---|---|"]
    for path in sorted((ROOT / "src" / "rig").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        body = ast.parse(path.read_text(encoding="utf-8")).body
        for node, after in pairwise([*body, ast.Pass()]):
            target = (
                node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            )
            if not isinstance(target, ast.Name):
                continue
            name = target.id
            value = getattr(importlib.import_module(module), name)
            if not name.isupper() or name.startswith("_") or type(value) not in {int, float}:
                continue
            assert isinstance(after, ast.Expr), f"{module}.{name} has no docstring"
            assert isinstance(after.value, ast.Constant), f"{module}.{name} has no docstring"
            reason = " ".join(str(after.value.value).split()).replace("|", "\\|")
            rows.append(f"| `{module}.{name}` | {value:,} | {reason} |")
    return "\n".join(rows) + "\n"


def test_the_limits_page_equals_the_constants() -> None:
    """After a change: `python tests/test_docs.py` rewrites the table."""
    assert LIMITS.read_text(encoding="utf-8").partition("| constant")[1:] == (
        "| constant",
        limits().removeprefix("| constant"),
    )


@pytest.mark.parametrize(
    "error",
    [
        value
        for value in vars(rig.errors).values()
        if inspect.isclass(value) and issubclass(value, rig.RigError) and value is not rig.RigError
    ],
    ids=lambda error: error.__name__,
)
def test_the_errors_page_lists_every_error_with_its_code(error: type[rig.RigError]) -> None:
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert f"| `{error.__name__}` | {error.code} |" in page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if not (page.parent / link).exists()]
    assert missing == []


def test_every_guide_page_is_listed() -> None:
    index = (ROOT / "docs" / "guide" / "index.md").read_text(encoding="utf-8")
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in (ROOT / "docs" / "guide").glob("*.md"):
        assert page.name == "index.md" or f"({page.name})" in index
        assert f"guide/{page.name}" in site


def test_the_code_of_the_readme_is_taken_from_examples_that_run() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    assert len(blocks) >= 3
    for block in blocks:
        for paragraph in re.split(r"\n\n\n?", block.rstrip()):
            assert squeezed(paragraph) in squeezed(EXAMPLES)


def squeezed(code: str) -> str:
    """Code without its indentation: a page shows a part of a function by itself."""
    return " ".join(code.split())


def test_every_module_named_in_a_page_exists() -> None:
    for page in PAGES:
        for path in re.findall(
            r"`((?:\w+/)+\w+\.py)(?::[^`]*)?`", page.read_text(encoding="utf-8")
        ):
            candidates = [ROOT / path, ROOT / "src" / path, ROOT / "src" / "rig" / path]
            assert any(candidate.is_file() for candidate in candidates), (page.name, path)


if __name__ == "__main__":
    prose = LIMITS.read_text(encoding="utf-8").partition("| constant")[0]
    LIMITS.write_text(prose + limits(), encoding="utf-8")
