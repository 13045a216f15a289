"""What connections do instead of carrying an answer. No I/O."""

from collections.abc import Iterator

from rig.testing.answers import Answer, LazySteps, chunked, encode_body, head, raw
from rig.testing.completions import completion
from rig.testing.faults.written import ANSWER
from rig.testing.steps import Close, Hang, Pause, Reset, Step


def reset_before_headers() -> Answer:
    """The request arrives, then the connection is reset."""
    return raw(Reset())


def close_before_headers() -> Answer:
    """The request arrives, then the connection is closed without an answer."""
    return raw(Close())


def cut_body(*, reset: bool = False) -> Answer:
    """A body shorter than its content-length.

    Args:
        reset: end the connection with a reset, not in good order.
    """
    body = encode_body(completion({"role": "assistant", "content": ANSWER}))
    fields = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    return raw(head(200, fields) + body[: len(body) // 2], Reset() if reset else Close())


def cut_chunked_body(*, reset: bool = False) -> Answer:
    """A chunked body without its last chunk.

    Args:
        reset: end the connection with a reset, not in good order.
    """
    body = encode_body(completion({"role": "assistant", "content": ANSWER}))
    fields = {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}
    return raw(
        head(200, fields),
        *chunked(body[: len(body) // 2], end=False),
        Reset() if reset else Close(),
    )


def hang() -> Answer:
    """The request is accepted and never answered."""
    return raw(Hang())


def stalled_body() -> Answer:
    """Headers and half a body, then nothing more, on an open connection."""
    body = encode_body(completion({"role": "assistant", "content": ANSWER}))
    fields = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    return raw(head(200, fields) + body[: len(body) // 2], Hang())


def dripping_body(interval_s: float = 1.0) -> Answer:
    """A body that comes one byte at a time and never ends: no pause is long, the whole is.

    Args:
        interval_s: seconds between two bytes.
    """
    start = head(200, {"Content-Type": "application/json", "Transfer-Encoding": "chunked"})

    def steps() -> Iterator[Step]:
        yield start
        while True:
            yield from chunked(b" ", Pause(interval_s), end=False)

    return Answer(LazySteps(steps))


def not_http() -> Answer:
    """Something else listens on that port."""
    return raw(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", Close())
