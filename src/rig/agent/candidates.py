"""Which parts of an answer may be the typed value, and how many of them are looked at. No I/O."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, Literal, TypeVar, cast

from pydantic import ValidationError

from rig.agent.results import problems_of
from rig.messages import as_array, as_object

MAX_CANDIDATES = 32
"""Values of one answer that are checked against its type, the longest first. Answers hold one value, perhaps
beside an echo of the schema and a draft or two; a validator may be anybody's code, and a hostile reply of
1 MiB has room for 150,000 objects."""

CHECK_FACTOR = 4
"""Characters checked, per character of the answer, before the search stops with what it has: the values in
a wrapper are checked once more, and a wrapper of wrappers is nearly as long as what it holds."""

ValueT = TypeVar("ValueT")
JSONText = str | bytes
Form = Literal["object", "value", "word"]
"""How a candidate stands in the answer: as the object that was asked for, bare, or as bare text."""


class Trials(Generic[ValueT]):
    """Checks the candidates of one answer, a bounded number of them.

    Args:
        chars: length of the answer.

    Attributes:
        problems: what was wrong with the first of each form, one `path: problem` a line.
    """

    def __init__(self, chars: int) -> None:
        self.problems: dict[Form, str] = {}
        self._left = MAX_CANDIDATES
        self._chars_left = CHECK_FACTOR * max(chars, 1)

    def accept(
        self, check: Callable[[JSONText], ValueT], json: JSONText, form: Form
    ) -> tuple[ValueT] | None:
        """The value of a candidate, in a tuple; None where it is none of the type, or too much was checked.

        What the validators of the type raise rejects the candidate, whatever it is: a run is more than its
        answer, and is not lost to a `KeyError` in somebody's code.

        Args:
            check: validates it.
            json: the candidate.
            form: what it is.
        """
        if self._left <= 0 or self._chars_left <= 0:
            return None
        self._left -= 1
        self._chars_left -= len(json)
        try:
            return (check(json),)
        except ValidationError as error:
            problem = "\n".join(problems_of(error))
        except ValueError:
            problem = "its JSON can't be parsed"
        except Exception as error:  # noqa: BLE001 of a validator that is not ours
            # The message may tell more than a model should know; pydantic tells what ValueErrors say.
            problem = f"checking it failed with {type(error).__name__}"
        self.problems.setdefault(form, problem)
        return None


def wrapped(found: Mapping[str, Any], keys: frozenset[str]) -> Iterator[object]:
    """The values that an object may be a wrapper of: the innermost may be what was asked for.

    An object that has any of the type's own keys is no wrapper: then it is the value, and wrong. Where the
    keys are not known, one with a single entry is.

    Args:
        found: an object that is not of the type.
        keys: the keys that objects of the type may have; empty for any.

    Yields:
        Objects and lists, outer ones first. Of lists only a single item is looked into: which of several
        is meant can't be known.
    """
    waiting: list[object] = [found]
    while waiting:
        layer, waiting = waiting, []
        for value in layer:
            inner = [*_contents(value, keys)]
            yield from inner
            waiting.extend(inner)


def _contents(value: object, keys: frozenset[str]) -> Iterable[object]:
    entries = as_array(value)
    if entries is not None:
        return filter(_is_container, entries if len(entries) == 1 else ())
    wire = as_object(value) or {}
    is_schema = (
        wire.get("type") == "object" and "properties" in wire
    )  # models echo what they were given
    is_wrapper = not is_schema and (keys.isdisjoint(wire) if keys else len(wire) == 1)
    return filter(_is_container, wire.values() if is_wrapper else ())


def _is_container(value: object) -> bool:
    return isinstance(value, dict | list) and bool(cast("list[object]", value))
