"""The server: one socket, one event loop in a thread of its own.

start    binds the address, so that who is told of it can connect
stop     takes no new connection, lets requests end for a while, then ends them
"""

import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, cast, override

import uvicorn
from litestar.concurrency import get_asyncio_executor, set_asyncio_executor
from litestar.types import ASGIApp

from api.http.counted import Counts
from api.http.protocol import HEAD_BYTES, Patience, Protocol
from application.errors import ApplicationError

GRACE_SECONDS: Final = 25
"""How long requests may end after the polite signal (deployment 8.4)."""
HANDLERS: Final = 24
"""Requests that are answered at once; each guard and each handler takes a thread."""
_BACKLOG: Final = 1024
_KEEP_ALIVE_SECONDS: Final = 20
_PATIENCE: Final = Patience()


class AddressTakenError(ApplicationError):
    """The address that the API should listen at cannot be had."""

    code = "address_taken"

    def __init__(self, host: str, port: int, problem: str) -> None:
        """Name the address and why not."""
        super().__init__(
            f"{self.code}: the API cannot listen at {host}:{port}: {problem}; "
            "give another one by COUNTERFOIL_HTTP_ADDR"
        )


class _Server(uvicorn.Server):
    tick: Callable[[], None] = staticmethod(lambda: None)

    @override
    async def on_tick(self, counter: int) -> bool:
        self.tick()
        return await super().on_tick(counter)


class HttpServer:
    """Serves one application at one address."""

    def __init__(  # noqa: PLR0913, PLR0917 - what, where, and two that are told
        self,
        app: ASGIApp,
        host: str,
        port: int,
        ask: Callable[[], None] | None = None,
        counts: Counts | None = None,
        patience: Patience = _PATIENCE,
    ) -> None:
        """Take what to serve and where; `ask` is called when it is to stop.

        `counts` is told of what is refused before `app` has seen it.

        Raises:
            AddressTakenError: the address cannot be had.
        """
        self._socket = _bound(host, port)
        self._ask = ask
        self._server = _Server(
            uvicorn.Config(
                app,  # pyright: ignore[reportArgumentType] - the same protocol
                loop="asyncio",
                http=cast("type[Protocol]", partial(Protocol, counts, patience)),
                ws="none",
                lifespan="off",  # nothing of ours begins or ends with it
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                backlog=_BACKLOG,
                timeout_keep_alive=_KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=GRACE_SECONDS,
                h11_max_incomplete_event_size=HEAD_BYTES,
            )
        )
        self._handlers = ThreadPoolExecutor(HANDLERS, thread_name_prefix="handler")
        self._thread = threading.Thread(target=self._serve, name="http")

    @property
    def address(self) -> str:
        """Where it is reached: `http://127.0.0.1:8080`."""
        host, port = self._socket.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{port}"

    def tell_ticks(self, tick: Callable[[], None]) -> None:
        """Call `tick` whenever the event loop comes round, ten times a second."""
        self._server.tick = tick

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def ask_to_stop(self) -> None:
        """Take no new connection from now on."""
        if self._ask is not None:
            self._ask()
        self._server.should_exit = True

    def stop(self) -> None:
        """Return when every request has ended."""
        self.ask_to_stop()
        self._thread.join()
        self._handlers.shutdown(wait=False)
        self._socket.close()

    def _serve(self) -> None:
        # The loop's own is sized by the processors: handlers wait for the database.
        set_asyncio_executor(self._handlers)
        self._server.run(sockets=[self._socket])
        if get_asyncio_executor() is self._handlers:
            set_asyncio_executor(None)  # whoever comes next must not be given these


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        bound = socket.create_server(
            (host, port), family=family, backlog=_BACKLOG, reuse_port=False
        )
    except OSError as error:
        raise AddressTakenError(host, port, error.strerror or "") from error
    # Connections take it over; asyncio sets it only on sockets that it has made itself.
    # Without it a body waits 40 ms behind its head, until the client acknowledges that.
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    bound.set_inheritable(False)
    return bound
