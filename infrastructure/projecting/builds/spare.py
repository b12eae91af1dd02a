"""What is under way in the spare table of a projection, and what is left in it.

            begin                  promote, end
 (nothing) ───────► rebuild, verify ───────────► (nothing)
     ▲                   │ begin (anew), drop
     └───────────────────┘ then the table is emptied

While `projections.build` is NULL, nothing in the spare slot counts: it has no
checkpoint, nothing is set aside there, and the table is emptied before a build begins.
"""

from datetime import datetime
from typing import Final, NamedTuple

from infrastructure.postgres.database import Connection, Database
from infrastructure.postgres.heads.table import maybe_instant, maybe_text, number, text
from infrastructure.projecting.builds.emptying import QUIET_SECONDS, empty
from infrastructure.projecting.builds.errors import (
    AheadError,
    BuildHalfDoneError,
    BuildLostError,
    NotMigratedError,
    OutdatedError,
)
from projections.builds import Work
from projections.read_models.slots import checkpoint_name, other_slot

_READ: Final = """
SELECT live, schema, paused_at, build, build_schema, build_began_at
  FROM counterfoil.projections
 WHERE name = %(name)s
"""
_LOCK: Final = f"{_READ} FOR UPDATE"

# A place that the log has never had was set by hand, or is another log's: no place.
_POSITIONS: Final = """
SELECT coalesce(max(c.position) FILTER (WHERE c.name = %(live)s
                                          AND c.position <= l.last), 0),
       coalesce(max(c.position) FILTER (WHERE c.name = %(spare)s), 0)
  FROM (SELECT counterfoil.last_position() AS last) l
  LEFT JOIN counterfoil.checkpoints c ON c.name IN (%(live)s, %(spare)s)
"""

_AHEAD: Final = """
SELECT c.position, l.last
  FROM counterfoil.checkpoints c
  JOIN (SELECT counterfoil.last_position() AS last) l ON c.position > l.last
 WHERE c.name = %(live)s
"""

_BEGIN: Final = """
UPDATE counterfoil.projections
   SET build = %(work)s, build_schema = %(schema)s, build_began_at = counterfoil.now()
 WHERE name = %(name)s
   AND live <> %(slot)s
   AND build IS NULL
RETURNING build_began_at
"""

_END: Final = """
UPDATE counterfoil.projections
   SET build = NULL, build_schema = NULL, build_began_at = NULL
 WHERE name = %(name)s
"""

_FORGET: Final = """
WITH forgotten AS (
    DELETE FROM counterfoil.projection_set_aside
     WHERE projection = %(name)s
       AND slot = %(slot)s
)
DELETE FROM counterfoil.checkpoints WHERE name = %(checkpoint)s
"""


class State(NamedTuple):
    """The row of a projection."""

    live: str
    schema: int
    paused_at: datetime | None
    work: Work | None
    work_schema: int | None
    began_at: datetime | None

    @property
    def spare(self) -> str:
        """The slot that is not live."""
        return other_slot(self.live)


class Begun(NamedTuple):
    """A build that is under way."""

    slot: str
    position: int
    """Up to where it has folded before."""
    because: str
    """Why it begins there."""
    began_at: datetime | None
    is_resumed: bool


def read_state(connection: Connection, name: str, *, lock: bool = False) -> State:
    """Return how a projection stands; `lock` keeps it so until the transaction ends.

    Raises:
        NotMigratedError: the database does not know it.
    """
    statement = _LOCK if lock else _READ
    row = connection.execute(statement, {"name": name}).fetchone()
    if row is None:
        raise NotMigratedError(name)
    return State(
        live=text(row[0]),
        schema=number(row[1]),
        paused_at=maybe_instant(row[2]),
        work=_work(row[3]),
        work_schema=None if row[4] is None else number(row[4]),
        began_at=maybe_instant(row[5]),
    )


