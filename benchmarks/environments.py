"""What is compared, and the environments it runs in: one for each peer, so that none changes another's."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True, kw_only=True)
class Environment:
    """Packages that are installed together.

    Attributes:
        name: of its folder.
        requirements: what is installed. `sniffio` is in all: without it httpcore pays for some 17 failed
            imports in each request, which would flatter rig.
        versions: distributions whose versions are told.
    """

    name: str
    requirements: tuple[str, ...]
    versions: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Client:
    """One row of the tables.

    Attributes:
        driver: the module in `benchmarks.drivers`.
        title: as it is shown.
        environment: where it runs.
        imports: the statement a program begins with; "" for none worth a row.
        quick: whether the quick run has it.
    """

    driver: str
    title: str
    environment: str
    imports: str = ""
    quick: bool = False


ENVIRONMENTS = (
    Environment(
        name="rig", requirements=(str(ROOT), "sniffio"), versions=("rig-agents", "pydantic")
    ),
    Environment(
        name="raw",
        requirements=("httpx", "aiohttp", "h11", "sniffio"),
        versions=("httpx", "httpcore", "aiohttp", "h11", "anyio"),
    ),
    Environment(name="openai", requirements=("openai", "sniffio"), versions=("openai", "httpx2")),
    Environment(
        name="pydantic-ai",
        requirements=("pydantic-ai-slim[openai]", "sniffio"),
        versions=("pydantic-ai-slim",),
    ),
    Environment(
        name="openai-agents", requirements=("openai-agents", "sniffio"), versions=("openai-agents",)
    ),
    Environment(name="litellm", requirements=("litellm", "sniffio"), versions=("litellm",)),
    Environment(
        name="langgraph",
        requirements=("langgraph", "langchain-openai", "sniffio"),
        versions=("langgraph", "langchain-openai"),
    ),
    Environment(
        name="smolagents", requirements=("smolagents[openai]", "sniffio"), versions=("smolagents",)
    ),
)

RIG, FLOOR, AIOHTTP, PROTOCOL = "rig_client", "raw_httpx", "raw_aiohttp", "raw_protocol"
ON_HTTPX, DELTAS, TRANSPORT = "rig_on_httpx", "rig_deltas", "rig_transport"
WITH_PYDANTIC = "raw_httpx_pydantic"

TARGETED = (RIG, DELTAS, ON_HTTPX, AIOHTTP, FLOOR)
"""Whom the targets speak of: they are measured more often than the others."""

CLIENTS = (
    Client(driver=RIG, title="**rig**", environment="rig", imports="import rig", quick=True),
    Client(driver=DELTAS, title="rig, `complete` and `stream`", environment="rig", quick=True),
    Client(driver=ON_HTTPX, title="rig on a stock httpx client", environment="rig", quick=True),
    Client(driver=PROTOCOL, title="bare asyncio.Protocol", environment="raw"),
    Client(driver="raw_h11", title="h11 over asyncio streams", environment="raw", quick=True),
    Client(
        driver=AIOHTTP, title="aiohttp", environment="raw", imports="import aiohttp", quick=True
    ),
    Client(
        driver=FLOOR,
        title="**httpx (the floor)**",
        environment="raw",
        imports="import httpx",
        quick=True,
    ),
    Client(
        driver="openai_sdk",
        title="openai, loop by hand",
        environment="openai",
        imports="import openai",
    ),
    Client(
        driver="litellm_loop",
        title="litellm, loop by hand",
        environment="litellm",
        imports="import litellm",
    ),
    Client(
        driver="pydantic_ai_agent",
        title="pydantic-ai",
        environment="pydantic-ai",
        imports="import pydantic_ai, pydantic_ai.models.openai",
    ),
    Client(
        driver="openai_agents",
        title="openai-agents",
        environment="openai-agents",
        imports="import agents",
    ),
    Client(
        driver="langgraph_agent",
        title="langgraph",
        environment="langgraph",
        imports="import langgraph.prebuilt, langchain_openai",
    ),
    Client(
        driver="smolagents_agent",
        title="smolagents (threads)",
        environment="smolagents",
        imports="import smolagents",
    ),
)

HIDDEN = (
    Client(driver=TRANSPORT, title="rig's transport alone", environment="rig", quick=True),
    Client(driver=WITH_PYDANTIC, title="httpx, pydantic imported", environment="rig"),
)
"""Clients that have no row of their own in most tables."""


class Environments:
    """The environments of a run, made where they are missing.

    Args:
        folder: where they are kept.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def python(self, name: str) -> str:
        """The interpreter of an environment."""
        binary = "Scripts/python.exe" if sys.platform == "win32" else "bin/python"
        return str(self._folder / name / binary)

    def prepare(self, environment: Environment) -> None:
        """Make an environment, or bring it up to date.

        Raises:
            subprocess.CalledProcessError: something can't be installed.
        """
        if not Path(self.python(environment.name)).exists():
            _uv("venv", "--python", sys.executable, str(self._folder / environment.name))
        again = (
            ["--reinstall-package", "rig-agents"] if environment.name == "rig" else ["--upgrade"]
        )
        _uv(
            "pip",
            "install",
            "--compile-bytecode",
            "--python",
            self.python(environment.name),
            *again,
            *environment.requirements,
        )

    def versions(self, environment: Environment) -> dict[str, str]:
        """The versions that were installed of what it tells."""
        listing = f"from importlib.metadata import version as v\nfor n in {environment.versions!r}: print(v(n))"
        out = subprocess.run(  # noqa: S603 our own arguments
            [self.python(environment.name), "-c", listing],
            check=True,
            capture_output=True,
            encoding="utf-8",
        )
        return dict(zip(environment.versions, out.stdout.split(), strict=True))


def _uv(*arguments: str) -> None:
    command, *rest = arguments
    subprocess.run([sys.executable, "-m", "uv", command, "--quiet", *rest], check=True)  # noqa: S603 our own arguments
