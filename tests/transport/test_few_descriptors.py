"""A process with few descriptors, from a cold start: nothing was loaded before its first request.

It is a process of its own, since what a module that is loaded late needs is a descriptor too; the server
is in this one, which has enough.
"""

import ssl
import subprocess
import sys
from pathlib import Path

import anyio
import trustme
from pydantic_core import from_json

from rig.testing import (
    Answer,
    FakeBackend,
    Hang,
    ReceivedRequest,
    Until,
    answer,
    raw,
    repeat,
    reply,
)

LIMIT = 64
RUNS = 300
BOUND_S = 60

CLIENT = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
import anyio, rig
loop, url = sys.argv[1:]
done = {}
def settings():
    return {}
def note(outcome):
    done[outcome] = done.get(outcome, 0) + 1
@rig.tool
async def look(where: str) -> str:
    'Look.'
    return open('/dev/null').read() + where
async def one(client, scope):
    with scope:
        try:
            result = await client.run('Hi', max_tokens=8, tools=[look])
        except rig.RigError as error:
            note(f'{type(error).__name__} {error.reason}')
        except Exception as error:
            note(repr(error))
        else:
            note(f'{result.text} {result.iterations}')
    if scope.cancelled_caught:
        note('cancelled')
async def main():
    async with rig.Client(url, model='m', retry=rig.RetryPolicy.off(), **settings()) as client:
        async with anyio.create_task_group() as tasks:
            scopes = [anyio.CancelScope() for _ in range(RUNS)]
            for scope in scopes:
                tasks.start_soon(one, client, scope)
            await meanwhile(scopes)
anyio.run(main, backend=loop)
import json
print(json.dumps(done))
"""
NOTHING = "async def meanwhile(scopes): pass"
OF_HTTPX = f"""
import httpx
def settings():
    return {{'http_client': httpx.AsyncClient(limits=httpx.Limits())}}
{NOTHING}
"""
CANCELS = """
async def meanwhile(scopes):
    while not done:
        await anyio.sleep(0)
    for scope in scopes[::2]:
        scope.cancel()
"""


async def outcomes(
    url: str, loop: str, meanwhile: str = NOTHING, path: Path | None = None
) -> dict[str, int]:
    code = CLIENT.replace("anyio.run(", f"{meanwhile}\nanyio.run(")
    code = f"LIMIT, RUNS = {LIMIT}, {RUNS}\n{code}"
    environment = {"PYTHONPATH": ":".join([*([str(path)] if path else []), *sys.path])}
    with anyio.fail_after(BOUND_S):
        ran = await anyio.run_process(
            [sys.executable, "-c", code, loop, url],
            env=environment,
            check=False,
            stderr=subprocess.PIPE,
        )
    assert ran.returncode == 0, ran.stderr.decode()
    found: dict[str, int] = from_json(ran.stdout)
    return found


def agent(request: ReceivedRequest) -> Answer:
    """It looks once, and writes nearly JSON, which takes modules that nothing has loaded so far."""
    if request.json["messages"][-1]["role"] == "tool":
        return reply("Seen.")
    return reply(tool_calls=[("look", '{"where": "here",}')])


def served(backend: FakeBackend) -> tuple[int, bool]:
    return len(backend.requests), 1 < backend.connections.opened < LIMIT


async def test_every_run_of_a_crowd_ends_well(anyio_backend_name: str) -> None:
    async with FakeBackend(repeat(agent)).serve() as backend:
        assert await outcomes(backend.url, anyio_backend_name) == {"Seen. 2": RUNS}
        assert served(backend) == (2 * RUNS, True)


async def test_over_tls_too(anyio_backend_name: str, tmp_path: Path) -> None:
    authority = trustme.CA()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(server)
    trusted = tmp_path / "trusted.pem"
    authority.cert_pem.write_to_path(trusted)
    (tmp_path / "certifi.py").write_text(f"def where(): return {str(trusted)!r}", encoding="utf-8")
    async with FakeBackend(repeat(agent)).serve(tls=server) as backend:
        url = backend.url.replace("127.0.0.1", "localhost")
        assert await outcomes(url, anyio_backend_name, path=tmp_path) == {"Seen. 2": RUNS}
        assert served(backend) == (2 * RUNS, True)


async def test_half_of_them_can_be_cancelled(anyio_backend_name: str) -> None:
    async with FakeBackend(repeat(agent)).serve() as backend:
        found = await outcomes(backend.url, anyio_backend_name, CANCELS)
    assert sum(found.values()) == RUNS
    assert found.keys() == {"Seen. 2", "cancelled"}


async def test_a_server_that_goes_away_leaves_nobody_waiting(anyio_backend_name: str) -> None:
    found: dict[str, int] = {}
    async with anyio.create_task_group() as tasks:
        async with FakeBackend(repeat(raw(Hang()))).serve() as backend:

            async def run() -> None:
                found.update(await outcomes(backend.url, anyio_backend_name))

            tasks.start_soon(run)
            await backend.wait_for_requests(20)
    assert sum(found.values()) == RUNS
    assert found.keys() <= {f"UpstreamError {why}" for why in ("connect_refused", "eof", "reset")}


async def test_answers_that_close_the_connection_make_room(anyio_backend_name: str) -> None:
    text = {"choices": [{"message": {"content": "Hi."}, "finish_reason": "stop"}]}
    closing = answer(body=text, headers=[("Connection", "close")])
    async with FakeBackend(repeat(closing)).serve() as backend:
        found = await outcomes(backend.url, anyio_backend_name)
    assert found == {"Hi. 1": RUNS}


async def test_a_client_of_httpx_without_bounds_gets_errors_that_say_so(
    anyio_backend_name: str,
) -> None:
    """It leaves nothing to anybody, so what its failures need was loaded with it."""
    enough = anyio.Event()

    def held(_request: ReceivedRequest) -> Answer:
        return Answer((Until(enough), *reply("Hi.").steps))

    async with (
        FakeBackend(repeat(held)).serve() as backend,
        anyio.create_task_group() as tasks,
    ):
        found: dict[str, int] = {}

        async def run() -> None:
            found.update(await outcomes(backend.url, anyio_backend_name, OF_HTTPX))

        tasks.start_soon(run)
        await backend.wait_for_requests(LIMIT // 2)
        enough.set()
    assert found.keys() <= {"Hi. 1", "UpstreamError too_many_files"}
    assert sum(found.values()) == RUNS
    assert len(found) == 2
