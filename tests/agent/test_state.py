from dataclasses import FrozenInstanceError, fields, replace

import pytest

from rig.agent.state import Ask, Changes, Rules, RunState


def test_a_run_starts_with_nothing_done() -> None:
    state = RunState()
    assert (state.iterations, state.last_tokens, state.messages, state.outcomes) == (0, 0, (), ())
    assert state.rules == Rules(max_iterations=8, on_limit="raise")


def test_states_and_steps_are_values() -> None:
    assert Ask(state=RunState()) == Ask(state=RunState())
    with pytest.raises(FrozenInstanceError):
        RunState().iterations = 1  # type: ignore[misc]  # that it is refused is the test


def test_a_changed_state_is_the_replaced_one_and_leaves_the_old_as_it_was() -> None:
    state = RunState(model="m", iterations=3)
    changed = state.but(iterations=4, text="a")
    assert changed == replace(state, iterations=4, text="a")
    assert (state.iterations, state.text) == (3, "")
    with pytest.raises(FrozenInstanceError):
        changed.iterations = 1  # type: ignore[misc]  # that it is refused is the test


def test_everything_of_a_state_but_its_rules_can_change() -> None:
    assert {field.name for field in fields(RunState)} - {"rules"} == set(Changes.__annotations__)
