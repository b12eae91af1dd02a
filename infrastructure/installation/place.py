"""Where the database is: the one that was given, or the embedded one."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from infrastructure import embedded
from infrastructure.limits import set_limits
from infrastructure.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the database is, as a person may be told: without any password."""

    uri: str
    home: Path | None
    """Folder of the embedded server's data; None when the server was given."""
    is_ephemeral: bool = False
    notices: tuple[str, ...] = ()


@contextmanager
def open_place(settings: Settings, *, ephemeral: bool = False) -> Generator[Place]:
    """Give a database: the one that the settings name, or the embedded one."""
    if settings.database_url is not None and not ephemeral:
        yield Place(uri=settings.database_url, home=None)
        return
    with embedded.serve(
        settings.data_dir, ephemeral=ephemeral, binaries=settings.pgbin
    ) as server:
        yield Place(
            uri=server.uri,
            home=server.home,
            is_ephemeral=ephemeral,
            notices=server.notices,
        )


def keep_limits(settings: Settings, place: Place) -> None:
    """Write the limits of pending jobs that are set here into the database."""
    set_limits(
        place.uri,
        pending=settings.job_max_pending,
        tenant_pending=settings.job_max_tenant_pending,
    )
