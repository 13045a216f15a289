"""What is made once for an endpoint, and not once a request."""

import pytest

from rig.errors import InvalidRequestError
from rig.testing import FakeBackend, answer, repeat
from rig.transport.pool_route import PoolRoute
from rig.transport.routes import MAX_KEPT, Endpoint
from rig.transport.timeouts import Deadline, Timeouts


class Counting(Endpoint):
    """An endpoint that counts how often the fields of a request are put together."""

    made = 0

    def fields(self, *arguments: object, **more: object) -> dict[str, str]:
        self.made += 1
        return super().fields(*arguments, **more)  # type: ignore[arg-type] # passed on as they came


async def ask(route: PoolRoute, path: str, headers: dict[str, str]) -> None:
    deadline = Deadline(Timeouts(first_byte_s=None, total_s=None), 0.0)
    sent = await route.send("POST", path, b"{}", headers, deadline=deadline)
    assert not isinstance(sent, Exception)
    assert await sent.read() == b"hi"
    await sent.close()


async def test_the_head_of_equal_requests_is_made_once() -> None:
    async with FakeBackend(repeat(answer(body="hi"))).serve() as backend:
        endpoint = Counting(backend.url, {"user-agent": "t"})
        route = PoolRoute(endpoint, connect_s=None)
        for _ in range(5):
            await ask(route, "a", {"X-Key": "k"})
        assert endpoint.made == 1
        await ask(route, "a", {"X-Key": "other"})
        await ask(route, "b", {"X-Key": "k"})
        assert endpoint.made == 3
        await route.aclose()
    keys = [dict(request.headers)["x-key"] for request in backend.requests]
    assert keys == ["k"] * 5 + ["other", "k"]


async def test_heads_that_never_come_again_are_not_kept_for_ever() -> None:
    async with FakeBackend(repeat(answer(body="hi"))).serve() as backend:
        route = PoolRoute(Endpoint(backend.url, {}), connect_s=None)
        for number in range(MAX_KEPT + 5):
            await ask(route, "a", {"X-Trace-Id": str(number)})
        assert len(route._starts) == 5
        await route.aclose()
    assert dict(backend.requests[-1].headers)["x-trace-id"] == str(MAX_KEPT + 4)


async def test_a_closed_pool_takes_no_request() -> None:
    route = PoolRoute(Endpoint("http://127.0.0.1:9/v1", {}), connect_s=None)
    await route.aclose()
    with pytest.raises(InvalidRequestError):
        await ask(route, "a", {})
