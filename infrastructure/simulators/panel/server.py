"""The TCP side: one thread listens, one thread serves each connection.

Idle connections are closed a second after the promised keep-alive. On `close` the
listener goes first, requests in flight finish, those that hang or are held end
without an answer.
"""

import contextlib
import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from infrastructure.simulators.panel.control import PREFIX, Control
from infrastructure.simulators.panel.exchange import Exchange
from infrastructure.simulators.panel.wire import (
    KEEP_ALIVE_S,
    Delivery,
    MalformedError,
    Request,
    body_length,
    encode,
    parse_head,
)

HOST: Final = "127.0.0.1"

_IDLE_S: Final = KEEP_ALIVE_S + 1.0
_TICK_S: Final = 0.5
_LINGER_TICK_S: Final = 0.1
_FINISH_S: Final = 5.0
"""How long a stop waits for requests in flight."""
_HEAD_END: Final = b"\r\n\r\n"
_MAX_HEAD_BYTES: Final = 64 * 1024
_MALFORMED: Final = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"


class Connection:
    """One client's connection, served by one thread."""

    def __init__(
        self,
        client: socket.socket,
        exchange: Exchange,
        control: Control,
        stopping: threading.Event,
    ) -> None:
        self._client: Final = client
        self._exchange: Final = exchange
        self._control: Final = control
        self._stopping: Final = stopping
        self._received = b""
        self._idle = True

    def serve(self) -> None:
        """Answer requests until either side ends the connection."""
        with self._client, contextlib.suppress(OSError):
            self._client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._client.settimeout(_IDLE_S)
            try:
                while (request := self._read()) is not None:
                    self._idle = False
                    if not self._answer(request):
                        return
                    self._idle = True
                    if self._stopping.is_set():  # set before idle ones are hung up
                        return
            except MalformedError:
                self._client.sendall(_MALFORMED)

    def hang_up_if_idle(self) -> None:
        """End the connection unless a request is in flight."""
        if self._idle:
            with contextlib.suppress(OSError):
                self._client.shutdown(socket.SHUT_RD)

    def linger(self, seconds: float | None) -> bool:
        """See Line.linger."""
        if seconds is not None:
            return not self._stopping.wait(seconds)
        while not self._is_gone() and not self._stopping.wait(_LINGER_TICK_S):
            pass
        return False

    def _is_gone(self) -> bool:
        """Return whether the client has closed its side."""
        try:
            readable, _, _ = select.select([self._client], [], [], 0)
            return bool(readable) and not self._client.recv(1, socket.MSG_PEEK)
        except OSError:
            return True

    def _read(self) -> Request | None:
        """Return the next request, None when the client is silent or gone."""
        while _HEAD_END not in self._received:
            if len(self._received) > _MAX_HEAD_BYTES:
                raise MalformedError
            if not self._receive():
                return None
        head, _, self._received = self._received.partition(_HEAD_END)
        request = parse_head(head)
        length = body_length(request)
        while len(self._received) < length:
            if not self._receive():
                return None
        body, self._received = self._received[:length], self._received[length:]
        return replace(request, body=body)

    def _receive(self) -> bool:
        try:
            chunk = self._client.recv(64 * 1024)
        except TimeoutError:
            return False
        self._received += chunk
        return bool(chunk)

    def _answer(self, request: Request) -> bool:
        """Answer one request, and return whether the connection stays open."""
        if request.path.startswith(PREFIX):
            return self._send(request, Delivery(self._control.answer(request)))
        visit, delivery = self._exchange.conduct(request, self)
        reached = not (visit.late and self._is_gone())
        try:
            stays = self._send(request, delivery)
        except OSError:
            self._exchange.sent(visit, whole=False)
            raise
        self._exchange.sent(visit, whole=delivery.whole and reached)
        return stays

    def _send(self, request: Request, delivery: Delivery) -> bool:
        if delivery.ending == "reset":
            # Closing with a zero linger time makes the kernel send RST, not FIN.
            self._client.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
        if delivery.answer is None:
            return False
        keep = (
            delivery.ending == "keep"
            and request.headers.get("connection", "").lower() != "close"
            and not self._stopping.is_set()
        )
        message = encode(request, delivery.answer, keep=keep)
        if delivery.cut:
            message = message[: len(message) - len(delivery.answer.body) // 2]
        self._client.sendall(message)
        return keep


class Server:
    """Listens on the loopback interface from its construction on."""

    def __init__(
        self,
        port: int,
        exchange: Exchange,
        control: Control,
        tick: Callable[[], None],
    ) -> None:
        self._exchange: Final = exchange
        self._control: Final = control
        self._tick: Final = tick
        self._stopping: Final = threading.Event()
        self._lock: Final = threading.Lock()
        self._connections: Final[dict[Connection, threading.Thread]] = {}
        self._listener: Final = socket.create_server((HOST, port), backlog=1024)
        self._listener.settimeout(_TICK_S)
        self.port: Final[int] = self._listener.getsockname()[1]
        self._thread: Final = threading.Thread(
            target=self._listen, name=f"panel-{self.port}", daemon=True
        )

    def start(self) -> None:
        """Accept connections from now on."""
        self._thread.start()

    def close(self) -> None:
        """Refuse new connections, let requests in flight finish, and end the rest."""
        self._stopping.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the accepting thread
        if self._thread.is_alive():
            self._thread.join()
        self._listener.close()
        with self._lock:
            connections = dict(self._connections)
        for connection in connections:
            connection.hang_up_if_idle()
        deadline = time.monotonic() + _FINISH_S
        for thread in connections.values():
            thread.join(max(0.0, deadline - time.monotonic()))

    def _listen(self) -> None:
        while not self._stopping.is_set():
            try:
                client, _ = self._listener.accept()
            except TimeoutError:
                self._tick()
            except OSError:
                return
            else:
                self._welcome(client)

    def _welcome(self, client: socket.socket) -> None:
        connection = Connection(client, self._exchange, self._control, self._stopping)
        thread = threading.Thread(
            target=self._serve, args=(connection,), name="panel-client", daemon=True
        )
        with self._lock:
            self._connections[connection] = thread
        thread.start()

    def _serve(self, connection: Connection) -> None:
        try:
            connection.serve()
        finally:
            with self._lock:
                del self._connections[connection]
