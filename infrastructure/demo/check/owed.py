"""What every customer is owed, worked out anew from what people did.

Of the log only the order is taken in which things were decided, and their instants:

sold           days are added to the later of the present end and the payment; limits
               and squads are those of the order that was paid last, and a disabling
               ends: but for what people have changed since the payment
set_limits …   what was named, and nothing else
pause, resume  time stands still in between: the end moves by as long
disable, refund, enable      time runs on
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from infrastructure.demo.check.books import Books
from infrastructure.demo.diary import Diary, Given

_DECIDED: Final = """
SELECT e.username, e.customer_id, r.stream_id::text, r.data->>'operation',
       (r.data->>'effective_at')::timestamptz, o.order_id, paid.recorded_at, op.state
  FROM counterfoil.events r
  JOIN counterfoil.operations op ON op.stream_id = r.stream_id
  JOIN counterfoil.entitlements e ON e.stream_id = (r.data->>'entitlement')::uuid
  LEFT JOIN counterfoil.orders o ON o.stream_id = (r.data->>'order')::uuid
  LEFT JOIN counterfoil.events paid ON paid.stream_id = o.stream_id AND paid.version = 1
 WHERE r.type = 'fulfillment.requested'
 ORDER BY e.customer_id, (r.data->>'desired_version')::int
"""
_REFUNDED: Final = """
SELECT e.username, o.order_id, asked.recorded_at
  FROM counterfoil.events refunded
  JOIN counterfoil.orders o ON o.stream_id = refunded.stream_id
  JOIN counterfoil.entitlements e ON e.customer_id = o.customer_id
  JOIN counterfoil.operations own
    ON own.order_stream_id = o.stream_id AND own.operation = 'create'
  JOIN counterfoil.events asked
    ON asked.stream_id = (refunded.meta->'causation'->>'job')::uuid
   AND asked.version = 1
 WHERE refunded.type = 'order.refunded'
"""
_NOBODY_WANTED: Final = "customer {}: nobody wanted {} {}"


class Shown(NamedTuple):
    """What a user shows at the panel, but for whether he may use it."""

    expire_at: str
    traffic_bytes: int = 0
    devices: int | None = 0
    squads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision, and when it was taken."""

    customer: str
    operation_id: str
    operation: str
    at: datetime
    order: str | None
    paid_at: datetime | None


