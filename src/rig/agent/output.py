"""Typed answers: what the model is told of the type, and its text read as a value of it. No I/O.

The JSON is asked for in words, not with `response_format`: several servers accept a schema and then
ignore it, and one its grammar converter dislikes fails the whole request. A 200 proves nothing, so
the value is checked here in any case.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from itertools import chain, islice
from typing import Any, Generic, Literal, TypeVar, cast

from pydantic import ConfigDict, PydanticUserError, TypeAdapter, create_model
from pydantic.errors import PydanticUndefinedAnnotation
from pydantic_core import SchemaError, from_json, to_json

from rig.agent.candidates import MAX_CANDIDATES, Form, Trials, wrapped
from rig.agent.prompt import output_instructions
from rig.agent.results import one_line
from rig.agent.schema import Schema, finite, inline
from rig.agent.typed_dicts import with_typed_dicts
from rig.errors import InvalidJSONError, InvalidRequestError, NotJSONError
from rig.late_dataclass import dataclass
from rig.messages import as_object
from rig.text.json_object import find_json_objects
from rig.text.json_repair import (
    Repair,
    end_of_broken,
    repair_arrays,
    repair_json,
    repair_objects,
)
from rig.text.reasoning import strip_reasoning

MAX_CACHED_TYPES = 64
"""Output types whose validators are kept: building one takes 35 us to some ms, and a service uses few."""

MAX_BROKEN = 8
"""Objects of one answer that can't be read before the search for others behind them ends; each costs a look at
the rest of the text."""

MAX_MENDED = 4
"""Values of one answer that are read once more as their schema lets them be read, the longest first."""

OutputT = TypeVar("OutputT")

_MAX_SHOWN_CHARS = 80

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

    def error(self, *, asked_again: bool = False) -> NotJSONError | InvalidJSONError:
        """The error that ends the run; the problem is its detail.

        Args:
            asked_again: the model was told of a first answer that could not be used, and this is its second.
        """
        again = ", also when asked for again" if asked_again else ""
        if not self.is_json:
            return NotJSONError(f"the answer holds no JSON{again}")
        return InvalidJSONError(
            f"the answer does not match the type given as output={again}", detail=self.problem
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
        keys: what the object the model is asked for may have in it; empty for anything.
        is_array: the value may be a list.
        instructions: what the system prompt says of it; "" for text.
        schema: the JSON schema of the object the model is asked for; empty for text.
    """

    shape: Literal["text", "object", "value"]
    adapter: TypeAdapter[Any]
    bare: TypeAdapter[OutputT]
    keys: frozenset[str] = frozenset()
    is_array: bool = False
    instructions: str = ""
    schema: Schema = field(default_factory=dict[str, Any], repr=False)

    def read(self, text: str) -> Accepted[OutputT] | Rejected:
        """The value in an answer.

        JSON that is nearly JSON is repaired where nothing in the answer is strict JSON that fits, but
        never closed. Of a broken object nothing inside is taken while the whole can be repaired. A value
        that was put into a wrapper, `{"city": {...}}`, is taken out of it.

        Args:
            text: the visible text of the answer.
        """
        if self.shape == "text":
            return Accepted(value=cast("OutputT", text))
        return _Reading(self, text).result()

    def check(self, json: str | bytes) -> OutputT:
        """The value in the object the model is asked for.

        Args:
            json: the object's text.

        Raises:
            Exception: it is none of the type; whatever its validators raise.
        """
        value = self.adapter.validate_json(json)
        return cast("OutputT", value if self.shape == "object" else value.value)


