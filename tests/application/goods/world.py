"""Deliveries without a database: a seller with a ledger of its own, and a worker."""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import cast
from uuid import UUID

import msgspec

from application.births import owed
from application.goods.pace import Pace
from application.goods.port import (
    Absent,
    Balance,
    Capabilities,
    Confirmed,
    GoodsProvider,
    Guard,
    LookupAnswer,
    Purchase,
    SubmitAnswer,
    Unconfigured,
    Unknown,
    Unsent,
)
from application.job_kinds import Kinds, by_name
from application.policies import GOODS_DELIVERY, GOODS_RECONCILE
from application.ports import CallGuard
from application.unit import Group, Refused, Result, Written
from domain.event import Actor
from domain.goods.commands import Owe
from domain.goods.events import Product, Sender
from domain.goods.state import GoodsDelivery
from domain.jobs import aggregate as jobs
from domain.jobs.aggregate import Job
from domain.jobs.events import Owner
from domain.jobs.outcome import Outcome
from domain.jobs.verdict import Ending
from domain.stream import Change, Ref, StreamKind
from infrastructure.goods.kinds import Goods, goods_kinds
from infrastructure.processor.settling import Claimed, record_of, settlement
from tests.application.memory import Ids, MemoryContext, MemoryLog

WORKER = Actor("worker", "w:1")
OWNER = Owner(host="w", pid=1, boot=UUID(int=7))
SLUG = "starshop"

BLIND = Capabilities()
"""Nothing can be asked of it, and no key means anything to it."""

HONEST = Capabilities(
    key_lifetime=timedelta(hours=24), can_look_up=True, is_lookup_authoritative=True
)
"""One effect per key, and it knows every key that it has bought under."""

STRICT = Capabilities(
    can_look_up=True, is_lookup_authoritative=True, expiry=timedelta(minutes=3)
)
"""It can be asked, and begins nothing after the expiry of a request."""


def sender_of(boot: UUID) -> Sender:
    return Sender(host="w", machine="m", pid=1, started=1, boot=boot)


@dataclass
class Seller:
    """Buys what it is asked to, and keeps a ledger; its answers may be others."""

    can: Capabilities = HONEST
    answers: deque[object] = field(default_factory=deque[object])
    """What it says to the next requests, whatever it has done."""
    buys: deque[bool] = field(default_factory=deque[bool])
    """Whether it buys at the next requests; it does when there is nothing here."""
    looks: deque[LookupAnswer] = field(default_factory=deque[LookupAnswer])
    requests: list[Purchase] = field(default_factory=list[Purchase])
    looked: list[str] = field(default_factory=list[str])
    ledger: Counter[str] = field(default_factory=Counter[str])
    """How often it has bought under a key."""
    meanwhile: Callable[[], object] = lambda: None
    """What happens while it is being asked."""

    @property
    def capabilities(self) -> Capabilities:
        return self.can

    def submit(self, purchase: Purchase, guard: CallGuard) -> SubmitAnswer:
        if not guard.may_begin():
            return Unsent("no_time")
        self.requests.append(purchase)
        if not self.buys or self.buys.popleft():
            keeps = self.can.key_lifetime is not None
            self.ledger[purchase.key] = 1 if keeps else self.ledger[purchase.key] + 1
        self.meanwhile()
        if not self.answers:
            return Confirmed(f"ref-{len(self.ledger)}")
        answer = self.answers.popleft()
        if isinstance(answer, Exception):
            raise answer
        return cast("SubmitAnswer", answer)

    def look_up(
        self, key: str, reference: str | None, guard: CallGuard
    ) -> LookupAnswer:
        del reference
        if not guard.may_begin():
            return Unsent("no_time")
        self.looked.append(key)
        self.meanwhile()
        if self.looks:
            return self.looks.popleft()
        return Confirmed("found") if self.ledger[key] else Absent()

    def balance(self, guard: CallGuard) -> Balance | Unknown:
        del guard
        return Unknown("unsupported")


