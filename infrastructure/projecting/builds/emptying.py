"""The spare table is emptied, without anybody who still reads it noticing.

A table that was live may still be read by whoever looked before the swap.  So it is
emptied at one stroke only when no snapshot can be that old, else row by row, which
old snapshots do not notice.
"""

import threading
import time
from typing import Final

import psycopg
from psycopg.sql import SQL, Composed, Identifier

from infrastructure.postgres.database import Connection, Database
from infrastructure.projecting.builds.errors import BuildLostError
from projections.read_models.slots import table_name

QUIET_SECONDS: Final = 2.0
"""How long old snapshots are waited for."""

_PAGE: Final = 20_000
_LOOK_SECONDS: Final = 0.05

# FOR SHARE: no swap makes the table live meanwhile, and whoever follows the live one
# goes on.
_IS_SPARE: Final = """
SELECT 1
  FROM counterfoil.projections
 WHERE name = %(name)s
   AND live <> %(slot)s
   AND build IS NULL
   FOR SHARE
"""

# The row's xmin is its last change: the swap, or something later. Whoever may have
# looked before it is named here: sessions of this database, standbys that tell us
# what they read, and slots. (Vacuums read no rows for anybody.)
_IS_QUIET: Final = """
SELECT NOT EXISTS (
           SELECT 1
             FROM pg_catalog.pg_stat_activity a
            WHERE a.backend_xmin IS NOT NULL
              AND a.pid <> pg_catalog.pg_backend_pid()
              AND a.backend_type NOT LIKE 'autovacuum%%'
              AND (a.datname IS NULL OR a.datname = pg_catalog.current_database())
              AND pg_catalog.age(a.backend_xmin) >= pg_catalog.age(p.xmin))
   AND NOT EXISTS (
           SELECT 1
             FROM pg_catalog.pg_replication_slots s
            WHERE s.xmin IS NOT NULL
              AND pg_catalog.age(s.xmin) >= pg_catalog.age(p.xmin))
  FROM counterfoil.projections p
 WHERE p.name = %(name)s
"""

_IS_EMPTY: Final = SQL("SELECT pg_catalog.pg_relation_size(%(table)s) = 0")
_SHORTLY: Final = "SET LOCAL lock_timeout = '100ms'"
_TRUNCATE: Final = SQL("TRUNCATE {table}")
_DELETE: Final = SQL("""
DELETE FROM {table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM {table} LIMIT %(page)s))
""")


def empty(
    database: Database,
    name: str,
    slot: str,
    *,
    seconds: float = QUIET_SECONDS,
    rows: bool = True,
) -> bool:
    """Empty the table of a spare slot in which nothing is under way.

    At one stroke as soon as nobody can be reading it, if that is within `seconds`;
    else row by row, or, without `rows`, not at all.  Returns whether it is empty.

    Raises:
        BuildLostError: it is not spare any more, or something was begun in it.
    """
    pause = threading.Event()
    give_up_at = time.monotonic() + seconds
    parts = _Parts(name, slot)
    while not _truncate(database, parts):
        if time.monotonic() >= give_up_at:
            return rows and _delete(database, parts)
        pause.wait(_LOOK_SECONDS)
    return True


class _Parts:
    """The statements about one table."""

    def __init__(self, name: str, slot: str) -> None:
        self.name = name
        self.asked: dict[str, object] = {"name": name, "slot": slot}
        table = table_name(name, slot)
        self.qualified = f"counterfoil.{table}"
        named = Identifier("counterfoil", table)
        self.truncate: Composed = _TRUNCATE.format(table=named)
        self.delete: Composed = _DELETE.format(table=named)

    def require_spare(self, connection: Connection) -> None:
        if connection.execute(_IS_SPARE, self.asked).fetchone() is None:
            raise BuildLostError(self.name)


def _truncate(database: Database, parts: _Parts) -> bool:
    try:
        with database.transaction() as connection:
            parts.require_spare(connection)
            size = connection.execute(_IS_EMPTY, {"table": parts.qualified})
            if size.fetchall()[0][0]:
                return True
            if not connection.execute(_IS_QUIET, parts.asked).fetchall()[0][0]:
                return False
            connection.execute(_SHORTLY)
            connection.execute(parts.truncate)
    except (psycopg.errors.LockNotAvailable, psycopg.errors.InsufficientPrivilege):
        return False
    return True


def _delete(database: Database, parts: _Parts) -> bool:
    gone = _PAGE
    while gone:
        with database.transaction() as connection:
            parts.require_spare(connection)
            gone = connection.execute(parts.delete, {"page": _PAGE}).rowcount
    return True
