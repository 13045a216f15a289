"""Typed answers: what the model is told of the type, and its text read as a value of it. No I/O.

The JSON is asked for in words, not with `response_format`: several servers accept a schema and then
ignore it, and one its grammar converter dislikes fails the whole request. A 200 proves nothing, so
the value is checked here in any case.
"""

import re
from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache
from inspect import isroutine
from typing import Any, Generic, Literal, TypeVar, cast

from pydantic import PydanticUserError, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUndefinedAnnotation
from pydantic_core import from_json, to_json

from rig.agent.prompt import output_instructions
from rig.agent.results import problems_of
from rig.agent.schema import Schema, inline
from rig.errors import InvalidJSONError, InvalidRequestError, NotJSONError
from rig.messages import as_object
from rig.text.json_object import decode_json_object
from rig.text.json_repair import Repair, repair_json, repair_objects
from rig.text.reasoning import strip_reasoning

MAX_CACHED_TYPES = 64
"""Output types whose validators are kept: building one takes 35 us to some ms, and a service uses few."""

OutputT = TypeVar("OutputT")

_FENCE = re.compile(r"\A\s*```[a-zA-Z]*\n|\n?```\s*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A text that is no value of the type.

    Attributes:
        problem: what is wrong, said to the model; its text is not quoted.
        is_json: False when the text held no JSON object at all.
    """

    problem: str
    is_json: bool = True

    def error(self) -> NotJSONError | InvalidJSONError:
        """The error that ends the run; the problem is its detail."""
        if not self.is_json:
            return NotJSONError("the answer holds no JSON, also when asked for again")
        return InvalidJSONError(
            "the answer does not match the type given as output=, also when asked for again",
            detail=self.problem,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted(Generic[OutputT]):
    """A value of the type.

    Attributes:
        value: the value.
        repairs: what its JSON needed to be JSON, see `rig.text.json_repair.Repair`; usually nothing.
    """

    value: OutputT
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Output(Generic[OutputT]):
    """How a run reads its answer.

    `str` takes the text as it is. A type whose JSON is an object is asked for as that object, every
    other type inside of one: `{"value": ...}`, which small models get right far more often than a bare
    list or number; the bare value is taken too.

    Attributes:
        shape: how the value stands in the answer.
        adapter: checks the object the model is asked for.
        bare: checks the value itself.
        instructions: what the system prompt says of it; "" for text.
    """

    shape: Literal["text", "object", "value"]
    adapter: TypeAdapter[Any]
    bare: TypeAdapter[OutputT]
    instructions: str = ""

    def read(self, text: str) -> Accepted[OutputT] | Rejected:
        """The value in an answer.

        JSON that is nearly JSON is repaired where nothing in the answer is strict JSON that fits, but
        never closed. Of a broken object nothing inside is taken while the whole can be repaired.

        Args:
            text: the visible text of the answer.
        """
        if self.shape == "text":
            return Accepted(value=cast("OutputT", text))
        if self.shape == "object":
            return self._read_object(text)
        # In a list of objects the scan for an object would find one of the list's own.
        readers = [self._read_object, self._read_bare]
        if text.lstrip().startswith("["):
            readers.reverse()
        first = readers[0](text)
        if isinstance(first, Accepted):
            return first
        second = readers[1](text)
        if isinstance(second, Rejected) and (first.is_json or not second.is_json):
            return first
        return second

    def _read_object(self, text: str) -> Accepted[OutputT] | Rejected:
        objects = sorted(_outer_objects(text), key=_rank)
        if any(one.repairs for one in objects):
            for one in objects:
                try:
                    return Accepted(value=self._checked(one.text), repairs=one.repairs)
                except ValidationError:
                    continue
        try:
            return Accepted(value=self._value(decode_json_object(text, validate=self._fits)))
        except NotJSONError:
            return Rejected(problem="it holds no JSON object", is_json=False)
        except InvalidJSONError:
            return self._rejected(text, objects)

    def _read_bare(self, text: str) -> Accepted[OutputT] | Rejected:
        text = _FENCE.sub("", text).strip()
        try:
            return Accepted(value=self.bare.validate_json(text))
        except ValidationError as error:
            is_json = error.errors(include_input=False)[0]["type"] != "json_invalid"
            problems = problems_of(error)
        if not is_json:
            try:
                return Accepted(value=self.bare.validate_python(text))  # a bare word, a date
            except ValidationError:
                pass
            repaired = repair_json(text, arrays=True)
            if repaired.kind == "repaired":
                return self._read_repaired(repaired)
        return Rejected(problem="\n".join(problems), is_json=is_json)

    def _read_repaired(self, repaired: Repair) -> Accepted[OutputT] | Rejected:
        try:
            value = self.bare.validate_json(repaired.text)
        except ValidationError as error:
            return Rejected(problem="\n".join(problems_of(error)))
        return Accepted(value=value, repairs=repaired.repairs)

    def _fits(self, found: dict[str, Any]) -> bool:
        try:
            self._value(found)
        except ValueError:
            return False
        return True

    def _value(self, found: dict[str, Any]) -> OutputT:
        """The value in an object; a ValidationError, or another ValueError when it is nested too deep.

        Read as JSON, where pydantic takes text for dates and lists for tuples also in strict models.
        """
        return self._checked(to_json(found))

    def _checked(self, json: str | bytes) -> OutputT:
        value = self.adapter.validate_json(json)
        return cast("OutputT", value if self.shape == "object" else value.value)

    def _rejected(self, text: str, objects: list[Repair]) -> Rejected:
        """What is wrong with the object the text seems to mean."""
        try:
            self._checked(objects[0].text if objects else to_json(decode_json_object(text)))
        except ValidationError as error:
            return Rejected(problem="\n".join(problems_of(error)))
        except ValueError:
            pass
        cut = repair_json(text).kind == "truncated"
        return Rejected(
            problem="its JSON ends before it is complete" if cut else "its JSON can't be parsed"
        )


def _outer_objects(text: str) -> tuple[Repair, ...]:
    """The objects of an answer, near-JSON too, none for one that is strict JSON as a whole."""
    try:
        from_json(text, allow_inf_nan=False)
    except (ValueError, TypeError):  # TypeError: lone surrogates in the text
        return repair_objects(strip_reasoning(text))
    return ()


def _rank(one: Repair) -> tuple[bool, int]:
    """Strict before repaired ones, then the longest first."""
    return bool(one.repairs), -len(one.text)


def output_for(kind: type[OutputT]) -> Output[OutputT]:
    """How to ask for a type and read it; the last types are kept.

    Args:
        kind: a pydantic model, or any type `TypeAdapter` takes.

    Raises:
        InvalidRequestError: pydantic can't validate the type, or has no JSON schema for it.
    """
    try:
        hash(kind)
    except TypeError:
        return _build(kind)
    return cast("Output[OutputT]", _cached(cast("Hashable", kind)))


@lru_cache(maxsize=MAX_CACHED_TYPES)
def _cached(kind: Hashable) -> Output[Any]:
    return _build(cast("type[Any]", kind))


def _build(kind: type[OutputT]) -> Output[OutputT]:
    problem = "it is a function"
    try:
        if isroutine(kind):
            raise TypeError(problem)
        bare = TypeAdapter[OutputT](kind)
        if kind is str:
            return Output(shape="text", adapter=bare, bare=bare)
        schema = inline(bare.json_schema(), owner="output=")
        if _is_object(schema):
            return _output("object", bare, bare, schema)
        wrapper = TypeAdapter(create_model("Answer", value=(kind, ...)))
        return _output("value", wrapper, bare, inline(wrapper.json_schema(), owner="output="))
    except (PydanticUserError, PydanticUndefinedAnnotation, TypeError) as error:
        problem = str(error).partition("\n")[0]
    raise InvalidRequestError(
        f"output={kind!r} is no type whose values can be asked for as JSON: {problem}"
    )


def _output(
    shape: Literal["object", "value"],
    adapter: TypeAdapter[Any],
    bare: TypeAdapter[OutputT],
    schema: Schema,
) -> Output[OutputT]:
    return Output(shape=shape, adapter=adapter, bare=bare, instructions=output_instructions(schema))


def _is_object(schema: object) -> bool:
    """Every value of the schema is a JSON object."""
    wire = as_object(schema) or {}
    variants = wire.get("anyOf") or wire.get("oneOf")
    if isinstance(variants, list):
        return all(_is_object(variant) for variant in cast("list[object]", variants))
    return wire.get("type") == "object"
