"""Questions to a server beside the chat: the seam they are asked through, and what an answer is worth.

Tokenizers and windows are asked for at paths that most servers don't have. So an answer is a value
here, never an exception: it is a body worth reading, a no, or a sign of trouble that may pass.
"""

from typing import Literal, Protocol

from rig.errors import (
    ProtocolError,
    RequestTimeoutError,
    ResponseTooLargeError,
    StreamCutError,
    UpstreamError,
)
from rig.late_dataclass import dataclass
from rig.transport.http import HTTP, Response
from rig.transport.routes import Headers

Verdict = Literal["ok", "absent", "failing", "unreachable"]
"""What an answer is worth: a body to read; a no; trouble of this path; no server to talk to."""

_MAY_PASS = frozenset({408, 425, 429})
_WILL_NOT_PASS = frozenset({501, 505})


class Requester(Protocol):
    """Sends one request to the server behind a base URL."""

    async def request(
        self, method: str, path: str, body: bytes = b"", *, max_bytes: int
    ) -> Response:
        """Send a request and return the whole answer, whatever its status.

        Args:
            method: GET or POST.
            path: below the server's root: the base URL without its `/v1`.
            body: JSON, or nothing.
            max_bytes: decoded bytes of the answer that may pass.

        Raises:
            RigError: no answer came, or it is larger than that.
        """
        ...


class HTTPRequester:
    """A `Requester` over the client's own connections, with its headers and time-outs.

    Args:
        http: the client's driver.
        base_url: its base URL, which ends in `/v1/`.
        headers: sent with every request, to say who asks.
    """

    def __init__(self, http: HTTP, base_url: str, headers: Headers = ()) -> None:
        self._http = http
        self._root = base_url.removesuffix("v1/")
        self._headers = headers

    async def request(
        self, method: str, path: str, body: bytes = b"", *, max_bytes: int
    ) -> Response:
        """Send a request and return the whole answer; see `Requester`.

        Raises:
            RigError: no answer came, or it is larger than `max_bytes`.
        """
        url = self._root + path
        async with self._http.stream(
            method, url, body, self._headers, max_bytes=max_bytes
        ) as response:
            data = b"".join([part async for part in response.aiter()])
        return Response(response.status, response.headers, data)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a question.

    Attributes:
        verdict: what it is worth.
        body: the answer's body where it is ok, else empty.
    """

    verdict: Verdict
    body: bytes = b""


def judge(status: int) -> Verdict:
    """What the status of an answer says about the path that was asked.

    Args:
        status: HTTP status.
    """
    if status == 200:
        return "ok"
    if status in _MAY_PASS or (status >= 500 and status not in _WILL_NOT_PASS):
        return "failing"
    return "absent"


async def ask(
    requester: Requester, method: str, path: str, body: bytes = b"", *, max_bytes: int
) -> Answer:
    """Ask once, without retries.

    Args:
        requester: who sends.
        method: GET or POST.
        path: below the server's root.
        body: JSON, or nothing.
        max_bytes: decoded bytes that are read; a longer answer is no answer to any of our questions.

    Raises:
        RigError: the request can't be sent as it stands, for example over a closed client.
    """
    try:
        response = await requester.request(method, path, body, max_bytes=max_bytes)
    except ResponseTooLargeError:
        return Answer("absent")
    except (ProtocolError, StreamCutError):
        return Answer("failing")
    except (UpstreamError, RequestTimeoutError):
        return Answer("unreachable")
    verdict = judge(response.status)
    return Answer(verdict, response.body if verdict == "ok" else b"")
