"""A server that answers each request with bytes of the test's own choosing."""

import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

type Talk = Callable[[socket.socket, bytes], None]
"""Gets the open connection and the head of one request; returns to be asked again."""


class RawServer:
    """Serves each connection on a thread; keeps what arrived."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.heads: list[bytes] = []
        self.connections = 0
        self._accepting = threading.Thread(target=self._accept, daemon=True)

    @property
    def url(self) -> str:
        """The address of the server."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._accepting.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # shutdown wakes the accept, which a close alone would not
        self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join()  # what it has just taken is closed as well
        self._listener.close()
        for connection in self._open:
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            threading.Thread(
                target=self._serve, args=(connection,), daemon=True
            ).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            while head := _head(connection):
                self.heads.append(head)
                self._talk(connection, head)
        except OSError:
            pass  # the client has gone, or the test is over


def _head(connection: socket.socket) -> bytes:
    received = b""
    while b"\r\n\r\n" not in received:
        more = connection.recv(65536)
        if not more:
            return b""
        received += more
    return received


def answer(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    """Return a whole HTTP answer that leaves the connection open."""
    lines = (f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", "")
    return "\r\n".join(lines).encode() + body
