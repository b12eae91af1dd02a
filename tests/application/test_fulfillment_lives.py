"""Whatever order customers, panel, crashes and operators act in, what was paid is
delivered once, in order, or waits in plain sight."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)

from application.ports import (
    Halted,
    Misconfigured,
    PanelAnswer,
    Rejected,
    Unavailable,
    Unknown,
)
from application.unit import Refused
from domain.entitlement.state import Entitlement
from domain.fulfillment import aggregate as operations
from domain.fulfillment.aggregate import FulfillmentOperation, Stage
from domain.fulfillment.events import AttemptStarted, FulfillmentEvent
from domain.jobs.outcome import Cancel, Snooze
from domain.jobs.verdict import Interrupted, LeaseLost
from domain.stream import Ref, StreamKind
from tests.application.memory import MemoryContext
from tests.application.shop import Shop, access_line

ANSWERS: list[PanelAnswer | None] = [
    None,
    None,
    Rejected("remnawave_http_400"),
    Unavailable("remnawave_http_429"),
    Unknown("remnawave_unavailable"),
    Misconfigured("panel_credentials"),
    Halted("", requests=0),
    Halted("", requests=2),
]


class FulfillmentLives(RuleBasedStateMachine):
    """One customer; one handler at a time, as the serial key has it."""

    def __init__(self) -> None:
        super().__init__()
        self.shop = Shop()
        self.stale = list[MemoryContext]()
        """Claims that were lost; their holders do not know it yet."""

    def _due(self) -> list[Ref]:
        due = [
            job
            for job in self.shop.waiting()
            if (self.shop.log.job(job).run_at or self.shop.log.now) <= self.shop.log.now
        ]
        return sorted(due, key=lambda job: self.shop.log.job(job).serial_order)

    def _failed(self) -> list[Ref]:
        return [
            ref
            for ref in self.shop.operations()
            if self.shop.log.operation(ref).stage is Stage.FAILED
        ]

    @rule(reset=st.booleans(), days=st.integers(1, 90))
    def settle(self, reset: bool, days: int) -> None:  # noqa: FBT001 - drawn by hypothesis
        self.shop.buy(access_line(days=days, reset_traffic=reset))

    @rule(hours=st.sampled_from([0.01, 0.5, 5]))
    def let_time_pass(self, hours: float) -> None:
        self.shop.wait(hours=hours)

    @precondition(lambda self: self._due())
    @rule(answer=st.sampled_from(ANSWERS))
    def run_the_next_job(self, answer: PanelAnswer | None) -> None:
        if answer is not None:
            self.shop.panel.answers.append(answer)
        asked, job = len(self.shop.panel.asked), self._due()[0]
        spent = self.shop.log.job(job).attempt
        self.shop.run(job)
        self.shop.panel.answers.clear()
        if self.shop.log.gates:
            assert len(self.shop.panel.asked) == asked
            after = self.shop.log.job(job)
            assert after.stage != "waiting" or after.attempt == spent

    @rule()
    def begin_maintenance(self) -> None:
        self.shop.close_gate()

    @rule()
    def end_maintenance(self) -> None:
        self.shop.open_gates()

    @precondition(lambda self: self._due())
    @rule(asks=st.booleans(), cause=st.sampled_from(["process_gone", "lease_lost"]))
    def lose_the_lease(self, asks: bool, cause: str) -> None:  # noqa: FBT001 - drawn by hypothesis
        context = self.shop.claim(self._due()[0])
        if asks:
            self.shop.handle(context)
        self.shop.settle(context, LeaseLost(cause=cause))
        self.stale.append(context)

    @precondition(lambda self: self.stale)
    @rule()
    def wake_a_holder_that_was_replaced(self) -> None:
        """I4: it asks nothing, and nothing that it says is written."""
        context = self.stale.pop()
        asked, stored = len(self.shop.panel.asked), len(self.shop.log.stored)

        outcome = self.shop.handle(context)
        result = self.shop.settle(context, outcome)

        assert result == Refused("lease_lost")
        assert len(self.shop.panel.asked) == asked
        assert len(self.shop.log.stored) == stored
        assert isinstance(outcome, Snooze)

    @precondition(lambda self: self._due())
    @rule()
    def stop_the_worker_politely(self) -> None:
        context = self.shop.claim(self._due()[0])
        before = self.shop.log.job(Ref(StreamKind.JOB, context.job_id)).attempt
        self.shop.settle(context, Interrupted(cause="shutdown"))
        after = self.shop.log.job(Ref(StreamKind.JOB, context.job_id)).attempt
        assert after == before - 1

    @precondition(lambda self: self._due())
    @rule()
    def cancel_by_an_operator(self) -> None:
        context = self.shop.claim(self._due()[0])
        self.shop.settle(context, Cancel(code="operator"))

    @precondition(lambda self: self._failed())
    @rule()
    def retry_by_an_operator(self) -> None:
        self.shop.revive(self._failed()[0])

    @invariant()
    def heads_equal_a_fold_of_their_streams(self) -> None:
        """I7, for the streams of this machine."""
        for ref in self.shop.operations():
            folded = FulfillmentOperation()
            for event in self.shop.log.events_of(ref):
                assert isinstance(event, FulfillmentEvent.__value__)
                folded = operations.evolve(folded, event)
            assert folded == self.shop.log.operation(ref)

    @invariant()
    def job_and_record_agree(self) -> None:
        pairs = {
            "waiting": {Stage.PENDING, Stage.RETRYING},
            "succeeded": {Stage.SUCCEEDED, Stage.CANCELLED},
            "discarded": {Stage.FAILED},
            "cancelled": {Stage.CANCELLED},
        }
        for ref in self.shop.operations():
            job = self.shop.log.job(self.shop.job_of(ref))
            operation = self.shop.log.operation(ref)
            # Covered in transaction 1, whose claim was lost before it settled: the
            # next one finds nothing to do.
            is_covered = operation.covered_by is not None and job.stage == "waiting"
            assert is_covered or operation.stage in pairs[job.stage]

    @invariant()
    def the_panel_is_asked_as_often_as_the_ledger_says(self) -> None:
        """I3: every request has an attempt on record, under its own number."""
        started = {
            f"{ref.id}.{event.attempt}"
            for ref in self.shop.operations()
            for event in self.shop.log.events_of(ref)
            if isinstance(event, AttemptStarted)
        }
        asked = [request_id for request_id, _ in self.shop.panel.asked]
        assert len(asked) == len(set(asked))
        assert set(asked) <= started

    @invariant()
    def desired_versions_reach_the_panel_in_order_once_confirmed(self) -> None:
        """An older state is never pushed over a newer one that has succeeded."""
        newest = 0
        for stored in self.shop.log.stored:
            if stored.ref.kind is not StreamKind.OPERATION:
                continue
            operation = self.shop.log.operation(stored.ref)
            if stored.event.tag == "fulfillment.attempt_started":
                assert operation.desired_version > newest
            if stored.event.tag == "fulfillment.succeeded":
                newest = operation.desired_version

    @invariant()
    def orders_are_fulfilled_exactly_when_something_carried_them(self) -> None:
        rows = [self.shop.log.operation(ref) for ref in self.shop.operations()]
        newest = max(
            (it.desired_version for it in rows if it.stage is Stage.SUCCEEDED),
            default=0,
        )
        for it in rows:
            carried = it.stage is Stage.SUCCEEDED or (
                it.covered_by is not None and it.desired_version < newest
            )
            assert self.shop.log.is_fulfilled(it.order) == carried

    @invariant()
    def a_reset_that_was_asked_for_is_still_on_its_way_or_done(self) -> None:
        rows = [self.shop.log.operation(ref) for ref in self.shop.operations()]
        for it in rows:
            if it.desired is None or not it.desired.reset_traffic:
                continue
            later = [
                other
                for other in rows
                if other.desired_version >= it.desired_version
                and other.desired is not None
                and other.desired.reset_traffic
            ]
            newest = rows[-1]
            done = any(other.stage is Stage.SUCCEEDED for other in later)
            assert done or (newest.desired is not None and newest.desired.reset_traffic)

    @invariant()
    def days_that_were_paid_are_never_lost(self) -> None:
        for ref, head in self.shop.log.heads.items():
            if isinstance(head.state, Entitlement):
                versions = [
                    self.shop.log.operation(it).desired_version
                    for it in self.shop.operations()
                ]
                assert versions == list(range(1, head.state.desired_version + 1))
                assert ref.kind is StreamKind.ENTITLEMENT


TestFulfillmentLives = FulfillmentLives.TestCase
TestFulfillmentLives.settings = settings(
    max_examples=80, stateful_step_count=40, deadline=None
)
