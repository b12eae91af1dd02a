"""The attempts of a job, out of its events: each begins with a claim.

job.claimed ──► succeeded | failed | discarded | cancelled
            └─► snoozed | parked | released         the attempt is given back
            └─► lease_lost                          nobody told what became of it
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

import msgspec

from domain.event import Instant
from domain.members import is_object
from domain.text import storable
from projections.log_event import LogEvent

_ENDS: Final = {
    "job.succeeded": "succeeded",
    "job.attempt_failed": "failed",
    "job.snoozed": "snoozed",
    "job.parked": "parked",
    "job.released": "released",
    "job.lease_expired": "lease_lost",
    "job.discarded": "discarded",
    "job.cancelled": "cancelled",
}


class Try(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt, from its claim to its end."""

    attempt: int
    token: int
    """Of the claim: its version."""
    started_at: Instant
    ended_at: Instant | None
    """None: it runs."""
    result: str | None
    """`succeeded`, `failed`, `snoozed`, `parked`, `released`, `lease_lost`, `discarded`
    or `cancelled`."""
    code: str | None
    error: str | None
    """What was said, redacted."""
    retry_at: Instant | None
    host: str | None
    pid: int | None


def tries_of(events: Iterable[LogEvent]) -> tuple[Try, ...]:
    """Return the attempts that the events tell of, the first one first."""
    tries: list[Try] = []
    running: LogEvent | None = None
    for event in events:
        if event.type == "job.claimed":
            running = event
            tries.append(_begun(event))
        elif running is not None and event.type in _ENDS:
            tries[-1] = _ended(tries[-1], event)
            running = None
    return tuple(tries)


def _begun(event: LogEvent) -> Try:
    owner = event.data.get("owner")
    told: Mapping[str, object] = owner if is_object(owner) else {}
    host, pid = told.get("host"), told.get("pid")
    attempt = event.data.get("attempt")
    return Try(
        attempt=attempt if isinstance(attempt, int) else 0,
        token=event.version,
        started_at=event.recorded_at,
        ended_at=None,
        result=None,
        code=None,
        error=None,
        retry_at=None,
        host=host if isinstance(host, str) else None,
        pid=pid if isinstance(pid, int) else None,
    )


def _ended(begun: Try, event: LogEvent) -> Try:
    code = event.told("error_code") or event.told("code") or event.told("cause")
    error = event.told("error")
    return msgspec.structs.replace(
        begun,
        ended_at=event.recorded_at,
        result=_ENDS[event.type],
        code=code,
        error=None if error is None else storable(error),
        retry_at=_instant(event.data.get("retry_at")),
    )


def _instant(told: object) -> Instant | None:
    if not isinstance(told, str):
        return None
    try:
        return datetime.fromisoformat(told)
    except ValueError:
        return None
