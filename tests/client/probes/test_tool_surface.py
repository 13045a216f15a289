"""What became of texts sent through arguments, and of grammars."""

import pytest
from pydantic_core import to_json

from rig.client.probes.observed import Failure, Observed
from rig.client.probes.plan import echo_name
from rig.client.probes.questions import PAYLOADS
from rig.client.probes.tool_surface import (
    MAX_RECEIVED_CHARS,
    EchoResult,
    GrammarResult,
    ToolSurface,
    judge_echo,
    judge_grammar,
    read_surface,
)
from rig.messages import ToolCall
from rig.model import FinishReason, Reply


def called(*calls: tuple[str, object], finish: FinishReason = "tool_calls") -> Observed:
    made = tuple(ToolCall(id="1", name=name, arguments=arguments) for name, arguments in calls)
    return Observed(reply=Reply(tool_calls=made, finish_reason=finish))


def echoed(text: str) -> tuple[str, object]:
    return ("echo", {"text": text})


NAME = "newlines and quotes"
SENT = PAYLOADS[NAME]

ECHOES: dict[str, tuple[Observed, str | None, bool, bool]] = {
    "whole": (called(echoed(SENT)), SENT, False, False),
    "blanks around it do not count": (called(echoed(f"\n {SENT}\t")), f"\n {SENT}\t", False, False),
    "a quote lost": (called(echoed(SENT.replace('"', ""))), SENT.replace('"', ""), True, False),
    "escapes left in": (
        called(echoed(SENT.replace("\n", "\\n"))),
        SENT.replace("\n", "\\n"),
        True,
        False,
    ),
    "empty": (called(echoed("")), "", True, False),
    "only the first call counts": (called(echoed(SENT), echoed("x")), SENT, False, False),
    "the first call counts although the second is right": (
        called(echoed("x"), echoed(SENT)),
        "x",
        True,
        False,
    ),
    "no call": (Observed(reply=Reply(text="no")), None, False, True),
    "cut": (Observed(reply=Reply(text="so", finish_reason="length")), None, False, True),
    "broken arguments": (called(("echo", '{"text": "a')), None, False, True),
    "another type": (called(("echo", {"text": 3})), None, False, True),
    "another argument": (called(("echo", {"value": SENT})), None, False, True),
    "another tool": (called(("print", {"text": SENT})), None, False, True),
    "an error": (
        Observed(failure=Failure(code="invalid_request", status=400, detail="no")),
        None,
        False,
        True,
    ),
    "not sent": (Observed(skipped="no sense"), None, False, True),
}


@pytest.mark.parametrize(("observed", "received", "lossy", "failed"), ECHOES.values(), ids=ECHOES)
def test_an_echo_is_whole_lossy_or_says_why_nothing_came(
    observed: Observed, received: str | None, lossy: bool, failed: bool
) -> None:
    result = judge_echo(NAME, observed)
    assert (result.name, result.sent, result.received) == (NAME, SENT, received)
    assert result.lossy is lossy
    assert bool(result.error) is failed
    assert result.ok is (not lossy and not failed)


@pytest.mark.parametrize(("name", "payload"), PAYLOADS.items(), ids=PAYLOADS)
def test_each_text_comes_back_whole_through_any_spelling_of_json(name: str, payload: str) -> None:
    assert judge_echo(name, called(("echo", to_json({"text": payload}).decode()))).ok


GRAMMARS = {
    "obeyed": (Observed(reply=Reply(text="yes")), True, True),
    "obeyed, and blanks": (Observed(reply=Reply(text=" yes\n")), True, True),
    "ignored": (Observed(reply=Reply(text="hello")), True, False),
    "nothing said": (Observed(reply=Reply()), True, False),
    "more than it allows": (Observed(reply=Reply(text="yes, hello")), True, False),
    "refused": (Observed(failure=Failure(code="invalid_request", status=400)), False, False),
}


@pytest.mark.parametrize(("observed", "accepted", "obeyed"), GRAMMARS.values(), ids=GRAMMARS)
def test_a_grammar_is_accepted_without_an_error_and_obeyed_by_its_one_answer(
    observed: Observed, accepted: bool, obeyed: bool
) -> None:
    result = judge_grammar(observed)
    assert (result.accepted, result.obeyed) == (accepted, obeyed)
    assert bool(result.error) is not accepted


def test_the_surface_is_ok_by_its_echoes_alone() -> None:
    good = {echo_name(name): called(echoed(payload)) for name, payload in PAYLOADS.items()}
    surface = read_surface("m", good)
    assert surface.ok
    assert not surface.grammar.accepted
    assert not read_surface("m", {**good, echo_name(NAME): called(echoed("x"))}).ok
    assert not read_surface("m", {}).ok


def test_a_surface_goes_to_json_and_back_and_shows_no_text_of_the_model() -> None:
    seen = {
        echo_name("plain"): called(echoed("secret")),
        "grammar": Observed(failure=Failure(code="x", status=400, detail="secret")),
    }
    surface = read_surface("m", seen)
    assert ToolSurface.model_validate_json(surface.model_dump_json()) == surface
    assert surface.echoes[0].received == "secret"
    assert "secret" not in repr(surface)


def test_what_comes_back_is_bounded() -> None:
    result = EchoResult(name="x", sent="x", received="y" * 1_000_000, detail="z" * 1_000_000)
    assert result.received is not None
    assert len(result.received) == MAX_RECEIVED_CHARS
    assert len(result.detail) < 1000
    assert len(GrammarResult(detail="z" * 1_000_000).detail) < 1000
