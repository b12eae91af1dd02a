"""Make due what waits at a gate that is open: paged, in every process.

gates with jobs ─► those that are open ─► page by page: job.unparked and its head

Who was parked in the very moment of the opening is found by the next round.  Whether a
job still waits is asked again under its lock, so two processes and an operator can all
try at once.  The jobs of one serial key go together, in one transaction, and are due
together: then they run in their order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from application.unit import Group, Locked, Refused, UnitOfWork, Written, changed
from domain.event import Actor, Causation, Instant, Meta
from domain.jobs.aggregate import Job, Stage, fold
from domain.jobs.gates import APART, LONGEST_SPREAD, Unpark, spread, unpark
from domain.maintenance.gates import ALL
from domain.stream import Change, Ref, StreamKind
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.heads.table import instant, maybe_text, number, text, uuid
from infrastructure.telemetry import emit

PAGE: Final = 100
MOST_OF_A_KEY: Final = 1_000
"""Jobs of one serial key that go together; the rest follows in its order."""

_FIRST: Final = UUID(int=0)
_MOVED_ON: Final = Refused("moved_on")
_ENOUGH: Final = LONGEST_SPREAD // APART + 1
"""More jobs than that are spread no longer."""

# From gate to gate in the index: while one is closed, no job that waits there is read.
_OPENED: Final = """
WITH RECURSIVE waited_at(gate) AS (
    SELECT min(j.gate) FROM counterfoil.jobs j WHERE j.gate IS NOT NULL
     UNION ALL
    SELECT (SELECT min(j.gate) FROM counterfoil.jobs j WHERE j.gate > w.gate)
      FROM waited_at w
     WHERE w.gate IS NOT NULL
)
SELECT w.gate, counterfoil.now(),
       (SELECT count(*)
          FROM (SELECT FROM counterfoil.jobs j WHERE j.gate = w.gate
                 ORDER BY j.stream_id LIMIT %(enough)s) waiting)
  FROM waited_at w
 WHERE w.gate IS NOT NULL
   AND NOT EXISTS (SELECT FROM counterfoil.gates g WHERE g.gate IN (w.gate, %(all)s))
"""

# A locked row is being unparked, or cancelled.  The gate is asked for once more: it may
# have been closed again since the page before.
_PAGE: Final = """
WITH page AS MATERIALIZED (
    SELECT j.stream_id, j.tenant_id, j.serial_key, j.correlation_id
      FROM counterfoil.jobs j
     WHERE j.gate = %(gate)s
       AND j.stream_id > %(after)s
       AND NOT EXISTS (SELECT FROM counterfoil.gates g
                        WHERE g.gate IN (%(gate)s, %(all)s))
     ORDER BY j.stream_id
     LIMIT %(page)s
       FOR UPDATE OF j SKIP LOCKED
)
SELECT stream_id, tenant_id, serial_key, correlation_id, true
  FROM page
 UNION ALL
SELECT mate.stream_id, mate.tenant_id, mate.serial_key, mate.correlation_id, false
  FROM (SELECT DISTINCT tenant_id, serial_key
          FROM page
         WHERE serial_key IS NOT NULL) keys
 CROSS JOIN LATERAL (
    SELECT j.stream_id, j.tenant_id, j.serial_key, j.correlation_id
      FROM counterfoil.jobs j
     WHERE j.tenant_id = keys.tenant_id
       AND j.serial_key = keys.serial_key
       AND j.state = 'waiting'
       AND j.gate = %(gate)s
     ORDER BY j.serial_order, j.run_at
     LIMIT %(mates)s) mate
 WHERE mate.stream_id NOT IN (SELECT stream_id FROM page)
"""


@dataclass(frozen=True, slots=True)
class Opened:
    """A gate that was found open, although jobs wait there."""

    gate: str
    at: Instant
    """When it was found so."""
    waiting: int
    """How many jobs waited then, up to as many as are spread longer for it."""


class Unparker:
    """Unparks for one process; `round` is called every few seconds."""

    def __init__(
        self, connections: Connections, units: UnitOfWork, actor: Actor
    ) -> None:
        """Unpark what waits at any gate, whoever knows its kind."""
        self._connections = connections
        self._units = units
        self._actor = actor

    def round(self) -> int:
        """Return how many jobs were made due.

        Raises:
            DatabaseUnavailableError: the database went away on the way.
        """
        return sum(self._unpark(opened) for opened in self._opened())

    def _opened(self) -> list[Opened]:
        asked = {"enough": _ENOUGH, "all": ALL}
        with self._connections.connection() as connection:
            rows = connection.execute(_OPENED, asked).fetchall()
        return [Opened(text(row[0]), instant(row[1]), number(row[2])) for row in rows]

    def _unpark(self, opened: Opened) -> int:
        done = 0
        after = _FIRST
        while page := self._page(opened, after):
            # Onwards, also past rows that cannot be changed: they are tried again in
            # the next round.
            after = max(uuid(row[0]) for row in page if row[4])
            done += self._commit(opened, page)
        if done:
            emit("jobs unparked", gate=opened.gate, jobs=done)
        return done

    def _page(self, opened: Opened, after: UUID) -> Sequence[tuple[object, ...]]:
        parameters = {
            "gate": opened.gate,
            "all": ALL,
            "after": after,
            "page": PAGE,
            "mates": MOST_OF_A_KEY,
        }
        with self._connections.connection() as connection:
            return connection.execute(_PAGE, parameters).fetchall()

    def _commit(self, opened: Opened, page: Sequence[tuple[object, ...]]) -> int:
        groups = [self._group(opened, row) for row in page]
        results = self._units.commit(groups)
        for group, result in zip(groups, results, strict=True):
            if not isinstance(result, Written) and result != _MOVED_ON:
                # It stays as it is, and is tried in every round: a person must look.
                emit("unparking refused", job=str(group.refs[0].id))
        return sum(isinstance(result, Written) for result in results)

    def _group(self, opened: Opened, row: tuple[object, ...]) -> Group:
        ref = Ref(StreamKind.JOB, uuid(row[0]))
        serial_key = maybe_text(row[2])
        key = str(ref.id) if serial_key is None else f"{text(row[1])}:{serial_key}"
        run_at = opened.at + spread(key, opened.waiting)
        return Group(
            refs=(ref,),
            decide=_Unparking(ref, opened.gate, run_at),
            meta=Meta(
                actor=self._actor,
                correlation_id=text(row[3]),
                causation=Causation(job=ref.id),
            ),
        )


@dataclass(frozen=True, slots=True)
class _Unparking:
    ref: Ref
    gate: str
    run_at: Instant

    def __call__(self, locked: Locked, now: Instant) -> tuple[Change, ...] | Refused:
        """Return what makes the job due, if it still waits at the gate."""
        head = locked.get(self.ref)
        job = None if head is None else head.state
        if head is None or not isinstance(job, Job):
            return _MOVED_ON
        if job.stage is not Stage.WAITING or job.gate != self.gate:
            return _MOVED_ON
        # Never before now: a claimer's low water is not looked below.
        events = unpark(job, Unpark(run_at=max(self.run_at, now)))
        return (changed(self.ref, head, events, fold(events, job)),)
