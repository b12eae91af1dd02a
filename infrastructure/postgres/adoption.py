"""Whether a schema that somebody else made is the one that our migrations make.

The answer is looked up, not computed: a scratch database on the same server is
migrated, both schemas are described by the same catalogs, and it is dropped.
"""

from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from typing import Final

from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.errors import InsufficientPrivilege

from infrastructure.errors import (
    DatabaseUnavailableError,
    SchemaDiffersError,
)
from infrastructure.postgres.database import Connection, connect, transaction
from infrastructure.postgres.migration_files import Migration
from infrastructure.postgres.migration_run import run
from infrastructure.postgres.schema_description import Description, describe
from infrastructure.postgres.schema_difference import difference

_UNMANAGED: Final = "there is a schema counterfoil that no migration of ours made, and "
_DIFFERS: Final = f"{_UNMANAGED}it differs from ours; move it away or make it equal:"
_MAY_NOT_CREATE: Final = (
    f"{_UNMANAGED}this role may not create the scratch database to compare it with: "
    "grant CREATEDB for this once"
)
_OUT_OF_REACH: Final = (
    f"{_UNMANAGED}the scratch database to compare it with cannot be reached: "
    "give the server's own address, not a pooler's, for this once"
)

# One for each database: whoever compares holds that database's migrator lock, so
# a scratch database that is there was left by a kill.
_SCRATCH_NAME: Final = """
SELECT 'counterfoil_scratch_' || oid
  FROM pg_database
 WHERE datname = current_database()
"""
_CREATE: Final = sql.SQL("CREATE DATABASE {} TEMPLATE template0")
_DROP: Final = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")


def require_ours(
    found: Description, conninfo: str, migrations: Sequence[Migration]
) -> None:
    """Refuse a description that is not what our migrations make.

    Raises:
        SchemaDiffersError: it differs, or it cannot be compared.
    """
    apart = difference(found, _ours(conninfo, migrations))
    if apart:
        raise SchemaDiffersError(_DIFFERS, apart)


def _ours(conninfo: str, migrations: Sequence[Migration]) -> Description:
    with _scratch_database(conninfo) as scratch:
        for migration in migrations:
            with transaction(scratch):
                run(scratch, migration)
        with transaction(scratch):
            return describe(scratch)


@contextmanager
def _scratch_database(conninfo: str) -> Generator[Connection]:
    with closing(connect(conninfo)) as side:
        row = side.execute(_SCRATCH_NAME).fetchone()
        name = str(row[0]) if row else ""
        drop = _DROP.format(sql.Identifier(name))
        try:
            side.execute(drop)
            side.execute(_CREATE.format(sql.Identifier(name)))
        except InsufficientPrivilege as error:
            raise SchemaDiffersError(_MAY_NOT_CREATE, ()) from error
        try:
            with closing(_connect_to(conninfo, name)) as scratch:
                yield scratch
        finally:
            side.execute(drop)


def _connect_to(conninfo: str, name: str) -> Connection:
    try:
        return connect(make_conninfo(conninfo, dbname=name))
    except DatabaseUnavailableError as error:
        raise SchemaDiffersError(_OUT_OF_REACH, (error.detail,)) from error
