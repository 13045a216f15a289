"""What `import rig` leaves for later, and that nobody can tell."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import rig
import rig.text.salvage
from rig.lazy import lazy_names

PACKAGES = [
    Path(module.__file__) for module in (rig, rig.text, rig.text.salvage) if module.__file__
]

NOT_BY_A_CLIENT = {
    "certifi",
    "httpx",
    "importlib.metadata",
    "rig.agent.run",
    "rig.client.embeddings",
    "rig.client.fair_slots",
    "rig.client.inquiry",
    "rig.client.probes.judge",
    "rig.client.reply_stream",
    "rig.client.session",
    "rig.events",
    "rig.gateway.pool",
    "rig.skills",
    "rig.testing",
    "rig.text.arguments",
    "rig.text.json_object",
    "rig.text.salvage.text",
    "rig.transport.client_route",
    "rig.transport.httpx_transport",
    "rig.transport.pool",
    "rig.transport.retry_rules",
    "rig.wire.anthropic.wire",
    "rig.wire.assembly",
    "rig.wire.decode",
    "rig.wire.faults",
    "rig.wire.wires",
}
"""What neither the import nor making a client loads."""

NOT_BY_A_RUN = (
    NOT_BY_A_CLIENT
    - {"rig.agent.run", "rig.events", "rig.transport.pool", "rig.wire.decode", "rig.wire.wires"}
) | {
    "encodings.idna",
    "rig.agent.ledger",
    "rig.agent.output",
    "rig.agent.tool_formats",
    "rig.agent.tools",
}
"""What a run without tools, whose server answers at once, has no use for either."""


def blocks(package: Path) -> tuple[ast.If, ast.Call]:
    tree = ast.parse(package.read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    (assigned,) = block.orelse
    assert isinstance(assigned, ast.Assign)
    assert isinstance(assigned.value, ast.Call)
    return block, assigned.value


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.parent.name)
def test_type_checkers_are_told_of_the_very_names_that_are_loaded_late(package: Path) -> None:
    block, call = blocks(package)
    told = {
        node.module: tuple(alias.name for alias in node.names)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
    }
    assert told == ast.literal_eval(call.args[1])


def test_every_public_name_is_there() -> None:
    assert [name for name in rig.__all__ if not hasattr(rig, name)] == []


def test_every_public_name_is_shown_to_who_looks_around() -> None:
    assert set(rig.__all__) <= set(dir(rig))


def test_a_name_that_does_not_exist_is_no_attribute() -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(rig, "Nonsense")  # noqa: B009 what a typo does
    assert caught.value.name == "Nonsense"


def test_a_late_name_is_found_once() -> None:
    find, _names = lazy_names("rig.lazy", {"rig.errors": ("RigError",)})
    assert find("RigError") is rig.RigError
    assert vars(sys.modules["rig.lazy"]).pop("RigError") is rig.RigError


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.parent.name)
def test_no_late_name_is_one_of_a_module(package: Path) -> None:
    """Whoever imports that module first would find it in place of the name."""
    late = {
        name for names in ast.literal_eval(blocks(package)[1].args[1]).values() for name in names
    }
    assert late & {path.stem for path in package.parent.iterdir()} == set()


def loaded_by(code: str) -> set[str]:
    """The modules a process has loaded once it has done something."""
    code += "\nimport sys\nprint(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(ran.stdout.split())


def test_what_few_programs_need_is_not_loaded_by_making_a_client() -> None:
    loaded = loaded_by("import rig; rig.Client('http://127.0.0.1:8080/v1')")
    assert loaded & NOT_BY_A_CLIENT == set()


RUN = """
import anyio, socket, rig
server = socket.create_server(("127.0.0.1", 0))
def answer():
    connection, _ = server.accept()
    while BODY:
        connection.recv(1 << 16)
        body = BODY.pop(0)
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Type: %b\\r\\nContent-Length: %d\\r\\n\\r\\n%b" % (KIND, len(body), body))
    connection.close()
async def main():
    async with rig.Client(f"http://127.0.0.1:{server.getsockname()[1]}/v1", model="m") as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.to_thread.run_sync, answer)
            await ask(client)
anyio.run(main)
"""
PLAIN = """
KIND = b"application/json"
BODY = [b'{"choices": [{"message": {"content": "Hi."}, "finish_reason": "stop"}]}']
async def ask(client):
    assert (await client.run("Hi", max_tokens=8)).text == "Hi."
"""
STREAMED = """
KIND = b"text/event-stream"
BODY = [b'data: {"choices": [{"delta": {"content": "Hi."}, "finish_reason": "stop"}]}\\n\\ndata: [DONE]\\n\\n']
async def ask(client):
    async with client.run_stream("Hi", max_tokens=8) as stream:
        assert [event async for event in stream]
"""
WITH_TOOLS = """
import rig
KIND = b"application/json"
CALL = b'{"id": "1", "function": {"name": "look", "arguments": "{}"}}'
BODY = [
    b'{"choices": [{"message": {"content": null, "tool_calls": [%b]}, "finish_reason": "tool_calls"}]}' % CALL,
    b'{"choices": [{"message": {"content": "Hi."}, "finish_reason": "stop"}]}',
]
@rig.tool
async def look() -> str:
    'Look.'
    return "found"
async def ask(client):
    assert (await client.run("Hi", max_tokens=8, tools=[look])).iterations == 2
"""
ALLOWED = {
    "plain": (PLAIN, set[str]()),
    "streamed": (
        STREAMED,
        {"rig.client.reply_stream", "rig.wire.assembly"},
    ),
    "with tools": (WITH_TOOLS, {"rig.agent.tools"}),
}


@pytest.mark.parametrize(("program", "allowed"), ALLOWED.values(), ids=ALLOWED)
def test_a_run_loads_no_more_than_it_needs(program: str, allowed: set[str]) -> None:
    assert loaded_by(program + RUN) & NOT_BY_A_RUN == allowed
