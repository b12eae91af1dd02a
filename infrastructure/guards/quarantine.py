"""The row of the restore guard: engaged, released and read.

lock the row ─► decide ─► update ─► record ─► COMMIT
   ▲ transaction 1 of a purchase shares that lock until its commit, so nothing is
     submitted once a quarantine is committed
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from socket import gethostname
from typing import Final

from application.errors import RestoreUnfinishedError, StateConflictError
from application.operators.quarantine import WHAT, GuardState
from application.operators.taken import Deed, Kept, Telling
from domain.event import JsonObject, Meta
from domain.goods.quarantine import Quarantine, engaged, may_have_lost, may_release
from domain.operators.actions import GUARD_ENGAGED, GUARD_RELEASED
from domain.operators.events import RestoreDetected, RestoreReleased
from infrastructure.errors import DatabaseUnavailableError
from infrastructure.guards.journal import Line
from infrastructure.guards.standing import LEFT, signs_of, standing
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.database import Connection, transaction
from infrastructure.postgres.figures.written import tell_remarks
from infrastructure.postgres.heads.table import number, truth
from infrastructure.recording.recorded import Turn, recorded
from infrastructure.recording.remarks import last, remark

_WHAT: Final = "restore guard"
_NO_ROW: Final = "the row of counterfoil.restore_guard is missing; put it back"

_LOCK: Final = """
SELECT state = 'quarantined', episode, signs, is_planned
  FROM counterfoil.restore_guard
   FOR UPDATE
"""

_ENGAGE: Final = """
UPDATE counterfoil.restore_guard
   SET state = 'quarantined',
       episode = %(episode)s,
       signs = %(signs)s,
       is_planned = %(is_planned)s,
       since = coalesce(since, counterfoil.now()),
       engaged_by = %(by)s,
       reason = %(reason)s,
       doubtful_before = CASE WHEN %(is_lossy)s THEN counterfoil.now()
                              ELSE doubtful_before END,
       doubtful_episode = CASE WHEN %(is_lossy)s THEN %(episode)s
                               ELSE doubtful_episode END
"""

_RELEASE: Final = """
UPDATE counterfoil.restore_guard g
   SET state = 'open', signs = '{}', is_planned = false, since = NULL,
       engaged_by = NULL, reason = NULL, system_identifier = p.system_identifier,
       timeline = p.timeline, database_oid = p.database_oid, table_oid = p.table_oid
  FROM counterfoil.place() p
"""

_ENGAGING: Final = Deed(action=GUARD_ENGAGED, target_kind="restore_guard", target=WHAT)
_RELEASING: Final = Deed(
    action=GUARD_RELEASED, target_kind="restore_guard", target=WHAT
)

_SIGNS: Final = "SELECT counterfoil.restore_signs()"

_KEEP_LOST: Final = """
INSERT INTO counterfoil.lost_purchases (key, purchase, host)
SELECT l.key, l.purchase, %(host)s
  FROM unnest(%(keys)s::text[], %(purchases)s::integer[]) AS l(key, purchase)
    ON CONFLICT (key, purchase) DO NOTHING
"""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for a restore."""

    signs: frozenset[str]
    lost: tuple[Line, ...] = ()
    """Lines of this host's journal that the log lacks, and that nobody has told."""
    is_planned: bool = False


def engage_on(connection: Connection, evidence: Evidence, meta: Meta) -> int | None:
    """Return the position of `restore.detected`, committed; None: nothing new."""
    with transaction(connection):
        event = _engaged(connection, _locked(connection), evidence, meta)
        if event is None:
            return None
        position = remark(connection, event, meta, new_id())
    tell_remarks((event,))
    return position


def _engaged(
    connection: Connection, before: Quarantine, evidence: Evidence, meta: Meta
) -> RestoreDetected | None:
    """Return what the evidence adds to the locked row, written; None: nothing new."""
    after = engaged(before, evidence.signs, is_planned=evidence.is_planned)
    if after is not None:
        _write(connection, after, meta)
    # In the same transaction: a line that is told engages nothing any more.
    lost = _keep_lost(connection, evidence.lost)
    if after is None:
        return None
    return RestoreDetected(
        episode=after.episode,
        signs=after.signs,
        is_planned=after.is_planned,
        lost_purchases=lost,
        position=last(connection),
    )


