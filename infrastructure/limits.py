"""The limits of pending jobs are kept in the database, where intake reads them."""

from contextlib import closing
from typing import Final

from infrastructure.postgres.database import (
    connect,
    transaction,
    unavailable_in_our_words,
)

# What stands already is not written again.
_SET: Final = """
UPDATE counterfoil.limits
   SET max_pending = coalesce(%(pending)s, max_pending),
       max_tenant_pending = coalesce(%(tenant_pending)s, max_tenant_pending)
 WHERE max_pending <> coalesce(%(pending)s, max_pending)
    OR max_tenant_pending <> coalesce(%(tenant_pending)s, max_tenant_pending)
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