class _Reading(Generic[OutputT]):
    """One answer being read: strict before repaired, whole before part, long before short."""

    def __init__(self, output: Output[OutputT], text: str) -> None:
        self._output = output
        self._text = text
        self._trials = Trials[OutputT](len(text))
        self._found: list[tuple[dict[str, Any], tuple[str, ...]]] = []  # with what was repaired
        # In a list of objects the scan for an object would find one of the list's own.
        self._list_first = output.is_array and text.lstrip().startswith("[")

    def result(self) -> Accepted[OutputT] | Rejected:
        for step in self._steps():
            accepted = step()
            if accepted is not None:
                return accepted
        return self._rejected()

    def _steps(self) -> tuple[Callable[[], Accepted[OutputT] | None], ...]:
        if self._output.shape == "object":
            return (self._as_asked, self._wrapped, self._mended)
        if self._list_first:
            return (self._bare, self._arrays, self._as_asked, self._wrapped, self._mended)
        return (self._as_asked, self._bare, self._arrays, self._wrapped, self._mended)

    def _as_asked(self) -> Accepted[OutputT] | None:
        """An object as it was asked for."""
        check = self._output.check
        objects, strict = _objects(self._text)
        for one in objects:
            if not self._is_worth_it(has_value='"value"' in one.text):
                continue
            taken = self._trials.accept(check, one.text, "object")
            if taken:
                return Accepted(value=taken[0], repairs=one.repairs)
        self._found = [(one, ()) for one in strict]
        self._found += [(from_json(one.text), one.repairs) for one in objects if _is_json(one.text)]
        return self._first_of(strict, check, "object")

    def _is_worth_it(self, *, has_value: bool) -> bool:
        """Whether to check an object: of a list's own none has the value that was asked for."""
        if self._output.shape == "object" or has_value:
            return True
        self._trials.problems.setdefault("object", "value: is required, but missing")
        return False

    def _wrapped(self) -> Accepted[OutputT] | None:
        """A value in an object of the model's own making."""
        output = self._output
        for found, repairs in self._found:
            inner = [*islice(wrapped(found, output.keys), MAX_CANDIDATES)]
            objects = filter(None, map(as_object, inner))
            accepted = self._first_of(objects, output.check, "object")
            if accepted is None and output.shape == "value" and len(found) == 1:
                accepted = self._first_of(inner, output.bare.validate_json, "value")
            if accepted is not None:
                return replace(accepted, repairs=repairs)
        return None

    def _mended(self) -> Accepted[OutputT] | None:
        """An object as its schema lets it be read: JSON in a text where the schema takes no text."""
        from rig.agent.inputs import mend_input  # noqa: PLC0415 of answers that do not fit

        for found, repairs in self._found[:MAX_MENDED]:
            mended, more = mend_input(self._output.schema, found)
            if more and (accepted := self._first_of([mended], self._output.check, "object")):
                return replace(accepted, repairs=(*repairs, *more))
        return None

    def _first_of(
        self, values: Iterable[object], check: Callable[[str | bytes], OutputT], form: Form
    ) -> Accepted[OutputT] | None:
        """The first that is of the type.

        Checked as JSON, where pydantic takes text for dates and lists for tuples also in strict models.
        """
        for value in values:
            if form == "object" and not self._is_worth_it(
                has_value="value" in (as_object(value) or {})
            ):
                continue
            try:
                json = to_json(value)
            except ValueError:
                self._trials.problems.setdefault(form, "it is nested too deep")
                continue
            taken = self._trials.accept(check, json, form)
            if taken:
                return Accepted(value=taken[0])
        return None

    def _bare(self) -> Accepted[OutputT] | None:
        """The value itself, alone but for a fence."""
        bare, trials = self._output.bare, self._trials
        text = _FENCE.sub("", self._text).strip()
        if _is_json(text):
            taken = trials.accept(bare.validate_json, text, "value")
            return Accepted(value=taken[0]) if taken else None
        word = trials.accept(bare.validate_python, text, "word")
        if word:
            return Accepted(value=word[0])  # a bare word, a date
        repaired = repair_json(text, arrays=True)
        return self._repaired([repaired]) if repaired.kind == "repaired" else None

    def _arrays(self) -> Accepted[OutputT] | None:
        """A list with prose around it."""
        if not self._output.is_array or "value" in self._trials.problems:
            return None
        return self._repaired(sorted(repair_arrays(strip_reasoning(self._text)).found, key=_rank))

    def _repaired(self, values: Sequence[Repair]) -> Accepted[OutputT] | None:
        for one in values[:MAX_CANDIDATES]:
            taken = self._trials.accept(self._output.bare.validate_json, one.text, "value")
            if taken:
                return Accepted(value=taken[0], repairs=one.repairs)
        return None

    def _rejected(self) -> Rejected:
        """What is wrong with the value the text seems to mean."""
        forms: tuple[Form, ...] = (
            ("value", "object") if self._output.is_array else ("object", "value")
        )
        for form in forms:
            if form in self._trials.problems:
                return Rejected(problem=self._trials.problems[form])
        if "{" not in strip_reasoning(self._text):
            return Rejected(problem="it holds no JSON object", is_json=False)
        cut = repair_json(self._text).kind == "truncated"
        return Rejected(
            problem="its JSON ends before it is complete" if cut else "its JSON can't be parsed"
        )


def _is_json(text: str) -> bool:
    try:
        from_json(text, allow_inf_nan=False)
    except (ValueError, TypeError):  # TypeError: lone surrogates in the text
        return False
    return True


