"""The pool where descriptors are short: a table of them at the seam, in virtual time."""

import math
import random

import anyio
import httpx
import pytest

from rig.errors import InvalidRequestError, RequestTimeoutError, RigError, UpstreamError
from rig.transport.descriptors import TOO_MANY_FILES, too_many_files
from rig.transport.httpx_transport import PoolTransport
from rig.transport.origin import Origin
from rig.transport.pool import FEW, GROW_S, ConnectionPool
from rig.transport.sockets import Connection, now
from rig.transport.timeouts import Deadline, Timeouts

pytestmark = pytest.mark.parametrize("anyio_backend", ["trio-autojump"], indirect=True)

HERE = Origin(tls=False, host="here", port=80)
THERE = Origin(tls=False, host="there", port=80)
PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
STREAMED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 2\r\n\r\nhi"
LAST = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi"


class Table:
    """A process with so many descriptors, and what it is connected to.

    Args:
        free: how many may be taken.
        reserve: how many more by those who are told to.
    """

    def __init__(self, free: int, reserve: int = 0) -> None:
        self.free = free
        self.reserve = reserve
        self.opened = 0
        self.most = 0
        self.open = 0
        self.connect_s = 0.0
        self.answer_s = 1.0
        self.answer = PLAIN
        self.refuses = False

    async def connect(self, *_: object, frugal: bool = True, **__: object) -> Connection:
        if self.open >= self.free + (0 if frugal else self.reserve):
            raise too_many_files()
        connection = OfTable(self)
        try:
            await anyio.sleep(self.connect_s)
        except BaseException:
            connection.close()
            raise
        if self.refuses:
            connection.close()
            raise UpstreamError("", reason="connect_refused")
        return connection


