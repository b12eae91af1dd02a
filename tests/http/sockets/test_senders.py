"""What is no HTTP, and whoever is slow, at a server whose patience is short."""

import asyncio
import socket
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from queue import Queue
from typing import Any

import pytest
from litestar.enums import ScopeType
from litestar.types import Receive, Scope, Send

from api.http.problems.render import MEDIA_TYPE
from api.http.protocol import HEAD_BYTES, Patience
from api.http.server import HttpServer
from tests.http.sockets.raw import asked, connected, read, rest

SHORT = Patience(head_seconds=1, body_seconds=0.5, whole_seconds=1.5)
OK = b"HTTP/1.1 200"
REFUSED = [(400, "invalid_request")]
LONG = Patience(head_seconds=600, body_seconds=600, whole_seconds=600)
BAD_CHUNK = b"Transfer-Encoding: chunked\r\n\r\nsecret\r\n"
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n"


@dataclass
class Books:
    """Counts, and an application that reads all of a body before it answers."""

    told: list[tuple[int, str | None]] = field(
        default_factory=list[tuple[int, str | None]]
    )
    seen: Queue[str] = field(default_factory=Queue[str])
    go_on: threading.Event = field(default_factory=threading.Event)

    def began(self, surface: str) -> None:
        assert surface == "none"

    def answered(self, *_: str, status: int, problem: str, **__: float) -> None:
        self.told.append((status, problem))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == ScopeType.HTTP
        if scope["path"] == "/early":
            await answered(send)
            return
        while True:
            message = await receive()
            self.seen.put(message["type"])
            if message["type"] != "http.request":
                return
            if not message["more_body"]:
                break
        if scope["path"] == "/slow":
            await asyncio.to_thread(self.go_on.wait)
        await answered(send)


async def answered(send: Send) -> None:
    await send(
        {
            "type": "http.response.start",
            "status": 200,
            "headers": [(b"content-length", b"2")],
        }
    )
    await send({"type": "http.response.body", "body": b"ok", "more_body": False})


@contextmanager
def serving(patience: Patience) -> Generator[tuple[str, Books]]:
    books = Books()
    counts: Any = books
    server = HttpServer(books, "127.0.0.1", 0, None, counts, patience)
    server.start()
    try:
        yield server.address, books
    finally:
        books.go_on.set()
        server.stop()


def one(client: socket.socket) -> bytes:
    """Return one answer of the application."""
    said = b""
    while not said.endswith(b"\r\n\r\nok"):
        more = client.recv(65_536)
        assert more, said
        said += more
    return said


def dripped(client: socket.socket) -> bytes:
    """Return what is said to somebody who sends a byte now and then."""
    client.settimeout(0.01)
    while True:
        client.sendall(b"x")
        with suppress(TimeoutError):
            said = client.recv(65_536)
            client.settimeout(30)
            return said + rest(client)


def wait_for_patience_to_end(address: str) -> None:
    """Return when a connection that says nothing was given up."""
    with connected(address) as silent:
        assert rest(silent) == b""


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03secret",
        b"GET / HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: many\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\n" + BAD_CHUNK,
    ],
    ids=["version", "tls", "header", "no host", "length", "chunk"],
)
def test_what_is_no_http_is_told_so_and_nothing_is_echoed(sent: bytes) -> None:
    with serving(LONG) as (address, books):
        said = asked(address, sent)

        answer = read(said)
        assert answer.status_code == 400
        assert answer.headers["content-type"] == MEDIA_TYPE
        assert answer.headers["connection"] == "close"
        assert answer.json()["code"] == "invalid_request"
        assert answer.headers["x-request-id"] == answer.json()["requestId"]
        assert b"secret" not in said
        counted = [] if sent.endswith(BAD_CHUNK) else REFUSED
        assert books.told == counted  # the application counts what it has seen


