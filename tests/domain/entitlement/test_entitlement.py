"""What a customer is owed after each settlement, as stories and as laws."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import UUID

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from domain.entitlement.aggregate import decide, evolve
from domain.entitlement.commands import AccessLine, Observe, Settle
from domain.entitlement.events import (
    DesiredChanged,
    EntitlementEvent,
    Granted,
    Seen,
)
from domain.entitlement.state import (
    Desired,
    Entitlement,
    Observed,
    Stage,
    truncated_to_ms,
)
from domain.entitlement.timeline import LAST_INSTANT
from domain.errors import IllegalTransitionError
from domain.order.lines import MOST_GRACE_SECONDS

AT = datetime(2026, 8, 1, 12, tzinfo=UTC)
ORDER = UUID(int=1)
SHOWN = Observed(
    panel_user_id=1,
    status="ACTIVE",
    expire_at=AT,
    traffic_limit_bytes=0,
    device_limit=0,
    squads=0,
)


def day(number: float) -> datetime:
    return AT + timedelta(days=number)


def settle(
    at: datetime = AT,
    *,
    days: int | None = 30,
    ends_at: datetime | None = None,
    traffic: int | None = None,
    reset: bool = False,
) -> Settle:
    return Settle(
        order=ORDER,
        settled_at=at,
        line=AccessLine(
            days=days if ends_at is None else None,
            ends_at=ends_at,
            grace_seconds=0,
            traffic_bytes=traffic,
            device_limit=None,
            squad_ids=(),
            reset_traffic=reset,
        ),
        customer_id="c1",
        slot=1,
        username="counterfoil_1",
        legacy_username=None,
    )


def after(*commands: Settle | Observe) -> Entitlement:
    entitlement = Entitlement()
    for command in commands:
        for event in decide(entitlement, command):
            entitlement = evolve(entitlement, event)
    return entitlement


def desired(*commands: Settle | Observe) -> Desired:
    found = after(*commands).desired
    assert found is not None
    return found


def test_the_first_settlement_grants_and_sets_version_1() -> None:
    granted, changed = decide(Entitlement(), settle())

    assert granted == Granted(
        customer_id="c1", slot=1, username="counterfoil_1", legacy_username=None
    )
    assert isinstance(changed, DesiredChanged)
    assert (changed.desired_version, changed.paid_at) == (1, AT)
    assert changed.desired.ends_at == day(30)


def test_a_later_one_changes_the_desired_state_only() -> None:
    (changed,) = decide(after(settle()), settle(day(1)))

    assert isinstance(changed, DesiredChanged)
    assert changed.desired_version == 2


def test_names_are_computed_once() -> None:
    renamed = msgspec.structs.replace(settle(day(1)), username="other_1")

    assert after(settle(), renamed).username == "counterfoil_1"


def test_days_add_to_an_end_that_is_ahead() -> None:
    assert desired(settle(days=30), settle(day(10), days=5)).ends_at == day(35)


def test_days_count_from_the_settlement_once_access_has_ended() -> None:
    assert desired(settle(days=30), settle(day(40), days=5)).ends_at == day(45)


def test_days_of_an_earlier_payment_that_is_decided_later_add_as_well() -> None:
    assert desired(settle(day(1), days=30), settle(AT, days=5)).ends_at == day(36)


def test_limits_follow_the_settlement_that_was_paid_last() -> None:
    newest_first = desired(settle(day(1), traffic=2), settle(AT, traffic=1))
    newest_last = desired(settle(AT, traffic=1), settle(day(1), traffic=2))

    assert newest_first.traffic_bytes == 2
    assert newest_last.traffic_bytes == 2


def test_an_end_that_was_paid_last_is_taken_as_it_is() -> None:
    shortened = desired(settle(days=30), settle(day(1), ends_at=day(10)))

    assert shortened.ends_at == day(10)


def test_an_end_that_was_paid_earlier_never_shortens() -> None:
    late = desired(settle(day(1), days=30), settle(AT, ends_at=day(10)))

    assert late.ends_at == day(31)


@pytest.mark.parametrize(
    ("reset", "carried", "asked"),
    [(False, False, False), (True, False, True), (False, True, True)],
)
def test_a_reset_is_asked_for_by_this_settlement_or_carried(
    reset: bool,  # noqa: FBT001 - a parameter of pytest
    carried: bool,  # noqa: FBT001 - a parameter of pytest
    asked: bool,  # noqa: FBT001 - a parameter of pytest
) -> None:
    command = msgspec.structs.replace(settle(reset=reset), carried_reset=carried)

    assert desired(command).reset_traffic == asked


def test_a_reset_is_not_inherited_from_the_state_before() -> None:
    assert not desired(settle(reset=True), settle(day(1))).reset_traffic


def test_an_end_beyond_the_calendar_stops_at_the_last_instant() -> None:
    many = [settle(days=36_500) for _ in range(100)]

    assert desired(*many).ends_at == LAST_INSTANT


def test_only_a_new_observation_is_recorded() -> None:
    seen = after(settle(), Observe(SHOWN))
    other = msgspec.structs.replace(SHOWN, status="LIMITED")

    assert decide(seen, Observe(SHOWN)) == ()
    assert decide(seen, Observe(other)) == (Seen(observed=other),)


def test_nothing_is_observed_of_what_nobody_granted() -> None:
    with pytest.raises(IllegalTransitionError):
        decide(Entitlement(), Observe(SHOWN))


@pytest.mark.parametrize(
    ("microsecond", "shown"),
    [(0, 0), (999, 0), (123_456, 123_000), (999_999, 999_000)],
)
def test_the_pushed_expiry_is_truncated_to_the_panels_milliseconds(
    microsecond: int, shown: int
) -> None:
    ends_at = AT.replace(microsecond=microsecond)

    assert truncated_to_ms(ends_at).microsecond == shown
    assert Desired(ends_at=ends_at).remote_expire_at.microsecond == shown


def test_grace_is_added_to_what_is_pushed_and_not_to_what_is_owed() -> None:
    state = Desired(ends_at=AT, grace_seconds=3600)

    assert state.ends_at == AT
    assert state.remote_expire_at == AT + timedelta(hours=1)


def test_the_longest_grace_behind_the_last_end_stays_within_the_calendar() -> None:
    last = Desired(ends_at=LAST_INSTANT, grace_seconds=MOST_GRACE_SECONDS)

    assert last.remote_expire_at == datetime(
        9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC
    )


SETTLEMENTS = st.lists(
    st.builds(
        settle,
        st.integers(0, 400).map(day),
        days=st.integers(1, 400),
        traffic=st.one_of(st.none(), st.integers(0, 2**53 - 1)),
        reset=st.booleans(),
    ),
    min_size=1,
    max_size=12,
)


@given(SETTLEMENTS)
def test_no_day_that_was_paid_is_lost_whatever_the_order(
    commands: list[Settle],
) -> None:
    """Each settlement ends at least its days later than it could have before it."""
    entitlement = Entitlement()
    for command in commands:
        before = entitlement.desired
        for event in decide(entitlement, command):
            entitlement = evolve(entitlement, event)
        start = command.settled_at
        if before is not None:
            start = max(before.ends_at, start)
        assert entitlement.desired is not None
        assert entitlement.desired.ends_at == start + timedelta(
            days=command.line.days or 0
        )


@given(SETTLEMENTS)
def test_limits_do_not_depend_on_the_order_of_deciding(commands: list[Settle]) -> None:
    instants = [command.settled_at for command in commands]
    assume(len(set(instants)) == len(instants))
    newest = max(commands, key=lambda command: command.settled_at)

    assert desired(*commands).traffic_bytes == newest.line.traffic_bytes
    assert after(*commands).paid_at == newest.settled_at


class EntitlementMachine(RuleBasedStateMachine):
    """Whatever order settlements and observations come in."""

    def __init__(self) -> None:
        super().__init__()
        self.entitlement = Entitlement()
        self.events: list[EntitlementEvent] = []
        self.settled = 0

    def _record(self, command: Settle | Observe) -> None:
        for event in decide(self.entitlement, command):
            self.events.append(event)
            self.entitlement = evolve(self.entitlement, event)

    @rule(at=st.integers(0, 400).map(day), days=st.integers(1, 36_500))
    def settle(self, at: datetime, days: int) -> None:
        self._record(settle(at, days=days))
        self.settled += 1

    @rule(user=st.integers(1, 3), status=st.sampled_from(["ACTIVE", "EXPIRED"]))
    def observe(self, user: int, status: str) -> None:
        if self.entitlement.stage is Stage.LIVE:
            seen = msgspec.structs.replace(SHOWN, panel_user_id=user, status=status)
            self._record(Observe(seen))
            assert self.entitlement.observed == seen

    @invariant()
    def every_settlement_is_one_desired_version(self) -> None:
        versions = [
            event.desired_version
            for event in self.events
            if isinstance(event, DesiredChanged)
        ]
        assert versions == list(range(1, self.settled + 1))
        assert self.entitlement.desired_version == self.settled

    @invariant()
    def it_is_granted_once(self) -> None:
        granted = sum(isinstance(event, Granted) for event in self.events)
        assert granted == min(self.settled, 1)

    @invariant()
    def no_observation_repeats_the_one_before(self) -> None:
        seen = [it.observed for it in self.events if isinstance(it, Seen)]
        assert all(first != second for first, second in pairwise(seen))

    @invariant()
    def the_pushed_expiry_has_a_four_digit_year(self) -> None:
        if self.entitlement.desired is not None:
            assert self.entitlement.desired.remote_expire_at <= LAST_INSTANT


TestEntitlementMachine = EntitlementMachine.TestCase
