"""What a request may cost, which connection it takes, and what it never carries."""

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from infrastructure.errors import ConfigurationError
from infrastructure.providers.answer import Answer, NoAnswer, Stopped
from infrastructure.providers.connection import REST_SECONDS, boot_seconds
from infrastructure.providers.panel.answer import Call
from infrastructure.providers.panel.wire import PanelWire
from infrastructure.providers.transport import LARGEST_ANSWER_BYTES
from tests.providers.raw_server import RawServer, answer
from tests.providers.stage import OpenGuard

READ = Call("GET", "/api/users/1", "GET users/{id}")
WRITE = Call("PATCH", "/api/users", "PATCH users", b"{}")
GRACE_SECONDS = 30.0  # a busy machine's; without a limit it would never end
"""What a busy machine may add to a limit."""


class MovableClock:
    """The machine's clock since boot, which a freeze moves on."""

    def __init__(self) -> None:
        self.frozen_for = 0.0

    def __call__(self) -> float:
        return boot_seconds() + self.frozen_for


class FreezingGuard(OpenGuard):
    """A guard that the process is frozen in, when it is asked for the nth time."""

    def __init__(self, clock: MovableClock, nth: int) -> None:
        super().__init__()
        self._clock = clock
        self._nth = nth

    def may_begin(self) -> bool:
        answer = super().may_begin()
        if self.asked == self._nth:
            self._clock.frozen_for += REST_SECONDS + 1
        return answer


def fine(connection: socket.socket, _head: bytes) -> None:
    connection.sendall(answer(b'{"response":{}}'))


def header(head: bytes, name: str) -> str | None:
    for line in head.decode().split("\r\n")[1:]:
        key, _, value = line.partition(":")
        if key.lower() == name.lower():
            return value.strip()
    return None


def test_a_request_carries_what_the_panel_asks_for_and_no_condition() -> None:
    with RawServer(fine) as server:
        wire = PanelWire(server.url, "a-token")
        wire.send(WRITE, "op.1.1", OpenGuard())
        wire.close()

    (head,) = server.heads
    assert header(head, "Authorization") == "Bearer a-token"
    assert header(head, "Accept") == "application/json"
    assert header(head, "Accept-Encoding") == "identity"
    assert header(head, "Content-Type") == "application/json"
    assert header(head, "X-Forwarded-For")
    assert header(head, "X-Forwarded-Proto") == "https"
    assert header(head, "X-Request-ID") == "op.1.1"
    assert header(head, "If-None-Match") is None


@pytest.mark.parametrize(
    ("base", "path"),
    [
        ("", "/api/users"),
        ("/", "/api/users"),
        ("/panel", "/panel/api/users"),
        ("/panel/?a=1#b", "/panel/api/users"),
    ],
)
def test_the_path_of_the_base_address_is_kept_and_joined(base: str, path: str) -> None:
    with RawServer(fine) as server:
        wire = PanelWire(server.url + base, "t")
        wire.send(WRITE, "op.1.1", OpenGuard())
        wire.close()

    assert server.heads[0].startswith(f"PATCH {path} HTTP/1.1".encode())


@pytest.mark.parametrize(
    "url",
    ["", "panel", "ftp://h", "//h/p", "http://", "http://u:p@h", "http://h:99999"],
)
def test_an_address_that_is_no_absolute_http_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="COUNTERFOIL_REMNAWAVE_URL"):
        PanelWire(url, "t")


