"""S23 by the panel: bytes that are no answer of any panel, to everything it is asked.

Each is an answer of the port, in time: the adapter raises nothing that it would have
to catch again at its edge (`adapter_error`).
"""

import gzip
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from application.ports import (
    ADAPTER_ERROR,
    Misconfigured,
    Rejected,
    Unavailable,
    Unknown,
)
from infrastructure.providers.panel.http_panel import HttpPanel
from infrastructure.providers.panel.wire import PanelWire
from tests.providers.raw_server import RawServer, answer
from tests.providers.stage import DESIRED, TOKEN, OpenGuard, access_to

LIMIT_SECONDS = 0.5
GRACE_SECONDS = 30.0
"""What a busy machine may add."""

FINE = b'{"response":{}}'
MEGABYTE = 1_000_000


def head(*lines: bytes, status: bytes = b"200 OK", body: bytes = FINE) -> bytes:
    told = (b"HTTP/1.1 " + status, *lines, b"", body)
    return b"\r\n".join(told)


SAID: dict[str, bytes] = {
    "many headers": head(
        *(b"X-%d: y" % n for n in range(2_000)), b"Content-Length: 15"
    ),
    "a header of a megabyte": head(b"X: " + b"y" * MEGABYTE, b"Content-Length: 15"),
    "NUL in a header": head(b"X: \0", b"Content-Length: 15"),
    "no text in a header": head(
        b"Retry-After: \xff\xfe", b"Date: \xff", b"Content-Length: 15", status=b"503 X"
    ),
    "no text in the status": head(b"Content-Length: 15", status=b"503 \xff\xfe"),
    "two times to wait": head(
        b"Retry-After: 1", b"Retry-After: 2", b"Content-Length: 15", status=b"503 X"
    ),
    "less than no length": head(b"Content-Length: -1"),
    "a length of words": head(b"Content-Length: abc"),
    "a length of 5,000 digits": head(b"Content-Length: " + b"9" * 5_000),
    "two lengths": head(b"Content-Length: 15", b"Content-Length: 16"),
    "a chunk of words": head(b"Transfer-Encoding: chunked", body=b"zz\r\n"),
    "a chunk without end": head(
        b"Transfer-Encoding: chunked", body=b"f" * 20 + b"\r\n"
    ),
    "status 99": head(b"Content-Length: 15", status=b"99 X"),
    "status 999": head(b"Content-Length: 15", status=b"999 X"),
    "another protocol": head(b"Upgrade: x", status=b"101 Switching Protocols"),
    "no content": head(status=b"204 No Content", body=b""),
    "nothing": b"",
    "zeros": b"\0" * 1_000,
    "a greeting of something else": b"SSH-2.0-x\r\n",
    "half a line": b"HTTP/1.1 200",
    "compressed": answer(
        gzip.compress(b"x" * 10 * MEGABYTE), "200 OK", "Content-Encoding: gzip"
    ),
    "said to be compressed": answer(FINE, "200 OK", "Content-Encoding: br"),
    "another alphabet": answer(FINE.decode().encode("utf-16")),
    "no text": answer(b"\xff\xfe", "500 X"),
    "deep": answer(b'{"response":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "a deep error": answer(b'{"errorCode":' + b"[" * 100_000, "400 X"),
    "NUL in an error": answer(b'{"errorCode":"\\u0000\\ud800"}', "500 X"),
    "an error of 10,000 digits": answer(
        b'{"errorCode":' + b"9" * 10_000 + b"}", "400 X"
    ),
    "an error that is no number": answer(b"NaN", "400 X"),
    "an error of 1e400": answer(
        b'{"errors":[{"path":["expireAt"],"message":1e400}]}', "400 X"
    ),
    "a thousand cookies": answer(FINE, "200 OK", *["Set-Cookie: a=b"] * 1_000),
}

ENDLESS: dict[str, tuple[bytes, bytes]] = {
    "announcements": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
    "chunks": (head(b"Transfer-Encoding: chunked", body=b""), b"1\r\nx\r\n"),
}


def says(told: bytes) -> Callable[[socket.socket, bytes], None]:
    def talk(connection: socket.socket, _head: bytes) -> None:
        connection.sendall(told)
        connection.shutdown(socket.SHUT_RDWR)

    return talk


def goes_on(first: bytes, again: bytes) -> Callable[[socket.socket, bytes], None]:
    def talk(connection: socket.socket, _head: bytes) -> None:
        connection.sendall(first)
        while True:
            connection.sendall(again)

    return talk


def answers(
    url: str, operations: tuple[str, ...] = ("create", "extend", "disable")
) -> Iterator[object]:
    """Yield what operations of each sort and a look come to."""
    panel = HttpPanel(PanelWire(url, TOKEN, limit_seconds=LIMIT_SECONDS))
    access = access_to(DESIRED, 1, None)
    for operation in operations:
        yield panel.carry_out(operation, access, "op.1", OpenGuard())
    yield panel.read(access, "op.1", OpenGuard())
    panel.close()


@pytest.mark.parametrize("what", SAID)
def test_s23_bytes_that_are_no_answer_are_classified(what: str) -> None:
    with RawServer(says(SAID[what])) as server:
        for told in answers(server.url):
            assert isinstance(told, Misconfigured | Rejected | Unavailable | Unknown)
            assert ADAPTER_ERROR not in repr(told)
            assert len(repr(told)) < 400


@pytest.mark.parametrize("what", ENDLESS)
def test_s23_an_answer_without_end_is_left_in_time(what: str) -> None:
    with RawServer(goes_on(*ENDLESS[what])) as server:
        began = time.monotonic()
        for told in answers(server.url, ("extend",)):
            assert isinstance(told, Unavailable | Unknown)
            assert ADAPTER_ERROR not in repr(told)
            assert time.monotonic() - began < LIMIT_SECONDS + GRACE_SECONDS
            began = time.monotonic()
