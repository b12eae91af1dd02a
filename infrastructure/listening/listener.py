"""The server of the internal listener: prometheus-client's, with bounds.

A thread for each request, so a probe is answered while all handlers are busy.  At most
`MOST` connections are open: a further one ends the oldest, so that whoever holds many
keeps no probe out.
"""

import os
import socket
import threading
import weakref
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, override
from wsgiref.simple_server import WSGIRequestHandler

from prometheus_client.exposition import ThreadingWSGIServer

from infrastructure.errors import ConfigurationError

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

MOST: Final = 16
IDLE_SECONDS: Final = 5.0
"""So long a connection may say nothing."""

_LOOK_SECONDS: Final = 0.2
"""How soon it notices that it is to be closed."""

_open: weakref.WeakSet[socket.socket] = weakref.WeakSet()


def _let_go() -> None:
    """Close the port in a copy of this process: a handler may fork.

    Else the port would stay taken as long as the copy lives, and answer nobody.
    """
    for listening in _open:
        listening.close()


os.register_at_fork(after_in_child=_let_go)


class _Handler(WSGIRequestHandler):
    timeout = IDLE_SECONDS
    server_version = "counterfoil"
    sys_version = ""

    @override
    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: probes come all the time."""

    @override
    def address_string(self) -> str:
        """Return the address, and ask no name server for a name."""
        return str(self.client_address[0])


class _Server(ThreadingWSGIServer):
    request_queue_size = 4 * MOST

    def __init__(self, family: int, address: tuple[str, int]) -> None:
        self.address_family = family
        self._lock = threading.Lock()
        self._connections: OrderedDict[int, socket.socket] = OrderedDict()
        super().__init__(address, _Handler)

    @override
    def server_bind(self) -> None:
        """Bind without asking a name server what this host is called."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), self.port
        self.setup_environ()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @override
    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            while len(self._connections) >= MOST:
                _, oldest = self._connections.popitem(last=False)
                with suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)
            self._connections[id(request)] = request
        super().process_request(request, client_address)

    @override
    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._connections.pop(id(request), None)
        super().shutdown_request(request)

    @override
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: whoever asked has left, or was shown the door."""


class Listener:
    """Listens until it is closed, or the process ends."""

    def __init__(self, setting: str, address: tuple[str, int]) -> None:
        """Take the port now, so that a wrong address is told at the start.

        Raises:
            ConfigurationError: the address is not this host's, or the port is taken.
        """
        host, port = address
        try:
            family, *_, sockaddr = socket.getaddrinfo(
                host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            where = (str(sockaddr[0]), int(sockaddr[1]))
            self._server = _Server(family, where)
        except OSError as error:
            raise ConfigurationError(
                setting,
                f"cannot listen at {host}:{port}: {error.strerror or error}",
                "give an address of this host and a port that nobody has, "
                "0 for any free one",
            ) from error
        _open.add(self._server.socket)

    @property
    def address(self) -> str:
        """Where it listens, as HOST:PORT."""
        host = str(self._server.server_address[0])
        return f"{f'[{host}]' if ':' in host else host}:{self._server.port}"

    def serve(self, application: "WSGIApplication") -> None:
        """Begin to answer."""
        self._server.set_app(application)
        threading.Thread(
            target=self._server.serve_forever,
            args=(_LOOK_SECONDS,),
            name="listener",
            daemon=True,
        ).start()

    def close(self) -> None:
        """Stop answering, and let go of the port; only what serves can be closed."""
        self._server.shutdown()
        self._server.server_close()
