from dataclasses import FrozenInstanceError

import pytest

from rig.agent.state import Ask, Rules, RunState


def test_a_run_starts_with_nothing_done() -> None:
    state = RunState()
    assert (state.iterations, state.spent_tokens, state.messages, state.outcomes) == (0, 0, (), ())
    assert state.rules == Rules(max_iterations=8, on_limit="raise")


def test_states_and_steps_are_values() -> None:
    assert Ask(state=RunState()) == Ask(state=RunState())
    with pytest.raises(FrozenInstanceError):
        RunState().iterations = 1  # type: ignore[misc]  # that it is refused is the test
