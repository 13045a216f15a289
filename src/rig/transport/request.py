"""The head of an HTTP/1.1 request: fields in, bytes out, or a refusal. No I/O.

Source: RFC 9112 3 and 6, RFC 9110 5.5. Nothing is repaired: what could be read as two requests by two
readers is refused.
"""

import re
from collections.abc import Iterable, Mapping
from typing import cast

from rig.errors import InvalidRequestError
from rig.late_dataclass import dataclass

UNSUPPORTED_METHODS = frozenset({"CONNECT", "HEAD"})
"""Methods whose answers are framed by other rules than `http1.ResponseReader` knows."""

_METHODS_WITH_BODY = frozenset({"PATCH", "POST", "PUT"})

# One match for the whole head; possessive, so that a refusal costs one pass too. A value may hold what
# RFC 9110 5.5 allows, old 8-bit text included, and no control character but the tab.
_HEAD = re.compile(
    rb"[!#$%&'*+.^_`|~0-9A-Za-z-]++ [\x21-\x7e]++ HTTP/1\.1\r\n"
    rb"(?:[!#$%&'*+.^_`|~0-9A-Za-z-]++: [\t\x20-\x7e\x80-\xff]*+\r\n)*+\r\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHead:
    """What is written before the body, and how the body must be framed.

    Attributes:
        data: request line and fields, with the empty line that ends them.
        length: bytes the body must have, None when it is chunked.
        persistent: whether the connection may carry another request afterwards.
    """

    data: bytes
    length: int | None
    persistent: bool


def encode_head(
    method: str,
    target: bytes,
    headers: Iterable[tuple[bytes, bytes]],
    *,
    host: bytes,
    length: int | None,
) -> RequestHead:
    """Encode a request's head.

    `Host` and `Content-Length` are added where they are missing; `Expect` is left out, because nobody
    here waits for a 100.

    Args:
        method: GET, POST and so on, neither HEAD nor CONNECT.
        target: path and query, in ASCII.
        headers: names and values, in their order.
        host: value of the Host field when the headers have none.
        length: size of the body in bytes; None when only the headers tell.

    Raises:
        InvalidRequestError: a method, target or field that HTTP can't carry, or a body whose size is
            not what the fields say.
    """
    if method in UNSUPPORTED_METHODS:
        raise InvalidRequestError(f"{method} requests are not supported by rig's transport")
    lines = [b"%b %b HTTP/1.1\r\n" % (method.encode("ascii", "replace"), target)]
    seen: dict[bytes, bytes] = {}
    for name, value in headers:
        lower = name.lower()
        if lower == b"expect":
            continue
        if lower in _FRAMING and lower in seen:
            raise InvalidRequestError("a request may have only one Host and one way of framing")
        seen[lower] = value
        lines.append(b"%b: %b\r\n" % (name, value))
    if b"host" not in seen:
        lines.insert(1, b"Host: %b\r\n" % host)
    if b"transfer-encoding" in seen:
        _check_chunked(seen)
        declared = None
    elif b"content-length" in seen:
        declared = _declared_length(seen[b"content-length"], length)
    else:
        declared = length or 0
        if length or method in _METHODS_WITH_BODY:
            lines.append(b"Content-Length: %d\r\n" % declared)
    lines.append(b"\r\n")
    data = b"".join(lines)
    # The count finds a whole well-formed line inside a value, which the pattern can't.
    if data.count(b"\n") != len(lines) or not _HEAD.fullmatch(data):
        raise InvalidRequestError(
            "the method, the URL or a header holds a character HTTP can't carry, such as a line break"
        )
    persistent = b"close" not in seen.get(b"connection", b"").lower()
    return RequestHead(data=data, length=declared, persistent=persistent)


@dataclass(frozen=True, slots=True)
class HeadTemplate:
    """The head of requests that differ in nothing but the size of their body.

    Attributes:
        data: everything before the field that tells the size.
    """

    data: bytes

    def written(self, length: int | None) -> bytes:
        """The head of one of them, as it is sent.

        Args:
            length: size of its body in bytes; None for a request that has none.
        """
        if length is None:
            return self.data + b"\r\n"
        return b"%bContent-Length: %d\r\n\r\n" % (self.data, length)


def head_template(
    method: str, target: bytes, headers: Iterable[tuple[bytes, bytes]], *, host: bytes
) -> HeadTemplate:
    """Encode what requests have in common.

    Args:
        method: as for `encode_head`.
        target: as for `encode_head`.
        headers: names and values, none of them about framing: `header_pairs` lets none through.
        host: value of the Host field.

    Raises:
        InvalidRequestError: as for `encode_head`.
    """
    head = encode_head(method, target, headers, host=host, length=1)
    return HeadTemplate(head.data.removesuffix(b"Content-Length: 1\r\n\r\n"))


_FRAMING = frozenset({b"content-length", b"host", b"transfer-encoding"})


def _check_chunked(seen: dict[bytes, bytes]) -> None:
    if seen[b"transfer-encoding"].lower() != b"chunked" or b"content-length" in seen:
        raise InvalidRequestError(
            "a request body is framed by Content-Length or by Transfer-Encoding: chunked"
        )


def _declared_length(value: bytes, length: int | None) -> int:
    if not value.isdigit() or len(value) > 18 or length not in (None, int(value)):
        raise InvalidRequestError("the Content-Length header is not the size of the body")
    return int(value)


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body; of nothing, the end of it."""
    return b"%x\r\n%b\r\n" % (len(data), data)


NEVER_SENT = frozenset(
    {
        # Framing is the transport's business.
        "connection",
        "content-length",
        "expect",
        "transfer-encoding",
        # The decoder must be able to read what comes.
        "accept-encoding",
        # A hosted vendor's account: no business of a server of one's own.
        "openai-organization",
        "openai-project",
    }
)
"""Names of headers, in lower case, that callers can't set."""

_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def header_pairs(headers: Mapping[str, str] | Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The headers a caller may set, names in lower case; those in `NEVER_SENT` are left out.

    Args:
        headers: names and values.

    Raises:
        InvalidRequestError: a name or a value holds a character HTTP can't carry.
    """
    items = cast("Mapping[str, str]", headers).items() if isinstance(headers, Mapping) else headers
    pairs = [(name.lower(), value) for name, value in items]
    for name, value in pairs:
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise InvalidRequestError(
                "a header's name or value holds a character HTTP can't carry, such as a line break"
            )
    return [pair for pair in pairs if pair[0] not in NEVER_SENT]
