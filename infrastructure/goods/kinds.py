"""The kinds of job that serve deliveries of goods.

goods_delivery    buys one line of an order
goods_reconcile   asks a provider what became of a purchase
"""

from dataclasses import dataclass
from typing import Final

from application.goods.deliver import DeliverGoods
from application.goods.desk import Desk
from application.goods.pace import Pace
from application.goods.port import (
    Guard,
    Guards,
    Journal,
    LookupAnswer,
    Providers,
    SubmitAnswer,
    Unconfigured,
    WhoSends,
)
from application.goods.reconcile import ReconcileGoods
from application.goods.subject import GoodsArgs
from application.job_kinds import JobKind
from application.policies import (
    CRITICAL,
    GOODS_DELIVERY,
    GOODS_RECONCILE,
    goods_key_of,
)
from application.ports import Streams
from application.unit import Ids, UnitOfWork
from domain.event import Actor
from domain.jobs.backoff import Backoff
from domain.jobs.verdict import Budget
from domain.stream import StreamKind
from infrastructure.processor.senders.identity import who_sends

LEASE_SECONDS: Final = 150
CALL_SECONDS: Final = 90
DEADLINE_SECONDS: Final = 120
"""Lease, call and deadline of kinds that ask a provider of goods (mechanisms 23)."""

_BUDGET: Final = Budget(
    max_attempts=12, backoff=Backoff(base_seconds=5.0, cap_exponent=8, jitter=0.1)
)
"""Of runs; purchases have a budget of their own, and waiting costs neither."""

_PACE: Final = Pace()


@dataclass(frozen=True, slots=True, kw_only=True)
class Goods:
    """What only the handlers of deliveries need."""

    providers: Providers
    guards: Guards
    journal: Journal
    pace: Pace = _PACE
    who_sends: WhoSends = who_sends


def goods_kinds(
    goods: Goods, streams: Streams, units: UnitOfWork, ids: Ids, actor: Actor
) -> tuple[JobKind[GoodsArgs], JobKind[GoodsArgs]]:
    """Return the two kinds."""
    desk = Desk(
        streams=streams,
        ids=ids,
        providers=goods.providers,
        guards=goods.guards,
        pace=goods.pace,
    )
    deliver = DeliverGoods(
        desk=desk,
        units=units,
        journal=goods.journal,
        who_sends=goods.who_sends,
        actor=actor,
    )
    return (
        _kind(GOODS_DELIVERY, deliver),
        _kind(GOODS_RECONCILE, ReconcileGoods(desk=desk)),
    )


def _kind(name: str, handler: DeliverGoods | ReconcileGoods) -> JobKind[GoodsArgs]:
    return JobKind(
        name=name,
        args=GoodsArgs,
        handler=handler,
        queue=CRITICAL,
        budget=_BUDGET,
        lease_seconds=LEASE_SECONDS,
        call_seconds=CALL_SECONDS,
        deadline_seconds=DEADLINE_SECONDS,
        asks_provider=True,
        unique_key=lambda args: goods_key_of(name, args.delivery_id),
        record=lambda args: args.delivery_id,
        record_kind=StreamKind.DELIVERY,
    )


class _Nothing:
    """The goods of an installation that buys none: nothing can be asked."""

    def find(self, tenant_id: str, slug: str) -> Unconfigured:
        """See `Providers.find`."""
        del tenant_id, slug
        return Unconfigured("provider_unconfigured", "no key ring is set")

    def barring(self, tenant_id: str, slug: str, cost_minor: int) -> Guard | None:
        """See `Guards.barring`."""
        del tenant_id, slug, cost_minor
        return None

    def record(
        self, tenant_id: str, slug: str, answer: SubmitAnswer | LookupAnswer
    ) -> None:
        """See `Guards.record`."""

    def write(self, key: str, purchase: int) -> None:
        """See `Journal.write`."""
        msg = f"nothing is bought here, so {key} is not journaled ({purchase})"
        raise OSError(msg)


_nothing: Final = _Nothing()
NO_GOODS: Final = Goods(providers=_nothing, guards=_nothing, journal=_nothing)
"""For telling the kinds where they cannot be run."""
