"""Goods: each line is delivered once or its money is back, as the ledger says.

The ledger is the seller's: one row for everything that it has handed over, and one for
each request, with the key of the decision to buy that the request named.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from infrastructure.demo.check.books import Ask, Books
from infrastructure.demo.diary import Goods

_LINES: Final = """
SELECT stream_id::text, order_id, state, recipient, paid_minor,
       'goods:' || order_stream_id || ':' || line || ':'
  FROM counterfoil.deliveries
"""
_SUBMITTED: Final = """
SELECT stream_id::text, data->>'key' FROM counterfoil.events
 WHERE type = 'goods.purchase_submitted'
"""
_REFUNDS: Final = """
SELECT e.stream_id::text, (e.data->>'amount_minor')::bigint, o.data->>'refunded_minor',
       o.topic
  FROM counterfoil.events e
  LEFT JOIN counterfoil.outbox o ON o.position = e.position
 WHERE e.type = 'goods.refunded'
"""
_DECIDED: Final = """
SELECT stream_id::text, data->>'verdict', data->>'evidence', meta->'actor'->>'type',
       meta->'actor'->>'id', meta->>'reason'
  FROM counterfoil.events
 WHERE type = 'goods.review_decided'
"""
_MOST: Final = 6
_WITHOUT_GOODS: Final = frozenset({"refunded", "cancelled"})


@dataclass(frozen=True, slots=True)
class _Line:
    id: str
    order: str
    state: str
    recipient: str
    paid_minor: int
    keys: str
    """What the keys of all its decisions to buy begin with."""


def _lines(books: Books) -> list[_Line]:
    return [
        _Line(
            str(row[0]), str(row[1]), str(row[2]), str(row[3]), int(str(row[4])),
            str(row[5]),
        )
        for row in books.rows(_LINES)
    ]  # fmt: skip


def _every_line_is_over(books: Books) -> Iterator[str | None]:
    sold = dict(books.diary.sales)
    for line in _lines(books):
        sale = sold.pop(line.order, None)
        if sale is None:
            yield f"{line.order}: nobody bought it, or it is owed twice"
            continue
        is_over = line.state in {"delivered", *_WITHOUT_GOODS}
        is_his = line.recipient == sale.goods.recipient
        # What is cancelled is what the shop itself has given back.
        is_wanted = line.state != "cancelled" or line.order in books.diary.refunds
        is_right = is_over and is_his and is_wanted
        yield None if is_right else f"{line.order}: {line.state}, for {line.recipient}"
    for order, sale in sold.items():
        # Refunded before it was fanned out, it never came to owe anything.
        is_refunded = order in books.diary.refunds
        yield None if is_refunded else f"{order}: {sale.goods.units} stars are not owed"


def _bought_once(books: Books) -> Iterator[str | None]:
    handed = defaultdict[str, list[tuple[str, int]]](list)
    for effect in books.effects:
        decision = (effect.decision_key or "").rpartition(":")[0] + ":"
        handed[decision].append((effect.recipient, effect.units))
    for line in _lines(books):
        sale = books.diary.sales.get(line.order)
        found = handed.pop(line.keys, [])
        wanted = []
        if sale is not None and line.state == "delivered":
            wanted = [(sale.goods.recipient, sale.goods.units)]
        yield None if found == wanted else f"{line.order}: {line.state}, sold {found}"
    for keys, more in handed.items():
        yield f"{keys}: {more} was sold to nobody who is owed it"


def _asked_as_recorded(books: Books) -> Iterator[str | None]:
    logged = Counter(str(row[1]) for row in books.rows(_SUBMITTED))
    asked = Counter(request.decision_key for request in books.purchases)
    for key, times in asked.items():
        is_right = times <= logged[str(key)]
        told = f"{key}: asked {times} times, {logged[str(key)]} are on record"
        yield None if is_right else told


def _within_budget(books: Books) -> Iterator[str | None]:
    for delivery, times in Counter(
        str(row[0]) for row in books.rows(_SUBMITTED)
    ).items():
        yield (
            None if times <= _MOST else f"delivery {delivery}: submitted {times} times"
        )


def _decided_from_the_ledger(books: Books) -> Iterator[str | None]:
    bought = {effect.decision_key: effect.reference for effect in books.effects}
    wanted = Counter(
        (delivery, told.verdict, "operator", told.operator, told.reason)
        for delivery, told in books.diary.verdicts
    )
    found = Counter(
        (str(row[0]), str(row[1]), str(row[3]), str(row[4]), str(row[5]))
        for row in books.rows(_DECIDED)
    )
    for each in sorted({*wanted, *found}):
        is_right = wanted[each] == found[each]
        yield (
            None if is_right else f"{each}: said {wanted[each]}, decided {found[each]}"
        )
    for delivery, told in books.diary.verdicts:
        is_right = (told.verdict == "delivered") == (told.key in bought)
        yield None if is_right else f"delivery {delivery}: {told.verdict} of {told.key}"


def _money(books: Books) -> Iterator[str | None]:
    refunds = {str(row[0]): row[1:] for row in books.rows(_REFUNDS)}
    paid_back = spent = 0
    for line in _lines(books):
        sale = books.diary.sales.get(line.order)
        if sale is None:
            continue
        share = _share(sale.goods)
        amount, told, topic = refunds.pop(line.id, (None, None, None))
        is_back = line.state == "refunded"
        wanted = (share, str(share), "goods.refunded") if is_back else (None,) * 3
        is_right = (amount, told, topic) == wanted and line.paid_minor == share
        yield None if is_right else f"{line.order}: {amount} came back, not {wanted[0]}"
        paid_back += share if is_back else 0
        spent += sale.goods.cost_minor if line.state == "delivered" else 0
    for delivery, more in refunds.items():
        yield f"delivery {delivery}: {more[0]} came back for nothing"
    billed = sum(effect.amount_minor for effect in books.effects)
    yield None if billed == spent else f"the gateway billed {billed}, {spent} was due"


def _share(goods: Goods) -> int:
    """Return what was paid for the goods; none of these orders has a discount."""
    whole = max(goods.amount_minor, goods.price_minor)
    return goods.price_minor * goods.amount_minor // whole if whole else 0


QUESTIONS: Final[tuple[tuple[str, Ask], ...]] = (
    ("goods delivered, refunded, or cancelled by the shop, and none in review",
     _every_line_is_over),
    ("goods in the gateway's ledger once where delivered, and else not at all",
     _bought_once),
    ("requests in the ledger whose purchase was recorded before",
     _asked_as_recorded),
    (f"deliveries submitted at most {_MOST} times", _within_budget),
    ("reviews decided as the ledger says, by whom, and why",
     _decided_from_the_ledger),
    ("money: refunds are what was paid, and the bill is what was delivered", _money),
)  # fmt: skip
