"""One installation, opened: its database found, its schema checked, all wired.

settings ─► embedded server or the given one ─► schema ─► pool ─► services
"""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Final

from infrastructure.errors import refusals_in_our_words
from infrastructure.extensions.extensions import Extensions
from infrastructure.installation.place import keep_limits, open_place
from infrastructure.installation.services import Services
from infrastructure.installation.wiring import guarding_of, panel_of, wired
from infrastructure.log.horizon import require_positions_ahead
from infrastructure.postgres import migrator
from infrastructure.postgres.database import Database
from infrastructure.settings import Settings

COMMAND_POOL: Final = 2


@contextmanager
def open_installation(
    settings: Settings,
    extensions: Extensions,
    *,
    ephemeral: bool = False,
    up_to_date: bool = False,
    pool_size: int = COMMAND_POOL,
) -> Generator[Services]:
    """Give the services of an installation; `up_to_date` migrates it first.

    Raises:
        ConfigurationError: a setting is wrong.
        DatabaseUnavailableError: the database cannot be reached.
        MigrationError: the schema is not this version's.
        InfrastructureError: the database refused what this role asked for.
    """
    with ExitStack() as stack:
        stack.enter_context(refusals_in_our_words())
        place = stack.enter_context(open_place(settings, ephemeral=ephemeral))
        migrated: tuple[str, ...] = ()
        if up_to_date or ephemeral:
            migrated = migrator.migrate(place.uri).done
            keep_limits(settings, place)
        else:
            migrator.require_current(place.uri)
        database = Database(place.uri, pool_size=pool_size)
        database.look = guarding_of(settings, place).look
        stack.enter_context(database)
        with database.connection() as connection:
            require_positions_ahead(connection)
        panel = extensions.panel or panel_of(settings)
        if panel is not None:
            stack.callback(panel.close)
        services = wired(settings, place, database, panel, extensions)
        yield replace(services, migrated=migrated)
