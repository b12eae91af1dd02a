"""The panel itself: what it refuses, what it carries out, and its two passes.

One lock makes requests happen one after the other. The order is always: the book
commits, memory follows, the answer leaves (outside the lock). A request that meets an
obstacle (a locked row, a Redis that is down) lets go of the lock and looks again.

Refusals in the real panel's order: X-Forwarded-* (a close with 0 bytes), malformed
JSON, unknown route, token, and only then the handler's own validation.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from infrastructure.simulators.panel.backing.obstacles import (
    TRANSACTION_MS,
    Obstacles,
    ObstructedError,
    Redis,
)
from infrastructure.simulators.panel.backing.tokens import Tokens
from infrastructure.simulators.panel.routes import Route, carry_out, find_route
from infrastructure.simulators.panel.store import Store
from infrastructure.simulators.panel.users.answers import (
    Answer,
    bad_request,
    domain_error,
    unknown_route,
)
from infrastructure.simulators.panel.users.directory import Directory, Result
from infrastructure.simulators.panel.users.passes import Passes
from infrastructure.simulators.panel.users.timestamps import current_ms
from infrastructure.simulators.panel.users.user import User
from infrastructure.simulators.panel.visit import Visit
from infrastructure.simulators.panel.wire import Delivery

type Clock = Callable[[], int]
"""Milliseconds since 1970."""

_LOOK_AGAIN_S: Final = 0.02
"""Clocks of tests stand still until they are moved, and tell nobody."""


@dataclass(frozen=True, slots=True)
class PanelSettings:
    """What distinguishes one panel from another."""

    token: str
    require_forwarded: bool = True
    """Close without a byte unless X-Forwarded-For and X-Forwarded-Proto are there."""
    squads: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names of the internal squads by UUID in lower case."""
    clock: Clock = current_ms