def _work(value: object) -> Work | None:
    told = maybe_text(value)
    if told is None:
        return None
    return "rebuild" if told == "rebuild" else "verify"


def positions(connection: Connection, name: str, live: str) -> tuple[int, int]:
    """Return the positions of the live and of the spare slot."""
    names = {
        "live": checkpoint_name(name, live),
        "spare": checkpoint_name(name, other_slot(live)),
    }
    row = connection.execute(_POSITIONS, names).fetchall()[0]
    return number(row[0]), number(row[1])


def require_in_log(connection: Connection, name: str, live: str) -> None:
    """Refuse a live slot whose place the log has never had.

    Raises:
        AheadError: a rebuild ends that.
    """
    asked = {"live": checkpoint_name(name, live)}
    row = connection.execute(_AHEAD, asked).fetchone()
    if row is not None:
        raise AheadError(name, number(row[0]), number(row[1]))


def begin(
    database: Database,
    name: str,
    schema: int,
    work: Work,
    *,
    seconds: float = QUIET_SECONDS,
) -> Begun:
    """Return what is under way in the spare slot from now on.

    A rebuild by the same code goes on where it was; anything else begins anew, in a
    table that is emptied as `empty` says.

    Raises:
        BuildHalfDoneError: a verification would destroy a rebuild.
        OutdatedError: a verification would compare the rows of two codes.
        BuildLostError: another process has begun something meanwhile.
    """
    with database.transaction() as connection:
        state = read_state(connection, name, lock=True)
        _, position = positions(connection, name, state.live)
        if state.work == work == "rebuild" and state.work_schema == schema:
            because = "a rebuild by the same code was half done"
            return Begun(
                state.spare, position, because, state.began_at, is_resumed=True
            )
        if work == "verify" and state.work == "rebuild":
            raise BuildHalfDoneError(name, position)
        if work == "verify" and state.schema != schema:
            raise OutdatedError(name, state.schema, schema)
        if state.work is not None or position:  # the latter: `live` was set by hand
            forget(connection, name, state.spare)
    empty(database, name, state.spare, seconds=seconds)
    asked = {"name": name, "work": work, "schema": schema, "slot": state.spare}
    with database.transaction() as connection:
        row = connection.execute(_BEGIN, asked).fetchone()
        if row is None:
            raise BuildLostError(name)
    because = _because(state, schema)
    return Begun(state.spare, 0, because, maybe_instant(row[0]), is_resumed=False)


def _because(state: State, schema: int) -> str:
    if state.work is None:
        return "nothing was half done"
    if state.work == "verify":
        return "what was half done was a verification, which is never continued"
    return (
        f"what was half done was made by schema {state.work_schema}, "
        f"this version has schema {schema}"
    )


def drop(database: Database, name: str) -> tuple[Work | None, int]:
    """Return what was under way and how far it was; nothing of it is left.

    Raises:
        NotMigratedError: the database does not know the projection.
    """
    with database.transaction() as connection:
        state = read_state(connection, name, lock=True)
        _, position = positions(connection, name, state.live)
        if state.work is not None:
            forget(connection, name, state.spare)
    empty(database, name, state.spare)
    return state.work, position


def end(database: Database, name: str, begun: Begun) -> None:
    """Leave nothing of a build that has served its purpose.

    Raises:
        BuildLostError: another one is under way by now.
    """
    with database.transaction() as connection:
        state = read_state(connection, name, lock=True)
        if (state.spare, state.began_at) != (begun.slot, begun.began_at):
            raise BuildLostError(name)
        forget(connection, name, begun.slot)
    empty(database, name, begun.slot, rows=False)


def forget(connection: Connection, name: str, slot: str) -> None:
    """End what is under way, and let nothing count that is in `slot`."""
    asked = {"name": name, "slot": slot, "checkpoint": checkpoint_name(name, slot)}
    connection.execute(_END, asked)
    connection.execute(_FORGET, asked)
