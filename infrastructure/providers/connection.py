"""Connections that keep to the request's time limit and never outlive a freeze.

httpx bounds each phase of a request, so a provider that drips its answer could hold a
worker for hours.  Here every read and write gets what is left of the whole time.

A connection that has rested for longer than `REST_SECONDS` is not used again.  The
rest is counted by a clock that goes on while the process is stopped or the machine
sleeps, so that also a process that wakes from a freeze leaves its old connections
alone.  The guard is asked once more before a request's first byte goes out: between
its first answer and that byte the process may have been frozen too.

(Looking up the host's name is the one step that the operating system bounds.)
"""

import socket
import time
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from ssl import SSLContext
from typing import Any, Final, override

import httpcore

from application.ports import CallGuard

REST_SECONDS: Final = 4.0
"""Panels close an idle connection 6 s after their answer."""

type Clock = Callable[[], float]


def boot_seconds() -> float:
    """Return the seconds since boot, including those that the machine slept."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class HaltedError(Exception):
    """The guard said no right before the first byte."""


class RestedError(Exception):
    """The connection has rested too long; nothing was sent over it."""


@dataclass(slots=True)
class Exchange:
    """One request on its way: until when, and whether it has begun."""

    guard: CallGuard
    ends_at: float
    has_sent: bool = False


EXCHANGE: Final[ContextVar[Exchange]] = ContextVar("EXCHANGE")
"""The exchange of this thread; a pool's connections serve many in turn."""


class BoundedStream(httpcore.NetworkStream):
    """A network stream that knows the time limit of the exchange it serves."""

    def __init__(self, stream: httpcore.NetworkStream, clock: Clock) -> None:
        """Take over a stream that has just been opened."""
        self._stream = stream
        self._clock = clock
        self._used_at = clock()

    @override
    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return what arrives before the exchange ends."""
        left = seconds_left(self._clock)
        if left <= 0:
            raise httpcore.ReadTimeout
        data = self._stream.read(max_bytes, left)
        self._used_at = self._clock()
        return data

    @override
    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send, before the exchange ends and only if it may (still) begin."""
        exchange = EXCHANGE.get()
        left = seconds_left(self._clock)
        if left <= 0:
            raise httpcore.WriteTimeout
        if not exchange.has_sent:
            if not exchange.guard.may_begin():
                raise HaltedError
            # Last, so that a freeze while the guard was asked is seen as well.
            if self._is_rested():
                raise RestedError
            exchange.has_sent = True
        self._stream.write(buffer, left)
        self._used_at = self._clock()

    @override
    def close(self) -> None:
        """Close the stream."""
        self._stream.close()

    @override
    def start_tls(
        self,
        ssl_context: SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        """Return the stream under TLS, bounded like this one."""
        left = seconds_left(self._clock)
        if left <= 0:
            raise httpcore.ConnectTimeout
        secured = self._stream.start_tls(ssl_context, server_hostname, left)
        return BoundedStream(secured, self._clock)

    @override
    def get_extra_info(self, info: str) -> Any:
        """Return the stream's own; a rested one looks closed to the pool."""
        # The pool drops an idle connection that has something to read, since that
        # can only be its end.
        if info == "is_readable" and self._is_rested():
            return True
        return self._stream.get_extra_info(info)

    def _is_rested(self) -> bool:
        return self._clock() - self._used_at > REST_SECONDS


class BoundedBackend(httpcore.NetworkBackend):
    """Opens bounded streams, all addresses of a host within one time limit."""

    def __init__(self, clock: Clock) -> None:
        """Take the clock that counts while the process is stopped."""
        self._clock = clock
        self._backend = httpcore.SyncBackend()

    @override
    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Return a stream to the first address of the host that answers."""
        failure: Exception = httpcore.ConnectError()
        for address in _addresses(host, port):
            left = seconds_left(self._clock)
            if left <= 0:
                raise httpcore.ConnectTimeout
            try:
                stream = self._backend.connect_tcp(
                    address, port, left, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                return BoundedStream(stream, self._clock)
        raise failure


def _addresses(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpcore.ConnectError from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def seconds_left(clock: Clock) -> float:
    """Return the seconds until the exchange of this thread has to be over."""
    return EXCHANGE.get().ends_at - clock()
