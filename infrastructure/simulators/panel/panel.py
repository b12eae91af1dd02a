"""The panel itself: what it refuses, what it carries out, and its two passes.

One lock makes requests happen one after the other. The order is always: the book
commits, memory follows, the answer leaves (outside the lock).

Refusals in the real panel's order: X-Forwarded-* (a close with 0 bytes), malformed
JSON, unknown route, token, and only then the handler's own validation.
"""

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from infrastructure.simulators.panel.routes import carry_out, find_route
from infrastructure.simulators.panel.store import Store
from infrastructure.simulators.panel.users.answers import (
    Answer,
    bad_request,
    forbidden,
    unauthorized,
    unknown_route,
)
from infrastructure.simulators.panel.users.directory import Directory, Result
from infrastructure.simulators.panel.users.timestamps import current_ms
from infrastructure.simulators.panel.users.user import User
from infrastructure.simulators.panel.visit import Visit
from infrastructure.simulators.panel.wire import Delivery

type Clock = Callable[[], int]
"""Milliseconds since 1970."""

# The panel's passes run at these seconds of each minute (remnawave.md 1, #12).
_MINUTE_MS: Final = 60_000
_EXPIRE_EVERY_MS: Final = 30_000
_LIMIT_AT_MS: Final = 45_000

_JWT: Final = re.compile(r"[\w-]+\.[\w-]+\.[\w-]+", re.ASCII)


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
        self._directory: Final = Directory(
            store.users(), store.last_user_id(), settings.squads
        )
        now = settings.clock()
        self._expired_until = _last_expire_pass(now)
        self._limited_until = _last_limit_pass(now)

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
            now = self.now()
            self._pass_time(now)
            result = self._result(visit, now)
            delivery = deliver(result.answer if result else None)
            self._commit(visit, result, delivery)
            return delivery

    def correct_answered(self, visit: Visit, *, answered: bool) -> None:
        """Make the row say whether the answer was sent after all."""
        if visit.seq is not None and visit.answered != answered:
            with self._lock:
                self._store.correct_answered(visit.seq, answered=answered)

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

    def _result(self, visit: Visit, now: int) -> Result | None:
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
        refusal = _token_refusal(request.headers, settings.token)
        if refusal is not None:
            return Result(refusal)
        return carry_out(self._directory, match, request.target, visit.body, now)

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
        expire_at, limit_at = _last_expire_pass(now), _last_limit_pass(now)
        if expire_at > self._expired_until:
            self._expired_until = expire_at
            self._write_users(*self._expired(expire_at))
        if limit_at > self._limited_until:
            self._limited_until = limit_at
            self._write_users(*self._limited())

    def _expired(self, now: int) -> list[User]:
        return [
            replace(user, status="EXPIRED", updated_at=now)
            for user in self._directory.by_id.values()
            if user.status in ("ACTIVE", "LIMITED") and user.expire_at <= now
        ]

    def _limited(self) -> list[User]:
        return [
            replace(user, status="LIMITED")  # this pass does not move updatedAt
            for user in self._directory.by_id.values()
            if user.status == "ACTIVE"
            and 0 < user.traffic_limit_bytes <= user.used_traffic_bytes
        ]

    def _write_users(self, *users: User) -> None:
        if users:
            self._store.write_users(users)
            for user in users:
                self._directory.replace(self._directory.by_id[user.id], user)


def _last_expire_pass(now: int) -> int:
    return now - now % _EXPIRE_EVERY_MS


def _last_limit_pass(now: int) -> int:
    into_minute = now % _MINUTE_MS
    minute = now - into_minute
    return minute + _LIMIT_AT_MS if into_minute >= _LIMIT_AT_MS else minute


def _is_forwarded(headers: Mapping[str, str]) -> bool:
    proto = headers.get("x-forwarded-proto")
    return proto == "https" and bool(headers.get("x-forwarded-for"))


def _token_refusal(headers: Mapping[str, str], token: str) -> Answer | None:
    """Return the 401 or 403 of a token that is not ours.

    The panel tells a token it once signed (403: unknown or deleted) from any other
    text (401) by the signature; here the form of a JWT stands for the signature.
    """
    scheme, _, given = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        return unauthorized()
    if given == token:
        return None
    return forbidden() if _JWT.fullmatch(given) else unauthorized()