@pytest.mark.parametrize("token", ["", "a b", "a\nb", "ключ"])
def test_a_token_that_no_header_can_carry_is_refused_unquoted(token: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        PanelWire("http://h", token)

    assert not token or token not in str(refused.value)


def test_neither_redirects_nor_cookies_are_followed() -> None:
    def redirect(connection: socket.socket, _head: bytes) -> None:
        moved = ("Location: http://127.0.0.1:9/", "Set-Cookie: a=b; Path=/")
        connection.sendall(answer(b"", "302 Found", *moved))

    with RawServer(redirect) as server:
        wire = PanelWire(server.url, "t")
        first = wire.send(READ, "op.1.1", OpenGuard())
        wire.send(READ, "op.1.2", OpenGuard())
        wire.close()

    assert first == Answer(302)
    assert len(server.heads) == 2
    assert header(server.heads[1], "Cookie") is None


@pytest.mark.parametrize("slow_part", ["head", "body"])
def test_a_panel_that_drips_its_answer_is_left_when_the_time_is_up(
    slow_part: str,
) -> None:
    """The limit is the request's as a whole, not each read's."""
    over = threading.Event()

    def drip(connection: socket.socket, _head: bytes) -> None:
        if slow_part == "body":
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n")
        else:
            connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not over.wait(0.05):
            connection.sendall(b"x")

    with RawServer(drip) as server:
        wire = PanelWire(server.url, "t", limit_seconds=0.4)
        began = time.monotonic()
        result = wire.send(WRITE, "op.1.1", OpenGuard())
        took = time.monotonic() - began
        over.set()
        wire.close()

    assert result == NoAnswer(has_sent=True, reason="ReadTimeout")
    assert 0.3 < took < 0.4 + GRACE_SECONDS


def test_no_more_than_1_mib_of_an_answer_is_read() -> None:
    def endless(connection: socket.socket, _head: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            connection.sendall(b"x" * 65536)

    with RawServer(endless) as server:
        wire = PanelWire(server.url, "t")
        result = wire.send(READ, "op.1.1", OpenGuard())
        wire.close()

    assert result == Answer(200, is_oversized=True)


def test_an_answer_of_exactly_1_mib_is_read_whole() -> None:
    body = b"x" * LARGEST_ANSWER_BYTES

    with RawServer(lambda it, _: it.sendall(answer(body))) as server:
        wire = PanelWire(server.url, "t")
        result = wire.send(READ, "op.1.1", OpenGuard())
        wire.close()

    assert isinstance(result, Answer)
    assert len(result.body) == LARGEST_ANSWER_BYTES


def test_where_nobody_listens_nothing_was_sent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    wire = PanelWire(f"http://127.0.0.1:{port}", "t")
    result = wire.send(WRITE, "op.1.1", OpenGuard())
    wire.close()

    assert result == NoAnswer(has_sent=False, reason="ConnectError")


def test_a_connection_is_used_again_while_it_is_fresh() -> None:
    with RawServer(fine) as server:
        wire = PanelWire(server.url, "t")
        wire.send(READ, "op.1.1", OpenGuard())
        wire.send(READ, "op.1.2", OpenGuard())
        wire.close()

    assert server.connections == 1


def test_a_connection_from_before_a_freeze_is_not_used_after_it() -> None:
    clock = MovableClock()

    with RawServer(fine) as server:
        wire = PanelWire(server.url, "t", clock=clock)
        wire.send(READ, "op.1.1", OpenGuard())
        clock.frozen_for = REST_SECONDS + 1
        result = wire.send(READ, "op.1.2", OpenGuard())
        wire.close()

    assert isinstance(result, Answer)
    assert server.connections == 2


def test_of_many_connections_from_before_a_freeze_none_is_tried() -> None:
    clock = MovableClock()
    together = threading.Barrier(6)

    def meet(connection: socket.socket, head: bytes) -> None:
        if header(head, "X-Request-ID") == "op.1.1":
            together.wait(timeout=10)
        fine(connection, head)

    with RawServer(meet) as server, ThreadPoolExecutor(6) as threads:
        wire = PanelWire(server.url, "t", clock=clock)
        for _ in range(6):
            threads.submit(wire.send, READ, "op.1.1", OpenGuard())
        threads.shutdown()
        clock.frozen_for = REST_SECONDS + 1
        result = wire.send(READ, "op.1.2", OpenGuard())
        wire.close()

    assert isinstance(result, Answer)
    assert server.connections == 7


@pytest.mark.parametrize("nth", [1, 2])
def test_a_freeze_before_the_first_byte_costs_a_new_connection_only(nth: int) -> None:
    """Also between the choice of the connection and the byte: none goes over it."""
    clock = MovableClock()

    with RawServer(fine) as server:
        wire = PanelWire(server.url, "t", clock=clock)
        wire.send(READ, "op.1.1", OpenGuard())
        result = wire.send(READ, "op.1.2", FreezingGuard(clock, nth))
        wire.close()

    assert isinstance(result, Answer)
    assert [header(head, "X-Request-ID") for head in server.heads] == [
        "op.1.1",
        "op.1.2",
    ]
    assert server.connections == 2


def test_a_lease_that_ends_while_connecting_stops_the_request() -> None:
    class OnceGuard(OpenGuard):
        def may_begin(self) -> bool:
            return super().may_begin() and self.asked == 1

    with RawServer(fine) as server:
        wire = PanelWire(server.url, "t")
        result = wire.send(WRITE, "op.1.1", OnceGuard())
        wire.close()

    assert result == Stopped()
    assert server.heads == []
