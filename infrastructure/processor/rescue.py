"""Bring back jobs whose lease has ended: paged, row by row, in every process.

Whether the lease has really ended is asked again under the job's lock, with the
token that was seen, so two rescuers and a late holder can all try at once.
"""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from application.job_kinds import Kinds
from application.unit import Head, Refused, UnitOfWork, Written
from domain.event import Actor, Instant
from domain.jobs.verdict import LeaseLost
from domain.stream import Ref, StreamKind
from infrastructure.errors import DatabaseUnavailableError
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.heads.table import instant, maybe_text, number, text, uuid
from infrastructure.processor.figures.runs import RESULTS, over
from infrastructure.processor.settling import Claimed, record_of, settlement
from infrastructure.telemetry import emit, is_measured, measure
from infrastructure.telemetry.measures import LeaseLost as Lost
from infrastructure.telemetry.measures import Run, RunsSettled

PAGE: Final = 100
_FIRST: Final = ("", UUID(int=0))
_SETTLED_MEANWHILE: Final = Refused("lease_lost")

# A locked row is being settled.
_EXPIRED: Final = """
SELECT j.stream_id, j.token, j.kind, j.args::text, j.correlation_id, j.unique_key,
       w.boot_id IS NULL OR w.stopped_at IS NOT NULL
           OR w.beat_at < counterfoil.now() - make_interval(secs => k.silence),
       -- Who said goodbye has died of nothing, and of a stranger nothing is known.
       w.stopped_at IS NULL
           AND w.beat_at < counterfoil.now() - make_interval(secs => k.silence),
       -- Any other that was not alone may have ended the process as well.
       NOT EXISTS (SELECT
                     FROM counterfoil.jobs o
                    WHERE j.is_suspect
                      AND o.state = 'running'
                      AND o.owner_boot = j.owner_boot
                      AND o.stream_id <> j.stream_id
                      AND NOT o.is_suspect),
       j.tenant_id, j.queue
  FROM counterfoil.jobs j
  JOIN unnest(%(kinds)s::text[], %(silences)s::int[]) AS k(name, silence)
    ON k.name = j.kind
  LEFT JOIN counterfoil.workers w ON w.boot_id = j.owner_boot
 WHERE j.state = 'running'
   AND j.lease_until < counterfoil.now()
   AND (j.tenant_id, j.stream_id) > (%(after_tenant)s, %(after)s)
 ORDER BY j.tenant_id, j.stream_id
 LIMIT %(page)s
   FOR UPDATE OF j SKIP LOCKED
"""

_SERVER: Final = "SELECT pg_postmaster_start_time(), counterfoil.now()"

# A key whose job is not running under its token holds others back for nothing.  One
# look by key for each: a join may be planned as a scan of all jobs.
_FREE_ORPHANS: Final = """
DELETE FROM counterfoil.running_keys r
 WHERE r.token IS DISTINCT FROM (SELECT j.token
                                   FROM counterfoil.jobs j
                                  WHERE j.stream_id = r.job_id)
"""


class Rescuer:
    """Rescues for one process; `round` is called every few seconds."""

    def __init__(
        self, connections: Connections, units: UnitOfWork, kinds: Kinds, actor: Actor
    ) -> None:
        """Rescue jobs of `kinds`; an unknown kind is left to who knows it."""
        self._connections = connections
        self._units = units
        self._kinds = kinds
        self._actor = actor
        self._after = _FIRST
        self._server: Instant | None = None
        """When the server that was last seen had started."""
        self._back_at: Instant | None = None
        """Since when the database answers, by its own clock."""
        self._was_away = False

    def round(self) -> int:
        """Return how many jobs were brought back; orphaned keys are freed.

        A database that was away cannot know who is alive: for one lease it lets the
        holders confirm first.

        Raises:
            DatabaseUnavailableError: the database went away on the way.
        """
        kinds = self._kinds_that_had_their_chance()
        rescued = self._rescue_all(kinds) if kinds else 0
        with self._connections.connection() as connection:
            connection.execute(_FREE_ORPHANS)
        return rescued

    def _kinds_that_had_their_chance(self) -> Kinds:
        """Return the kinds of which one lease has passed since the database is back.

        The server's own start comes before its recovery, which may take longer than a
        lease; so a process that saw another server, or none, counts from now on.
        """
        started, now = self._seen()
        if self._was_away or (self._server is not None and started != self._server):
            self._back_at = now
        elif self._back_at is None:
            self._back_at = started
        self._server, self._was_away = started, False
        passed = (now - self._back_at).total_seconds()
        return {
            name: kind
            for name, kind in self._kinds.items()
            if passed > kind.lease_seconds
        }

    def _seen(self) -> tuple[Instant, Instant]:
        """Return the server's start and present; one stale connection is no outage."""
        try:
            return self._asked()
        except DatabaseUnavailableError:
            try:
                return self._asked()
            except DatabaseUnavailableError:
                self._was_away = True
                raise

    def _asked(self) -> tuple[Instant, Instant]:
        with self._connections.connection() as connection:
            ((started, now),) = connection.execute(_SERVER).fetchall()
        return instant(started), instant(now)

    def _rescue_all(self, kinds: Kinds) -> int:
        rescued = 0
        page = self._expired(kinds)
        while page:
            for row in page:
                # Onwards, also past rows that cannot be brought back: a round that
                # fails at one goes on behind it the next time.
                self._after = (text(row[9]), uuid(row[0]))
                rescued += self._rescue(row)
            page = self._expired(kinds) if len(page) == PAGE else ()
        self._after = _FIRST
        return rescued

    def _expired(self, kinds: Kinds) -> Sequence[tuple[object, ...]]:
        parameters = {
            "kinds": list(kinds),
            # Whoever holds a lease has been heard of within half of it.
            "silences": [kind.lease_seconds // 2 for kind in kinds.values()],
            "page": PAGE,
            "after_tenant": self._after[0],
            "after": self._after[1],
        }
        with self._connections.connection() as connection:
            return connection.execute(_EXPIRED, parameters).fetchall()

    def _rescue(self, row: tuple[object, ...]) -> bool:
        kind = self._kinds[text(row[2])]
        record = record_of(kind, text(row[3]), maybe_text(row[5]))
        claimed = Claimed(
            ref=Ref(StreamKind.JOB, uuid(row[0])),
            token=number(row[1]),
            kind=kind,
            record=record,
            correlation_id=text(row[4]),
        )
        cause = "process_gone" if row[6] else "lease_lost"
        lost = LeaseLost(cause=cause, died=bool(row[7]), was_only=bool(row[8]))
        group = settlement(claimed, lost, self._actor, still=_has_expired)
        result = self._units.commit([group])[0]
        if result == _SETTLED_MEANWHILE:
            return False
        job = str(claimed.ref.id)
        if not isinstance(result, Written):
            # It stays as it is, and is tried again in every round: a person must look.
            emit("rescue refused", job=job, token=claimed.token)
            return False
        emit("job rescued", job=job, token=claimed.token, cause=lost.cause)
        if is_measured():
            queue = text(row[10])
            outcome, code = over(claimed.ref.id, result)
            what = (queue, text(row[2]), RESULTS[type(lost)])
            run = Run(*what, seconds=None, outcome=outcome, code=code)
            measure(RunsSettled([run]))
            measure(Lost(queue, "expired"))
        return True


def _has_expired(head: Head, now: Instant) -> bool:
    return head.lease_until is not None and head.lease_until < now
