"""A shop and one worker in memory: orders in, jobs run one by one, facts out."""

from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

import msgspec
from msgspec.structs import replace

from application.fulfillment.handler import FulfillmentArgs, FulfillOperation
from application.fulfillment.record import record_change
from application.job_kinds import AnyKind, JobKind, by_name
from application.operators.instruction import instruct
from application.operators.operate import Operate, Operated, Wanted
from application.order_fanout import OrderFanout, OrderFanoutArgs
from application.order_refund import OrderRefund, OrderRefundArgs
from application.orders.completion import OrderCompletion, OrderCompletionArgs
from application.policies import (
    FULFILLMENT,
    ORDER_COMPLETION,
    ORDER_FANOUT,
    ORDER_REFUND,
    jobs_after,
    key_of,
    refund,
)
from application.unit import Refused, Written, changed
from domain.entitlement.state import Entitlement, Sight
from domain.event import Actor, Instant
from domain.goods.events import Product
from domain.jobs import aggregate as jobs
from domain.jobs.aggregate import Job
from domain.jobs.backoff import Backoff
from domain.jobs.events import Owner
from domain.jobs.gates import Unpark, unpark
from domain.jobs.outcome import Outcome
from domain.jobs.verdict import Budget, Ending
from domain.maintenance.gates import MAINTENANCE_ACTIVE, PANEL
from domain.order import aggregate as orders
from domain.order.aggregate import Order
from domain.order.events import AddonLine, GoodsLine, Line
from domain.order.request import RefundRequest, SettleRequest
from domain.stream import Change, Ref, StreamKind
from infrastructure.processor.settling import (
    Claimed,
    record_of,
    settlement,
)
from tests.application.memory import Ids, MemoryContext, MemoryLog, MemoryPanel

WORKER = Actor("worker", "host:1")
OWNER = Owner(host="host", pid=1, boot=UUID(int=1))
PREFIX = "counterfoil_"


def access_line(**members: object) -> Line:
    line = Line(
        line=1,
        days=30,
        ends_at=None,
        grace_seconds=0,
        traffic_bytes=None,
        device_limit=None,
        squad_ids=(),
        reset_traffic=False,
    )
    return replace(line, **members)


def goods_line(**members: object) -> GoodsLine:
    line = GoodsLine(
        line=2,
        provider="starshop",
        product=Product(kind="telegram_stars", quantity=50),
        recipient="anna",
        quantity=1,
        cost_minor=30,
        price_minor=40,
    )
    return replace(line, **members)


