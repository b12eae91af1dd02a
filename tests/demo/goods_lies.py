"""What a wrong product would have left behind of goods: in the ledger or in the log.

The ledger is attached to the panel's book as `gateway`.
"""

import sqlite3
from dataclasses import replace

from infrastructure.demo.diary import Diary
from infrastructure.postgres.database import Connection
from tests.demo.lies import COMMANDS, Lie, in_book, in_log

OVER = "goods delivered, refunded, or cancelled"
ONCE = "goods in the gateway's ledger once"
RECORDED = "requests in the ledger whose purchase"
BUDGET = "deliveries submitted at most"
REVIEWS = "reviews decided as the ledger says"
MONEY = "money: refunds are what was paid"


def _more_stars(_: sqlite3.Connection, __: Connection, diary: Diary) -> None:
    for order, sale in diary.sales.items():
        goods = replace(sale.goods, units=sale.goods.units + 50)
        diary.sales[order] = replace(sale, goods=goods)


def _cheaper(_: sqlite3.Connection, __: Connection, diary: Diary) -> None:
    for order, sale in diary.sales.items():
        goods = replace(sale.goods, price_minor=sale.goods.price_minor - 1)
        diary.sales[order] = replace(sale, goods=goods)


def _nobody_decided(_: sqlite3.Connection, __: Connection, diary: Diary) -> None:
    diary.verdicts.pop()


def _decided_otherwise(_: sqlite3.Connection, __: Connection, diary: Diary) -> None:
    delivery, told = diary.verdicts[0]
    others = {"delivered": "not_purchased"}
    other = others.get(told.verdict, "delivered")
    diary.verdicts[0] = (delivery, replace(told, verdict=other))


def _nobody_configured(_: sqlite3.Connection, __: Connection, diary: Diary) -> None:
    diary.configured.pop()


GOODS_LIES: dict[str, tuple[Lie, str]] = {
    "goods are in review for ever": (
        in_log(
            """
            UPDATE counterfoil.deliveries
               SET state = 'needs_review', code = 'lost', refunded_minor = NULL
             WHERE order_id = 'cdnow:1'
            """
        ),
        OVER,
    ),
    "goods went to somebody else": (
        in_log("UPDATE counterfoil.deliveries SET recipient = 'eve_and_adam'"),
        OVER,
    ),
    "a line of goods is not owed": (
        in_log(
            """
            DELETE FROM counterfoil.deliveries WHERE state = 'delivered'
            """
        ),
        OVER,
    ),
    "goods were bought twice": (
        in_book(
            """
            INSERT INTO gateway.effects (request, at, reference, key, decision_key,
                        order_id, product, units, recipient, amount_minor, currency)
            SELECT request, at, reference || '-again', key, decision_key, order_id,
                   product, units, recipient, amount_minor, currency
              FROM gateway.effects LIMIT 1
            """
        ),
        ONCE,
    ),
    "goods were never bought": (in_book("DELETE FROM gateway.effects"), ONCE),
    "fewer stars were bought": (_more_stars, ONCE),
    "goods were bought for a stranger": (
        in_book("UPDATE gateway.effects SET recipient = 'stranger'"),
        ONCE,
    ),
    "a purchase was sent and is not on record": (
        in_log(
            """
            DELETE FROM counterfoil.events WHERE position = (
                SELECT min(position) FROM counterfoil.events
                 WHERE type = 'goods.purchase_submitted')
            """
        ),
        RECORDED,
    ),
    "a purchase was sent once more": (
        in_book(
            """
            INSERT INTO gateway.requests (received_at, dialect, action, method, path,
                        key, decision_key, recipient, fault, status, told)
            SELECT received_at, dialect, action, method, path, key, decision_key,
                   recipient, fault, status, told
              FROM gateway.requests WHERE action = 'purchase'
            """
        ),
        RECORDED,
    ),
    "a delivery was submitted for ever": (
        in_log(
            """
            INSERT INTO counterfoil.events
                   (position, tenant_id, stream_id, version, type, schema, data, meta)
            SELECT position + n * 100000000, tenant_id, stream_id, version + n * 1000,
                   type, schema, data, meta
              FROM counterfoil.events, generate_series(1, 6) AS n
             WHERE type = 'goods.purchase_submitted'
            """
        ),
        BUDGET,
    ),
    "nobody has decided a review": (_nobody_decided, REVIEWS),
    "a decision is nobody's": (_nobody_decided, COMMANDS),
    "a provider was set up, and nobody did": (_nobody_configured, COMMANDS),
    "a review was decided otherwise": (_decided_otherwise, REVIEWS),
    "a decision has no reason": (
        in_log(
            """
            UPDATE counterfoil.events SET meta = meta - 'reason'
             WHERE type = 'goods.review_decided'
            """
        ),
        REVIEWS,
    ),
    "a refund was never told": (
        in_log("DELETE FROM counterfoil.outbox WHERE topic = 'goods.refunded'"),
        MONEY,
    ),
    "a refund was more than what was paid": (
        in_log(
            """
            UPDATE counterfoil.events
               SET data = jsonb_set(data, '{amount_minor}', '9999')
             WHERE type = 'goods.refunded'
            """
        ),
        MONEY,
    ),
    "the goods were cheaper": (_cheaper, MONEY),
    "the gateway billed more": (
        in_book("UPDATE gateway.effects SET amount_minor = amount_minor + 1"),
        MONEY,
    ),
}
