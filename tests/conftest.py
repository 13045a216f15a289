"""Every async test runs on asyncio and on trio, with a clean environment."""

import os

import pytest
import trio.testing
from hypothesis import settings

# No test judges seconds: an example that loads modules late, or a busy machine, is no failure.
settings.register_profile("rig", deadline=None)
settings.load_profile("rig")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    """The event loop under the test.

    Tests that wait without sockets ask for `trio-autojump` (parametrize, indirect): its clock skips
    every wait. With real sockets it must not be used: the clock can't see bytes on their way, and
    time-outs would fire.
    """
    if request.param == "trio-autojump":
        return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}
    return str(request.param), {}


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No ambient proxy, key or endpoint of the machine takes part in a test."""
    for name in list(os.environ):
        if name.upper().endswith("_PROXY") or name.startswith(("OPENAI_", "SSL_CERT", "NETRC")):
            monkeypatch.delenv(name)
