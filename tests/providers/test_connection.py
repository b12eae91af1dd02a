"""A connection gives every read and write what is left of its exchange's time."""

from collections.abc import Iterator
from typing import override

import httpcore
import pytest

from infrastructure.providers.connection import (
    EXCHANGE,
    REST_SECONDS,
    BoundedStream,
    Exchange,
    HaltedError,
    RestedError,
)
from tests.providers.stage import ClosingGuard, OpenGuard

LIMIT_SECONDS = 10.0


class Clock:
    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


class RecordingStream(httpcore.NetworkStream):
    """A stream that notes how long each of its steps might have taken."""

    def __init__(self) -> None:
        self.timeouts: list[float | None] = []
        self.written = b""

    @override
    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self.timeouts.append(timeout)
        return b"x"

    @override
    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self.timeouts.append(timeout)
        self.written += buffer

    @override
    def get_extra_info(self, info: str) -> object:
        return None


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def exchange(clock: Clock) -> Iterator[Exchange]:
    exchange = Exchange(OpenGuard(), clock() + LIMIT_SECONDS)
    mark = EXCHANGE.set(exchange)
    yield exchange
    EXCHANGE.reset(mark)


@pytest.fixture
def inner() -> RecordingStream:
    return RecordingStream()


@pytest.fixture
def stream(inner: RecordingStream, clock: Clock, exchange: Exchange) -> BoundedStream:
    assert not exchange.has_sent
    return BoundedStream(inner, clock)


def test_each_step_gets_what_is_left_of_the_whole(
    stream: BoundedStream, inner: RecordingStream, clock: Clock
) -> None:
    stream.write(b"head", LIMIT_SECONDS)
    clock.at += 2
    stream.write(b"body", LIMIT_SECONDS)
    clock.at += 7
    stream.read(1, LIMIT_SECONDS)

    assert inner.timeouts == [10.0, 8.0, 1.0]


def test_once_the_time_is_up_nothing_is_read_or_written(
    stream: BoundedStream, inner: RecordingStream, clock: Clock
) -> None:
    clock.at += LIMIT_SECONDS

    with pytest.raises(httpcore.ReadTimeout):
        stream.read(1)
    with pytest.raises(httpcore.WriteTimeout):
        stream.write(b"head")
    assert inner.timeouts == []


def test_the_guard_is_asked_before_the_first_byte_and_not_again(
    stream: BoundedStream, inner: RecordingStream, exchange: Exchange
) -> None:
    guard = ClosingGuard(1)
    exchange.guard = guard

    stream.write(b"head")
    stream.write(b"body")

    assert inner.written == b"headbody"
    assert exchange.has_sent


def test_what_the_guard_refuses_has_not_been_sent(
    stream: BoundedStream, inner: RecordingStream, exchange: Exchange
) -> None:
    exchange.guard = ClosingGuard(0)

    with pytest.raises(HaltedError):
        stream.write(b"head")
    assert inner.written == b""
    assert not exchange.has_sent


def test_a_rested_stream_sends_nothing_and_looks_closed(
    stream: BoundedStream, inner: RecordingStream, clock: Clock
) -> None:
    clock.at += REST_SECONDS + 0.1

    assert stream.get_extra_info("is_readable")
    with pytest.raises(RestedError):
        stream.write(b"head")
    assert inner.written == b""


def test_an_answer_that_takes_long_is_no_rest(
    stream: BoundedStream, clock: Clock
) -> None:
    stream.write(b"head")
    clock.at += REST_SECONDS + 1

    assert stream.read(1) == b"x"
    assert not stream.get_extra_info("is_readable")
