"""Deliveries of goods brought to every state by hand, as a worker would bring them."""

from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import msgspec

from application import births
from application.goods.port import (
    Absent,
    Capabilities,
    GoodsProvider,
    LookupAnswer,
    Purchase,
    SubmitAnswer,
    Unconfigured,
)
from application.job_kinds import JobKind
from application.operators.deliveries.decide import Decided, DecideReview
from application.operators.deliveries.reconcile import Asked, ReconcileDelivery
from application.operators.deliveries.verdict import Said
from application.operators.instruction import instruct
from application.ports import CallGuard
from application.unit import Group, Locked, Written, changed
from domain.event import Actor, Instant, Meta
from domain.goods import aggregate as deliveries
from domain.goods.commands import (
    EndSender,
    GoodsCommand,
    LoseTrack,
    OpenReview,
    Owe,
    Submit,
)
from domain.goods.events import Product, Sender
from domain.goods.state import GoodsDelivery
from domain.jobs.outcome import Completed
from domain.stream import Change, Ref, StreamKind
from infrastructure.ids import new_id
from infrastructure.reviews.reviews import PostgresReviews
from tests.operators.world import World

SENDER = Sender(host="worker-1", machine="m:1", pid=4711, started=7, boot=uuid4())
WORKER = Actor("worker", "worker-1:4711")


@dataclass
class Provider:
    """A provider that can, or cannot, be asked; nobody asks it here."""

    can_look_up: bool = True

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(can_look_up=self.can_look_up)

    def submit(self, purchase: Purchase, guard: CallGuard) -> SubmitAnswer:
        raise AssertionError(purchase, guard)

    def look_up(
        self, key: str, reference: str | None, guard: CallGuard
    ) -> LookupAnswer:
        del key, reference, guard
        return Absent()

    def balance(self, guard: CallGuard) -> Any:  # noqa: ANN401 - nobody asks
        raise AssertionError(guard)


