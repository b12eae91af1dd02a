"""The adapter in front of a simulated panel, and what its tests say about both."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from ssl import PROTOCOL_TLS_CLIENT, SSLContext
from types import TracebackType
from typing import Self

import httpx
import msgspec

from application.ports import Access, LookAnswer, PanelAnswer
from domain.entitlement.state import Desired
from infrastructure.providers.panel.http_panel import HttpPanel
from infrastructure.providers.panel.wire import PanelWire
from infrastructure.simulators.panel.book import BookedRequest, BookedUser
from infrastructure.simulators.panel.holds import When
from infrastructure.simulators.panel.simulator import PanelSimulator
from infrastructure.simulators.panel.users.timestamps import current_ms

NO_CERTIFICATES = SSLContext(PROTOCOL_TLS_CLIENT)
"""Loading those of the machine takes longer than most tests here."""

TOKEN = "a-token"  # noqa: S105 - of the simulator
SQUAD = "11111111-1111-4111-8111-111111111111"
OTHER_SQUAD = "22222222-2222-4222-8222-222222222222"
UNKNOWN_SQUAD = "33333333-3333-4333-8333-333333333333"
USERNAME = "counterfoil_0123456789abcdef"
LEGACY = "omniflow_0123456789abcdef"
ENDS_AT = datetime.now(UTC) + timedelta(days=30, microseconds=789)
"""With microseconds, which the panel truncates."""

DESIRED = Desired(ends_at=ENDS_AT, grace_seconds=3600)

PUSHING = ("create", "reconcile", "extend", "set_limits", "set_squads", "resume")
SWITCHING = ("enable", "disable", "pause")
OPERATIONS = (*PUSHING, *SWITCHING, "reset_traffic")
MAKING = ("create", "reconcile")


class OpenGuard:
    """A guard that lets every call begin, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def may_begin(self) -> bool:
        self.asked += 1
        return True


class ClosingGuard:
    """A guard whose lease is over after so many answers."""

    def __init__(self, answers: int) -> None:
        self.left = answers

    def may_begin(self) -> bool:
        self.left -= 1
        return self.left >= 0


