"""Finding out who answers: one bounded request after the other, and none that nobody asked for."""

import pytest

from rig import RigError
from rig.client.detection import detect_dialect
from rig.errors import ProtocolError, RequestTimeoutError, ResponseTooLargeError, UnauthorizedError
from rig.transport.http import Response
from rig.wire.detection import PROBES
from rig.wire.dialects import DIALECTS

NOT_THERE = Response(404, {}, b'{"detail": "Not Found"}')


class Server:
    """Answers by path; counts what it is asked."""

    def __init__(self, answers: dict[str, Response | RigError]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    async def request(
        self, method: str, path: str, body: bytes = b"", *, max_bytes: int
    ) -> Response:
        assert (method, body) == ("GET", b"")
        assert 0 < max_bytes <= 1 << 20
        self.asked.append(path)
        told = self.answers.get(path, NOT_THERE)
        if isinstance(told, RigError):
            raise told
        return told


def ok(body: bytes) -> Response:
    return Response(200, {}, body)


OWNED = {
    name: ok(b'{"data": [{"id": "m", "owned_by": "%s"}]}' % name.encode())
    for name in ("vllm", "llamacpp", "openai")
}
NEVER_HERE = ok(b'{"error": "Unexpected endpoint or method. (GET /props)"}')
LM_STUDIO = ok(b'{"data": [{"id": "m", "compatibility_type": "gguf"}]}')

SERVERS: dict[str, tuple[dict[str, Response | RigError], str, int]] = {
    "told by its models": ({"v1/models": OWNED["vllm"]}, "vllm", 1),
    "told by its settings": (
        {"v1/models": OWNED["openai"], "props": ok(b'{"default_generation_settings": {}}')},
        "llama.cpp",
        2,
    ),
    "told last": (
        {**{probe.path: NEVER_HERE for probe in PROBES}, "api/v0/models": LM_STUDIO},
        "lm-studio",
        len(PROBES),
    ),
    "nothing tells": ({"v1/models": OWNED["openai"]}, "generic", len(PROBES)),
    "an answer that is too large tells nothing": (
        {"v1/models": ResponseTooLargeError("x"), "version": ok(b'{"version": "1"}')},
        "vllm",
        4,
    ),
    "an answer that breaks off tells nothing": (
        {"v1/models": ProtocolError("x"), "api/version": ok(b'{"version": "1"}')},
        "ollama",
        5,
    ),
    "a key for the models only": (
        {"v1/models": OWNED["llamacpp"], "props": Response(401, {}, b"")},
        "llama.cpp",
        1,
    ),
    "no key for the models": (
        {"v1/models": Response(401, {}, b""), "version": ok(b'{"version": "1"}')},
        "vllm",
        4,
    ),
}


@pytest.mark.parametrize(("answers", "name", "asked"), SERVERS.values(), ids=SERVERS.keys())
async def test_the_first_answer_that_tells_ends_the_questions(
    answers: dict[str, Response | RigError], name: str, asked: int
) -> None:
    server = Server(answers)
    assert await detect_dialect(server, "127.0.0.1") is DIALECTS[name]
    assert server.asked == [probe.path for probe in PROBES][:asked]


@pytest.mark.parametrize("host", ["api.anthropic.com", "api.openai.com"])
async def test_a_vendors_own_host_is_asked_nothing(host: str) -> None:
    server = Server({})
    assert (await detect_dialect(server, host)).name == host.split(".")[1]
    assert server.asked == []


@pytest.mark.parametrize("status", [401, 403])
async def test_a_server_that_tells_strangers_nothing_says_so(status: int) -> None:
    with pytest.raises(UnauthorizedError):
        await detect_dialect(Server({"v1/models": Response(status, {}, b"")}), "127.0.0.1")


async def test_a_server_that_does_not_answer_is_not_asked_on() -> None:
    server = Server({"v1/models": RequestTimeoutError("x", reason="connect")})
    with pytest.raises(RequestTimeoutError):
        await detect_dialect(server, "127.0.0.1")
    assert len(server.asked) == 1