@dataclass
class Shop:
    """Everything between a settlement and the panel, without a database."""

    log: MemoryLog = field(default_factory=MemoryLog)
    panel: MemoryPanel = field(default_factory=MemoryPanel)
    ids: Ids = field(default_factory=Ids)
    orders: int = 0

    def __post_init__(self) -> None:
        self.fulfill = FulfillOperation(
            streams=self.log,
            units=self.log,
            ids=self.ids,
            panel=self.panel,
            actor=WORKER,
        )
        self.fan_out = OrderFanout(
            streams=self.log, ids=self.ids, username_prefix=PREFIX
        )
        self.operates = Operate(self.log, self.log, self.ids)
        self.take_back = OrderRefund(streams=self.log, ids=self.ids)
        budget = Budget(max_attempts=12, backoff=Backoff(jitter=0.0))
        fulfillment = JobKind(
            name=FULFILLMENT,
            args=FulfillmentArgs,
            handler=self.fulfill,
            budget=budget,
            unique_key=lambda args: key_of(args.operation_id),
            record=lambda args: args.operation_id,
        )
        self.kinds = by_name(fulfillment, *self._of_orders(budget))

    def _of_orders(self, budget: Budget) -> tuple[AnyKind, ...]:
        """Return the kinds that decide about orders."""
        see = OrderCompletion(streams=self.log)
        return (
            JobKind(
                name=ORDER_FANOUT,
                args=OrderFanoutArgs,
                handler=self.fan_out,
                budget=budget,
            ),
            JobKind(
                name=ORDER_REFUND,
                args=OrderRefundArgs,
                handler=self.take_back,
                budget=budget,
            ),
            JobKind(
                name=ORDER_COMPLETION,
                args=OrderCompletionArgs,
                handler=see,
                budget=budget,
            ),
        )

    def pay(  # noqa: PLR0913 - what a shop may say
        self,
        *lines: Line | GoodsLine,
        customer: str = "c1",
        kind: str = "purchase",
        amount_minor: int = 100,
        discount_minor: int = 0,
        slot: int = 1,
        effective_at: Instant | None = None,
        tenant: str = "default",
        addon: AddonLine | None = None,
    ) -> Ref:
        """Settle an order, as SQL does: its birth and its job's.

        One with an `addon` is of that kind, whatever `kind` says.
        """
        self.orders += 1
        request = SettleRequest(
            tenant=tenant,
            order_id=f"o{self.orders}",
            customer_id=customer,
            kind=kind if addon is None else "addon",
            currency="USD",
            amount_minor=amount_minor,
            discount_minor=discount_minor,
            slot=slot,
            effective_at=effective_at,
            correlation_id=f"order:o{self.orders}",
            lines=() if addon or kind == "topup" else lines or (access_line(),),
            addons=() if addon is None else (addon,),
        )
        ref = Ref(StreamKind.ORDER, self.ids())
        events = orders.decide(Order(), orders.Settle(request))
        state = Order()
        (state,) = (orders.evolve(state, event) for event in events)
        born = Change(ref=ref, tenant_id=tenant, expected=0, events=events, state=state)
        self.log.write(born, request.correlation_id)
        fanout = None
        for enqueue in jobs_after(ref.id, events, self.log.now):
            fanout = self.enqueue(enqueue, tenant)
        key = tenant, request.order_id
        asked = self.log.order_keys(*key)
        self.log.keys[key] = replace(asked, order=ref, fanout=fanout)
        return ref

    def refund(
        self,
        order_id: str,
        *,
        lines: tuple[int, ...] | None = None,
        amount_minor: int | None = None,
    ) -> Ref:
        """Ask for a refund, as SQL does: its job's birth; return the job."""
        request = RefundRequest(
            tenant="default",
            order_id=order_id,
            lines=lines,
            amount_minor=amount_minor,
            reason="charged back",
            correlation_id=f"order:{order_id}",
        )
        job = self.enqueue(refund(request, self.log.now))
        key = request.tenant, order_id
        asked = self.log.order_keys(*key)
        self.log.keys[key] = replace(asked, refund=job, refund_asked_at=self.log.now)
        return job

    def enqueue(self, command: jobs.Enqueue, tenant: str = "default") -> Ref:
        ref = Ref(StreamKind.JOB, self.ids())
        events = jobs.decide(Job(), command)
        state = jobs.fold(events)
        self.log.write(
            Change(ref=ref, tenant_id=tenant, expected=0, events=events, state=state)
        )
        return ref

    def waiting(self, kind: str = FULFILLMENT) -> list[Ref]:
        """Return the waiting jobs of a kind, the oldest first."""
        return [
            ref
            for ref, head in self.log.heads.items()
            if isinstance(head.state, Job)
            and (head.state.kind, head.state.stage) == (kind, "waiting")
        ]

    def operations(self) -> list[Ref]:
        """Return all operations, the oldest first."""
        return [ref for ref in self.log.heads if ref.kind is StreamKind.OPERATION]

    def deliveries(self, order: Ref) -> list[Ref]:
        """Return the deliveries of an order, by their lines."""
        return [ref for ref, _ in self.log.deliveries_of(order.id)]

    def job_of(self, operation: Ref) -> Ref:
        key = f"{FULFILLMENT}:{operation.id}"
        found = self.log.live_job_with_key("default", key)
        found = found or self.log.dead_job_with_key("default", key)
        return found or self._finished(key)

    def _finished(self, key: str) -> Ref:
        for ref, head in self.log.heads.items():
            if isinstance(head.state, Job) and head.state.unique_key == key:
                return ref
        raise LookupError(key)

    def claim(self, job: Ref) -> MemoryContext:
        """Claim a waiting job, whether it is due or not."""
        head = self.log.heads[job]
        before = self.log.job(job)
        events = jobs.decide(before, jobs.Claim(owner=OWNER, lease_seconds=60))
        state = jobs.fold(events, before)
        self.log.write(
            Change(
                ref=job,
                tenant_id=head.tenant_id,
                expected=before.version,
                events=events,
                state=state,
            )
        )
        assert state.token is not None
        return MemoryContext(
            job_id=job.id,
            token=state.token,
            attempt=state.attempt,
            tenant_id=head.tenant_id,
            correlation_id=head.correlation_id,
        )

    def handle(self, context: MemoryContext) -> Outcome:
        """Run the handler of a claimed job."""
        job = self.log.job(Ref(StreamKind.JOB, context.job_id))
        raw = msgspec.json.encode(self.log.job_args(context.job_id))
        kind = self.kinds[job.kind]
        outcome: Outcome = kind.handler(
            msgspec.json.decode(raw, type=kind.args), context
        )
        return outcome

    def settle(self, context: MemoryContext, ending: Ending) -> Written | Refused:
        """End a claim, as the settler does."""
        ref = Ref(StreamKind.JOB, context.job_id)
        job = self.log.job(ref)
        kind = self.kinds[job.kind]
        args = msgspec.json.encode(self.log.job_args(context.job_id))
        record = record_of(kind, args, job.unique_key)
        claimed = Claimed(ref, context.token, kind, record, context.correlation_id)
        (result,) = self.log.commit([settlement(claimed, ending, WORKER)])
        assert isinstance(result, Written | Refused)
        return result

    def run(self, job: Ref) -> Outcome:
        """Claim, handle and settle a job; return what its handler said."""
        context = self.claim(job)
        outcome = self.handle(context)
        assert isinstance(self.settle(context, outcome), Written)
        return outcome

    def fan_out_all(self) -> None:
        """Decide every paid order, in the order of payment."""
        for job in self.waiting(ORDER_FANOUT):
            self.run(job)

    def buy(self, *lines: Line | GoodsLine, effective_at: Instant | None = None) -> Ref:
        """Pay and fan out one order of the customer; return its operation."""
        self.pay(*lines, effective_at=effective_at)
        self.fan_out_all()
        return self.operations()[-1]

    def ask(
        self, operation: str, key: str | None = None, /, **parameters: object
    ) -> Operated:
        """Ask for an operation on the customer's access, as an operator does."""
        wanted = Wanted(
            entitlement="customer:c1",
            operation=operation,
            parameters=parameters,
            key=key,
        )
        return self.operates(wanted, instruct("ann", "the customer asked"))

    def operate(
        self, operation: str, key: str | None = None, /, **parameters: object
    ) -> Ref:
        """Ask for an operation; return it."""
        asked = self.ask(operation, key, **parameters)
        return Ref(StreamKind.OPERATION, asked.operation_id)

    @property
    def entitlement(self) -> Entitlement:
        """The customer's entitlement."""
        return self.log.entitlement(self.entitlement_ref)

    @property
    def entitlement_ref(self) -> Ref:
        """The customer's entitlement, by its ref."""
        found = self.log.entitlement_of("default", "c1", 1)
        assert found is not None
        return found[0]

    @property
    def user(self) -> Sight:
        """What the panel shows of the customer."""
        return self.panel.users[self.entitlement.username]

    def run_all(self) -> None:
        """Run every job that is due, in turn, until none is."""
        while due := [
            job
            for job in self.waiting()
            if (self.log.job(job).run_at or self.log.now) <= self.log.now
        ]:
            self.run(min(due, key=lambda job: self.log.job(job).serial_order))

    def close_gate(self, scope: str = PANEL) -> None:
        """Begin maintenance."""
        self.log.gates[scope] = MAINTENANCE_ACTIVE

    def open_gates(self) -> None:
        """End all maintenance, and make due what waited for that."""
        self.log.gates.clear()
        for ref in self.waiting():
            head, job = self.log.heads[ref], self.log.job(ref)
            happened = unpark(job, Unpark(run_at=self.log.now))
            if happened:
                state = jobs.fold(happened, job)
                self.log.write(changed(ref, head, happened, state))

    def rename(self, operation: Ref, name: str) -> None:
        """Let the head of an operation name another one, as a newer version might."""
        head = self.log.heads[operation]
        state = replace(self.log.operation(operation), operation=name)
        self.log.heads[operation] = replace(head, state=state)

    def wait(self, **duration: float) -> None:
        """Let time pass."""
        self.log.now += timedelta(**duration)

    def revive(self, operation: Ref) -> None:
        """Retry a dead job and its record, as an operator does."""
        job = self.job_of(operation)
        before = self.log.job(job)
        events = jobs.decide(before, jobs.RetryDead(run_at=self.log.now))
        head = self.log.heads[job]
        for change in (
            changed(job, head, events, jobs.fold(events, before)),
            *record_change(operation, self.log.heads[operation], events),
        ):
            self.log.write(change)
