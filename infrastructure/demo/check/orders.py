"""Orders: each of the shop's file is fulfilled, refunded, or dead with a reason."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from infrastructure.demo.check.books import Ask, Books

_ORDERS: Final = """
SELECT o.order_id, o.customer_id, o.state, own.stream_id::text, own.state,
       own.desired_version, own.entitlement_id::text, own.code,
       o.fulfilled_by::text, by_.state, by_.desired_version, by_.entitlement_id::text,
       refund.data->>'reason'
  FROM counterfoil.orders o
  LEFT JOIN counterfoil.operations own
         ON own.order_stream_id = o.stream_id AND own.operation = 'create'
  LEFT JOIN counterfoil.operations by_ ON by_.stream_id = o.fulfilled_by
  LEFT JOIN counterfoil.events refund
         ON refund.stream_id = o.stream_id AND refund.type = 'order.refunded'
"""
_DEAD: Final = """
SELECT stream_id::text, code FROM counterfoil.jobs_dead
"""


@dataclass(frozen=True, slots=True)
class _Operation:
    id: object
    state: object
    version: object
    entitlement: object
    code: object = None


def _every_order(books: Books) -> Iterator[str | None]:
    rows = books.rows(_ORDERS)
    sold = books.diary.sales
    if len(rows) != len(sold):
        yield f"{len(rows)} of {len(sold)} orders were settled"
    for order, customer, state, *rest in rows:
        sale = sold.get(str(order))
        if sale is None or sale.customer != customer:
            yield f"{order}: customer {customer} did not buy it"
            continue
        own, by, refund = _Operation(*rest[:5]), _Operation(*rest[5:9]), rest[9]
        wanted = books.diary.refunds.get(str(order))
        if wanted is None and state != "refunded":
            yield _order(str(order), state, own, by)
        elif state == "refunded" and refund == wanted:
            yield None
        else:
            yield f"{order}: {state}, refunded because {refund}, not {wanted}"


def _order(order: str, state: object, own: _Operation, by: _Operation) -> str | None:
    if state == "fulfilled":
        is_right = (
            by.state == "succeeded"
            and own.entitlement == by.entitlement
            and (own.id == by.id or own.state == "cancelled")
            and int(str(by.version)) >= int(str(own.version))
        )
        return None if is_right else f"{order}: fulfilled by {by.id}, which did not"
    # What covers an operation fulfils its order too.
    if own.state in {"failed", "cancelled"} and own.code not in {None, "covered_by"}:
        return None
    return f"{order}: {state}, its operation {own.state or 'does not exist'}"


def _every_death_has_a_reason(books: Books) -> Iterator[str | None]:
    for row in books.rows(_DEAD):
        yield None if row[1] else f"job {row[0]}: dead without a reason"


EVERY_ORDER: Final[tuple[str, Ask]] = (
    "orders fulfilled by the operation that covers them, or dead with a reason",
    _every_order,
)
EVERY_DEATH: Final[tuple[str, Ask]] = (
    "dead letters with a reason",
    _every_death_has_a_reason,
)