def _objects(text: str) -> tuple[list[Repair], list[dict[str, Any]]]:
    """The objects of an answer to try in order: repaired ones among them, or the strict ones of strict JSON.

    Nothing inside of an object that can't be read is the answer, whatever it fits (bytedance/deer-flow 2372);
    what stands behind it may be: a model repeats the form it was asked for, `{name: string}`.
    """
    if _is_json(text):
        return [], list(islice(find_json_objects(text), MAX_CANDIDATES))
    rest = strip_reasoning(text)
    found: list[Repair] = []
    for _ in range(MAX_BROKEN):
        outermost = repair_objects(rest)
        found += outermost.found
        end = end_of_broken(rest, outermost.broken_at) if outermost.is_broken else -1
        if end < 0:
            break
        rest = rest[end:]
    return sorted(found, key=_rank)[:MAX_CANDIDATES], []


def _rank(one: Repair) -> tuple[bool, int]:
    """Strict before repaired ones, then the longest first, in bytes."""
    return bool(one.repairs), -len(one.text.encode())


def output_for(kind: type[OutputT]) -> Output[OutputT]:
    """How to ask for a type and read it; the last types are kept.

    Args:
        kind: a pydantic model, or any type `TypeAdapter` takes.

    Raises:
        InvalidRequestError: pydantic can't validate the type, or has no JSON schema for it.
    """
    if _is_hashable(kind):
        return cast("Output[OutputT]", _cached(cast("Hashable", kind)))
    return _build(kind)


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


@lru_cache(maxsize=MAX_CACHED_TYPES)
def _cached(kind: Hashable) -> Output[Any]:
    return _build(cast("type[Any]", kind))


def _build(kind: type[OutputT]) -> Output[OutputT]:
    problem = "it is a value, and no type"
    try:
        if _is_type(kind):
            return _built(kind)
    except (PydanticUserError, PydanticUndefinedAnnotation, SchemaError, TypeError) as error:
        problem = str(error).partition("\n")[0]
    except InvalidRequestError:
        raise
    except Exception as error:  # noqa: BLE001 the type's own code makes its schema
        problem = f"making its JSON schema failed with {type(error).__name__}"
    raise InvalidRequestError(
        f"output={_shown(kind)} is no type whose values can be asked for as JSON: {problem}"
    )


def _built(kind: type[OutputT]) -> Output[OutputT]:
    readable = with_typed_dicts(kind)
    bare: TypeAdapter[OutputT] = _adapter(readable)
    if kind is str:
        return Output(shape="text", adapter=bare, bare=bare)
    schema = finite(inline(bare.json_schema(), owner="output="))
    if _is_object(schema):
        return Output(
            shape="object",
            adapter=bare,
            bare=bare,
            keys=_keys(schema),
            instructions=output_instructions(schema),
            schema=schema,
        )
    wrapper = TypeAdapter(create_model("Answer", __config__=_FINITE, value=(readable, ...)))
    asked = finite(inline(wrapper.json_schema(), owner="output="))
    return Output(
        shape="value",
        adapter=wrapper,
        bare=bare,
        keys=frozenset({"value"}),
        is_array=_is_array(schema),
        instructions=output_instructions(asked),
        schema=asked,
    )


# Not for models: what their fields take is their author's business, who can say the same.
_FINITE = ConfigDict(allow_inf_nan=False)


def _adapter(kind: Any) -> TypeAdapter[Any]:  # noqa: ANN401  type expressions have no type
    """The validator of a type; NaN and infinities are no numbers, as in JSON."""
    try:
        return TypeAdapter(kind, config=_FINITE)
    except PydanticUserError:
        return TypeAdapter(kind)  # models take no settings of others


def _is_type(kind: object) -> bool:
    """A class, or what typing makes: list[int], City | None, Annotated, Literal, a type alias."""
    return isinstance(kind, type) or type(kind).__module__ in {
        "types",
        "typing",
        "typing_extensions",
    }


def _shown(kind: object) -> str:
    """What was given: a type by its name, a value, which may hold anything, by its type's."""
    shown = kind.__qualname__ if isinstance(kind, type) else repr(kind)
    return one_line(shown if _is_type(kind) else f"<{type(kind).__name__}>", _MAX_SHOWN_CHARS)


def _variants(schema: object) -> Iterator[Mapping[str, object]]:
    """The schema, or what it offers to choose from."""
    wire = as_object(schema) or {}
    variants = wire.get("anyOf") or wire.get("oneOf")
    if isinstance(variants, list):
        for variant in cast("list[object]", variants):
            yield from _variants(variant)
    else:
        yield wire


def _is_object(schema: object) -> bool:
    """Every value of the schema is a JSON object."""
    return all(variant.get("type") == "object" for variant in _variants(schema))


def _is_array(schema: object) -> bool:
    """A value of the schema may be a list."""
    return any(variant.get("type") == "array" for variant in _variants(schema))


def _keys(schema: object) -> frozenset[str]:
    """What objects of the schema may have in them; nothing where that may be anything."""
    properties = [as_object(variant.get("properties")) or {} for variant in _variants(schema)]
    return frozenset(chain.from_iterable(properties)) if all(properties) else frozenset()