class Panel:
    """The users, the book and the rules; safe to call from many threads."""

    def __init__(self, store: Store, settings: PanelSettings) -> None:
        self._store: Final = store
        self._settings: Final = settings
        self._lock: Final = threading.Lock()
        self._changed: Final = threading.Condition(self._lock)
        self._obstacles: Final = Obstacles()
        self._looks = 0
        self._tokens: Final = Tokens(settings.token)
        self._directory: Final = Directory(
            store.users(), store.last_user_id(), settings.squads
        )
        self._passes: Final = Passes(settings.clock())

    def now(self) -> int:
        """Return the panel's clock."""
        return self._settings.clock()

    def arrive(self, visit: Visit) -> int:
        """Commit a row for a request that will wait before it is applied."""
        with self._lock:
            visit.seq = self._store.record(visit.arrival(), seq=None)
            return visit.seq

    def refuse(self, visit: Visit, delivery: Delivery) -> None:
        """Commit the row of a request that never reaches the panel."""
        with self._lock:
            self._commit(visit, None, delivery)

    def carry_out(
        self, visit: Visit, deliver: Callable[[Answer | None], Delivery]
    ) -> Delivery:
        """Commit the effect and the row of a request, and return how it is answered."""
        with self._lock:
            result = self._result_at_last(visit)
            delivery = deliver(result.answer if result else None)
            self._commit(visit, result, delivery)
            return delivery

    def correct_answered(self, visit: Visit, *, answered: bool) -> None:
        """Make the row say whether the answer was sent after all, and until when."""
        if visit.seq is not None and (visit.late or visit.answered != answered):
            ended_ns = time.monotonic_ns()
            with self._lock:
                self._store.correct_answered(
                    visit.seq, answered=answered, ended_ns=ended_ns
                )

    def pass_time(self) -> None:
        """Run the passes that have become due."""
        with self._lock:
            self._pass_time(self.now())

    def use_traffic(self, user_id: int, used_bytes: int) -> bool:
        """Set what a node reports as used; return whether there is such a user."""
        with self._lock:
            user = self._directory.by_id.get(user_id)
            if user is None:
                return False
            more = max(0, used_bytes - user.used_traffic_bytes)
            self._write_users(
                replace(
                    user,
                    used_traffic_bytes=used_bytes,
                    lifetime_used_traffic_bytes=user.lifetime_used_traffic_bytes + more,
                )
            )
            return True

    def set_outage(self, *, database_down: bool, redis: Redis) -> None:
        """Put the panel's database and Redis in these states."""
        with self._lock:
            self._obstacles.database_down = database_down
            self._obstacles.redis = redis
            self._changed.notify_all()

    def lock_row(self, user_id: int) -> None:
        """Hold a user's row, as another session of the panel's database would."""
        with self._lock:
            self._obstacles.locked.add(user_id)

    def unlock_row(self, user_id: int) -> None:
        """Let go of that row; who waits for it goes on."""
        with self._lock:
            self._obstacles.locked.discard(user_id)
            self._changed.notify_all()

    def wait_obstructed(self, timeout_s: float) -> bool:
        """Return whether a request looks from now on, in time, and has to wait."""
        with self._lock:
            looks = self._looks
            return self._changed.wait_for(lambda: self._looks > looks, timeout_s)

    def clear_obstacles(self) -> None:
        """Let everybody go on who waits, as when all that was down is up again."""
        with self._lock:
            self._obstacles.clear()
            self._changed.notify_all()

    def limit_devices(self, fallback: int | None) -> None:
        """Count devices, `fallback` for users without a number; None: do not."""
        with self._lock:
            self._directory.device_fallback = fallback

    def issue_token(self, scopes: frozenset[str], expires_at: int | None) -> str:
        """Return a further token."""
        with self._lock:
            return self._tokens.issue(scopes, expires_at, self.now())

    def delete_token(self, token: str) -> None:
        """Make a token one that the panel signed once."""
        with self._lock:
            self._tokens.delete(token)

    def counts(self) -> dict[str, int]:
        """Return the numbers of requests in the book and of users."""
        with self._lock:
            return {
                "requests": self._store.count_requests(),
                "users": len(self._directory.by_id),
            }

    def close(self) -> None:
        """Let go of the book; whoever comes later fails."""
        with self._lock:
            self._store.close()

    def _result_at_last(self, visit: Visit) -> Result | None:
        """Return what the panel does, once nothing is in the way any more."""
        began_at = self.now()
        while True:
            now = self.now()
            self._pass_time(now)
            try:
                return self._result(visit, now, now - began_at)
            except ObstructedError:
                visit.late = True
                self._stand_aside()

    def _stand_aside(self) -> None:
        self._looks += 1
        self._changed.notify_all()
        self._changed.wait(_LOOK_AGAIN_S)

    def _result(self, visit: Visit, now: int, waited_ms: int) -> Result | None:
        """Return what the panel does; None: it closes the connection without a byte."""
        request, settings = visit.request, self._settings
        if settings.require_forwarded and not _is_forwarded(request.headers):
            return None
        if visit.malformed is not None:
            return Result(bad_request(visit.malformed))
        method = "GET" if request.method == "HEAD" else request.method
        match = find_route(method, request.path)
        if match is None:
            return Result(unknown_route(request.method, request.target))
        route = match.route
        refusal = self._tokens.refusal(
            request.headers, route.scopes, now, self._obstacles, waited_ms
        )
        if refusal is not None:
            return Result(refusal)
        result = carry_out(self._directory, match, request, visit.body, now)
        code = self._failure(route, result, waited_ms)
        if code is not None:
            return Result(domain_error(code, request.target, now))
        return result

    def _failure(self, route: Route, result: Result, waited_ms: int) -> str | None:
        """Return the route's code when the database refuses what it would do.

        Raises:
            ObstructedError: the database keeps it waiting.
        """
        if self._obstacles.database_down:
            answer = result.answer  # what validation refuses never gets there
            is_asked = answer.error_code is not None or not answer.is_refusal
            return route.failure_code if is_asked else None
        before = result.before
        if not result.applied or before is None:
            return None
        if before.id not in self._obstacles.locked:
            return None
        if route.is_transaction and waited_ms >= TRANSACTION_MS:
            return route.failure_code
        raise ObstructedError

    def _commit(self, visit: Visit, result: Result | None, delivery: Delivery) -> None:
        entry = visit.outcome(result, delivery)
        written = removed = None
        if result is not None and result.applied:
            written = result.after
            removed = result.before if result.after is None else None
        visit.seq = self._store.record(
            entry, seq=visit.seq, written=written, removed=removed
        )
        visit.answered = entry.answered
        if result is not None and result.applied:
            self._directory.replace(result.before, result.after)

    def _pass_time(self, now: int) -> None:
        for change in self._passes.due(now):
            if not self._obstacles.database_down:  # what is missed is not made up for
                self._write_users(*change(self._directory.by_id.values()))

    def _write_users(self, *users: User) -> None:
        if users:
            self._store.write_users(users)
            for user in users:
                self._directory.replace(self._directory.by_id[user.id], user)


def _is_forwarded(headers: Mapping[str, str]) -> bool:
    proto = headers.get("x-forwarded-proto")
    return proto == "https" and bool(headers.get("x-forwarded-for"))
