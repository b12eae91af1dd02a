"""A provider of goods in memory: what the adapters promise, without HTTP."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from application.goods.port import (
    Absent,
    Accepted,
    Balance,
    Capabilities,
    Confirmed,
    LookupAnswer,
    Purchase,
    Rejected,
    SubmitAnswer,
    Unavailable,
    Unknown,
    Unsent,
)
from application.ports import CallGuard


@dataclass
class MemoryGoods:
    """Sells at once, or later where it is told to; blind without a key lifetime."""

    capabilities: Capabilities
    balance_minor: int = 10_000
    accepts: bool = False
    """Whether it delivers only when `end` is called."""
    bought: list[Purchase] = field(default_factory=list[Purchase])
    """What was handed over."""
    _states: dict[str, str] = field(default_factory=dict[str, str])
    _open: dict[str, Purchase] = field(default_factory=dict[str, Purchase])

    def submit(self, purchase: Purchase, guard: CallGuard) -> SubmitAnswer:
        if not guard.may_begin():
            return Unsent("no_time_left")
        is_blind = self.capabilities.key_lifetime is None
        known = None if is_blind else self._states.get(purchase.key)
        if known is not None:
            return _told(known, Unavailable("retryable", "purchase_failed"))
        if purchase.expires_at is not None and purchase.expires_at <= datetime.now(UTC):
            return Unavailable("retryable", "expired")
        if purchase.cost_minor > self.balance_minor:
            return (
                Rejected("permanent", "gateway_rejected")
                if is_blind
                else Unavailable("provider_balance", "insufficient_balance")
            )
        self._open[purchase.key] = purchase
        self._states[purchase.key] = "accepted"
        if self.accepts and not is_blind:
            return Accepted(purchase.key)
        self.end(purchase.key, "delivered")
        return Confirmed(None if is_blind else purchase.key)

    def end(self, key: str, state: str) -> None:
        purchase = self._open.pop(key)
        self._states[key] = state
        if state == "delivered":
            self.bought.append(purchase)
            self.balance_minor -= purchase.cost_minor

    def look_up(
        self, key: str, reference: str | None, guard: CallGuard
    ) -> LookupAnswer:
        del reference
        if not self.capabilities.can_look_up:
            return Unknown("poll_unsupported")
        if not guard.may_begin():
            return Unsent("no_time_left")
        state = self._states.get(key)
        if state is None:
            return Absent()
        return _told(state, Rejected("permanent", "purchase_failed"))

    def balance(self, guard: CallGuard) -> Balance | Unknown:
        if not self.capabilities.has_balance:
            return Unknown("balance_unsupported")
        if not guard.may_begin():
            return Unknown("no_time_left")
        return Balance(self.balance_minor, "USD")


def _told[T](state: str, failed: T) -> Confirmed | Accepted | T:
    match state:
        case "delivered":
            return Confirmed("known")
        case "accepted":
            return Accepted("known")
        case _:
            return failed
