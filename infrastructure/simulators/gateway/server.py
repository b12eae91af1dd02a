"""The TCP side: one thread for each connection, over the standard library's server.

On `close` the listener goes first, requests in flight finish, and those that wait or
are held end without an answer.
"""

import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, override

from infrastructure.simulators.gateway.control import PREFIX, Control
from infrastructure.simulators.gateway.exchange import Ending, Exchange
from infrastructure.simulators.gateway.wire import Request

HOST: Final = "127.0.0.1"

_IDLE_S: Final = 60.0
_POLL_S: Final = 0.05
_LARGEST_BODY: Final = 64 * 1024


class Server(ThreadingHTTPServer):
    """Listens on the loopback interface from its construction on."""

    daemon_threads = False
    block_on_close = True
    request_queue_size = 1024

    def __init__(
        self,
        port: int,
        exchange: Exchange,
        control: Control,
        tick: Callable[[], None],
    ) -> None:
        self.exchange: Final = exchange
        self.control: Final = control
        self.stopping: Final = threading.Event()
        self._tick: Final = tick
        self._clients: Final[set[socket.socket]] = set()
        self._lock: Final = threading.Lock()
        super().__init__((HOST, port), _Handler)
        self._thread: Final = threading.Thread(
            target=self.serve_forever,
            args=(_POLL_S,),
            name=f"gateway-{self.port}",
            daemon=True,
        )

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.server_address[1])

    def start(self) -> None:
        """Accept connections from now on."""
        self._thread.start()

    def close(self) -> None:
        """Refuse new connections, let requests in flight finish, and end the rest."""
        self.stopping.set()
        if self._thread.is_alive():
            self.shutdown()
        with self._lock:
            clients = list(self._clients)
        for client in clients:  # an idle one reads its end, a busy one may still write
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RD)
        self.server_close()

    @override
    def service_actions(self) -> None:
        self._tick()

    @override
    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._clients.add(request)
        super().process_request(request, client_address)

    @override
    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._clients.discard(request)
        # Without the shutdown that the library sends first: a reset is to be one.
        self.close_request(request)

    @override
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that have gone."""


class _Handler(BaseHTTPRequestHandler):
    """One client's connection."""

    protocol_version = "HTTP/1.1"
    timeout = _IDLE_S
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    @property
    def _gateway(self) -> Server:
        server = self.server
        assert isinstance(server, Server)  # noqa: S101 - which made this handler
        return server

    def _answer(self) -> None:
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal() or int(length) > _LARGEST_BODY:
            self.send_error(400)
            return
        request = Request(
            method=self.command,
            path=self.path.partition("?")[0],
            headers={name.lower(): value for name, value in self.headers.items()},
            body=self.rfile.read(int(length)),
        )
        if request.path.startswith(PREFIX):
            self._send(Ending(self._gateway.control.answer(request)))
        else:
            self._send(self._gateway.exchange.conduct(request, self._wait))

    def _send(self, ending: Ending) -> None:
        if ending.reply is None:
            # Closing with a zero linger time makes the kernel send RST, not FIN.
            self.connection.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
            self.close_connection = True
            return
        self.wfile.write(ending.reply.encoded() * ending.copies)
        if self._gateway.stopping.is_set():
            self.close_connection = True

    def _wait(self, seconds: float | None) -> bool:
        return not self._gateway.stopping.wait(seconds) and seconds is not None
