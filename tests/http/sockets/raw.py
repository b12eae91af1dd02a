"""Bytes that are sent to a server as they are, and what it says to them."""

import socket
from contextlib import suppress
from urllib.parse import urlsplit

import httpx


def connected(address: str) -> socket.socket:
    """Return a new connection to whoever answers there."""
    split = urlsplit(address)
    return socket.create_connection((split.hostname or "", split.port or 0), timeout=30)


def rest(client: socket.socket) -> bytes:
    """Return all that comes until the server hangs up."""
    received = b""
    with suppress(ConnectionResetError):
        while more := client.recv(65_536):
            received += more
    return received


def asked(address: str, sent: bytes) -> bytes:
    """Return all that a server says to these bytes."""
    with connected(address) as client:
        client.sendall(sent)
        return rest(client)


def read(answer: bytes) -> httpx.Response:
    """Return one answer as a client of HTTP would have read it."""
    head, _, body = answer.partition(b"\r\n\r\n")
    line, *headers = head.split(b"\r\n")
    pairs = [(name, value.strip()) for name, _, value in map(_halves, headers)]
    return httpx.Response(int(line.split()[1]), headers=pairs, content=body)


def _halves(header: bytes) -> tuple[bytes, bytes, bytes]:
    return header.partition(b":")
