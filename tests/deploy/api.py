"""A stand-in for the API: what it answers, one thing after the other."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

type Said = tuple[int, dict[str, str], str] | None
"""Status, headers and body; None: the connection ends without a word."""


class Spoken(ThreadingHTTPServer):
    """Says what it was given, and keeps what it was asked."""

    def __init__(self, said: list[Said]) -> None:
        """Take what to say."""
        super().__init__(("127.0.0.1", 0), _Handler)
        self.said = said
        self.asked: list[dict[str, str]] = []

    @property
    def address(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Spoken

    def do_GET(self) -> None:
        self.server.asked.append(dict(self.headers))
        said = self.server.said.pop(0) if self.server.said else (200, {}, "")
        if said is not None:
            status, headers, body = said
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body.encode())

    do_POST = do_GET  # noqa: N815 - the base class looks for this name

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def speaking(*said: Said) -> Iterator[Spoken]:
    """Give a server that says these things in turn."""
    with Spoken(list(said)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
