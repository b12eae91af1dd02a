"""In which ways the panel differs from what is owed, and how that is put on record."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.entitlement.aggregate import decide, evolve
from domain.entitlement.commands import Detect, Resolve
from domain.entitlement.drift import KINDS, differences
from domain.entitlement.events import DriftDetected, DriftResolved
from domain.entitlement.state import (
    Desired,
    Drift,
    Entitlement,
    Observed,
    Sight,
    Told,
)
from domain.entitlement.timeline import Standing
from domain.errors import IllegalTransitionError
from tests.domain.entitlement.test_entitlement import after, settle

NOW = datetime(2026, 8, 1, 12, tzinfo=UTC)
ENDS_AT = datetime(2026, 9, 1, 12, 0, 0, 123_456, tzinfo=UTC)
ONE = "11111111-1111-4111-8111-111111111111"
TWO = "22222222-2222-4222-8222-222222222222"
DESIRED = Desired(
    ends_at=ENDS_AT,
    grace_seconds=60,
    traffic_bytes=100,
    device_limit=3,
    squad_ids=(TWO, ONE.upper()),
)
SEEN = Observed(
    panel_user_id=7,
    status="ACTIVE",
    expire_at=datetime(2026, 9, 1, 12, 1, 0, 123_000, tzinfo=UTC),
    traffic_limit_bytes=100,
    device_limit=3,
    squads=2,
)


def sight(squads: tuple[str, ...] = (ONE, TWO), /, **members: object) -> Sight:
    return Sight(msgspec.structs.replace(SEEN, **members), squads)


def found(
    seen: Sight | None,
    *,
    standing: Standing = Standing.ACTIVE,
    desired: Desired = DESIRED,
    now: datetime = NOW,
) -> list[Drift]:
    return list(differences(desired, standing, seen, now))


def test_a_panel_that_shows_what_is_owed_does_not_differ() -> None:
    """To the millisecond, squads as sets, upper and lower case alike."""
    assert found(sight()) == []


def test_a_user_whom_nobody_has_is_the_only_difference() -> None:
    assert found(None) == [Drift("missing_remote", {"exists": True}, {"exists": False})]


ONES: list[tuple[Sight, str, Told, Told]] = [
    (
        sight(expire_at=ENDS_AT),
        "expiry",
        {"value": "2026-09-01T12:01:00.123Z"},
        {"value": "2026-09-01T12:00:00.123Z"},
    ),
    (sight(traffic_limit_bytes=0), "traffic", {"value": 100}, {"value": 0}),
    (sight(device_limit=None), "device_limit", {"value": 3}, {"value": None}),
    (sight(device_limit=0), "device_limit", {"value": 3}, {"value": 0}),
    (sight((ONE,)), "squads", (ONE, TWO), (ONE,)),
    (sight(status="DISABLED"), "status", "active", "disabled"),
    (sight(status="EXPIRED"), "status", "active", "expired"),
    (sight(status="ON_FIRE"), "status", "active", "failed"),
]


@pytest.mark.parametrize(("seen", "kind", "expected", "observed"), ONES)
def test_each_kind_says_both_sides(
    seen: Sight, kind: str, expected: Told, observed: Told
) -> None:
    assert found(seen) == [Drift(kind, expected, observed)]


def test_all_of_them_can_be_found_at_once() -> None:
    other = sight(
        (),
        expire_at=NOW,
        traffic_limit_bytes=1,
        device_limit=None,
        status="DISABLED",
    )

    assert [drift.kind for drift in found(other)] == [
        kind for kind in KINDS if kind != "missing_remote"
    ]


def test_unlimited_is_zero_on_the_panel_and_null_is_its_own_fallback() -> None:
    unlimited = msgspec.structs.replace(DESIRED, traffic_bytes=None, device_limit=None)
    shown: dict[str, object] = {"traffic_limit_bytes": 0, "device_limit": 0}

    assert found(sight(**shown), desired=unlimited) == []
    assert [
        (drift.kind, drift.expected, drift.observed)
        for drift in found(sight(**shown | {"device_limit": None}), desired=unlimited)
    ] == [("device_limit", {"value": 0}, {"value": None})]


STANDINGS = [
    (Standing.ACTIVE, {"ACTIVE", "LIMITED"}),
    (Standing.PAUSED, {"DISABLED", "EXPIRED"}),
    (Standing.DISABLED, {"DISABLED", "EXPIRED"}),
]


@pytest.mark.parametrize(("standing", "fine"), STANDINGS)
def test_a_standing_has_its_statuses(standing: Standing, fine: set[str]) -> None:
    for status in ("ACTIVE", "LIMITED", "DISABLED", "EXPIRED", "disabled", "NEW"):
        drifts = found(sight(status=status), standing=standing)

        assert (drifts == []) == (status.upper() in fine)
        assert all(drift.expected == standing.value for drift in drifts)


@pytest.mark.parametrize("ended", [True, False])
def test_expired_is_right_once_access_has_ended(
    ended: bool,  # noqa: FBT001 - a parameter of pytest
) -> None:
    end = DESIRED.remote_expire_at
    now = end if ended else end - timedelta(seconds=1)

    assert (found(sight(status="EXPIRED"), now=now) == []) == ended


def drifted(*drifts: Drift) -> Entitlement:
    return further(after(settle()), Detect(drifts))


def further(entitlement: Entitlement, command: Detect | Resolve) -> Entitlement:
    for event in decide(entitlement, command):
        entitlement = evolve(entitlement, event)
    return entitlement


TRAFFIC = Drift("traffic", {"value": 100}, {"value": 0})
STATUS = Drift("status", "active", "disabled")


def test_a_drift_is_opened_once() -> None:
    entitlement = drifted(TRAFFIC, STATUS)

    assert entitlement.drifts == (TRAFFIC, STATUS)
    assert decide(entitlement, Detect((STATUS, TRAFFIC))) == ()


def test_an_open_kind_is_refreshed_when_either_side_changes() -> None:
    other = Drift("traffic", {"value": 100}, {"value": 7})
    entitlement = drifted(TRAFFIC)

    (event,) = decide(entitlement, Detect((other,)))

    assert event == DriftDetected(
        kind="traffic", expected={"value": 100}, observed={"value": 7}
    )
    assert evolve(entitlement, event).drifts == (other,)


def test_what_agrees_is_resolved_and_what_differs_stays_open() -> None:
    entitlement = drifted(TRAFFIC, STATUS)

    (event,) = decide(entitlement, Resolve(("expiry", "traffic")))

    assert event == DriftResolved(kind="traffic")
    assert evolve(entitlement, event).drifts == (STATUS,)


def test_nothing_drifts_that_nobody_granted() -> None:
    for command in (Detect((TRAFFIC,)), Resolve(KINDS)):
        with pytest.raises(IllegalTransitionError):
            decide(Entitlement(), command)


DRIFTS = st.builds(
    Drift,
    st.sampled_from(KINDS),
    st.just({"value": 1}),
    st.integers(0, 2).map(lambda value: {"value": value}),
)


@given(
    st.lists(
        st.one_of(
            st.builds(Detect, st.lists(DRIFTS, max_size=3).map(tuple)),
            st.builds(Resolve, st.lists(st.sampled_from(KINDS)).map(tuple)),
        )
    )
)
def test_a_kind_is_open_once_at_most_and_the_last_word_counts(
    commands: list[Detect | Resolve],
) -> None:
    entitlement = after(settle())
    for command in commands:
        entitlement = further(entitlement, command)
        kinds = [drift.kind for drift in entitlement.drifts]
        assert len(kinds) == len(set(kinds))
        if isinstance(command, Resolve):
            assert not set(command.kinds) & set(kinds)
        else:
            assert _twice(command) or all(
                drift in entitlement.drifts for drift in command.drifts
            )


def _twice(command: Detect) -> bool:
    """Whether a command names one kind twice, which no comparison does."""
    kinds = [drift.kind for drift in command.drifts]
    return len(kinds) != len(set(kinds))


SIGHTS = st.builds(
    Sight,
    st.builds(
        Observed,
        panel_user_id=st.just(7),
        status=st.sampled_from(["ACTIVE", "LIMITED", "DISABLED", "EXPIRED", "x"]),
        expire_at=st.sampled_from([NOW, SEEN.expire_at]),
        traffic_limit_bytes=st.sampled_from([0, 100]),
        device_limit=st.sampled_from([None, 0, 3]),
        squads=st.just(0),
    ),
    st.sampled_from([(), (ONE,), (ONE, TWO), (TWO, ONE)]),
)


@given(SIGHTS, st.sampled_from(Standing))
def test_both_sides_of_a_difference_are_never_the_same(
    seen: Sight, standing: Standing
) -> None:
    drifts = found(seen, standing=standing)

    assert all(drift.expected != drift.observed for drift in drifts)
    assert len({drift.kind for drift in drifts}) == len(drifts)