class OfTable(Connection):
    """A connection that answers everything after a while."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._closed = False
        table.open += 1
        table.opened += 1
        table.most = max(table.most, table.open)

    closed = property(lambda self: self._closed)
    answered = property(lambda _: False)
    settled = reusable = property(lambda self: not self._closed)

    def write(self, data: bytes) -> bool:
        return True

    async def send(self, data: bytes, until: float = math.inf) -> bool:
        return True

    async def receive(self, max_bytes: int, until: float = math.inf) -> bytes | None:
        with anyio.CancelScope(deadline=until):
            await anyio.sleep(self._table.answer_s)
            if self._closed:
                raise UpstreamError("", reason="closed")
            return b"" if self._table.refuses else self._table.answer
        return None

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._table.open -= 1


class Crowd:
    """Many requests at once, and what became of them in the order of their ends."""

    def __init__(self, table: Table, timeouts: Timeouts | None = None) -> None:
        self.pool = ConnectionPool(connect=table.connect, keepalive_s=1e9)
        self.timeouts = timeouts or Timeouts(connect_s=5, first_byte_s=300, total_s=None)
        self.served: list[int] = []
        self.errors: list[RigError] = []

    async def ask(self, number: int, origin: Origin = HERE) -> None:
        try:
            await self.pool.send(
                origin, b"GET / HTTP/1.1\r\n\r\n", b"",
                connect_s=self.timeouts.connect_s, deadline=Deadline(self.timeouts, now()),
            )  # fmt: skip
        except RigError as error:
            self.errors.append(error)
        else:
            self.served.append(number)

    async def ask_all(self, count: int, origin: Origin = HERE) -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(count):
                tasks.start_soon(self.ask, number, origin)
                await anyio.sleep(0.001)

    @property
    def reasons(self) -> set[tuple[type[RigError], str]]:
        return {(type(error), error.reason) for error in self.errors}

    def assert_nothing_is_left(self, table: Table) -> None:
        pool = self.pool
        assert (pool.in_use, pool._opening, pool._scarce) == (0, 0, 0)
        assert pool._line.next() is None
        assert table.open == pool.idle


async def test_everybody_is_served_in_order_over_the_connections_there_are() -> None:
    table = Table(20)
    crowd = Crowd(table)
    await crowd.ask_all(200)
    assert crowd.served == [*range(200)]
    assert (table.opened, table.most) == (20, 20)
    assert now() < 11
    crowd.assert_nothing_is_left(table)


@pytest.mark.parametrize("answer", [LAST, STREAMED], ids=["closes", "streams"])
async def test_a_connection_that_can_not_be_handed_on_makes_room_for_another(answer: bytes) -> None:
    table = Table(20)
    table.answer = answer
    crowd = Crowd(table)
    await crowd.ask_all(100)
    assert sorted(crowd.served) == [*range(100)]
    assert (table.most, table.opened) == (20, 100)
    assert now() < 6
    crowd.assert_nothing_is_left(table)


async def test_one_descriptor_is_enough() -> None:
    table = Table(1)
    crowd = Crowd(table)
    await crowd.ask_all(20)
    assert crowd.served == [*range(20)]
    assert table.opened == 1


async def test_those_who_come_later_do_not_go_ahead() -> None:
    table = Table(1)
    crowd = Crowd(table)
    async with anyio.create_task_group() as tasks:
        for number in range(4):
            tasks.start_soon(crowd.ask, number)
            await anyio.sleep(0.9)
    assert crowd.served == [*range(4)]


async def test_idle_connections_to_elsewhere_are_closed_first() -> None:
    table = Table(10)
    crowd = Crowd(table)
    await crowd.ask_all(10, THERE)
    assert crowd.pool.idle == 10
    start = now()
    await crowd.ask_all(10)
    assert now() - start < 1.1
    assert len(crowd.served) == 20
    crowd.assert_nothing_is_left(table)


async def test_a_connection_to_elsewhere_makes_room() -> None:
    table = Table(10)
    crowd = Crowd(table)
    async with anyio.create_task_group() as tasks:
        for number in range(60):
            tasks.start_soon(crowd.ask, number, (HERE, THERE)[number % 2])
    assert sorted(crowd.served) == [*range(60)]
    assert table.most == 10
    crowd.assert_nothing_is_left(table)


async def test_where_the_pool_has_none_the_error_is_typed_and_soon() -> None:
    table = Table(0)
    crowd = Crowd(table)
    await crowd.ask_all(50)
    assert crowd.reasons == {(UpstreamError, TOO_MANY_FILES)}
    assert len(crowd.errors) == 50
    assert all(error.retryable for error in crowd.errors)
    assert all(error.__context__ is None for error in crowd.errors)
    assert now() < 1
    crowd.assert_nothing_is_left(table)


async def test_a_few_connections_take_what_is_left_to_the_program() -> None:
    table = Table(0, reserve=100)
    crowd = Crowd(table)
    await crowd.ask_all(40)
    assert crowd.served == [*range(40)]
    assert table.most == FEW


async def test_the_wait_is_bounded_and_says_what_it_waited_for() -> None:
    table = Table(1)
    table.answer_s = 40
    crowd = Crowd(table, Timeouts(connect_s=5, first_byte_s=100, total_s=None))
    await crowd.ask_all(4)
    assert crowd.served == [0, 1, 2]
    assert crowd.reasons == {(RequestTimeoutError, TOO_MANY_FILES)}
    assert crowd.errors[0].__context__ is None
    crowd.assert_nothing_is_left(table)


async def test_the_total_bounds_it_too() -> None:
    table = Table(1)
    table.answer_s = 40
    crowd = Crowd(table, Timeouts(connect_s=5, total_s=50))
    await crowd.ask_all(3)
    assert crowd.served == [0]
    assert {kind for kind, _ in crowd.reasons} == {RequestTimeoutError}
    assert now() < 51


async def test_httpx_s_own_time_out_for_its_pool_bounds_it_in_the_transport() -> None:
    table = Table(1)
    table.answer_s = 4
    transport = PoolTransport(connect=table.connect)
    outcomes: list[object] = []
    timeout = httpx.Timeout(None, pool=6)
    async with httpx.AsyncClient(transport=transport, timeout=timeout) as client:

        async def ask() -> None:
            try:
                outcomes.append((await client.get("http://here/")).text)
            except RigError as error:
                outcomes.append((type(error), error.reason))

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(ask)
                await anyio.sleep(0.001)
        assert now() < 9
    assert outcomes == ["hi", (RequestTimeoutError, TOO_MANY_FILES), "hi"]


async def test_more_are_opened_once_there_is_room() -> None:
    table = Table(2)
    crowd = Crowd(table)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(crowd.ask_all, 100)
        await anyio.sleep(3.5)
        table.free = 50
    assert now() < 3.5 + GROW_S + 5
    assert table.most > 20
    assert len(crowd.served) == 100


async def test_a_server_that_goes_away_ends_the_wait_of_all() -> None:
    table = Table(10)
    crowd = Crowd(table)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(crowd.ask_all, 200)
        await anyio.sleep(2.5)
        table.refuses = True
    assert len(crowd.served) + len(crowd.errors) == 200
    assert crowd.reasons == {(UpstreamError, "connect_refused"), (UpstreamError, "eof")}
    assert now() < 5
    crowd.assert_nothing_is_left(table)


async def test_one_that_fails_to_connect_calls_who_waits() -> None:
    """It was never in use, so nothing of it comes back."""
    table = Table(1)
    table.connect_s, table.refuses = 5, True
    crowd = Crowd(table, Timeouts(connect_s=50))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(crowd.ask, 0)
        await anyio.sleep(1)
        tasks.start_soon(crowd.ask, 1)
        await anyio.sleep(1)
        table.refuses = False
        await anyio.sleep(2.5)
        table.refuses = True
        await anyio.sleep(1)
        table.refuses = False
    assert crowd.served == [1]
    assert crowd.reasons == {(UpstreamError, "connect_refused")}


async def test_closing_the_pool_ends_the_wait_of_all() -> None:
    table = Table(5)
    table.answer_s = 10
    crowd = Crowd(table)
    async with anyio.create_task_group() as tasks:
        for number in range(50):
            tasks.start_soon(crowd.ask, number)
        await anyio.sleep(1)
        await crowd.pool.aclose()
        await anyio.sleep(1)
        waited = [error for error in crowd.errors if isinstance(error, InvalidRequestError)]
        assert len(waited) == 45
    assert table.open == 0
    crowd.assert_nothing_is_left(table)


async def test_who_is_cancelled_leaves_no_hole() -> None:
    table = Table(5)
    crowd = Crowd(table)
    async with anyio.create_task_group() as tasks:
        scopes = [anyio.CancelScope() for _ in range(100)]

        async def ask(number: int) -> None:
            with scopes[number]:
                await crowd.ask(number)

        for number in range(100):
            tasks.start_soon(ask, number)
        await anyio.sleep(0.5)
        for number in range(0, 100, 2):
            scopes[number].cancel()
    assert [*range(1, 100, 2)] == sorted(crowd.served)
    assert now() < 0.5 + 11
    crowd.assert_nothing_is_left(table)


@pytest.mark.parametrize("seed", range(60))
async def test_in_any_weather_everybody_ends_and_nothing_is_left(seed: int) -> None:
    """Requests come, are cancelled and fail, the table shrinks and grows; what is waited for comes."""
    draw = random.Random(seed)
    table = Table(draw.choice([1, 2, 9, 30]), reserve=draw.choice([0, 4]))
    crowd = Crowd(table, Timeouts(connect_s=5, first_byte_s=60, total_s=None))
    ended = 0

    async def one(number: int) -> None:
        nonlocal ended
        await anyio.sleep(draw.random() * 5)
        with anyio.move_on_after(draw.choice([0.0, 1.0, 3.0, 1000.0, 1000.0])):
            await crowd.ask(number, draw.choice([HERE, HERE, THERE]))
        ended += 1

    async def weather() -> None:
        for _ in range(20):
            await anyio.sleep(0.4)
            table.free = draw.choice([0, 1, 2, 9, 30])
            table.refuses = draw.random() < 0.2
            table.connect_s = draw.choice([0.0, 0.1, 2.0])
            table.answer_s = draw.choice([0.0, 0.5, 1.0, 20.0])
            table.answer = draw.choice([PLAIN, PLAIN, LAST, STREAMED])

    with anyio.fail_after(1000):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(weather)
            for number in range(150):
                tasks.start_soon(one, number)
    assert ended == 150
    crowd.assert_nothing_is_left(table)
