"""A provider that says secrets in everything that it answers, and is never right.

It stands for the panel and for gateways of goods: users are missing, or their like is
answered; what is written or bought meets one fault after the other.
"""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, override

from tests.http.canary.plants import SECRETS, planted

SAID = planted("provider")
BODY = {
    "message": SAID,
    "error": SAID,
    "errorCode": "A001",
    "path": SAID,
    "errors": [{"path": [SAID], "message": SAID, "code": SAID}],
}
USER = {"response": {"uuid": SAID, "username": SAID, "status": SAID, "id": 7}}

Answer = tuple[int, dict[str, str], bytes]


def told(status: int, body: object = BODY, **headers: str) -> Answer:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status, {"X-Said": SAID, "Set-Cookie": f"s={SAID}"} | named, content


FAULTS: tuple[Answer, ...] = (
    told(500),
    told(400),
    told(409),
    told(200, SAID.encode()),
    told(200, USER),
    told(302, Location=f"https://h.example/{SAID}"),
    told(429, Retry_After=SAID),
    told(503, Retry_After="99999999999"),
    told(418, SAID.encode()),
    told(200, {"key": SAID, "state": SAID, "reference": SAID, "ok": SAID}),
)
MISSING = told(404, BODY | {"errorCode": "A063"})
BALANCE = told(200, {"amountMinor": SAID, "currency": SAID})


class Liar(ThreadingHTTPServer):
    """Counts what it was asked, and answers each with the next fault."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: Counter[str] = Counter()
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def n_asked(self, about: str) -> int:
        """Return how often it was asked about that."""
        return sum(n for name, n in self.asked.items() if about in name)

    def answer(self, method: str, path: str, key: str | None) -> Answer:
        """Return what is said to that request."""
        about = f"{method} {'/'.join(path.split('/')[:4])}"
        with self.lock:
            n = self.asked[about]
            self.asked[about] += 1
        if path.endswith("/balance"):
            return BALANCE
        if method == "GET" and "/by-username/" in path and n >= len(FAULTS):
            return MISSING
        if key is not None and n == 0:
            # Bought, under a name that is none of ours to show.
            name = f"password={SECRETS['password']}"
            return told(200, {"key": key, "state": "delivered", "reference": name})
        return FAULTS[n % len(FAULTS)]

    @override
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of who has left in the middle."""


class Handler(BaseHTTPRequestHandler):
    """Reads one request, and answers it."""

    protocol_version = "HTTP/1.1"
    server: Liar

    def do_GET(self) -> None:
        """Answer one request."""
        length = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(length)
        key = self.headers.get("Idempotency-Key")
        status, headers, content = self.server.answer(self.command, self.path, key)
        self.send_response(status, "no matter")
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self) -> None:
        """Answer one request."""
        self.do_GET()

    def do_PATCH(self) -> None:
        """Answer one request."""
        self.do_GET()

    @override
    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing: what is on standard error is what is looked at."""


@contextmanager
def lying() -> Iterator[Liar]:
    """Give a provider that listens."""
    liar = Liar()
    thread = threading.Thread(target=liar.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield liar
    finally:
        liar.shutdown()
        thread.join()
        liar.server_close()
