"""The orders of the trial, and what each customer must have in the end."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

_DAYS: Final = (7, 30, 90, 365)
_GIB: Final = 1 << 30
_COMES_AGAIN: Final = 5  # every fifth order is of somebody who has bought before


@dataclass(frozen=True, slots=True)
class Order:
    """One order of access."""

    order: str
    customer: str
    days: int
    traffic_bytes: int | None
    devices: int | None

    def settlement(self) -> dict[str, object]:
        """Return it as shops settle it."""
        line = {
            "line": 1,
            "type": "access",
            "days": self.days,
            "trafficBytes": self.traffic_bytes,
            "deviceLimit": self.devices,
        }
        return {
            "orderId": self.order,
            "customerId": self.customer,
            "kind": "purchase",
            "currency": "EUR",
            "amountMinor": 100 * self.days,
            "lines": [line],
        }


def orders(count: int) -> tuple[Order, ...]:
    """Return that many orders, the same ones each time."""
    return tuple(_drawn(count))


def _drawn(count: int) -> Iterator[Order]:
    for number in range(count):
        comes_again = number % _COMES_AGAIN == _COMES_AGAIN - 1
        yield Order(
            order=f"trial-{number:03}",
            customer=f"customer-{number - comes_again:03}",
            days=_DAYS[number % len(_DAYS)],
            traffic_bytes=None if number % 3 == 0 else number * _GIB,
            devices=None if number % 7 == 0 else number % 7,
        )


@dataclass(frozen=True, slots=True)
class Due:
    """What one customer has paid for."""

    ends_at_ms: int
    slack_ms: int
    """How much later it may end: when a later payment was decided before the first."""
    traffic_bytes: int | None
    devices: int | None


def due(sent: tuple[Order, ...], paid_at_ms: Mapping[str, int]) -> dict[str, Due]:
    """Return what is due to each customer: days add up, limits are the last order's."""
    found: dict[str, Due] = {}
    first_paid_ms: dict[str, int] = {}
    for order in sorted(sent, key=lambda it: paid_at_ms[it.order]):
        before, paid_at = found.get(order.customer), paid_at_ms[order.order]
        begins = paid_at if before is None else max(before.ends_at_ms, paid_at)
        since = first_paid_ms.setdefault(order.customer, paid_at)
        found[order.customer] = Due(
            ends_at_ms=begins + order.days * 86_400_000,
            slack_ms=paid_at - since,
            traffic_bytes=order.traffic_bytes,
            devices=order.devices,
        )
    return found