@dataclass(slots=True)
class Owed:
    """One customer's access."""

    customer: str
    end: datetime | None = None
    traffic_bytes: int = 0
    devices: int = 0
    squads: tuple[str, ...] = ()
    paid_at: datetime | None = None
    stands_still_since: datetime | None = None
    is_disabled: bool = False
    changed_at: dict[str, datetime] = field(default_factory=dict[str, datetime])
    """When people have changed what last."""
    refunds: set[str] = field(default_factory=set[str])
    """Orders whose refund has disabled it."""
    orders: int = 0
    by_people: int = 0
    """How often an operator or a refund has decided."""
    is_dead: bool = False
    """Something of it waits for a person."""
    shown: list[Shown] = field(default_factory=list[Shown])
    """What was to be shown after each decision."""

    @property
    def standing(self) -> str:
        """Whether the customer may use it, in the words of a drift."""
        if self.stands_still_since is not None:
            return "paused"
        return "disabled" if self.is_disabled else "active"

    def decide(self, decided: Decided, diary: Diary) -> str | None:
        """Add one decision; return what is wrong with it."""
        sale = diary.sales.get(decided.order or "")
        asked = diary.asked.get(decided.operation_id)
        if decided.operation == "create" and sale is not None:
            if sale.customer != self.customer or decided.paid_at is None:
                return f"customer {self.customer}: did not buy {decided.order}"
            self._sold(decided.paid_at, sale.days)
        elif decided.operation == "disable" and decided.order in diary.refunds:
            self.by_people += 1
            self.refunds.add(str(decided.order))
            self._asked("disable", {}, decided.at)
        elif asked is None or (asked.customer, asked.operation) != (
            self.customer,
            decided.operation,
        ):
            who = (self.customer, decided.operation, decided.operation_id)
            return _NOBODY_WANTED.format(*who)
        else:
            self.by_people += 1
            self._asked(asked.operation, asked.given, decided.at)
        if self.end is not None:
            shown = (in_ms(self.end), self.traffic_bytes, self.devices, self.squads)
            self.shown.append(Shown(*shown))
        return None

    def _sold(self, paid_at: datetime, days: int) -> None:
        self._let_time_stand(paid_at)
        start = paid_at if self.end is None else max(self.end, paid_at)
        self.end = start + timedelta(days=days)
        self.orders += 1
        if not self._since("disabled", paid_at):
            self.is_disabled = False
        if self.paid_at is not None and paid_at < self.paid_at:
            return
        self.paid_at = paid_at
        if not self._since("trafficBytes", paid_at):
            self.traffic_bytes = 0
        if not self._since("deviceLimit", paid_at):
            self.devices = 0
        if not self._since("squadIds", paid_at):
            self.squads = ()

    def _since(self, member: str, paid_at: datetime) -> bool:
        """Whether people have changed it after that payment, decided late as it is."""
        changed_at = self.changed_at.get(member)
        return changed_at is not None and changed_at > paid_at

    def _asked(self, operation: str, given: Given, at: datetime) -> None:
        match operation:
            case "set_limits" | "set_squads" | "extend":
                self._let_time_stand(at)
                self._change(given)
                self.changed_at.update(dict.fromkeys(given, at))
            case "pause":
                self.stands_still_since = at
            case "resume":
                self._let_time_stand(at)
                self.stands_still_since = None
            case "disable" | "enable":
                self.is_disabled = operation == "disable"
                if self.is_disabled:
                    self.changed_at["disabled"] = at
            case _:
                pass  # reset_traffic and reconcile change nothing that is owed

    def _change(self, given: Given) -> None:
        if "trafficBytes" in given:
            self.traffic_bytes = int(str(given["trafficBytes"]))
        if "deviceLimit" in given:
            self.devices = int(str(given["deviceLimit"]))
        if isinstance(squads := given.get("squadIds"), tuple):
            self.squads = tuple(sorted(squads))
        if "endsAt" in given:
            self.end = datetime.fromisoformat(str(given["endsAt"]))

    def _let_time_stand(self, until: datetime) -> None:
        since = self.stands_still_since
        if since is None or until <= since:
            return
        if self.end is not None and self.end > since:
            self.end += until - since
        self.stands_still_since = until


def owed(books: Books) -> tuple[dict[str, Owed], list[str]]:
    """Return what every customer is owed, by the name of his user; and objections."""
    all_owed: dict[str, Owed] = {}
    objections: list[str] = []
    for row in books.rows(_DECIDED):
        name, customer, operation_id, operation, at, order, paid_at, state = row
        entry = all_owed.setdefault(str(name), Owed(str(customer)))
        entry.is_dead |= state == "failed"
        decided = Decided(
            str(customer),
            str(operation_id),
            str(operation),
            at if isinstance(at, datetime) else datetime.min.replace(tzinfo=UTC),
            None if order is None else str(order),
            paid_at if isinstance(paid_at, datetime) else None,
        )
        objection = entry.decide(decided, books.diary)
        objections += [] if objection is None else [objection]
    return all_owed, objections + _without_effect(books, all_owed)


def _without_effect(books: Books, all_owed: dict[str, Owed]) -> list[str]:
    """Return the refunds that took nothing back, although nobody paid after them."""
    return [
        f"customer {entry.customer}: {order} is refunded, and nothing was taken back"
        for name, order, asked_at in books.rows(_REFUNDED)
        if (entry := all_owed.get(str(name))) is not None
        and str(order) not in entry.refunds
        and not (
            entry.paid_at is not None
            and isinstance(asked_at, datetime)
            and entry.paid_at > asked_at
        )
    ]


def in_ms(instant: datetime) -> str:
    """Return an instant as the panel tells it: truncated to milliseconds."""
    utc = instant.astimezone(UTC)
    return f"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond // 1000:03d}Z"
