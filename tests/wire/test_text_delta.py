"""A delta that is made cheaply is a `Delta` like any other."""

import copy
import pickle
from dataclasses import FrozenInstanceError, fields, replace

import pytest

from rig.model import Delta
from rig.wire.text_delta import text_delta


def test_it_equals_one_that_was_made_by_its_class() -> None:
    made, cheap = Delta(text="a"), text_delta("a")
    assert type(cheap) is Delta
    assert cheap == made
    assert hash(cheap) == hash(made)
    assert repr(cheap) == repr(made)
    assert replace(cheap, text="b") == Delta(text="b")
    assert copy.copy(cheap) == pickle.loads(pickle.dumps(cheap)) == made


@pytest.mark.parametrize("name", [field.name for field in fields(Delta)])
def test_none_of_its_fields_can_be_set(name: str) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(text_delta("a"), name, "b")
