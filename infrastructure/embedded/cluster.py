"""The cluster as files: made whole or not at all, and told apart from others."""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from infrastructure.embedded.binaries import Binaries
from infrastructure.embedded.place import Place
from infrastructure.errors import ConfigurationError, DatabaseUnavailableError

_SETTING: Final = "COUNTERFOIL_DATA_DIR"
_BUILTIN_LOCALE_SINCE: Final = 17
_TOLD_CHARACTERS: Final = 1_000


def create_cluster(place: Place, binaries: Binaries, *, durable: bool) -> None:
    """Make the cluster; a kill on the way leaves none.

    Raises:
        DatabaseUnavailableError: initdb refused.
    """
    new = place.home / "data.new"
    shutil.rmtree(new, ignore_errors=True)  # left by a kill
    place.account.own(new)
    locale = (
        ("--locale-provider=builtin", "--locale=C.UTF-8")
        if binaries.major >= _BUILTIN_LOCALE_SINCE
        else ("--locale=C",)
    )
    words = ("-U", "postgres", "-E", "UTF8", "--auth=trust", "--data-checksums")
    hurry = () if durable else ("--no-sync",)
    with tempfile.TemporaryFile() as output:
        done = place.account.run(
            [binaries.initdb, "-D", str(new), *words, *locale, *hurry], output=output
        )
        if done.returncode:
            output.seek(0)
            told = output.read().decode(errors="replace").strip()
            detail = f"initdb failed: {told[-_TOLD_CHARACTERS:]}"
            raise DatabaseUnavailableError(detail)
    new.rename(place.data)


def check_version(place: Place, binaries: Binaries) -> None:
    """Refuse a cluster that these binaries cannot serve.

    Raises:
        ConfigurationError: another major version made it, or it is none.
    """
    try:
        made_by = (place.data / "PG_VERSION").read_text("ascii").strip()
    except FileNotFoundError:
        raise ConfigurationError(
            _SETTING,
            f"{place.data} is not a database",
            "move it away, or name another folder",
        ) from None
    if made_by != str(binaries.major):
        raise ConfigurationError(
            _SETTING,
            f"the database in {place.data} was made by PostgreSQL {made_by}, "
            f"and the server binaries are PostgreSQL {binaries.major}",
            f"set COUNTERFOIL_PGBIN to the bin folder of PostgreSQL {made_by} "
            "(pg_upgrade, or dump and restore, moves the data)",
        )


def system_identifier(data: Path) -> int:
    """Return the cluster's number: the first eight bytes of its control file."""
    with (data / "global" / "pg_control").open("rb") as file:
        return int.from_bytes(file.read(8), sys.byteorder, signed=True)
