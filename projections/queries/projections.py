"""Where every projection stands: who carries it forward, how far it is behind, and why.

following    a process leads it
unowned      nobody leads it at the moment: no worker with projections is alive, or a
             dead one's time has not run out
paused       a person has paused it
outdated     its rows were folded by other code; a rebuild ends it
unknown      this version has no such projection, a newer one does
absent       this version has it, the database does not know it
ahead        its rows claim a position that the log never had; a rebuild ends it
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import psycopg
from psycopg.rows import class_row, dict_row, scalar_row

from domain.event import Instant
from projections.connections import Lend, one_snapshot
from projections.moment import read_moment
from projections.read_models.all import ALL
from projections.read_models.slots import FOLLOWED

_HORIZON: Final = "SELECT counterfoil.horizon()"

# Of each projection the oldest event that its rows lack is one look into the index by
# position, however far behind it is.
_ALL: Final = """
SELECT p.name, p.live AS slot, p.schema,
       coalesce(c.position, 0) AS position,
       c.updated_at AS moved_at,
       e.recorded_at AS behind_since,
       l.host AS owner_host, l.pid AS owner_pid, l.term,
       p.paused_at, p.paused_by, p.paused_reason,
       (SELECT count(*)
          FROM counterfoil.projection_set_aside s
         WHERE s.projection = p.name
           AND s.slot = p.live) AS set_aside,
       p.build, p.build_schema, p.build_began_at,
       coalesce(b.position, 0) AS build_position,
       bl.host AS builder_host, bl.pid AS builder_pid
  FROM counterfoil.projections p
  LEFT JOIN counterfoil.checkpoints c
         ON c.name = p.name || '_' || p.live || ':' || %(followed)s
  LEFT JOIN counterfoil.checkpoints b
         ON b.name = p.name || '_' || CASE p.live WHEN 'a' THEN 'b' ELSE 'a' END
                     || ':' || %(followed)s
  LEFT JOIN counterfoil.leadership l
         ON l.role = 'projection:' || p.name
        AND l.expires_at > counterfoil.now()
  LEFT JOIN counterfoil.leadership bl
         ON bl.role = 'build:' || p.name
        AND bl.expires_at > counterfoil.now()
  LEFT JOIN LATERAL (SELECT recorded_at
                       FROM counterfoil.events
                      WHERE position > coalesce(c.position, 0)
                      ORDER BY position
                      LIMIT 1) e ON true
 ORDER BY p.name
"""

_LAST: Final = "SELECT coalesce(max(position), 0) FROM counterfoil.events"

_HANDED_OUT: Final = "SELECT counterfoil.last_position()"

_ASIDE: Final = """
SELECT position, tenant_id, stream_id, version, type, reason, set_aside_at
  FROM counterfoil.projection_set_aside s
  JOIN counterfoil.projections p ON p.name = s.projection AND p.live = s.slot
 WHERE s.projection = %(name)s
 ORDER BY position
 LIMIT %(limit)s
"""


class Paused(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Since when a projection is paused, by whom and why."""

    at: Instant
    by: str
    reason: str


