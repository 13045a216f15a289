"""Every way of not being measured becomes a sentence in the words of the command line."""

import pytest

import rig.errors
from rig.client.url import normalise_base_url
from rig.errors import (
    InvalidRequestError,
    NotConfiguredError,
    ProtocolError,
    RigError,
    UnauthorizedError,
    UpstreamError,
)
from rig.extras.cli.clean import HIDDEN
from rig.extras.cli.failures import explain, out_of_time
from rig.wire.dialects import dialect_named

ALL = [
    error
    for error in vars(rig.errors).values()
    if isinstance(error, type) and "Error" in error.__name__
]
REASONS = [
    "connect_refused",
    "connect_failed",
    "dns",
    "tls",
    "reset",
    "eof",
    "write_failed",
    "closed",
    "too_many_files",
]


@pytest.mark.parametrize("error", ALL, ids=lambda error: error.__name__)
def test_every_error_has_a_sentence_without_names_of_the_library(error: type[RigError]) -> None:
    failure = explain(error("it broke"), listing=True)
    assert failure.code == error.code
    assert failure.sentence.endswith(".")
    assert failure.sentence[0].isupper()


@pytest.mark.parametrize("reason", REASONS)
def test_every_fault_of_a_connection_has_a_sentence(reason: str) -> None:
    assert explain(UpstreamError("x", reason=reason)).sentence.endswith(".")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "host",
        "ftp://host",
        "http://user:pw@host",
        "http://host/v1?key=1",
        "http://host/v1/models",
    ],
)
def test_a_url_that_cannot_be_used_is_told_in_options(url: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        normalise_base_url(url)
    sentence = explain(caught.value).sentence
    assert "base_url" not in sentence
    assert "api_key" not in sentence
    assert "URL" in sentence


def test_a_dialect_that_there_is_not_is_told_in_options() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        dialect_named("klingon")
    assert "--dialect" in explain(caught.value).sentence
    assert "None" not in explain(caught.value).sentence


def test_a_key_that_is_missing_and_one_that_is_wrong_are_told_apart() -> None:
    error = UnauthorizedError("x", status=401, detail="bad key sk-12345")
    assert explain(error).sentence != explain(error, secret="sk-12345").sentence
    assert explain(error, secret="sk-12345").detail == f"bad key {HIDDEN}"


@pytest.mark.parametrize("error", [ProtocolError("x"), NotConfiguredError("x")])
def test_without_a_list_of_models_a_model_can_be_named(error: RigError) -> None:
    assert "--model" in explain(error, listing=True).sentence
    assert "--model" not in explain(error).sentence


def test_what_the_endpoint_said_is_cleaned_and_not_part_of_the_sentence() -> None:
    failure = explain(ProtocolError("x", detail="\x1b[31mevil\n" * 400))
    assert "evil" not in failure.sentence
    assert "\x1b" not in failure.detail
    assert len(failure.detail) <= 300


def test_running_out_of_time_names_the_option() -> None:
    assert "--timeout" in out_of_time(5.0).sentence