class Stage:
    """A simulated panel and the adapter under test."""

    def __init__(
        self,
        folder: Path,
        *,
        limit_seconds: float = 5.0,
        clock: Callable[[], int] = current_ms,
    ) -> None:
        self.panel = PanelSimulator(
            book=folder / "panel.db",
            token=TOKEN,
            squads=((SQUAD, "one"), (OTHER_SQUAD, "two")),
            clock=clock,
        )
        self.attempts = count(1)
        self.clock_is_ahead_by = timedelta()
        """Of the database, by which an attempt begins; not of this machine."""
        self._clock = clock
        self._limit_seconds = limit_seconds

    def __enter__(self) -> Self:
        self.panel.start()
        wire = PanelWire(self.panel.url, TOKEN, limit_seconds=self._limit_seconds)
        self.adapter = HttpPanel(wire)
        self._operator = httpx.Client(
            base_url=self.panel.url,
            headers={
                "Authorization": f"Bearer {TOKEN}",
                "X-Forwarded-For": "127.0.0.1",
                "X-Forwarded-Proto": "https",
            },
            trust_env=False,
            verify=NO_CERTIFICATES,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._operator.close()
        self.adapter.close()
        self.panel.close()

    def _now(self) -> datetime:
        now = datetime.fromtimestamp(self._clock() / 1000, UTC)
        return now + self.clock_is_ahead_by

    def carry_out(  # noqa: PLR0913 - what an attempt may be about
        self,
        operation: str,
        desired: Desired = DESIRED,
        *,
        is_off: bool = False,
        panel_user_id: int | None = None,
        legacy: str | None = None,
        guard: OpenGuard | ClosingGuard | None = None,
        requests_before: int = 0,
    ) -> PanelAnswer:
        """Run the next attempt, `op.<attempt>`."""
        return self.adapter.carry_out(
            operation,
            access_to(desired, panel_user_id, legacy, is_off=is_off, at=self._now()),
            f"op.{next(self.attempts)}",
            guard or OpenGuard(),
            requests_before=requests_before,
        )

    def create(
        self,
        desired: Desired = DESIRED,
        *,
        panel_user_id: int | None = None,
        legacy: str | None = None,
        guard: OpenGuard | ClosingGuard | None = None,
    ) -> PanelAnswer:
        """Run the next attempt at a `create`."""
        return self.carry_out(
            "create", desired, panel_user_id=panel_user_id, legacy=legacy, guard=guard
        )

    def read(
        self,
        *,
        panel_user_id: int | None = None,
        legacy: str | None = None,
        guard: OpenGuard | ClosingGuard | None = None,
    ) -> LookAnswer:
        """Look, as the next attempt."""
        access = access_to(DESIRED, panel_user_id, legacy)
        return self.adapter.read(
            access, f"op.{next(self.attempts)}", guard or OpenGuard()
        )

    def born(self, username: str = USERNAME, **members: object) -> int:
        """Return the id of a user that is there before; not of our making."""
        body = {"username": username, "expireAt": "2030-01-01T00:00:00.000Z"}
        made = self.call("POST", "/api/users", {**body, **members})
        return msgspec.convert(made["id"], int)

    def call(
        self, method: str, path: str, body: dict[str, object] | None = None
    ) -> dict[str, object]:
        """Do as an operator of the panel would, under no request id."""
        answer = self._operator.request(method, path, json=body)
        answer.raise_for_status()
        if not answer.content:
            return {}
        return msgspec.json.decode(answer.content, type=dict[str, dict[str, object]])[
            "response"
        ]

    @contextmanager
    def meanwhile(
        self,
        method: str,
        path: str,
        work: Callable[[], object],
        *,
        when: When = "before",
    ) -> Iterator[None]:
        """Do `work` while the next such request stands still."""
        hold = self.panel.hold(method, path, when)

        def intervene() -> None:
            hold.wait_arrived()
            try:
                work()
            finally:
                hold.release()

        with ThreadPoolExecutor(max_workers=1) as threads:
            intervention = threads.submit(intervene)
            yield
            intervention.result(timeout=10)

    def book(self) -> list[BookedRequest]:
        """Return the adapter's requests, in order."""
        return [row for row in self.panel.book() if row.request_id is not None]

    def calls(self, attempt: int = 1) -> list[str]:
        """Return `METHOD path` of one attempt, whose numbers have no gap."""
        rows = [
            row
            for row in self.book()
            if (row.request_id or "").startswith(f"op.{attempt}.")
        ]
        numbers = [row.request_id for row in rows]
        assert numbers == [f"op.{attempt}.{n}" for n in range(1, len(rows) + 1)]
        return [f"{row.method} {row.path}" for row in rows]

    def user(self) -> BookedUser:
        """Return the only user of the panel."""
        (user,) = self.panel.users()
        return user

    def assert_no_write_was_applied_twice(self) -> None:
        """No attempt applied the same call twice."""
        applied = [
            ((row.request_id or "").rsplit(".", 1)[0], row.method, row.path)
            for row in self.book()
            if row.applied
        ]
        assert len(applied) == len(set(applied))


def access_to(
    desired: Desired,
    panel_user_id: int | None = None,
    legacy: str | None = None,
    *,
    is_off: bool = False,
    at: datetime | None = None,
) -> Access:
    return Access(
        username=USERNAME,
        legacy_username=legacy,
        panel_user_id=panel_user_id,
        desired=desired,
        at=at or datetime.now(UTC),
        is_off=is_off,
    )


def shown(instant: datetime) -> str:
    """Return the instant as the panel's book shows it, truncated to ms."""
    ms = instant.astimezone(UTC).replace(tzinfo=None)
    return ms.isoformat(timespec="milliseconds") + "Z"
