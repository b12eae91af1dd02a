"""Connections to the API."""

import os
import socket
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.fixtures.http import Api

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
