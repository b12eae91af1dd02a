"""The limits of pending jobs are kept in the database, where intake reads them."""

from contextlib import closing
from typing import Final

from infrastructure.postgres.database import (
    connect,
    transaction,
    unavailable_in_our_words,
)

# What stands already is not written again.  A row that somebody has deleted, so that
# there were no limits, is there again.
_SET: Final = """
INSERT INTO counterfoil.limits AS l (max_pending, max_tenant_pending)
VALUES (coalesce(%(pending)s, 10000), coalesce(%(tenant_pending)s, 1000))
    ON CONFLICT (one) DO UPDATE
   SET max_pending = coalesce(%(pending)s, l.max_pending),
       max_tenant_pending = coalesce(%(tenant_pending)s, l.max_tenant_pending)
 WHERE l.max_pending <> coalesce(%(pending)s, l.max_pending)
    OR l.max_tenant_pending <> coalesce(%(tenant_pending)s, l.max_tenant_pending)
"""


def set_limits(
    conninfo: str, *, pending: int | None, tenant_pending: int | None
) -> None:
    """Let so many jobs be pending in all and for a tenant; None leaves what stands.

    Raises:
        DatabaseUnavailableError: no connection, or it was lost on the way.
    """
    if pending is None and tenant_pending is None:
        return
    asked = {"pending": pending, "tenant_pending": tenant_pending}
    with (
        unavailable_in_our_words(),
        closing(connect(conninfo)) as connection,
        transaction(connection),
    ):
        connection.execute(_SET, asked)
