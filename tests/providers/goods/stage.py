"""Providers of goods in front of something that counts what was handed over."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from application.goods.port import Capabilities, GoodsProvider, Purchase
from application.providers.credential import Credential
from domain.goods.events import Product
from infrastructure.providers.goods.adapters import build_adapter
from infrastructure.simulators.gateway.simulator import (
    GatewaySettings,
    GatewaySimulator,
)
from tests.providers.goods.memory import MemoryGoods

TOKEN = "gateway-token"  # noqa: S105 - opens nothing
KEY = "goods:01976f3e-0000-7000-8000-000000000001:2:1"
STARS = Product(kind="telegram_stars", quantity=50)
KEYED = Capabilities(
    key_lifetime=timedelta(hours=1),
    can_look_up=True,
    is_lookup_authoritative=True,
    expiry=timedelta(minutes=2),
    has_balance=True,
)


def purchase(key: str = KEY, **members: Any) -> Purchase:  # noqa: ANN401 - its fields
    given: dict[str, Any] = {
        "order_id": "shop:1",
        "customer_id": "7",
        "product": STARS,
        "quantity": 2,
        "recipient": "ann_lee",
        "currency": "USD",
        "cost_minor": 100,
        "expires_at": datetime.now(UTC) + timedelta(minutes=2),
        **members,
    }
    return Purchase(key=key, **given)


@dataclass
class Subject:
    """A provider, and what stands behind it."""

    provider: GoodsProvider
    bought: Callable[[], list[tuple[str, int]]]
    """Who got how many units, in order."""
    set_balance: Callable[[int], None]
    accept_only: Callable[[], None]
    """From now on it takes purchases and delivers them later."""
    end: Callable[[str, str], None]
    """Ends what it has accepted under a key: `delivered` or `failed`."""


@contextmanager
def gateway(folder: Path) -> Iterator[GatewaySimulator]:
    settings = GatewaySettings(token=TOKEN, balance_minor=10_000)
    with GatewaySimulator(ledger=folder / "gateway.db", settings=settings) as opened:
        yield opened


def adapter(name: str, base_url: str, token: str = TOKEN) -> GoodsProvider:
    built = build_adapter(name, Credential(base_url=base_url, token=token))
    assert built is not None
    return built


@contextmanager
def subject(name: str, folder: Path) -> Iterator[Subject]:
    """Give the subject of that name: a fake in memory, or an adapter over HTTP."""
    if name.startswith("memory"):
        yield in_memory(KEYED if name == "memory" else Capabilities())
        return
    with gateway(folder) as opened:
        yield over_http(name, opened)


def in_memory(capabilities: Capabilities) -> Subject:
    fake = MemoryGoods(capabilities)

    def set_balance(minor: int) -> None:
        fake.balance_minor = minor

    def accept_only() -> None:
        fake.accepts = True

    def bought() -> list[tuple[str, int]]:
        return [
            (
                it.recipient,
                it.quantity * (it.product.quantity or it.product.months or 0),
            )
            for it in fake.bought
        ]

    return Subject(fake, bought, set_balance, accept_only, fake.end)


def over_http(name: str, opened: GatewaySimulator) -> Subject:
    def bought() -> list[tuple[str, int]]:
        return [(it.recipient, it.units) for it in opened.effects()]

    def accept_only() -> None:
        opened.faults.configure({"rules": [{"name": "deliver_later"}]})

    return Subject(
        adapter(name, opened.url),
        bought,
        opened.set_balance,
        accept_only,
        opened.complete,
    )
