"""Endpoints as their owner describes them: what is refused, and what is shown."""

from typing import Any

import pytest

from rig import Endpoint, InvalidRequestError
from rig.gateway.endpoint import named

URL = "http://127.0.0.1:1/v1"


@pytest.mark.parametrize(
    "given",
    [
        {"slots": 0},
        {"slots": True},
        {"context_tokens": 0},
        {"priority": "high"},
        {"priority": True},
        {"models": "qwen3"},
        {"models": []},
        {"models": [""]},
        {"models": {"qwen3": ""}},
        {"models": [1]},
        {"models": 7},
        {"tags": "gpu"},
        {"tags": [1]},
        {"name": "a\nb"},
        {"name": "n" * 65},
        {"name": 1},
        {"timeouts": 30},
    ],
    ids=str,
)
def test_what_can_not_be_used_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError):
        Endpoint(URL, **given)


def test_neither_url_nor_key_is_shown() -> None:
    shown = repr(Endpoint(URL, "sk-secret", name="gpu", http_client=object()))
    assert "127" not in shown
    assert "secret" not in shown
    assert "object" not in shown


def test_models_are_names_or_a_mapping_to_the_names_there() -> None:
    assert Endpoint(URL, models=["a", "b"]).names == {"a": "a", "b": "b"}
    assert Endpoint(URL, models={"a": "org/a"}).names == {"a": "org/a"}
    assert Endpoint(URL).names is None


def test_endpoints_are_named_in_order_and_a_url_is_one() -> None:
    endpoints = named([URL, Endpoint(URL, name="gpu"), Endpoint(URL)])
    assert [each.name for each in endpoints] == ["endpoint-1", "gpu", "endpoint-3"]


@pytest.mark.parametrize(
    "given",
    [
        [],
        URL,
        Endpoint(URL),
        [7],
        None,
        [Endpoint(URL, name="a"), Endpoint(URL, name="a")],
        [Endpoint(URL, name="endpoint-2"), URL],
    ],
    ids=["none", "a bare url", "a bare endpoint", "a number", "nothing", "same name", "taken name"],
)
def test_what_is_no_list_of_endpoints_is_refused(given: Any) -> None:
    with pytest.raises(InvalidRequestError):
        named(given)
