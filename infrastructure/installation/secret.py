"""What the API signs cursors with: one secret of the whole installation."""

from typing import Final

from psycopg.rows import scalar_row

from infrastructure.postgres.database import Database

_SECRET: Final = "SELECT cursor_secret FROM counterfoil.installation"  # noqa: S105 - it asks for one


class CursorSecret:
    """Reads the secret when it is first needed, and once."""

    def __init__(self, database: Database) -> None:
        """Take where it is kept."""
        self._database = database
        self._secret: bytes | None = None

    def __call__(self) -> bytes:
        """Return the secret; any two processes of an installation have the same."""
        if self._secret is None:
            self._secret = self._read()
        return self._secret

    def _read(self) -> bytes:
        with (
            self._database.connection() as connection,
            connection.cursor(row_factory=scalar_row) as cursor,
        ):
            secret: bytes
            (secret,) = cursor.execute(_SECRET).fetchall()
        return secret