@dataclass
class Shop:
    """One installation without workers that owes goods."""

    world: World
    four_eyes: bool = False
    providers: dict[str, GoodsProvider] = field(
        default_factory=lambda: {"stars": Provider()}
    )
    _orders: int = 0

    def __post_init__(self) -> None:
        for name in ("goods_delivery", "goods_reconcile"):
            self.world.kinds.setdefault(name, _kind(name))

    def find(self, tenant_id: str, slug: str) -> GoodsProvider | Unconfigured:
        """See `Providers.find`."""
        del tenant_id
        found = self.providers.get(slug)
        return found or Unconfigured("provider_unconfigured", f"no provider {slug}")

    def owe(self, *, has_job: bool = True, **members: Any) -> UUID:  # noqa: ANN401
        """Return a delivery that is owed, and its job waits, or is over."""
        self._orders += 1
        wanted: dict[str, Any] = {
            "order": new_id(),
            "order_id": f"A-{self._orders}",
            "customer_id": "anna",
            "line": 1,
            "provider": "stars",
            "product": Product(kind="telegram_stars", quantity=50),
            "quantity": 2,
            "recipient": "anna_b",
            "currency": "EUR",
            "cost_minor": 80,
            "price_minor": 100,
            "paid_minor": 190,
        } | members
        owe = Owe(**wanted)
        born = births.owed(new_id, "default", owe, self.now())
        born = born if has_job else born[:1]
        self._commit(tuple(each.ref for each in born), lambda _, __: born)
        return born[0].ref.id

    def tell(self, delivery: UUID, *commands: GoodsCommand) -> None:
        """Change a delivery as a worker would."""
        ref = Ref(StreamKind.DELIVERY, delivery)
        for command in commands:
            self._commit((ref,), partial(_told, ref, command))

    def submit(self, delivery: UUID, sender: Sender = SENDER) -> None:
        now = self.now()
        command = Submit(
            at=now,
            token=2,
            deadline=now + timedelta(seconds=90),
            expires_at=None,
            repeat_until=None,
            sender=sender,
        )
        self.tell(delivery, command)

    def review(self, *, is_sender_gone: bool = True, **members: Any) -> UUID:  # noqa: ANN401
        """Return a delivery in review: it was submitted, and nobody knows more."""
        delivery = self.owe(has_job=False, **members)
        self.send_to_review(delivery, is_sender_gone=is_sender_gone)
        return delivery

    def send_to_review(self, delivery: UUID, *, is_sender_gone: bool = True) -> None:
        """Submit it, lose track of it, and end the job that did."""
        self.submit(delivery)
        self.lose(delivery, is_sender_gone=is_sender_gone)
        if "goods_delivery" in self.jobs(delivery):
            self.world.end(self.world.claim("goods_delivery"), Completed())

    def lose(self, delivery: UUID, *, is_sender_gone: bool = True) -> None:
        """Know nothing of what was submitted, and give it to a person."""
        at = self.now() if is_sender_gone else None
        lost = LoseTrack(
            code="gateway_unreachable", is_sender_gone=is_sender_gone, at=at
        )
        self.tell(delivery, lost, OpenReview("gateway_unreachable"))

    def sender_ended(self) -> EndSender:
        """Return the proof that the sender is dead."""
        return EndSender(sender=SENDER, how="process_gone", at=self.now())

    def decide(
        self,
        delivery: UUID | str,
        verdict: str,
        evidence: str = "the provider's ledger, entry 7741",
        *,
        by: str = "ann",
        reason: str = "support case 12",
        **said: Any,  # noqa: ANN401 - of the struct
    ) -> Decided:
        decide = DecideReview(
            streams=self.world.streams,
            reviews=PostgresReviews(self.world.database),
            units=self.world.units,
            ids=new_id,
            four_eyes=self.four_eyes,
        )
        told = Said(delivery=str(delivery), verdict=verdict, evidence=evidence, **said)
        return decide(told, instruct(by, reason))

    def reconcile(self, delivery: UUID | str, *, by: str = "ann") -> Asked:
        ask = ReconcileDelivery(
            streams=self.world.streams,
            units=self.world.units,
            ids=new_id,
            providers=self,
        )
        return ask(str(delivery), instruct(by, "its answer was lost"))

    def state(self, delivery: UUID) -> GoodsDelivery:
        head = self.world.streams.head(Ref(StreamKind.DELIVERY, delivery))
        assert head is not None
        assert isinstance(head.state, GoodsDelivery)
        return head.state

    def jobs(self, delivery: UUID) -> list[str]:
        """Return the kinds of the unfinished jobs of a delivery, or of its order."""
        rows = self.world.connection.execute(
            """
            SELECT kind FROM counterfoil.jobs
             WHERE args->>'delivery_id' = %(id)s OR args->>'cause' = %(id)s
             ORDER BY kind
            """,
            {"id": str(delivery)},
        )
        return [row[0] for row in rows]

    def messages(self, topic: str) -> list[dict[str, Any]]:
        rows = self.world.connection.execute(
            "SELECT data FROM counterfoil.outbox WHERE topic = %s", (topic,)
        )
        return [row[0] for row in rows]

    def now(self) -> Instant:
        return self.world.streams.clock()

    def _commit(self, refs: tuple[Ref, ...], decide: Any) -> None:  # noqa: ANN401
        meta = Meta(actor=WORKER, correlation_id="order:A")
        (result,) = self.world.units.commit([Group(refs, decide, meta)])
        assert isinstance(result, Written), result


class DeliveryArgs(msgspec.Struct, frozen=True):
    delivery_id: UUID


def _kind(name: str) -> JobKind[DeliveryArgs]:
    return JobKind(
        name=name,
        args=DeliveryArgs,
        handler=lambda _, __: Completed(),
        queue="critical",
        unique_key=lambda args: f"{name}:{args.delivery_id}",
        record=lambda args: args.delivery_id,
        record_kind=StreamKind.DELIVERY,
    )


def _told(
    ref: Ref, command: GoodsCommand, locked: Locked, _now: Instant
) -> tuple[Change, ...]:
    head = locked[ref]
    assert isinstance(head.state, GoodsDelivery)
    events = deliveries.decide(head.state, command)
    return (changed(ref, head, events, deliveries.fold(events, head.state)),)