class Leader(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The process that carries a projection forward, or builds it."""

    host: str
    pid: int


class Build(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What is being made in the spare table."""

    what: str
    """`rebuild` or `verify`."""
    schema_number: int
    began_at: Instant
    position: int
    """How far it has read."""
    ratio: float
    """Of the log, from 0 to 1."""
    builder: Leader | None
    """None: nobody goes on with it at the moment."""


class ProjectionLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One projection."""

    name: str
    state: str
    """See the module."""
    slot: str
    """The one of its two tables that is read."""
    schema_number: int
    """Of the code that folded its rows."""
    expected_schema: int | None
    """What this version would fold; None: it knows no such projection."""
    position: int
    """How far its rows have followed the log."""
    lag_positions: int
    """How many positions the log's last event is beyond that."""
    lag_seconds: float
    """Age of the oldest event that its rows lack; 0: they lack none."""
    owner: Leader | None
    paused: Paused | None
    set_aside: int
    """Events that could not be folded, or wait for one that could not."""
    build: Build | None


class ProjectionPage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All projections at the moment that is shown."""

    now: Instant
    horizon: int
    """Followers may read up to here; what is beyond waits for open transactions."""
    last: int
    """Position of the log's last event."""
    projections: tuple[ProjectionLine, ...]
    absent: tuple[str, ...]
    """Those of this version that the database does not know."""


class SetAside(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One event that a projection has set aside; never its payload."""

    position: int
    tenant_id: str
    stream_id: str
    version: int
    type: str
    reason: str
    set_aside_at: Instant


def _schemas() -> Mapping[str, int]:
    return {each.name: each.schema for each in ALL}


@dataclass(frozen=True, slots=True)
class ProjectionList:
    """Tells where projections stand; `schemas` are those that this version folds."""

    lend: Lend
    schemas: Mapping[str, int] = field(default_factory=_schemas)

    def __call__(self) -> ProjectionPage:
        """Return every projection of this installation."""
        with self.lend() as connection:
            # Of a snapshot of its own, before the others: see `counterfoil.horizon`.
            horizon: int = _number(connection, _HORIZON)
        with one_snapshot(self.lend) as connection:
            with connection.cursor(row_factory=dict_row) as cursor:
                rows = cursor.execute(_ALL, {"followed": FOLLOWED}).fetchall()
            last = _number(connection, _LAST)
            handed_out = _number(connection, _HANDED_OUT)
            now = read_moment(connection).now
        return ProjectionPage(
            now=now,
            horizon=horizon,
            last=last,
            projections=tuple(
                self._line(row, last, now, handed_out=handed_out) for row in rows
            ),
            absent=tuple(sorted(self.schemas.keys() - {row["name"] for row in rows})),
        )

    def set_aside(self, name: str, limit: int = 20) -> tuple[SetAside, ...]:
        """Return the first events that a projection has set aside, in their order."""
        asked = {"name": name, "limit": limit}
        with (
            one_snapshot(self.lend) as connection,
            connection.cursor(row_factory=class_row(SetAside)) as cursor,
        ):
            return tuple(cursor.execute(_ASIDE, asked).fetchall())

    def _line(
        self, row: dict[str, Any], last: int, now: Instant, *, handed_out: int
    ) -> ProjectionLine:
        behind_since = row["behind_since"]
        age = 0.0 if behind_since is None else (now - behind_since).total_seconds()
        expected = self.schemas.get(row["name"])
        return ProjectionLine(
            name=row["name"],
            state=_state(row, expected, handed_out),
            slot=row["slot"],
            schema_number=row["schema"],
            expected_schema=expected,
            position=row["position"],
            lag_positions=max(last - row["position"], 0),
            lag_seconds=max(round(age, 3), 0.0),
            owner=_leader(row["owner_host"], row["owner_pid"]),
            paused=_paused(row),
            set_aside=row["set_aside"],
            build=_build(row, last),
        )


def _number(connection: psycopg.Connection[Any], statement: Any) -> int:  # noqa: ANN401
    with connection.cursor(row_factory=scalar_row) as cursor:
        found: int = cursor.execute(statement).fetchone() or 0
    return found


def _state(row: dict[str, Any], expected: int | None, handed_out: int) -> str:
    if row["paused_at"] is not None:
        return "paused"
    if expected is None:
        return "unknown"
    if row["schema"] != expected:
        return "outdated"
    if row["position"] > handed_out:
        return "ahead"
    return "unowned" if row["owner_host"] is None else "following"


def _leader(host: str | None, pid: int) -> Leader | None:
    return None if host is None else Leader(host=host, pid=pid)


def _paused(row: dict[str, Any]) -> Paused | None:
    if row["paused_at"] is None:
        return None
    return Paused(at=row["paused_at"], by=row["paused_by"], reason=row["paused_reason"])


def _build(row: dict[str, Any], last: int) -> Build | None:
    if row["build"] is None:
        return None
    position: int = row["build_position"]
    return Build(
        what=row["build"],
        schema_number=row["build_schema"],
        began_at=row["build_began_at"],
        position=position,
        ratio=1.0 if position >= last else round(position / last, 4),
        builder=_leader(row["builder_host"], row["builder_pid"]),
    )
