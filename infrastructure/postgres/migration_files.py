"""The migrations that this version brings, as files: NNNN_what_it_does.sql."""

import hashlib
import re
from pathlib import Path
from typing import Final

import msgspec

from infrastructure.errors import ConfigurationError

_NAME: Final = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")
_PACKAGE: Final = Path(__file__).resolve().parent


class Migration(msgspec.Struct, frozen=True):
    """One file: immutable once it was applied anywhere."""

    number: int
    name: str
    """The file's name."""
    checksum: str
    """SHA-256 of the text, line ends as \\n, so that no checkout changes it."""
    sql: bytes


def migrations_folder() -> Path:
    """Return the checkout's migrations, or their copy inside an installed wheel."""
    root = _PACKAGE.parents[1]
    checkout = (root / "pyproject.toml").is_file()
    return root / "migrations" if checkout else _PACKAGE / "migrations"


def read_migrations(folder: Path) -> tuple[Migration, ...]:
    """Return the migrations in `folder`, numbered 1, 2, 3 … without a gap.

    Raises:
        ConfigurationError: there are none, or their names or numbers are wrong.
    """
    read = tuple(_read(path) for path in sorted(folder.glob("*.sql")))
    if not read:
        raise ConfigurationError(
            str(folder), "holds no migrations", "install the package again"
        )
    for expected, migration in enumerate(read, start=1):
        if migration.number != expected:
            raise ConfigurationError(
                migration.name, f"number {expected:04} is due", "rename the file"
            )
    return read


def _read(path: Path) -> Migration:
    named = _NAME.fullmatch(path.name)
    if not named:
        raise ConfigurationError(
            path.name, "is not named NNNN_what_it_does.sql", "rename the file"
        )
    sql = path.read_bytes().replace(b"\r\n", b"\n")
    return Migration(int(named[1]), path.name, hashlib.sha256(sql).hexdigest(), sql)
