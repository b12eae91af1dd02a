"""A seller of goods that says yes, and what it is asked for."""

from application.goods.port import (
    Balance,
    Capabilities,
    Confirmed,
    LookupAnswer,
    Purchase,
    SubmitAnswer,
    Unknown,
)
from application.ports import CallGuard
from domain.goods.events import Product


class Seller:
    """See `GoodsProvider`."""

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities()

    def submit(self, purchase: Purchase, guard: CallGuard) -> SubmitAnswer:
        assert guard.may_begin()
        assert purchase.quantity
        return Confirmed()

    def look_up(
        self, key: str, reference: str | None, guard: CallGuard
    ) -> LookupAnswer:
        del key, reference, guard
        return Unknown("poll_unsupported")

    def balance(self, guard: CallGuard) -> Balance | Unknown:
        del guard
        return Unknown("balance_unsupported")


def purchase() -> Purchase:
    return Purchase(
        key="k",
        order_id="A-1",
        customer_id="C-1",
        product=Product(kind="telegram_stars", quantity=50),
        quantity=1,
        recipient="olga_1",
        currency="RUB",
        cost_minor=100,
        expires_at=None,
    )
