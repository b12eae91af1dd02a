"""A container's engine is told whether its process is ready."""

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import override

import pytest

from api.cli.app import run
from api.healthcheck import look
from infrastructure.bootstrap import Composition

WORKER = "COUNTERFOIL_WORKER_HTTP_ADDR"
API = "COUNTERFOIL_API_METRICS_ADDR"


@contextmanager
def listener(status: int) -> Iterator[int]:
    """Give the port of a listener whose /readyz answers so."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/readyz" else 404)
            self.end_headers()

        @override
        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def silent() -> Iterator[int]:
    """Give a port where nobody listens, kept from others."""
    with socket.socket() as kept:
        kept.bind(("127.0.0.1", 0))
        yield kept.getsockname()[1]


@pytest.mark.parametrize("host", ["", "0.0.0.0", "127.0.0.1"])  # noqa: S104 - asked
def test_who_is_ready_is_healthy(host: str) -> None:
    with listener(200) as port:
        health = look({WORKER: f"{host}:{port}"})

    assert health.is_ready
    assert str(health) == f"ready: {WORKER} ({host}:{port}) answers 200"


def test_who_drains_is_not() -> None:
    with listener(503) as port:
        health = look({API: f":{port}"})

    assert not health.is_ready
    assert str(health) == f"not ready: {API} (:{port}) answers 503"


def test_the_listener_of_another_container_does_not_count(silent: int) -> None:
    with listener(200) as port:
        health = look({WORKER: f":{silent}", API: f":{port}"})

    assert health.is_ready


def test_one_that_is_not_ready_counts_whoever_else_is() -> None:
    with listener(200) as ready, listener(503) as draining:
        health = look({WORKER: f":{ready}", API: f":{draining}"})

    assert not health.is_ready


def test_where_nothing_listens_nobody_is_ready(silent: int) -> None:
    health = look({WORKER: f":{silent}"})

    assert str(health) == "not ready: nothing listens yet"


def test_who_says_nothing_of_http_is_not_ready() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        port = mute.getsockname()[1]
        answering = threading.Thread(target=_garble, args=(mute,))
        answering.start()
        health = look({WORKER: f":{port}"})
        answering.join()

    assert str(health) == f"not ready: {WORKER} (:{port}) does not answer"


def _garble(mute: socket.socket) -> None:
    connection, _ = mute.accept()
    with connection:
        connection.recv(1024)
        connection.sendall(b"\xff\xfe no HTTP\r\n\r\n")


@pytest.mark.parametrize("value", ["8081", ":", "here:", ":http", "::", ":٣"])
def test_an_address_that_cannot_be_meant_is_named(value: str) -> None:
    assert str(look({WORKER: value})) == f"not ready: {WORKER} is no HOST:PORT"


@pytest.mark.parametrize("environ", [{}, {WORKER: "", API: " "}])
def test_without_an_address_the_settings_are_told(environ: dict[str, str]) -> None:
    assert str(look(environ)) == f"not ready: set {WORKER} or {API}"


def test_a_port_beyond_all_ports_does_not_answer() -> None:
    assert not look({WORKER: ":99999999999"}).is_ready


def test_the_command_tells_it_as_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with listener(200) as port:
        monkeypatch.setenv(WORKER, f":{port}")
        code = run(Composition({}), ["healthcheck", "--json"])

    assert code == 0
    assert capsys.readouterr().out.startswith('{"ready":true,"told":')


def test_the_plain_command_imports_nothing_of_the_product(silent: int) -> None:
    """It is asked every few seconds, beside a process that has work to do."""
    script = (
        "import sys; from api.__main__ import main; sys.argv = ['c', 'healthcheck']\n"
        "try: main()\n"
        "finally: print(sorted({'psycopg', 'msgspec', 'rich'} & set(sys.modules)))"
    )

    ended = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[3],
        env={WORKER: f":{silent}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.stdout == "not ready: nothing listens yet\n[]\n"
    assert ended.returncode == 1
