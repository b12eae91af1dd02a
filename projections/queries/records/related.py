"""What read models know of each other's rows, looked up by their keys."""

from collections.abc import Iterable
from typing import Final
from uuid import UUID

import msgspec
from psycopg import sql
from psycopg.rows import class_row, scalar_row

from domain.errors import InvalidRequestError
from projections.queries.page import Page
from projections.queries.terms import (
    INVALID_FILTER,
    MOST_VALUES,
    Among,
    Asked,
    Field,
    check,
)
from projections.reading import Reading

_HAVING: Final = sql.SQL("""
SELECT t.stream_id
  FROM unnest(%(values)s::text[]) AS v(v)
 CROSS JOIN LATERAL (
    SELECT t.stream_id
      FROM {table} t
     WHERE t.{column} = v.v
       AND (%(tenants)s::text[] IS NULL OR t.tenant_id = ANY(%(tenants)s))
     ORDER BY t.created_at DESC, t.stream_id DESC
     LIMIT %(limit)s) t
 LIMIT %(limit)s
""")

_CUSTOMERS: Final = sql.SQL("""
SELECT t.stream_id, t.customer_id, t.slot, t.panel_user_id
  FROM unnest(%(ids)s::uuid[]) AS i(id)
  JOIN {entitlements} t ON t.stream_id = i.id
""")

_ORDER_IDS: Final = sql.SQL("""
SELECT t.stream_id, t.order_id
  FROM unnest(%(ids)s::uuid[]) AS i(id)
  JOIN {orders} t ON t.stream_id = i.id
""")

EVERYTHING: Final = Asked()

_TENANT: Final = "tenant"

_NOBODY: Final = UUID(int=0)
"""No stream has this id."""


class Customer(msgspec.Struct, frozen=True):
    """Whose an entitlement is."""

    stream_id: UUID
    customer_id: str
    slot: int
    panel_user_id: int | None


class _OrderId(msgspec.Struct, frozen=True):
    stream_id: UUID
    order_id: str


def told_by_streams(reading: Reading, asked: Asked, field: str, found_by: str) -> Asked:
    """Return the same question with the ids of streams for what people call them.

    `found_by` is the read model and its column: `orders.order_id`.

    Raises:
        InvalidRequestError: no texts were given, or too many streams are called so.
    """
    return msgspec.structs.replace(
        asked,
        terms=tuple(
            _streams(reading, term, asked, found_by)
            if isinstance(term, Among) and term.field == field
            else term
            for term in asked.terms
        ),
    )


def _streams(reading: Reading, term: Among, asked: Asked, found_by: str) -> Among:
    name, _, column = found_by.partition(".")
    tenants = [
        each
        for each in asked.terms
        if isinstance(each, Among) and each.field == _TENANT
    ]
    text = {term.field: Field(column, "text"), _TENANT: Field("tenant_id", "text")}
    check(Asked(terms=(term, *tenants)), text, leading="")
    statement = _HAVING.format(
        table=reading.tables[name], column=sql.Identifier(column)
    )
    parameters = {
        "values": list(term.values),
        "tenants": [value for each in tenants for value in each.values] or None,
        "limit": MOST_VALUES + 1,
    }
    with reading.connection.cursor(row_factory=scalar_row) as cursor:
        found: list[UUID] = cursor.execute(statement, parameters).fetchall()
    if len(found) > MOST_VALUES:
        detail = f"stands for more than {MOST_VALUES} {name}: ask for fewer"
        raise InvalidRequestError(INVALID_FILTER, term.field, detail)
    return Among(term.field, tuple(found) or (_NOBODY,))


def customers(reading: Reading, entitlements: Iterable[UUID]) -> dict[UUID, Customer]:
    """Return whose the entitlements are, as far as that read model knows them."""
    statement = _CUSTOMERS.format(entitlements=reading.tables["entitlements"])
    with reading.connection.cursor(row_factory=class_row(Customer)) as cursor:
        found = cursor.execute(statement, {"ids": list(set(entitlements))})
        return {each.stream_id: each for each in found}


def order_ids(reading: Reading, orders: Iterable[UUID]) -> dict[UUID, str]:
    """Return the shop's ids of orders, as far as that read model knows them."""
    statement = _ORDER_IDS.format(orders=reading.tables["orders"])
    with reading.connection.cursor(row_factory=class_row(_OrderId)) as cursor:
        found = cursor.execute(statement, {"ids": list(set(orders))})
        return {each.stream_id: each.order_id for each in found}


def shown[R: msgspec.Struct, T](page: Page[R], items: Iterable[T]) -> Page[T]:
    """Return the page with what is shown in place of its rows."""
    return Page(
        items=tuple(items),
        next=page.next,
        prev=page.prev,
        limit=page.limit,
        count=page.count,
        as_of=page.as_of,
    )
