"""How a request is sent: when the guard is asked, how often, and for how long."""

import socket
from dataclasses import dataclass

import pytest

from application.goods.port import Unknown
from infrastructure.providers.answer import Answer, NoAnswer, Stopped
from infrastructure.providers.connection import REST_SECONDS
from infrastructure.providers.goods.fragment import FragmentGateway
from infrastructure.providers.goods.idempotent import IdempotentProvider
from infrastructure.providers.goods.wire import LIMIT_SECONDS, Call, GoodsWire
from infrastructure.providers.transport import LARGEST_ANSWER_BYTES
from tests.providers.goods.stage import KEY, purchase
from tests.providers.raw_server import RawServer, answer
from tests.providers.stage import ClosingGuard, OpenGuard

BUY = Call("POST", "/purchases", KEY, b"{}", KEY)


@dataclass
class Clock:
    at: float = 100.0

    def __call__(self) -> float:
        return self.at


class FreezingGuard:
    """A guard after whose answer the process stands still for a while."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock, self._seconds = clock, seconds

    def may_begin(self) -> bool:
        self._clock.at += self._seconds
        return True


def wire(url: str, **settings: object) -> GoodsWire:
    return GoodsWire(url, "Bearer t", **settings)  # type: ignore[arg-type]  # of a test


def done(connection: socket.socket, _: bytes) -> None:
    connection.sendall(answer(b"{}"))


def test_each_request_has_a_connection_of_its_own() -> None:
    with RawServer(done) as server:
        for _ in range(3):
            assert isinstance(wire(server.url).send(BUY, OpenGuard()), Answer)

    assert server.connections == len(server.heads) == 3
    head = server.heads[0].lower()
    assert b"connection: close" in head
    assert b"idempotency-key: " + KEY.encode() in head
    assert b"x-request-id: " + KEY.encode() in head


def test_the_guard_is_asked_once_and_after_the_connection_is_there() -> None:
    guard = OpenGuard()
    with RawServer(done) as server:
        wire(server.url).send(BUY, guard)
        stopped = wire(server.url).send(BUY, ClosingGuard(0))

    assert guard.asked == 1
    assert isinstance(stopped, Stopped)
    assert len(server.heads) == 1


@pytest.mark.parametrize("frozen", [REST_SECONDS + 1, LIMIT_SECONDS + 1])
def test_a_process_that_was_frozen_before_the_first_byte_sends_none(
    frozen: float,
) -> None:
    clock = Clock()
    with RawServer(done) as server:
        result = wire(server.url, clock=clock).send(BUY, FreezingGuard(clock, frozen))

    assert isinstance(result, NoAnswer)
    assert not result.has_sent
    assert server.heads == []


def test_an_exchange_ends_before_the_guards_promise_does() -> None:
    def drip(connection: socket.socket, _: bytes) -> None:
        connection.sendall(answer(b"x" * 100)[:-50])

    with RawServer(drip) as server:
        result = wire(server.url, limit_seconds=0.1).send(BUY, OpenGuard())

    assert LIMIT_SECONDS < 90
    assert result == NoAnswer(has_sent=True, reason="ReadTimeout")


def test_a_body_is_read_up_to_its_limit() -> None:
    sizes = iter([LARGEST_ANSWER_BYTES, LARGEST_ANSWER_BYTES + 1])

    def big(connection: socket.socket, _: bytes) -> None:
        connection.sendall(answer(b"x" * next(sizes)))

    with RawServer(big) as server:
        whole, oversized = (wire(server.url).send(BUY, OpenGuard()) for _ in range(2))

    assert isinstance(whole, Answer)
    assert len(whole.body) == LARGEST_ANSWER_BYTES
    assert oversized == Answer(200, b"", is_oversized=True)


@pytest.mark.parametrize("url", ["http://", "nothing", "http://[", "ftp://x.example"])
def test_an_address_that_is_none_is_nowhere(url: str) -> None:
    result = wire(url).send(BUY, OpenGuard())

    assert isinstance(result, NoAnswer)
    assert not result.has_sent


class BrokenGuard:
    def may_begin(self) -> bool:
        msg = "broken"
        raise ZeroDivisionError(msg)


@pytest.mark.parametrize("kind", [FragmentGateway, IdempotentProvider])
def test_whatever_breaks_is_an_answer(
    kind: type[FragmentGateway | IdempotentProvider],
) -> None:
    with RawServer(done) as server:
        provider = kind(wire(server.url))
        answers = [provider.submit(purchase(), BrokenGuard())]
        if isinstance(provider, IdempotentProvider):
            answers += [
                provider.look_up(KEY, None, BrokenGuard()),  # type: ignore[list-item]
                provider.balance(BrokenGuard()),  # type: ignore[list-item]
            ]

    assert set(answers) == {Unknown("adapter_error")}
