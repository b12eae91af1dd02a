"""Processes die and freeze at every step of a purchase, in any order, side by side.

Each run is a process of its own.  At each step something may happen to it: it is
killed, or frozen while time passes, leases end, others go on and the dead are proved
dead; and then it wakes and goes on as if nothing had been.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from application.goods import late
from application.goods.port import (
    Absent,
    Balance,
    Capabilities,
    Confirmed,
    GoodsProvider,
    LookupAnswer,
    Purchase,
    SubmitAnswer,
    Unavailable,
    Unconfigured,
    Unknown,
    Unsent,
)
from application.ports import CallGuard
from application.unit import Group, Refused, Result, changed
from domain.event import Instant, Meta
from domain.goods import aggregate
from domain.goods.commands import EndSender
from domain.goods.events import Sender
from domain.goods.state import FINAL, Stage
from domain.jobs.aggregate import Job
from domain.jobs.verdict import LeaseLost
from domain.stream import Ref
from infrastructure.processor.settling import changes_of
from tests.application.goods.world import BLIND, HONEST, STRICT, WORKER, World
from tests.application.memory import MemoryContext

SETTLED = frozenset({*FINAL, Stage.NEEDS_REVIEW, Stage.FAILED})
LEASE = timedelta(seconds=151)
KEYED = msgspec.structs.replace(
    HONEST, can_look_up=False, is_lookup_authoritative=False
)
LOOKED_UP = msgspec.structs.replace(HONEST, key_lifetime=None)
BOTH = msgspec.structs.replace(STRICT, key_lifetime=timedelta(hours=23))

type Deed = str
DEEDS = ("on", "on", "kill", "nap", "sleep", "others", "sleep and others", "lie")


class Killed(BaseException):
    """The process ends here."""


@dataclass
class Market(World):
    """One delivery, and the deeds that happen at the steps to come."""

    can: Capabilities = HONEST
    deeds: list[Deed] = field(default_factory=list[Deed])
    answers: list[int] = field(default_factory=list[int])
    processes: int = 0
    me: int = 0
    """The process that runs just now; each has a number of its own."""
    dead: set[int] = field(default_factory=set[int])
    depth: int = 0
    bought: list[str] = field(default_factory=list[str])
    contexts: dict[Ref, MemoryContext] = field(default_factory=dict[Ref, MemoryContext])
    claimed_at: dict[Ref, Instant] = field(default_factory=dict[Ref, Instant])

    @property
    def capabilities(self) -> Capabilities:
        return self.can

    def find(self, tenant_id: str, slug: str) -> GoodsProvider | Unconfigured:
        del tenant_id, slug
        return self

    def sends(self, boot: UUID) -> Sender:
        return Sender(host="w", machine="m", pid=self.me, started=1, boot=boot)

    # The steps.

    def step(self) -> str:
        """Let the next deed happen, and return it."""
        deed = self.deeds.pop(0) if self.deeds else "on"
        if deed == "kill":
            raise Killed
        me = self.me
        if "nap" in deed:
            self.log.now += timedelta(seconds=20)
        if "sleep" in deed:
            self.log.now += LEASE
            self.rescue()
        if "others" in deed and self.depth < 3:
            self.depth += 1
            for _ in range(6):
                self.rescue()
                self.bury()
                self.work()
                self.log.now += timedelta(seconds=40)
            self.depth -= 1
        self.me = me
        return deed

    def commit(self, groups: Sequence[Group]) -> list[Result]:
        self.step()
        results = self.log.commit(groups)
        self.step()
        return results

    def write(self, key: str, purchase: int) -> None:
        super().write(key, purchase)
        self.step()

    def submit(self, purchase: Purchase, guard: CallGuard) -> SubmitAnswer:
        if not guard.may_begin():
            return Unsent("no_time")
        deed = self.step()  # frozen between the question and the socket
        if purchase.expires_at is not None and self.log.now >= purchase.expires_at:
            return Unavailable("retryable", "expired")
        answer = self.answers.pop(0) if self.answers else 0
        if answer == 1 and purchase.key not in self.bought:
            return Unavailable("retryable", "http_429")
        if answer == 2 and purchase.key not in self.bought:
            return Unknown("reset")
        if self.can.key_lifetime is None or purchase.key not in self.bought:
            self.bought.append(purchase.key)
        self.step()
        return Unknown("timeout") if deed == "lie" or answer == 3 else Confirmed("r")

    def look_up(
        self, key: str, reference: str | None, guard: CallGuard
    ) -> LookupAnswer:
        del reference
        if not guard.may_begin():
            return Unsent("no_time")
        is_bought, at = key in self.bought, self.log.now
        deed = self.step()
        if deed == "lie":
            return Unknown("http_503")
        if is_bought:
            return Confirmed("r")
        return Absent(at) if self.can.expiry is not None else Absent()

    def balance(self, guard: CallGuard) -> Balance | Unknown:
        del guard
        return Unknown("unsupported")

    # What happens to jobs.

    def work(self) -> None:
        """Let a new process run what is due next, if anything is."""
        for ref in self.live():
            job = self.log.job(ref)
            if job.stage == "waiting" and not self.is_turn_taken():
                self.processes += 1
                self.me = self.processes
                self.one(ref)
                return

    def is_turn_taken(self) -> bool:
        states = [head.state for head in self.log.heads.values()]
        return any(isinstance(it, Job) and it.stage == "running" for it in states)

    def one(self, ref: Ref) -> None:
        """Run one job in a new process, which may not live to its end."""
        me = self.me
        context = self.claim(ref)
        began = self.claimed_at[ref] = self.log.now
        self.contexts[ref] = context
        try:
            outcome = self.handle(_Run(context, self, began))
            self.step()
        except Killed:
            self.dead.add(me)
            return
        if self.settle(context, outcome) == Refused("lease_lost"):
            meta = Meta(actor=WORKER, correlation_id="c")
            groups = late.testimonies(
                changes_of(outcome), context.token, meta, self.ids
            )
            self.log.commit(groups)

    def rescue(self) -> None:
        """End the leases that are over."""
        for ref, head in tuple(self.log.heads.items()):
            is_running = isinstance(head.state, Job) and head.state.stage == "running"
            if is_running and self.log.now >= self.claimed_at[ref] + LEASE:
                lost = LeaseLost(cause="lease_lost")
                self.settle(self.contexts[ref], lost, has_called=False)

    def bury(self) -> None:
        """Prove who is dead."""
        state = self.state()
        if state.deadline is not None and state.deadline >= self.log.now:
            return
        for asking in state.senders:
            if asking.sender.pid not in self.dead or self.state().stage in FINAL:
                continue
            head = self.log.heads[self.delivery]
            told = aggregate.decide(
                self.state(),
                EndSender(sender=asking.sender, how="process_gone", at=self.log.now),
            )
            if told:
                after = aggregate.fold(told, self.state())
                self.log.write(changed(self.delivery, head, told, after))


class _Run(MemoryContext):
    """One claim, whose time runs out while its process sleeps."""

    def __init__(self, context: MemoryContext, market: Market, began: Instant) -> None:
        super().__init__(context.job_id, context.token, tenant_id=context.tenant_id)
        self._market, self._began = market, began

    def __getattribute__(self, name: str) -> object:
        if name != "seconds_left":
            return super().__getattribute__(name)
        passed = (self._market.log.now - self._began).total_seconds()
        return max(120.0 - passed, 0.0)

    def may_begin(self) -> bool:
        return self.seconds_left > 90


@pytest.mark.parametrize(
    "can",
    [BLIND, KEYED, LOOKED_UP, STRICT, BOTH],
    ids=["blind", "keyed", "told", "strict", "both"],
)
@given(
    deeds=st.lists(st.sampled_from(DEEDS), max_size=40),
    answers=st.lists(st.integers(0, 3), max_size=12),
)
def test_i2_nothing_is_bought_twice_and_nothing_is_left_lying(
    can: Capabilities, deeds: list[Deed], answers: list[int]
) -> None:
    market = Market(can=can, deeds=list(deeds), answers=list(answers))

    for _ in range(400):
        stage = market.state().stage
        if stage in SETTLED and not market.live():
            break
        assert stage in SETTLED or len(market.live()) == 1, "one job goes on with it"
        market.bury()
        market.rescue()
        market.work()
        market.log.now += timedelta(seconds=30)

    state = market.state()
    assert state.stage in SETTLED, state
    assert len(market.bought) <= 1, market.tags()
    assert state.purchases <= 6
    if state.stage is Stage.DELIVERED:
        assert len(market.bought) == 1
    if state.stage in {Stage.REFUNDED, Stage.FAILED}:
        assert market.bought == []
