"""Who of the customers meets what: chosen by when they buy, the same every time.

returning   bought early and buy again late: what operators do comes in between
done        bought early and never again: what operators leave stays so
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from infrastructure.demo.diary import Given

EARLY: Final = 0.2
"""Share of all orders after which operators begin."""
_LATE: Final = 0.6

SQUADS: Final = (
    "8a4f6a0e-1c57-4d6c-9b1f-2f6f0a1d7c11",
    "c1d2b7f4-6f0b-4b7e-8a59-91f3b1a0de22",
)
"""Internal squads that the panel knows."""

_NO_SQUAD: Final = "00000000-0000-4000-8000-000000000000"
"""One that the panel does not know."""

_GIB: Final = 2**30


@dataclass(frozen=True, slots=True)
class Ask:
    """`counterfoil operate`."""

    operation: str
    reason: str
    given: Given = field(default_factory=dict[str, int])
    key: str | None = None
    is_refused: bool = False
    is_hopeless: bool = False


@dataclass(frozen=True, slots=True)
class Refund:
    """`counterfoil refund`."""

    order: str
    reason: str


@dataclass(frozen=True, slots=True)
class Tamper:
    """Somebody changes a user at the panel itself; see `people.somebody`."""

    kind: str


@dataclass(frozen=True, slots=True)
class Use:
    """The customer uses traffic."""

    used_bytes: int = 5 * _GIB


@dataclass(frozen=True, slots=True)
class Step:
    """One deed, and when its time has come."""

    deed: Ask | Refund | Tamper | Use
    orders: int
    """So many orders of the customer are decided."""
    is_quiet: bool = False
    """And nothing that was asked for is unfinished."""


@dataclass(frozen=True, slots=True)
class Visit:
    """What one customer meets, in this order."""

    customer: str
    steps: Sequence[Step]


@dataclass(frozen=True, slots=True)
class _Buyer:
    customer: str
    first_order: str
    early: int
    """Orders before the operators begin."""


type _Meets = Callable[[_Buyer], list[Step]]


def visits(orders: Sequence[tuple[str, str]]) -> list[Visit]:
    """Return what is to happen to whom; `orders` are order and customer, as they come.

    Of few orders there are fewer visits, and of very few none.
    """
    returning, done = _cast(orders)
    met = (
        *zip(returning, _RETURNING, strict=False),
        *zip(done, _DONE, strict=False),
    )
    return [Visit(buyer.customer, meets(buyer)) for buyer, meets in met]


def _cast(
    orders: Sequence[tuple[str, str]],
) -> tuple[list[_Buyer], list[_Buyer]]:
    places: dict[str, list[int]] = defaultdict(list)
    for place, (_, customer) in enumerate(orders):
        places[customer].append(place)
    early, late = EARLY * len(orders), _LATE * len(orders)
    returning: list[_Buyer] = []
    done: list[_Buyer] = []
    for customer, bought in places.items():
        before = [place for place in bought if place < early]
        after = bought[len(before) :]
        buyer = _Buyer(customer, orders[bought[0]][0], len(before))
        if before and not after:
            done.append(buyer)
        elif before and after[0] >= late:
            returning.append(buyer)
    return returning, done


def _later(days: int) -> Given:
    end = datetime.now(UTC).replace(microsecond=0) + timedelta(days=days)
    return {"endsAt": end.isoformat().replace("+00:00", "Z")}


def _limited(buyer: _Buyer) -> list[Step]:
    asked = Ask("set_limits", "ticket 11: a fifth device", {"deviceLimit": 5})
    return [Step(asked, buyer.early)]


def _moved(buyer: _Buyer) -> list[Step]:
    squads = Ask("set_squads", "ticket 12: another region", {"squadIds": SQUADS[:1]})
    limits = Ask("set_limits", "ticket 12: too much", {"trafficBytes": 50 * _GIB})
    return [Step(squads, buyer.early), Step(limits, buyer.early)]


def _extended(buyer: _Buyer) -> list[Step]:
    asked = Ask("extend", "ticket 13: outage of a node", _later(3000))
    return [Step(asked, buyer.early)]


def _paused_for_a_while(buyer: _Buyer) -> list[Step]:
    return [
        Step(Ask("pause", "ticket 14: on holiday"), buyer.early),
        Step(Ask("resume", "ticket 14: back again"), buyer.early + 1),
    ]


def _paused(buyer: _Buyer) -> list[Step]:
    return [Step(Ask("pause", "ticket 15: in hospital"), buyer.early)]


def _disabled(buyer: _Buyer) -> list[Step]:
    return [Step(Ask("disable", "ticket 16: shares the account"), buyer.early)]


def _refunded(buyer: _Buyer) -> list[Step]:
    return [Step(Refund(buyer.first_order, "ticket 17: charged back"), buyer.early)]


def _reset(buyer: _Buyer) -> list[Step]:
    return [
        Step(Use(), buyer.early, is_quiet=True),
        Step(Ask("reset_traffic", "ticket 18: counted wrongly"), buyer.early),
    ]


_RETURNING: Final[tuple[_Meets, ...]] = (
    _paused_for_a_while,
    _limited,
    _moved,
    _extended,
    _paused,
    _disabled,
    _refunded,
    _reset,
)


def _tampered(kind: str, *before: Ask, reason: str = "it looks wrong") -> _Meets:
    def meets(buyer: _Buyer) -> list[Step]:
        return [
            *(Step(ask, buyer.early) for ask in before),
            Step(Tamper(kind), buyer.early, is_quiet=True),
            Step(Ask("reconcile", reason), buyer.early),
        ]

    return meets


def _asked_twice(buyer: _Buyer) -> list[Step]:
    asked = Ask("extend", "ticket 22: a gift", _later(2000), key="ticket-22")
    return [Step(asked, buyer.early), Step(asked, buyer.early)]


def _taken_back(buyer: _Buyer) -> list[Step]:
    return [
        Step(Ask("disable", "ticket 23: stolen"), buyer.early),
        Step(Ask("enable", "ticket 23: found again"), buyer.early),
    ]


def _looked_at(buyer: _Buyer) -> list[Step]:
    limits = Ask("set_limits", "ticket 24: one device", {"deviceLimit": 1})
    look = Ask("reconcile", "ticket 24: is it so?")
    return [Step(limits, buyer.early), Step(look, buyer.early, is_quiet=True)]


_PAUSE: Final = Ask("pause", "ticket 21: abroad")
_PAUSE_AGAIN: Final = Ask("pause", "ticket 21: abroad, once more", is_refused=True)
_MORE_TRAFFIC: Final = Ask(
    "set_limits", "ticket 25: more", {"trafficBytes": 100 * _GIB, "deviceLimit": 3}
)
_HOPELESS: Final = Ask(
    "set_squads",
    "ticket 27: the region that was closed",
    {"squadIds": (_NO_SQUAD,)},
    is_hopeless=True,
)
_TWO_SQUADS: Final = Ask("set_squads", "ticket 26: both", {"squadIds": SQUADS})


def _hopeless(buyer: _Buyer) -> list[Step]:
    return [Step(_HOPELESS, buyer.early)]


_DONE: Final[tuple[_Meets, ...]] = (
    _tampered("enabled", _PAUSE, _PAUSE_AGAIN, reason="is online all the same"),
    _tampered("traffic", _MORE_TRAFFIC),
    _tampered("squads", _TWO_SQUADS),
    _tampered("expiry", Ask("extend", "a gift", _later(2500))),
    _tampered("device_limit"),
    _tampered("missing_remote"),
    _tampered("disabled"),
    _looked_at,
    _taken_back,
    _asked_twice,
    _hopeless,
    _refunded,
    _reset,
)
