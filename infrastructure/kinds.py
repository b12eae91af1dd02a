"""The product's own table of job kinds, each handler with what it needs.

order_fanout      decides what a paid order owes
order_refund      decides what a refund takes back
order_completion  sees whether everything of an order with goods is over
fulfillment       carries one operation to the panel
goods_…           buy goods, and ask what became of purchases (`infrastructure.goods`)
bulk_operation    previews and carries out bulk operations (`infrastructure.bulk`)
"""

from dataclasses import dataclass
from typing import Final

from application.fulfillment.handler import FulfillmentArgs, FulfillOperation
from application.job_kinds import AnyKind, JobKind, Kinds, by_name
from application.order_fanout import OrderFanout, OrderFanoutArgs
from application.order_refund import OrderRefund, OrderRefundArgs
from application.orders.completion import OrderCompletion, OrderCompletionArgs
from application.policies import (
    CRITICAL,
    FULFILLMENT,
    ORDER_COMPLETION,
    ORDER_FANOUT,
    ORDER_REFUND,
    key_of,
)
from application.ports import Access, CallGuard, Misconfigured, Panel, Streams
from application.unit import Ids, UnitOfWork
from domain.event import Actor
from domain.jobs.backoff import Backoff
from domain.jobs.verdict import Budget
from domain.stream import StreamKind
from infrastructure.bulk.kinds import bulk_kind
from infrastructure.goods.kinds import NO_GOODS, Goods, goods_kinds
from infrastructure.postgres.batch_store import Connections

MOST_ATTEMPTS: Final = 12
"""Of paid work: an hour and a half of failures before a person is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the handlers are made of."""

    streams: Streams
    units: UnitOfWork
    ids: Ids
    panel: Panel | None
    """None: no panel is set, so its jobs wait until one is."""
    goods: Goods | None = None
    """None: no key ring is set, so deliveries of goods wait until one is."""
    connections: Connections | None = None
    """For bulk operations; None: theirs are told, but not run."""
    username_prefix: str
    actor: Actor
    """Whom the log names for what handlers record."""


def product_kinds(parts: Parts) -> Kinds:
    """Return every kind of the product, whether it can be run here or not."""
    goods = goods_kinds(
        parts.goods or NO_GOODS, parts.streams, parts.units, parts.ids, parts.actor
    )
    known: dict[str, AnyKind] = {}
    bulk = bulk_kind(parts.connections, parts.streams, known, parts.ids, parts.actor)
    known |= by_name(
        _order_fanout(parts),
        _order_refund(parts),
        _order_completion(parts),
        _fulfillment(parts),
        *goods,
        bulk,
    )
    return known


def runnable_kinds(parts: Parts) -> Kinds:
    """Return the kinds that a worker may claim: none whose provider is not set."""
    return {
        name: kind
        for name, kind in product_kinds(parts).items()
        if _can_ask(parts, kind)
    }


def _can_ask(parts: Parts, kind: AnyKind) -> bool:
    if kind.record_kind is StreamKind.BULK:
        return parts.connections is not None
    if not kind.asks_provider:
        return True
    if kind.record_kind is StreamKind.DELIVERY:
        return parts.goods is not None
    return parts.panel is not None


def _order_fanout(parts: Parts) -> JobKind[OrderFanoutArgs]:
    return JobKind(
        name=ORDER_FANOUT,
        args=OrderFanoutArgs,
        handler=OrderFanout(
            streams=parts.streams,
            ids=parts.ids,
            username_prefix=parts.username_prefix,
        ),
        queue=CRITICAL,
        budget=Budget(max_attempts=MOST_ATTEMPTS),
        unique_key=lambda args: f"{ORDER_FANOUT}:{args.order_stream_id}",
    )


def _order_refund(parts: Parts) -> JobKind[OrderRefundArgs]:
    return JobKind(
        name=ORDER_REFUND,
        args=OrderRefundArgs,
        handler=OrderRefund(streams=parts.streams, ids=parts.ids),
        queue=CRITICAL,
        budget=Budget(max_attempts=MOST_ATTEMPTS),
    )


def _order_completion(parts: Parts) -> JobKind[OrderCompletionArgs]:
    return JobKind(
        name=ORDER_COMPLETION,
        args=OrderCompletionArgs,
        handler=OrderCompletion(streams=parts.streams),
        queue=CRITICAL,
        budget=Budget(max_attempts=MOST_ATTEMPTS),
    )


def _fulfillment(parts: Parts) -> JobKind[FulfillmentArgs]:
    return JobKind(
        name=FULFILLMENT,
        args=FulfillmentArgs,
        handler=FulfillOperation(
            streams=parts.streams,
            units=parts.units,
            ids=parts.ids,
            panel=parts.panel or AbsentPanel(),
            actor=parts.actor,
        ),
        queue=CRITICAL,
        budget=Budget(
            max_attempts=MOST_ATTEMPTS,
            backoff=Backoff(base_seconds=5.0, cap_exponent=8, jitter=0.1),
        ),
        lease_seconds=60,
        call_seconds=10,
        deadline_seconds=60,
        asks_provider=True,
        unique_key=lambda args: key_of(args.operation_id),
        record=lambda args: args.operation_id,
    )


NO_PANEL: Final = Misconfigured("panel_configuration", "no panel is set")


class AbsentPanel:
    """The panel of an installation that has none: everything waits for a person."""

    def read(self, access: Access, request_id: str, guard: CallGuard) -> Misconfigured:
        """See `Panel.read`."""
        del access, request_id, guard
        return NO_PANEL

    def carry_out(
        self,
        operation: str,
        access: Access,
        request_id: str,
        guard: CallGuard,
        *,
        requests_before: int = 0,
    ) -> Misconfigured:
        """See `Panel.carry_out`."""
        del operation, access, request_id, guard, requests_before
        return NO_PANEL