def test_a_head_of_16_kib_is_taken_and_a_longer_one_is_not() -> None:
    with serving(LONG) as (address, books):
        fits = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: %s\r\n\r\n"
        room = HEAD_BYTES - len(fits % b"")

        assert read(asked(address, fits % (room * b"x"))).status_code == 200
        answer = read(asked(address, fits % (20_000 * b"x")))

        assert answer.status_code == 431
        assert answer.json()["code"] == "head_too_large"
        assert books.told == [(431, "head_too_large")]


def test_a_head_behind_another_request_has_the_same_limit() -> None:
    with serving(LONG) as (address, books):
        large = b"GET / HTTP/1.1\r\nHost: a\r\nX: %s\r\n\r\n" % (30_000 * b"x")

        said = asked(address, GET + large)

        assert said.startswith(OK)
        assert b"HTTP/1.1 431" in said
        assert books.told == [(431, "head_too_large")]


@pytest.mark.parametrize("body", [b"Content-Length: 9\r\n\r\nab", BAD_CHUNK])
def test_whoever_asks_for_a_head_alone_is_hung_up_on_as_well(body: bytes) -> None:
    with serving(SHORT) as (address, _):
        said = asked(address, b"HEAD / HTTP/1.1\r\nHost: a\r\n" + body)

        head, _, nothing = said.partition(b"\r\n\r\n")
        assert head.startswith((b"HTTP/1.1 408", b"HTTP/1.1 400"))
        assert nothing == b""


def test_a_head_must_be_whole_in_time_however_often_a_byte_of_it_comes() -> None:
    with serving(SHORT) as (address, books), connected(address) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ")
        answer = read(dripped(client))
        assert answer.status_code == 408
        assert answer.json()["code"] == "request_timeout"
        assert answer.json()["retryable"] is True
        assert answer.headers["retry-after"] == "1"
        assert books.told == [(408, "request_timeout")]


def test_who_says_nothing_is_told_nothing() -> None:
    with serving(SHORT) as (address, books):
        wait_for_patience_to_end(address)

        assert books.told == []


def test_a_body_that_does_not_go_on_ends_and_its_handler_sees_nobody_there() -> None:
    with serving(SHORT) as (address, books):
        answer = read(asked(address, POST + b"some of it"))

        assert answer.status_code == 408
        assert books.seen.get(timeout=30) == "http.request"
        assert books.seen.get(timeout=30) == "http.disconnect"


def test_a_body_has_time_as_long_as_it_goes_on() -> None:
    patience = Patience(head_seconds=1, body_seconds=20, whole_seconds=60)
    with serving(patience) as (address, books), connected(address) as client:
        client.sendall(POST.replace(b"1000000", b"3") + b"a")
        books.seen.get(timeout=30)
        wait_for_patience_to_end(address)
        client.sendall(b"b")
        books.seen.get(timeout=30)
        wait_for_patience_to_end(address)
        client.sendall(b"c")

        assert one(client).startswith(OK)


def test_a_body_of_single_bytes_ends_at_last() -> None:
    with serving(SHORT) as (address, _), connected(address) as client:
        client.sendall(POST)
        assert read(dripped(client)).status_code == 408


def test_who_goes_on_after_an_early_answer_is_hung_up_on() -> None:
    with serving(SHORT) as (address, _):
        said = asked(address, POST.replace(b"/ ", b"/early ") + b"some of it")

        assert said.startswith(b"HTTP/1.1 200")


def test_a_handler_and_the_rest_between_requests_take_the_time_they_need() -> None:
    with serving(SHORT) as (address, books), connected(address) as client:
        client.sendall(GET.replace(b"/ ", b"/slow "))
        books.seen.get(timeout=30)
        wait_for_patience_to_end(address)
        books.go_on.set()
        assert one(client).startswith(OK)

        wait_for_patience_to_end(address)
        client.sendall(GET)
        assert one(client).startswith(OK)

        client.sendall(b"GET ")
        assert read(rest(client)).status_code == 408


def test_a_server_stops_while_somebody_has_sent_half() -> None:
    with serving(LONG) as (address, _):
        client = connected(address)
        client.sendall(b"GET / HT")
        with connected(address) as other:  # by now the first was read
            other.sendall(GET)
            assert one(other).startswith(OK)

    with closing(client):
        assert rest(client) == b""