@dataclass
class World:
    """One order with one line of goods, and everything that serves it."""

    seller: Seller = field(default_factory=Seller)
    unconfigured: Unconfigured | None = None
    barred: Guard | None = None
    refused: Refused | None = None
    """What the database says to the next submission."""
    journal: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    is_journal_full: bool = False
    log: MemoryLog = field(default_factory=MemoryLog)
    ids: Ids = field(default_factory=Ids)
    told: list[SubmitAnswer | LookupAnswer] = field(
        default_factory=list[SubmitAnswer | LookupAnswer]
    )

    def __post_init__(self) -> None:
        goods = Goods(
            providers=self,
            guards=self,
            journal=self,
            pace=Pace(),
            who_sends=self.sends,
        )
        made = goods_kinds(goods, self.log, self, self.ids, WORKER)
        self.kinds: Kinds = by_name(*made)
        self.order = self.ids()
        self.delivery = self.owe()

    # What the handlers are given.

    def sends(self, boot: UUID) -> Sender:
        """Return who sends; all processes are one, unless a test says otherwise."""
        return sender_of(boot)

    def find(self, tenant_id: str, slug: str) -> GoodsProvider | Unconfigured:
        assert (tenant_id, slug) == ("default", SLUG)
        return self.unconfigured or self.seller

    def barring(self, tenant_id: str, slug: str, cost_minor: int) -> Guard | None:
        is_new = self.state().stage == "pending"
        assert (tenant_id, slug, cost_minor) == ("default", SLUG, 60 if is_new else 0)
        return self.barred

    def record(
        self, tenant_id: str, slug: str, answer: SubmitAnswer | LookupAnswer
    ) -> None:
        assert (tenant_id, slug) == ("default", SLUG)
        self.told.append(answer)

    def write(self, key: str, purchase: int) -> None:
        if self.is_journal_full:
            raise OSError
        self.journal.append((key, purchase))

    def commit(self, groups: Sequence[Group]) -> list[Result]:
        """Commit what a handler records by itself."""
        if self.refused is not None:
            refused, self.refused = self.refused, None
            return [refused for _ in groups]
        return self.log.commit(groups)

    # What happens.

    def owe(self, line: int = 1) -> Ref:
        """Owe one line, as fan-out does: its delivery, and the job that buys it."""
        owe = Owe(
            order=self.order,
            order_id="o1",
            customer_id="c1",
            line=line,
            provider=SLUG,
            product=Product(kind="telegram_stars", quantity=50),
            quantity=2,
            recipient="anna_k",
            currency="USD",
            cost_minor=30,
            price_minor=40,
            paid_minor=70,
        )
        born = owed(self.ids, "default", owe, self.log.now)
        for change in born:
            self.log.write(change)
        return born[0].ref

    def state(self, delivery: Ref | None = None) -> GoodsDelivery:
        state = self.log.heads[delivery or self.delivery].state
        assert isinstance(state, GoodsDelivery)
        return state

    def tags(self) -> list[str]:
        return [event.tag for event in self.log.events_of(self.delivery)]

    def live(self, kind: str | None = None) -> list[Ref]:
        """Return the unfinished jobs of the delivery, or of one kind."""
        return [
            ref
            for ref, head in self.log.heads.items()
            if isinstance(head.state, Job)
            and head.state.stage in {"waiting", "running"}
            and head.state.kind in {kind or GOODS_DELIVERY, kind or GOODS_RECONCILE}
        ]

    def claim(self, job: Ref | None = None) -> MemoryContext:
        """Claim the one job that there is, when it is due."""
        (ref,) = [job] if job is not None else self.live()
        before = self.log.job(ref)
        assert before.run_at is not None
        self.log.now = max(self.log.now, before.run_at)
        events = jobs.decide(before, jobs.Claim(owner=OWNER, lease_seconds=150))
        state = jobs.fold(events, before)
        head = self.log.heads[ref]
        change = Change(
            ref=ref,
            tenant_id=head.tenant_id,
            expected=before.version,
            events=events,
            state=state,
        )
        self.log.write(change)
        return MemoryContext(
            job_id=ref.id,
            token=state.token or 0,
            attempt=state.attempt,
            tenant_id=head.tenant_id,
            seconds_left=120.0,
        )

    def handle(self, context: MemoryContext) -> Outcome:
        job = self.log.job(Ref(StreamKind.JOB, context.job_id))
        kind = self.kinds[job.kind]
        raw = msgspec.json.encode(self.log.job_args(context.job_id))
        outcome: Outcome = kind.handler(
            msgspec.json.decode(raw, type=kind.args), context
        )
        return outcome

    def settle(
        self, context: MemoryContext, ending: Ending, *, has_called: bool = True
    ) -> Result:
        """End a claim, as the settler does."""
        ref = Ref(StreamKind.JOB, context.job_id)
        job = self.log.job(ref)
        kind = self.kinds[job.kind]
        args = msgspec.json.encode(self.log.job_args(context.job_id))
        claimed = Claimed(
            ref,
            context.token,
            kind,
            record_of(kind, args, job.unique_key),
            context.correlation_id,
            called_provider=has_called,
        )
        (result,) = self.log.commit([settlement(claimed, ending, WORKER)])
        return result

    def run(self, job: Ref | None = None) -> Outcome:
        """Claim, handle and settle the one job; return what its handler said."""
        context = self.claim(job)
        outcome = self.handle(context)
        assert isinstance(self.settle(context, outcome), Written)
        return outcome

    def run_until(self, *stages: str, most: int = 40) -> None:
        """Run whatever is due until the delivery is at one of the stages."""
        for _ in range(most):
            if self.state().stage in stages:
                return
            self.run()
        msg = f"it is still {self.state().stage}"
        raise AssertionError(msg)
