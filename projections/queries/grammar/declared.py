"""The vocabulary of every list: what its filters are written with.

Names are those of the list's own fields, as members are written.  Whose a row is, is
no name: that is told by who asks.
"""

from collections.abc import Mapping
from typing import Any, Final

from domain.fulfillment.operations import KNOWN
from projections.queries.grammar.job_words import RIVER, SHOP
from projections.queries.grammar.values import Type
from projections.queries.grammar.vocabulary import (
    Meanings,
    Vocabulary,
    Word,
    plain,
)
from projections.queries.jobs import JOBS, ORDER
from projections.queries.letters.listing import OPEN
from projections.queries.listing import Listing
from projections.queries.records.audit import AUDIT
from projections.queries.records.deliveries import DELIVERIES
from projections.queries.records.drifts import DRIFTS
from projections.queries.records.entitlements import ENTITLEMENTS
from projections.queries.records.operations import OPERATIONS
from projections.queries.records.orders import ORDERS
from projections.queries.terms import TENANT

_TEXTS: Final = frozenset({"order", "customer"})
"""Told as the shop does, whatever they are looked for by."""
_AGES: Final = frozenset({"age"})
_PREFIXES: Final = {
    "operation": "op_",
    "delivery": "dlv_",
    "entitlement": "ent_",
}


def _over(
    listing: Listing[Any], prefix: str, words: Mapping[str, Mapping[str, Meanings]]
) -> Mapping[str, Word]:
    return {
        _member(name): Word(
            field=name,
            type=_type(name, field.type),
            prefix=prefix if name == "id" else _PREFIXES.get(name, ""),
            words=words.get(name, {}),
            is_bounded=field.is_range or field.column == listing.order[0][0],
        )
        for name, field in listing.fields.items()
        if name != TENANT
    }


def _member(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


def _type(name: str, column: str) -> Type:
    if name in _TEXTS:
        return "text"
    if name in _AGES:
        return "age"
    match column:
        case "timestamptz":
            return "instant"
        case "uuid" | "integer" | "bigint" | "boolean":
            return column
        case _:
            return "text"


_OF_AN_ORDER: Final = {ORDER: Word(field=ORDER, type="text", words={})}

OPERATORS_JOBS: Final = Vocabulary(
    {**_over(JOBS, "job_", {"state": RIVER}), **_OF_AN_ORDER}
)
SHOPS_JOBS: Final = Vocabulary({**_over(JOBS, "job_", {"state": SHOP}), **_OF_AN_ORDER})
OPERATION_WORDS: Final = Vocabulary(
    _over(
        OPERATIONS,
        "op_",
        {
            "state": plain(
                "pending", "running", "retrying", "failed", "succeeded", "cancelled"
            ),
            "operation": plain(*sorted(KNOWN)),
        },
    )
)
DELIVERY_WORDS: Final = Vocabulary(
    _over(
        DELIVERIES,
        "dlv_",
        {
            "state": plain(
                "pending",
                "submitted",
                "needs_review",
                "delivered",
                "failed",
                "refunded",
                "cancelled",
            )
        },
    )
)
ORDER_WORDS: Final = Vocabulary(
    _over(ORDERS, "ord_", {"state": plain("paid", "fulfilled", "refunded")})
)
ENTITLEMENT_WORDS: Final = Vocabulary(
    _over(ENTITLEMENTS, "ent_", {"state": plain("live", "paused", "disabled")})
)
DRIFT_WORDS: Final = Vocabulary(_over(DRIFTS, "", {"state": plain("open", "resolved")}))
LETTER_WORDS: Final = Vocabulary({**_over(OPEN, "", {}), **_OF_AN_ORDER})
AUDIT_WORDS: Final = Vocabulary(
    _over(AUDIT, "", {"outcome": plain("accepted", "refused")})
)
