"""A whole panel in this process: book, rules, faults, holds and its HTTP server."""

import contextlib
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from infrastructure.simulators.panel.book import (
    BookedRequest,
    BookedUser,
    open_book,
    requests,
    users,
)
from infrastructure.simulators.panel.control import Control
from infrastructure.simulators.panel.exchange import Exchange
from infrastructure.simulators.panel.faults import FaultPlan
from infrastructure.simulators.panel.holds import Hold, Holds, When
from infrastructure.simulators.panel.panel import Clock, Panel, PanelSettings
from infrastructure.simulators.panel.server import HOST, Server
from infrastructure.simulators.panel.store import Store
from infrastructure.simulators.panel.users.timestamps import current_ms


class PanelSimulator:
    """A panel on a book file; listens from `start` (or `with`) until `close`."""

    def __init__(  # noqa: PLR0913 - each is one independent switch of the panel
        self,
        *,
        book: Path,
        token: str,
        port: int = 0,
        latency_ms: float = 0.0,
        require_forwarded: bool = True,
        squads: tuple[tuple[str, str], ...] = (),
        clock: Clock = current_ms,
    ) -> None:
        """Open the book and go on from what it holds; take the port, 0: a free one.

        Raises:
            BookInUseError: another simulator writes that book.
            OSError: the port is taken.
        """
        self.faults: Final = FaultPlan(latency_ms=latency_ms)
        self._book: Final = book
        self._closed = False
        self._holds: Final = Holds()
        names = {squad.lower(): name for squad, name in squads}
        settings = PanelSettings(token, require_forwarded, names, clock)
        store = Store(book)
        try:
            self._panel: Final = Panel(store, settings)
            self._server: Final = Server(
                port,
                Exchange(self._panel, self.faults, self._holds),
                Control(self._panel, self.faults, self._holds),
                tick=self._panel.pass_time,
            )
        except BaseException:
            store.close()
            raise

    @property
    def port(self) -> int:
        """Return the port it listens on."""
        return self._server.port

    @property
    def url(self) -> str:
        """Return the base URL of the panel."""
        return f"http://{HOST}:{self.port}"

    def start(self) -> None:
        """Answer requests from now on."""
        self._server.start()

    def close(self) -> None:
        """Stop listening, finish requests in flight, close the book. Once is enough."""
        if self._closed:
            return
        self._closed = True
        self._holds.drop_all()
        self._server.close()
        self._panel.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def hold(self, method: str, path_prefix: str, when: When) -> Hold:
        """Stop the next such request before it is applied, or after but unanswered."""
        return self._holds.add(method, path_prefix, when)

    def use_traffic(self, user_id: int, used_bytes: int) -> None:
        """Set what the nodes report as used; LIMITED follows at the next pass.

        Raises:
            LookupError: no such user.
        """
        if not self._panel.use_traffic(user_id, used_bytes):
            msg = f"no user {user_id}"
            raise LookupError(msg)

    def pass_time(self) -> None:
        """Run the panel's passes that are due by its clock."""
        self._panel.pass_time()

    def book(self) -> list[BookedRequest]:
        """Return every request so far, in order."""
        with contextlib.closing(open_book(self._book)) as book:
            return requests(book)

    def users(self) -> list[BookedUser]:
        """Return the users as they are now."""
        with contextlib.closing(open_book(self._book)) as book:
            return users(book)
