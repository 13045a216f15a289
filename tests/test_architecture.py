"""What the house rules say of every module, checked on all of them."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "rig"
TESTS = Path(__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
CONCEPTS = [path for path in MODULES if path.name not in {"__init__.py", "version.py"}]


def name(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def imports(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_every_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


TESTED_AS_PART_OF = {
    "agent/answering.py": "agent/test_run.py",
    "agent/asking.py": "agent/test_run.py",
    "agent/beginning.py": "agent/test_run.py",
    "agent/formats.py": "agent/test_tool_formats.py",
    "agent/next_request.py": "agent/test_run.py",
    "agent/progress.py": "agent/test_run.py",
    "client/probes/limits.py": "client/probes/test_survey.py",
    "client/runs.py": "client/test_running.py",
    "client/sendable.py": "client/test_client.py",
    "extras/cli/__main__.py": "extras/cli/test_entry.py",
    "gateway/pool_stream.py": "gateway/test_pool.py",
    "testing/answers.py": "testing/test_backend.py",
    "testing/connections.py": "testing/test_backend.py",
    "testing/examples.py": "live/test_demo.py",
    "testing/faults/bombs.py": "testing/faults/test_table.py",
    "testing/faults/connection.py": "testing/faults/test_table.py",
    "testing/faults/said.py": "testing/faults/test_table.py",
    "testing/faults/written.py": "testing/faults/test_table.py",
    "testing/llama_server.py": "testing/test_local.py",
    "testing/script.py": "testing/test_backend.py",
    "testing/server.py": "testing/test_backend.py",
    "testing/sockets.py": "testing/test_backend.py",
    "testing/steps.py": "testing/test_backend.py",
    "testing/transport.py": "testing/test_backend.py",
    "transport/client_route.py": "transport/test_http.py",
    "transport/httpx_transport.py": "transport/test_pool.py",
    "transport/origin.py": "transport/test_pool.py",
    "transport/pool_route.py": "transport/test_routes.py",
    "transport/retry_rules.py": "transport/test_retry.py",
    "wire/anthropic/wire.py": "wire/test_wires.py",
    "wire/keys.py": "wire/test_wires.py",
    "wire/told_faults.py": "wire/test_faults.py",
    "text/salvage/apertus.py": "text/salvage/test_salvage.py",
    "text/salvage/bare_json.py": "text/salvage/test_salvage.py",
    "text/salvage/blocks.py": "text/salvage/test_salvage.py",
    "text/salvage/signs.py": "text/salvage/test_table.py",
    "text/salvage/calls.py": "text/salvage/test_salvage.py",
    "text/salvage/children.py": "text/salvage/test_named.py",
    "text/salvage/command.py": "text/salvage/test_salvage.py",
    "text/salvage/deepseek.py": "text/salvage/test_salvage.py",
    "text/salvage/elements.py": "text/salvage/test_salvage.py",
    "text/salvage/fences.py": "text/salvage/test_salvage.py",
    "text/salvage/functionary.py": "text/salvage/test_salvage.py",
    "text/salvage/gemma.py": "text/salvage/test_salvage.py",
    "text/salvage/glm.py": "text/salvage/test_salvage.py",
    "text/salvage/granite.py": "text/salvage/test_salvage.py",
    "text/salvage/harmony.py": "text/salvage/test_salvage.py",
    "text/salvage/hermes.py": "text/salvage/test_salvage.py",
    "text/salvage/internlm.py": "text/salvage/test_salvage.py",
    "text/salvage/json_values.py": "text/salvage/test_salvage.py",
    "text/salvage/kimi.py": "text/salvage/test_salvage.py",
    "text/salvage/lfm.py": "text/salvage/test_salvage.py",
    "text/salvage/llama.py": "text/salvage/test_salvage.py",
    "text/salvage/lmstudio.py": "text/salvage/test_salvage.py",
    "text/salvage/loose_object.py": "text/salvage/test_salvage.py",
    "text/salvage/message.py": "text/salvage/test_salvage.py",
    "text/salvage/minimax.py": "text/salvage/test_salvage.py",
    "text/salvage/minimax_m3.py": "text/salvage/test_salvage.py",
    "text/salvage/mistral.py": "text/salvage/test_salvage.py",
    "text/salvage/offer.py": "text/salvage/test_salvage.py",
    "text/salvage/payload.py": "text/salvage/test_salvage.py",
    "text/salvage/phi.py": "text/salvage/test_salvage.py",
    "text/salvage/pythonic.py": "text/salvage/test_salvage.py",
    "text/salvage/quoting.py": "text/salvage/test_places.py",
    "text/salvage/qwen_agent.py": "text/salvage/test_salvage.py",
    "text/salvage/qwen_coder.py": "text/salvage/test_salvage.py",
    "text/salvage/react.py": "text/salvage/test_salvage.py",
    "text/salvage/remains.py": "text/salvage/test_salvage.py",
    "text/salvage/scanner.py": "text/salvage/test_salvage.py",
    "text/salvage/source.py": "text/salvage/test_salvage.py",
    "text/salvage/tagged.py": "text/salvage/test_salvage.py",
    "text/salvage/text.py": "text/salvage/test_salvage.py",
    "text/salvage/tokens.py": "text/salvage/test_salvage.py",
    "text/salvage/transcript.py": "text/salvage/test_salvage.py",
    "text/salvage/wrapper.py": "text/salvage/test_objects.py",
    "text/gbnf.py": "text/test_grammar.py",
    "text/grammar_numbers.py": "text/test_grammar.py",
    "text/grammar_values.py": "text/test_grammar.py",
    "text/heredoc_instructions.py": "text/test_heredoc.py",
    "text/heredoc_value.py": "text/test_heredoc.py",
    "wire/call_assembly.py": "wire/test_assembly.py",
    "wire/fault_rows.py": "wire/test_faults.py",
    "wire/fault_words.py": "wire/test_faults.py",
    "wire/other_apis.py": "wire/test_decode.py",
    "wire/text_assembly.py": "wire/test_assembly.py",
}
"""Modules that are only seen through a neighbour, and the test that drives them there."""


@pytest.mark.parametrize("path", CONCEPTS, ids=name)
def test_every_module_has_a_test_file_of_the_same_name(path: Path) -> None:
    relative = path.relative_to(SOURCE)
    own = str(relative.parent / f"test_{relative.name}")
    assert (TESTS / TESTED_AS_PART_OF.get(name(path), own)).is_file()


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_only_the_socket_file_imports_asyncio(path: Path) -> None:
    used = imports(ast.parse(path.read_text(encoding="utf-8")))
    assert ("asyncio" in used) == (name(path) == "transport/sockets.py")
    assert not used & {"requests", "aiohttp", "openai", "unittest", "sniffio"}


@pytest.mark.parametrize("path", [path for path in MODULES if path.name == "__init__.py"], ids=name)
def test_a_package_holds_imports_and_a_list_of_names(path: Path) -> None:
    body = ast.parse(path.read_text(encoding="utf-8")).body[1:]
    lists = ast.Import | ast.ImportFrom | ast.Assign
    rest = [node for node in body if not isinstance(node, lists)]
    late = path.parent in {
        SOURCE,
        SOURCE / "text",
        SOURCE / "text" / "salvage",
    }  # see tests/test_lazy.py
    assert [type(node) for node in rest] == [ast.If] * late


def test_the_code_is_plain_ascii() -> None:
    strange = [name(path) for path in MODULES if not path.read_text(encoding="utf-8").isascii()]
    assert strange == []
