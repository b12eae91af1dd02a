"""The panel's own passes over its users, at fixed seconds of each minute.

EXPIRED at 0 and 30: whoever is ACTIVE or LIMITED and has come to his end. LIMITED at 0
and 45: whoever is ACTIVE and has used up his traffic (remnawave.md 1, #12).
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Final

from infrastructure.simulators.panel.users.user import User

type Pass = Callable[[Iterable[User]], list[User]]
"""Returns the users that it changes, changed."""

_MINUTE_MS: Final = 60_000
_EXPIRE_EVERY_MS: Final = 30_000
_LIMIT_AT_MS: Final = 45_000


class Passes:
    """Remembers which passes have been; the first ones are those after its birth."""

    def __init__(self, now: int) -> None:
        self._expired_until = _last_expire_pass(now)
        self._limited_until = _last_limit_pass(now)

    def due(self, now: int) -> list[Pass]:
        """Return the passes that have become due, in order, each of them once."""
        due: list[Pass] = []
        expire_at, limit_at = _last_expire_pass(now), _last_limit_pass(now)
        if expire_at > self._expired_until:
            self._expired_until = expire_at
            due.append(partial(_expired, expire_at))
        if limit_at > self._limited_until:
            self._limited_until = limit_at
            due.append(_limited)
        return due


def _expired(at: int, users: Iterable[User]) -> list[User]:
    return [
        replace(user, status="EXPIRED", updated_at=at)
        for user in users
        if user.status in ("ACTIVE", "LIMITED") and user.expire_at <= at
    ]


def _limited(users: Iterable[User]) -> list[User]:
    return [
        replace(user, status="LIMITED")  # this pass does not move updatedAt
        for user in users
        if user.status == "ACTIVE"
        and 0 < user.traffic_limit_bytes <= user.used_traffic_bytes
    ]


def _last_expire_pass(now: int) -> int:
    return now - now % _EXPIRE_EVERY_MS


def _last_limit_pass(now: int) -> int:
    into_minute = now % _MINUTE_MS
    minute = now - into_minute
    return minute + _LIMIT_AT_MS if into_minute >= _LIMIT_AT_MS else minute