def _write(connection: Connection, after: Quarantine, meta: Meta) -> None:
    told = {
        "episode": after.episode,
        "signs": list(after.signs),
        "is_planned": after.is_planned,
        "is_lossy": may_have_lost(after),
        "by": meta.actor.id,
        "reason": meta.reason or f"signs of a restore: {', '.join(after.signs)}",
    }
    connection.execute(_ENGAGE, told)


def _keep_lost(connection: Connection, lost: Sequence[Line]) -> int:
    if not lost:
        return 0
    told = {
        "host": gethostname()[:255],
        "keys": [each.key for each in lost],
        "purchases": [each.purchase for each in lost],
    }
    return connection.execute(_KEEP_LOST, told).rowcount


@dataclass(frozen=True, slots=True)
class _Engage:
    evidence: Evidence
    meta: Meta

    def __call__(self, turn: Turn[Kept], before: Quarantine) -> Kept:
        event = _engaged(turn.connection, before, self.evidence, self.meta)
        return _kept(turn, _ENGAGING, (before, event), self.meta)


@dataclass(frozen=True, slots=True)
class _Release:
    meta: Meta
    is_override: bool

    def __call__(self, turn: Turn[Kept], before: Quarantine) -> Kept:
        event = self._released(turn.connection, before) if before.is_engaged else None
        return _kept(turn, _RELEASING, (before, event), self.meta)

    def _released(self, connection: Connection, before: Quarantine) -> RestoreReleased:
        ((signs,),) = connection.execute(_SIGNS).fetchall()
        if not {*before.signs}.issuperset(signs_of(signs)):
            raise StateConflictError(_WHAT, "of this database", "changing", "ask again")
        # After the lock: whatever was submitted or marked before it is seen here.
        ((row,),) = connection.execute(LEFT).fetchall()
        left = number(row)
        if not may_release(before, left, is_override=self.is_override):
            raise RestoreUnfinishedError(left)
        connection.execute(_RELEASE)
        return RestoreReleased(
            episode=before.episode,
            is_override=self.is_override and left > 0,
            left=left,
            position=last(connection),
        )


def _kept(
    turn: Turn[Kept],
    deed: Deed,
    done: tuple[Quarantine, RestoreDetected | RestoreReleased | None],
    meta: Meta,
) -> Kept:
    """Return what was done to the locked row, written with its record."""
    before, event = done
    after = before if event is None else _locked(turn.connection)
    events = Telling(deed, meta).events(event, _figures(before), _figures(after))

    def kept(position: int) -> Kept:
        return Kept(is_new=event is not None, position=position)

    return turn.record(events, meta, kept)


def _figures(guard: Quarantine) -> JsonObject:
    return {
        "state": "quarantined" if guard.is_engaged else "open",
        "episode": guard.episode,
        "signs": [*guard.signs],
        "is_planned": guard.is_planned,
    }


def _locked(connection: Connection) -> Quarantine:
    row = connection.execute(_LOCK).fetchone()
    if row is None:  # a trigger keeps it; without it nothing is bought either
        raise DatabaseUnavailableError(_NO_ROW)
    return Quarantine(
        is_engaged=truth(row[0]),
        episode=number(row[1]),
        signs=signs_of(row[2]),
        is_planned=truth(row[3]),
    )


class PostgresRestoreGuard:
    """Changes the guard over pooled connections; see `RestoreGuard`."""

    def __init__(self, connections: Connections) -> None:
        """Take the connections to borrow."""
        self._connections = connections

    def engage(
        self, signs: Collection[str], meta: Meta, *, is_planned: bool = False
    ) -> Kept:
        """See `RestoreGuard.engage`."""
        evidence = Evidence(frozenset(signs), is_planned=is_planned)
        return recorded(self._connections, _locked, _Engage(evidence, meta))

    def release(self, meta: Meta, *, is_override: bool) -> Kept:
        """See `RestoreGuard.release`."""
        return recorded(self._connections, _locked, _Release(meta, is_override))

    def state(self) -> GuardState:
        """See `RestoreGuard.state`."""
        return standing(self._connections)
