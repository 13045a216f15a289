"""What a client is given, checked before it is kept: a wrong setting is told where it is made. No I/O."""

from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, TypeVar

from rig.errors import InvalidRequestError

if TYPE_CHECKING:  # nobody is told anything before a request fails
    from rig.events import RetryEvent

T = TypeVar("T")


def instance_of(kind: type[T], value: object, name: str, hint: str = "") -> T:
    """The value, which must be of a type.

    Args:
        kind: the type.
        value: what was given.
        name: of the setting.
        hint: more to say about it.

    Raises:
        InvalidRequestError: it is of another.
    """
    if isinstance(value, kind):
        return value
    raise InvalidRequestError(f"{name} must be a {kind.__name__}(...){hint}")


def whole_number(value: object, name: str, hint: str = "") -> int:
    """The value, which must be a whole number from 1 up.

    Args:
        value: what was given.
        name: of the setting.
        hint: more to say about it.

    Raises:
        InvalidRequestError: it is none.
    """
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise InvalidRequestError(f"{name} must be a whole number, at least 1{hint}")


def model_name(value: object) -> str:
    """The name of a model, "" for None.

    Args:
        value: what was given.

    Raises:
        InvalidRequestError: it is no text.
    """
    if value is None or isinstance(value, str):
        return value or ""
    raise InvalidRequestError("model must be the name of a model, or None")


def key(value: object) -> str:
    """An API key, "" for none.

    Args:
        value: what was given.

    Raises:
        InvalidRequestError: it can't be sent, or is blank: a key that was not there when it was read.
    """
    if value is None or value == "":
        return ""
    text = header("api_key", value)
    if not text:
        raise InvalidRequestError('api_key is blank: check how it was read, or give "" for none')
    return text


def header(name: str, value: object) -> str:
    """A header value, trimmed.

    Args:
        name: of the setting.
        value: what was given.

    Raises:
        InvalidRequestError: it could split the request, or can't be encoded.
    """
    if not isinstance(value, str) or not value.isascii() or not value.isprintable():
        raise InvalidRequestError(
            f"{name} must be printable ASCII text without line breaks; check how it was read"
        )
    return value.strip()


def listener(
    on_retry: "Callable[[RetryEvent], None] | None",
) -> "Callable[[RetryEvent], None] | None":
    """What is told of retries.

    Args:
        on_retry: what was given.

    Raises:
        InvalidRequestError: it can't be called, or would have to be awaited, which nobody does.
    """
    if on_retry is None:
        return None
    if not callable(on_retry):
        raise InvalidRequestError("on_retry must be a function, or None")
    called = getattr(on_retry, "__call__", None)  # noqa: B004  its kind matters, not that it is there
    if iscoroutinefunction(on_retry) or iscoroutinefunction(called):
        raise InvalidRequestError(
            "on_retry is called in line and never awaited: give it a function without async, or"
            " watch RetryEvents with on_event= of run"
        )
    return on_retry
