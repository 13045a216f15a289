"""What pydantic is told of a parameter: by its own name, with what the docstring says of it."""

import dataclasses
from typing import Annotated, Any

import pytest
from pydantic import Field, ValidationError, create_model

from rig.agent.parameters import NO_DEFAULT, Parameter


def parameter(
    name: str = "a", hint: Any = int, default: Any = NO_DEFAULT, description: str | None = None
) -> Parameter:
    return Parameter(name=name, hint=hint, default=default, description=description)


def told(one: Parameter) -> dict[str, Any]:
    """The schema of the only field of a model of it."""
    schema = model_of(one).model_json_schema()
    (field,) = schema["properties"].values()
    return {key: value for key, value in field.items() if key != "title"}


def model_of(one: Parameter) -> Any:
    return create_model("Input", field=one.definition())


@pytest.mark.parametrize(
    ("default", "own"),
    [
        (NO_DEFAULT, False),
        (None, True),
        (0, True),
        ("", True),
        (..., True),
        (Field(default=3), False),
        (Field(ge=1), False),
    ],
)
def test_a_default_is_the_functions_own_unless_it_is_for_pydantic(default: Any, own: bool) -> None:
    assert parameter(default=default).has_own_default is own


@pytest.mark.parametrize("name", ["a", "_x", "__y", "json", "self", "model_config", "copy", "\xe9"])
def test_it_is_read_by_its_own_name_whatever_that_is(name: str) -> None:
    model = model_of(parameter(name))
    assert model.model_validate({name: 1}).field == 1
    with pytest.raises(ValidationError):
        model.model_validate({"field": 1})


@pytest.mark.parametrize(
    ("one", "schema"),
    [
        (parameter(), {"type": "integer"}),
        (parameter(default=3), {"type": "integer", "default": 3}),
        (parameter(description="how many"), {"type": "integer", "description": "how many"}),
        (parameter(description=""), {"type": "integer"}),
        (parameter(default=Field(ge=1)), {"type": "integer", "minimum": 1}),
        (parameter(default=Field(3, ge=1)), {"type": "integer", "minimum": 1, "default": 3}),
        (parameter(hint=Annotated[int, Field(ge=1)]), {"type": "integer", "minimum": 1}),
        (
            parameter(hint=Annotated[int, Field(ge=1)], default=3, description="how many"),
            {"type": "integer", "minimum": 1, "default": 3, "description": "how many"},
        ),
    ],
)
def test_pydantic_is_told_its_type_its_default_and_its_description(
    one: Parameter, schema: dict[str, Any]
) -> None:
    assert told(one) == schema


@pytest.mark.parametrize(
    ("hint", "default"),
    [
        (Annotated[int, Field(description="in the type")], NO_DEFAULT),
        (int, Field(description="in the type")),
    ],
    ids=["annotated", "as the default"],
)
def test_a_description_in_the_type_is_kept(hint: Any, default: Any) -> None:
    one = parameter(hint=hint, default=default, description="in the docstring")
    assert told(one)["description"] == "in the type"


def test_a_parameter_without_default_has_to_be_given() -> None:
    with pytest.raises(ValidationError):
        model_of(parameter()).model_validate({})
    assert model_of(parameter(default=3)).model_validate({}).field == 3
    assert model_of(parameter(default=Field(default=3))).model_validate({}).field == 3


def test_a_parameter_does_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        parameter().name = "b"  # type: ignore[misc]  # of the test
