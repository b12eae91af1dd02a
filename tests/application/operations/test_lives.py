"""Whatever customers, operators and the panel do in whatever order: in the end the
panel shows what is owed."""

from datetime import timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from application.errors import StateConflictError
from application.ports import Halted, Misconfigured, PanelAnswer, Unavailable, Unknown
from domain.entitlement import aggregate as entitlements
from domain.entitlement.events import EntitlementEvent
from domain.entitlement.state import Entitlement
from domain.entitlement.timeline import in_force, standing
from domain.errors import InvalidRequestError
from domain.fulfillment.aggregate import OPEN, Stage
from domain.jobs.verdict import LeaseLost
from domain.stream import Ref
from tests.application.shop import Shop, access_line

ANSWERS: list[PanelAnswer | None] = [
    None,
    None,
    None,
    Unavailable("remnawave_http_429"),
    Unknown("remnawave_unavailable"),
    Misconfigured("panel_credentials"),
    Halted("", requests=0),
    Halted("", requests=2),
]

PLAIN = ["enable", "disable", "pause", "resume", "reset_traffic", "reconcile"]


class OperationLives(RuleBasedStateMachine):
    """One customer; one handler at a time, as the serial key has it."""

    def __init__(self) -> None:
        super().__init__()
        self.shop = Shop()
        self.shop.buy()

    def _due(self) -> list[Ref]:
        due = [
            job
            for job in self.shop.waiting()
            if (self.shop.log.job(job).run_at or self.shop.log.now) <= self.shop.log.now
        ]
        return sorted(due, key=lambda job: self.shop.log.job(job).serial_order)

    @rule(reset=st.booleans(), days=st.integers(1, 90))
    def settle(self, reset: bool, days: int) -> None:  # noqa: FBT001 - drawn by hypothesis
        self.shop.buy(access_line(days=days, reset_traffic=reset))

    @rule(operation=st.sampled_from(PLAIN))
    def operate(self, operation: str) -> None:
        before = len(self.shop.log.stored)
        try:
            self.shop.ask(operation)
        except StateConflictError:
            (refused,) = self.shop.log.stored[before:]
            assert refused.event.tag == "operator.action_refused"

    @rule(traffic=st.integers(0, 9))
    def limit(self, traffic: int) -> None:
        self.shop.ask("set_limits", trafficBytes=traffic)

    @rule(days=st.integers(1, 400))
    def extend(self, days: int) -> None:
        end = self.shop.log.now + timedelta(days=days)
        try:
            self.shop.ask("extend", endsAt=end.isoformat())
        except InvalidRequestError as error:
            assert error.code == "ends_at_not_later"  # noqa: PT017 - either is right

    @rule(hours=st.sampled_from([0.01, 0.5, 5, 500]))
    def let_time_pass(self, hours: float) -> None:
        self.shop.wait(hours=hours)

    @precondition(lambda self: self._due())
    @rule(answer=st.sampled_from(ANSWERS), loses=st.booleans())
    def run_the_next_job(self, answer: PanelAnswer | None, loses: bool) -> None:  # noqa: FBT001 - drawn by hypothesis
        if answer is not None:
            self.shop.panel.answers.append(answer)
        self.shop.panel.loses = int(loses)
        self.shop.run(self._due()[0])
        self.shop.panel.answers.clear()
        self.shop.panel.loses = 0

    @precondition(lambda self: self._due())
    @rule()
    def crash(self) -> None:
        context = self.shop.claim(self._due()[0])
        self.shop.handle(context)
        self.shop.settle(context, LeaseLost(cause="process_gone"))

    @invariant()
    def the_head_equals_a_fold_of_the_stream(self) -> None:
        """I7."""
        folded = Entitlement()
        for event in self.shop.log.events_of(self.shop.entitlement_ref):
            assert isinstance(event, EntitlementEvent.__value__)
            folded = entitlements.evolve(folded, event)
        assert folded == self.shop.entitlement

    @invariant()
    def every_operation_but_a_reconciliation_has_a_version_of_its_own(self) -> None:
        rows = [self.shop.log.operation(ref) for ref in self.shop.operations()]
        versions = [it.desired_version for it in rows if it.operation != "reconcile"]
        assert versions == list(range(1, self.shop.entitlement.desired_version + 1))

    def teardown(self) -> None:
        """Let the panel answer again: everything that is asked for gets its end."""
        for _ in range(60):
            if not self.shop.waiting():
                break
            self.shop.wait(hours=1)
            self.shop.run_all()
        rows = [self.shop.log.operation(ref) for ref in self.shop.operations()]
        assert not any(it.stage in OPEN for it in rows)
        self._assert_the_panel_shows_what_is_owed()
        newest = max(rows, key=lambda it: it.desired_version)
        assert newest.stage in {Stage.SUCCEEDED, Stage.CANCELLED, Stage.FAILED}

    def _assert_the_panel_shows_what_is_owed(self) -> None:
        entitlement, now = self.shop.entitlement, self.shop.log.now
        desired = in_force(entitlement, now)
        assert desired is not None
        if self._anything_failed():
            # A person decides about what is dead; a reconciliation repairs the panel.
            self.shop.wait(hours=1)
            self.shop.ask("reconcile")
            self.shop.run_all()
        assert self.shop.entitlement.drifts == ()
        shown = self.shop.user.observed
        assert shown.expire_at == desired.remote_expire_at
        assert shown.traffic_limit_bytes == (desired.traffic_bytes or 0)
        is_off = standing(entitlement, now).is_off
        assert (shown.status == "DISABLED") == is_off

    def _anything_failed(self) -> bool:
        return any(
            self.shop.log.operation(ref).stage is Stage.FAILED
            for ref in self.shop.operations()
        )


TestOperationLives = OperationLives.TestCase
TestOperationLives.settings = settings(
    max_examples=80, stateful_step_count=40, deadline=None
)
