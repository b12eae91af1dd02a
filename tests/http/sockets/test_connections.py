"""Connections to the API."""

import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import pytest

from api.http.app import application, enveloped
from api.http.protocol import Patience
from api.http.server import HttpServer
from api.http.surface import Surface
from domain.access.permissions import EVERY
from tests.fixtures.http import Api
from tests.http.sockets.raw import asked, read

pytestmark = pytest.mark.database


def other_end(of: socket.socket) -> socket.socket:
    """Return this process's own end of a connection to itself."""
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found = socket.socket(fileno=os.dup(int(entry.name)))
            with suppress(OSError):
                if found.getpeername() == of.getsockname():
                    return found
            found.close()
    msg = f"nobody has accepted the connection of {of.getsockname()}"
    raise AssertionError(msg)


class Told:
    """Counts answers, and nothing else."""

    def __init__(self) -> None:
        self.answers: list[tuple[tuple[str, ...], int, str | None]] = []

    def began(self, _: str) -> None:
        pass

    def answered(self, *of: str, status: int, problem: str | None, **_: float) -> None:
        self.answers.append((of, status, problem))


def test_an_answer_does_not_wait_for_the_one_before_to_be_acknowledged(
    api: Api,
) -> None:
    """Head and body are sent one by one: the body would come 40 ms after the head."""
    split = urlsplit(api.address)
    with socket.create_connection((split.hostname, split.port)) as client:
        client.sendall(b"GET /v1/ready HTTP/1.1\r\nHost: a\r\n\r\n")
        assert client.recv(8) == b"HTTP/1.1"

        with other_end(client) as accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_body_that_does_not_go_on_is_counted_as_what_its_sender_was_told(
    api: Api,
) -> None:
    counts = Told()
    app = enveloped(application(api.services), cast("Any", counts))
    patience = Patience(body_seconds=0.5)
    server = HttpServer(app, "127.0.0.1", 0, None, cast("Any", counts), patience)
    token = api.token(Surface.SHOPS, "shop", EVERY)
    head = (
        "POST /v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {token}\r\nContent-Length: 99\r\n\r\n"
    )
    server.start()
    try:
        answer = read(asked(server.address, head.encode() + b"{"))
    finally:
        server.stop()

    assert answer.status_code == 408
    assert counts.answers == [(("shops", "/v1/jobs", "POST"), 408, "request_timeout")]
