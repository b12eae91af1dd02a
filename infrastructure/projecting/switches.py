"""Pauses and resumes projections (see `ProjectionSwitches`).

lock the row of the projection ─► decide ─► update ─► record ─► COMMIT
   ▲ a batch shares that lock until its end, so nothing is written
     for a projection once its pause is committed
"""

from typing import Final, Protocol

from application.operators.projections import (
    Decide,
    Done,
    Followed,
    Pause,
    Projections,
    Retried,
    Switch,
)
from application.operators.taken import Telling
from application.unit import Once, UnitOfWork
from domain.operators.events import ProjectionPaused
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads.table import (
    instant,
    maybe_text,
    number,
    text,
)
from infrastructure.projecting.advanced import Resumed
from infrastructure.projecting.projector import Projector
from infrastructure.recording.recorded import Turn, recorded
from projections.read_models.all import BY_NAME, AnyProjection

_LOCK: Final = """
SELECT 1 FROM counterfoil.projections WHERE name = %(name)s FOR UPDATE
"""

# After the lock, in a statement of its own: so it sees what whoever held it has done.
_READ: Final = """
SELECT p.name, p.live, coalesce(c.position, 0), p.paused_at, p.paused_by,
       p.paused_reason,
       (SELECT count(*)
          FROM counterfoil.projection_set_aside s
         WHERE s.projection = p.name
           AND s.slot = p.live)
  FROM counterfoil.projections p
  LEFT JOIN counterfoil.checkpoints c
         ON c.name = p.name || '_' || p.live || ':counterfoil'
 WHERE p.name = %(name)s
"""

_PAUSE: Final = """
UPDATE counterfoil.projections
   SET paused_at = counterfoil.now(), paused_by = %(by)s, paused_reason = %(reason)s
 WHERE name = %(name)s
"""

_RESUME: Final = """
UPDATE counterfoil.projections
   SET paused_at = NULL, paused_by = NULL, paused_reason = NULL
 WHERE name = %(name)s
"""


class Resumes(Protocol):
    """Tries again what was set aside; implemented by the projector."""

    def resume(self, projection: AnyProjection) -> Resumed:
        """Return what came of it."""
        ...


def projections_over(connections: Connections, units: UnitOfWork) -> Projections:
    """Return what pauses and resumes projections on behalf of people."""
    switches = PostgresSwitches(connections, Projector(connections))
    return Projections(switches, units, new_id)


class PostgresSwitches:
    """Changes rows of projections over pooled connections."""

    def __init__(self, connections: Connections, resumes: Resumes) -> None:
        """Take the connections to borrow, and what tries again what was set aside."""
        self._connections = connections
        self._resumes = resumes

    def change(
        self, name: str, decide: Decide, telling: Telling, once: Once | None = None
    ) -> Done | None:
        """See `ProjectionSwitches.change`."""
        change = _Change(name, decide, telling)
        return recorded(self._connections, change.lock, change.make, once=once)

    def retry(self, name: str) -> Retried | None:
        """See `ProjectionSwitches.retry`."""
        projection = BY_NAME.get(name)
        if projection is None:
            return None  # a newer version's, which resumes it itself
        resumed = self._resumes.resume(projection)
        return Retried(tried=resumed.tried, left=resumed.left)


class _Change:
    """One change of the row of a projection."""

    def __init__(self, name: str, decide: Decide, telling: Telling) -> None:
        self._name = {"name": name}
        self._decide = decide
        self._telling = telling
        self._meta = telling.meta

    def lock(self, connection: Connection) -> None:
        connection.execute(_LOCK, self._name)

    def make(self, turn: Turn[Done | None], _locked: None) -> Done | None:
        connection = turn.connection
        before = self._read(connection)
        if before is None:
            return None
        event = self._decide(before)
        if event is not None:
            self._write(connection, event)
        after = self._read(connection) or before

        def done(position: int) -> Done:
            return Done(after=after, event=event, position=position)

        events = self._telling.events(event, before.figures(), after.figures())
        return turn.record(events, self._meta, done)

    def _read(self, connection: Connection) -> Followed | None:
        row = connection.execute(_READ, self._name).fetchone()
        return None if row is None else _followed(row)

    def _write(self, connection: Connection, event: Switch) -> None:
        if isinstance(event, ProjectionPaused):
            who = {"by": self._meta.actor.id, "reason": self._meta.reason}
            connection.execute(_PAUSE, self._name | who)
        else:
            connection.execute(_RESUME, self._name)


def _followed(row: tuple[object, ...]) -> Followed:
    by = maybe_text(row[4])
    return Followed(
        name=text(row[0]),
        slot=text(row[1]),
        position=number(row[2]),
        pause=None
        if by is None
        else Pause(at=instant(row[3]), by=by, reason=text(row[5])),
        set_aside=number(row[6]),
    )
