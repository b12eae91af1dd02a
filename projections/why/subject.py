"""What a pasted id stands for.

a UUID            an order, entitlement, operation, delivery, job or window
anything else     the shop's order, then a customer, then a panel user's name
"""

import re
from typing import Any, Final, LiteralString
from uuid import UUID

import msgspec
import psycopg
from psycopg.rows import class_row

# `<operation>.<attempt>.<n>`, as the panel's own book names a request.
_REQUEST_ID: Final = re.compile(r"([0-9a-fA-F-]{36})(?:\.[0-9]+){1,2}")

_BY_STREAM: Final = """
SELECT 'order' AS kind, stream_id
  FROM counterfoil.orders
 WHERE stream_id = %(id)s
 UNION ALL
SELECT 'entitlement', stream_id
  FROM counterfoil.entitlements
 WHERE stream_id = %(id)s
 UNION ALL
SELECT 'operation', stream_id
  FROM counterfoil.operations
 WHERE stream_id = %(id)s
 UNION ALL
SELECT 'delivery', stream_id
  FROM counterfoil.deliveries
 WHERE stream_id = %(id)s
 UNION ALL
SELECT 'job', stream_id
  FROM counterfoil.events
 WHERE stream_id = %(id)s
   AND version = 1
   AND type = 'job.enqueued'
 UNION ALL
SELECT 'maintenance', stream_id
  FROM counterfoil.maintenance
 WHERE stream_id = %(id)s
"""

_BY_ORDER_ID: Final = """
SELECT 'order' AS kind, stream_id
  FROM counterfoil.orders
 WHERE tenant_id = %(tenant_id)s
   AND order_id = %(key)s
"""

# Orders too: one that is not fanned out yet, or a topup, has no entitlement.
_BY_CUSTOMER: Final = """
SELECT 'entitlement' AS kind, stream_id
  FROM counterfoil.entitlements
 WHERE tenant_id = %(tenant_id)s
   AND customer_id = %(key)s
 UNION ALL
SELECT 'order', stream_id
  FROM counterfoil.orders
 WHERE tenant_id = %(tenant_id)s
   AND customer_id = %(key)s
"""

_BY_USERNAME: Final = """
SELECT 'entitlement' AS kind, stream_id
  FROM counterfoil.entitlements
 WHERE tenant_id = %(tenant_id)s
   AND (username = %(key)s OR legacy_username = %(key)s)
"""


_BY_NAME: Final[tuple[tuple[str, LiteralString], ...]] = (
    ("order", _BY_ORDER_ID),
    ("customer", _BY_CUSTOMER),
    ("panel user", _BY_USERNAME),
)


class Root(msgspec.Struct, frozen=True):
    """One stream that an id stands for."""

    kind: str
    stream_id: UUID


class Subject(msgspec.Struct, frozen=True):
    """What an id stands for: the word for it, and the streams to begin with."""

    kind: str
    """`order`, `customer`, `panel user`, `entitlement`, `operation`, `delivery`, `job`
    or `maintenance`."""
    roots: tuple[Root, ...]


def find_subject(
    connection: psycopg.Connection[Any], tenant_id: str, key: str
) -> Subject | None:
    """Return what `key` stands for, or None when nothing has that id."""
    stream_id = as_stream_id(key)
    if stream_id is not None:
        roots = _roots(connection, _BY_STREAM, {"id": stream_id})
        if roots:
            return Subject(roots[0].kind, roots)
    for kind, statement in _BY_NAME:
        roots = _roots(connection, statement, {"tenant_id": tenant_id, "key": key})
        if roots:
            return Subject(kind, roots)
    return None


def as_stream_id(key: str) -> UUID | None:
    """Return the id of a stream, also out of a request's id."""
    found = _REQUEST_ID.fullmatch(key)
    try:
        return UUID(found[1] if found else key)
    except ValueError:
        return None


def _roots(
    connection: psycopg.Connection[Any],
    statement: LiteralString,
    parameters: dict[str, object],
) -> tuple[Root, ...]:
    with connection.cursor(row_factory=class_row(Root)) as cursor:
        return tuple(cursor.execute(statement, parameters).fetchall())
