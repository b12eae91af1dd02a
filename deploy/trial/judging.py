"""What the log and the panel's book must say after the orders."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self, TypedDict

from deploy.trial.orders import Due, Order, due

_ROUNDING_MS: Final = 1


class ToldLog(TypedDict):
    """What `inside/log.py` prints."""

    orders: list[tuple[str, int, int]]
    users: list[tuple[str, str]]
    left: list[int]
    leases_ended: int


class ToldBook(TypedDict):
    """What `inside/book.py` prints."""

    users: list[tuple[str, str, str, int, int | None]]
    births: list[str]
    asked: int


@dataclass(frozen=True, slots=True)
class User:
    """A user as the panel holds it."""

    status: str
    ends_at_ms: int
    traffic_bytes: int
    devices: int | None

    @classmethod
    def of(cls, status: str, end: str, traffic: int, devices: int | None) -> Self:
        """Return a row of the book."""
        ends_at = datetime.fromisoformat(end).timestamp()
        return cls(status, round(ends_at * 1000), traffic, devices)


def is_over(sent: tuple[Order, ...], log: ToldLog) -> bool:
    """Whether nothing is left to do, or something has died."""
    unfinished, dead = log["left"]
    return dead > 0 or (unfinished == 0 and len(log["orders"]) >= len(sent))


def faults(sent: tuple[Order, ...], log: ToldLog, book: ToldBook) -> Iterator[str]:
    """Yield a sentence for each thing that is not as it was paid for."""
    if any(log["left"]):
        yield f"jobs left, and dead: {log['left']}"
    fulfilled = Counter({order: times for order, _, times in log["orders"]})
    for order in sent:
        if (times := fulfilled.pop(order.order, None)) != 1:
            yield f"{order.order}: fulfilled {times} times"
    yield from (f"{order}: nobody has sent it" for order in fulfilled)
    if len(log["orders"]) == len(sent):
        yield from _of_users(sent, log, book)


def _of_users(sent: tuple[Order, ...], log: ToldLog, book: ToldBook) -> Iterator[str]:
    owed = due(sent, {order: paid_at for order, paid_at, _ in log["orders"]})
    users = {name: User.of(*rest) for name, *rest in book["users"]}  # type: ignore[arg-type]
    births = Counter(book["births"])
    for customer, name in log["users"]:
        if births.pop(name, 0) != 1:
            yield f"{customer}: made more or less than once at the panel"
        wanted, user = owed.pop(customer, None), users.pop(name, None)
        if wanted is None or user is None or not _is(wanted, user):
            yield f"{customer}: {wanted} is due, and the panel holds {user}"
    yield from (f"{customer}: has nothing of {what}" for customer, what in owed.items())
    yield from (f"{name}: the panel holds a user of nobody's" for name in users)


def _is(wanted: Due, user: User) -> bool:
    return (
        user.status == "ACTIVE"
        and -_ROUNDING_MS
        <= user.ends_at_ms - wanted.ends_at_ms
        <= wanted.slack_ms + _ROUNDING_MS
        and user.traffic_bytes == (wanted.traffic_bytes or 0)
        and user.devices == (wanted.devices or 0)
    )
