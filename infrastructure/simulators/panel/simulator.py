"""A whole panel in this process: book, rules, faults, holds and its HTTP server."""

import contextlib
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from infrastructure.simulators.holds import DEFAULT_TIMEOUT_S
from infrastructure.simulators.panel.backing.obstacles import Redis
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
        self._panel.clear_obstacles()
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

    def set_outage(self, *, database_down: bool = False, redis: Redis = "up") -> None:
        """Put the panel's database and Redis in these states; by default all is up."""
        self._panel.set_outage(database_down=database_down, redis=redis)

    def lock_row(self, user_id: int) -> None:
        """Hold a user's row, as another session of the panel's database would."""
        self._panel.lock_row(user_id)

    def unlock_row(self, user_id: int) -> None:
        """Let go of that row; who waits for it goes on."""
        self._panel.unlock_row(user_id)

    def wait_obstructed(self, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        """Return once a request has to wait for a row or for Redis, as things are now.

        Raises:
            TimeoutError: none has to.
        """
        if not self._panel.wait_obstructed(timeout_s):
            msg = f"no request waits within {timeout_s} s"
            raise TimeoutError(msg)

    def limit_devices(self, fallback: int | None) -> None:
        """Count devices at the links: so many for users without a number of their own.

        None, the default: no device is counted.
        """
        self._panel.limit_devices(fallback)

    def issue_token(self, *scopes: str, expires_at: int | None = None) -> str:
        """Return a further token with these scopes; `expires_at` in ms of its clock."""
        return self._panel.issue_token(frozenset(scopes), expires_at)

    def delete_token(self, token: str) -> None:
        """Make a token one that the panel signed once and no longer knows."""
        self._panel.delete_token(token)

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
