"""Everything that is looked at, in the order in which it makes sense."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Final

import psycopg

from infrastructure.doctor import outside, standing
from infrastructure.doctor.finding import Finding, Look, ill, well
from infrastructure.errors import (
    ConfigurationError,
    DatabaseUnavailableError,
    MigrationError,
    SchemaTooOldError,
    where,
)
from infrastructure.installation.place import open_place
from infrastructure.postgres import migrator
from infrastructure.postgres.database import connect
from infrastructure.settings import Settings

LOOKS: Final[Sequence[Look]] = (
    *(standing.positions, standing.credentials, standing.clock, standing.limits),
    *(standing.workers, standing.projections, standing.guard, standing.snapshots),
    *(outside.notices, outside.folder, outside.panel, outside.providers),
)
"""What a whole schema is needed for; each independent of the others."""


def examine(settings: Callable[[], Settings]) -> Iterator[Finding]:
    """Yield every finding; what cannot be looked at any more is left out."""
    try:
        read = settings()
    except ConfigurationError as error:
        yield ill("settings", f"{error.setting}: {error.problem}", error.remedy)
        return
    yield well("settings", "can be read")
    if read.database_url is None and not read.data_dir.exists():
        remedy = "`counterfoil up` makes one, or set COUNTERFOIL_DATABASE_URL"
        yield ill("database", f"there is none below {read.data_dir}", remedy)
        return
    try:
        with open_place(read) as place:
            yield from _of_the_database(read, place.uri)
    except DatabaseUnavailableError:
        yield ill(
            "database",
            "cannot be reached",
            "check COUNTERFOIL_DATABASE_URL, that the server runs, and the way there",
        )
    except ConfigurationError as error:
        yield ill("database", f"{error.setting}: {error.problem}", error.remedy)


def _of_the_database(settings: Settings, uri: str) -> Iterator[Finding]:
    with closing(connect(uri)) as connection:
        version = connection.info.server_version // 10_000
        yield well("database", f"PostgreSQL {version} answers")
        schema = _schema(uri)
        yield schema
        if not schema.is_well:
            return
        for look in LOOKS:
            try:
                yield from list(look(settings, connection))
            except ConfigurationError as error:
                told = f"{error.setting}: {error.problem}"
                yield ill(look.__name__, told, error.remedy)
            except psycopg.Error as error:
                about = look.__name__
                remedy = "give this role what the others have; docs/operate.md"
                yield ill(about, f"cannot be looked at: {where(error)}", remedy)


def _schema(uri: str) -> Finding:
    try:
        migrator.require_current(uri)
    except SchemaTooOldError as error:
        pending = ", ".join(error.pending)
        return ill("schema", f"pending: {pending}", "run `counterfoil migrate`")
    except MigrationError as error:
        return ill("schema", str(error), "run the version that has migrated it")
    return well("schema", "this version's")
