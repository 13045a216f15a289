"""Copies of what a caller's client builds: the same as if it had built each of them."""

import functools
from typing import Any

import httpx
import httpx2
import pytest

from rig.transport.http import HTTP
from rig.transport.prepared import PreparedRequest

Requests = list[Any]
URL = "http://host/v1"


@pytest.fixture(params=[httpx, httpx2], ids=["httpx", "httpx2"])
def library(request: pytest.FixtureRequest) -> Any:
    return request.param


def recording(library: Any, seen: Requests, answers: dict[str, str] | None = None) -> Any:
    def answer(request: Any) -> Any:
        seen.append(request)
        return library.Response(200, headers=answers, content=b"{}")

    return library.MockTransport(answer)


async def post(client: Any, *bodies: bytes) -> None:
    http = HTTP(URL, headers={"X-Ours": "1"}, http_client=client)
    for body in bodies:
        await http.post("x", body)


async def test_every_request_is_as_the_client_builds_it(library: Any) -> None:
    seen: Requests = []
    headers = {"X-Theirs": "2", "OpenAI-Project": "p"}
    async with library.AsyncClient(transport=recording(library, seen), headers=headers) as client:
        await post(client, b'{"a":1}', b'{"a":11}', b"", b'{"a":111}')
    assert [request.content for request in seen] == [b'{"a":1}', b'{"a":11}', b"", b'{"a":111}']
    assert [request.headers["content-length"] for request in seen] == ["7", "8", "0", "9"]
    assert {(request.method, str(request.url)) for request in seen} == {("POST", URL + "/x")}
    first, *others = [dict(request.headers) | {"content-length": ""} for request in seen]
    assert all(other == first for other in others)
    assert (first["x-ours"], first["x-theirs"]) == ("1", "2")
    assert "openai-project" not in first
    assert all(request.extensions["timeout"]["read"] is None for request in seen)


async def test_a_header_that_is_set_in_between_is_sent(library: Any) -> None:
    seen: Requests = []
    async with library.AsyncClient(transport=recording(library, seen)) as client:
        http = HTTP(URL, http_client=client)
        for token in ("a", "b", "b"):
            client.headers["X-Token"] = token
            await http.post("x", b"{}")
    assert [request.headers["x-token"] for request in seen] == ["a", "b", "b"]


async def test_a_cookie_and_a_parameter_of_the_client_are_sent(library: Any) -> None:
    seen: Requests = []
    transport = recording(library, seen, {"Set-Cookie": "a=1"})
    async with library.AsyncClient(transport=transport) as client:
        await post(client, b"{}", b"{}")
        client.params = {"q": "1"}
        await post(client, b"{}")
    assert [request.headers.get("cookie") for request in seen] == [None, "a=1", "a=1"]
    assert str(seen[-1].url) == URL + "/x?q=1"


async def test_a_parameter_that_is_set_in_between_is_sent(library: Any) -> None:
    seen: Requests = []
    async with library.AsyncClient(transport=recording(library, seen)) as client:
        http = HTTP(URL, http_client=client)
        for params in ({}, {"q": "1"}, {"q": "2"}, {}):
            client.params = params
            await http.post("x", b"{}")
    assert [request.url.query for request in seen] == [b"", b"q=1", b"q=2", b""]


async def test_what_a_hook_does_to_a_request_stays_with_it(library: Any) -> None:
    seen: Requests = []

    async def hook(request: Any) -> None:
        request.headers["X-Count"] = request.headers.get("X-Count", "") + "1"

    transport = recording(library, seen)
    async with library.AsyncClient(transport=transport, event_hooks={"request": [hook]}) as client:
        await post(client, b"{}", b"{}", b"{}")
    assert [request.headers["x-count"] for request in seen] == ["1", "1", "1"]


async def test_a_client_that_builds_in_its_own_way_builds_every_request(library: Any) -> None:
    built = 0

    class Own(library.AsyncClient):  # type: ignore[misc] # of either library
        def build_request(self, *arguments: Any, **options: Any) -> Any:
            nonlocal built
            built += 1
            return super().build_request(*arguments, **options)

    async with Own(transport=recording(library, [])) as client:
        await post(client, b"{}", b"{}", b"{}")
    assert built == 3


def signed(request: Any, built: list[Any]) -> Any:
    """Sign a request, as a gateway may ask it of each."""
    built.append(request)
    request.headers["X-Signed"] = str(len(built))
    return request


def override(client: Any, built: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    build = client.build_request
    monkeypatch.setattr(
        client, "build_request", lambda *given, **options: signed(build(*given, **options), built)
    )


def patch(client: Any, built: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    build = type(client).build_request

    @functools.wraps(build)  # and so it says that it is of the library
    def wrapped(*given: Any, **options: Any) -> Any:
        return signed(build(*given, **options), built)

    monkeypatch.setattr(type(client), "build_request", wrapped)


def patch_part(client: Any, built: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    merge = type(client)._merge_headers

    def merged(*given: Any, **options: Any) -> Any:
        built.append(given)
        headers = merge(*given, **options)
        headers["X-Signed"] = str(len(built))
        return headers

    monkeypatch.setattr(type(client), "_merge_headers", merged)


@pytest.mark.parametrize("late", [False, True], ids=["at first", "later"])
@pytest.mark.parametrize("how", [override, patch, patch_part])
async def test_whoever_has_a_hand_in_building_is_asked_for_every_request(
    library: Any, how: Any, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: Requests = []
    async with library.AsyncClient(transport=recording(library, seen)) as client:
        http = HTTP(URL, http_client=client)
        if late:
            await http.post("x", b"{}")
            seen.clear()
        how(client, [], monkeypatch)
        for _ in range(3):
            await http.post("x", b"{}")
    assert [request.headers.get("x-signed") for request in seen] == ["1", "2", "3"]


async def test_a_client_that_only_has_another_name_is_copied_from(library: Any) -> None:
    class Own(library.AsyncClient):  # type: ignore[misc] # of either library
        """As the openai package has one, for its defaults."""

    async with Own(transport=recording(library, [])) as client:
        built = client.build_request("POST", URL, content=b"{}")
        assert PreparedRequest.of(client, built) is not None


async def test_what_a_hook_does_to_the_time_outs_of_a_request_stays_with_it(library: Any) -> None:
    seen: Requests = []

    async def hook(request: Any) -> None:
        limits = request.extensions["timeout"]
        limits["read"] = (limits["read"] or 0) + 1
        request.extensions["count"] = request.extensions.get("count", 0) + 1

    transport = recording(library, seen)
    async with library.AsyncClient(transport=transport, event_hooks={"request": [hook]}) as client:
        await post(client, b"{}", b"{}", b"", b"{}")
    assert [request.extensions["timeout"]["read"] for request in seen] == [1, 1, 1, 1]
    assert [request.extensions["count"] for request in seen] == [1, 1, 1, 1]
