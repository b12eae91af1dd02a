"""Whatever state a user is in: what is confirmed is what the panel shows."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from application.ports import Access, Confirmed, PanelAnswer, Rejected, Unavailable
from domain.entitlement.state import Desired
from infrastructure.simulators.panel.book import BookedUser
from infrastructure.simulators.panel.faults import FAULT_NAMES, FaultRule
from tests.providers.stage import (
    MAKING,
    OPERATIONS,
    OTHER_SQUAD,
    PUSHING,
    SQUAD,
    UNKNOWN_SQUAD,
    OpenGuard,
    Stage,
    shown,
)

NOW = datetime(2027, 1, 15, 8, 0, 10, tzinfo=UTC)
"""Second 10, between two of the panel's passes; its clock stands still."""

NOBODYS_ID = 10**9
ATTEMPTS = 3
"""The last one meets no fault."""

numbers = count(1)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    clock = int(NOW.timestamp()) * 1000
    folder = tmp_path_factory.mktemp("panel")
    with Stage(folder, clock=lambda: clock) as stage:
        yield stage


class Before(NamedTuple):
    """A user that the panel has, and what is known of it."""

    is_legacy: bool
    is_known: bool
    members: dict[str, object]
    used_bytes: int


class Asked(NamedTuple):
    operation: str
    desired: Desired
    is_off: bool
    is_id_stale: bool
    """Whether the known id is one that nobody has any more."""


instants = st.sampled_from(
    [
        NOW - timedelta(days=400),
        NOW - timedelta(minutes=5),
        NOW + timedelta(seconds=2),
        NOW + timedelta(days=30, microseconds=123_456),
    ]
)
limits = st.sampled_from([None, 1, 5000])
squads = st.lists(st.sampled_from([SQUAD, OTHER_SQUAD, SQUAD.upper()]), max_size=3)
existing = st.builds(
    Before,
    is_legacy=st.booleans(),
    is_known=st.booleans(),
    members=st.fixed_dictionaries(
        {
            "status": st.sampled_from(["ACTIVE", "DISABLED", "EXPIRED", "LIMITED"]),
            "expireAt": instants.map(shown),
            "trafficLimitBytes": st.sampled_from([0, 1, 5000]),
            "activeInternalSquads": st.lists(
                st.sampled_from([SQUAD, OTHER_SQUAD]), unique=True
            ),
        },
        optional={"hwidDeviceLimit": st.sampled_from([0, 1, 7])},
    ),
    used_bytes=st.sampled_from([0, 6000]),
)
asked = st.builds(
    Asked,
    operation=st.sampled_from(OPERATIONS),
    desired=st.builds(
        Desired,
        ends_at=instants,
        grace_seconds=st.sampled_from([0, 3600]),
        traffic_bytes=limits,
        device_limit=limits,
        squad_ids=squads.map(tuple) | st.just((SQUAD, UNKNOWN_SQUAD)),
        reset_traffic=st.booleans(),
    ),
    is_off=st.booleans(),
    is_id_stale=st.booleans(),
)
faults = st.none() | st.builds(
    FaultRule,
    st.sampled_from([name for name in FAULT_NAMES if not name.startswith("hang")]),
    every=st.integers(1, 4),
    times=st.just(1),
    ms=st.just(1.0),
)


@given(before=st.none() | existing, asked=asked, fault=faults)
def test_after_a_confirmation_the_panel_shows_the_access_that_was_asked_for(
    stage: Stage, before: Before | None, asked: Asked, fault: FaultRule | None
) -> None:
    access = prepared(stage, before, asked)
    request_id = f"op.{next(stage.attempts)}"
    stage.panel.faults.set(*([fault] if fault else []))

    for attempt in range(ATTEMPTS):
        if attempt == ATTEMPTS - 1:
            stage.panel.faults.clear()
        answer = stage.adapter.carry_out(
            asked.operation, access, f"{request_id}-{attempt}", OpenGuard()
        )
        users = users_of(stage, access)
        assert len(users) <= 1
        if isinstance(answer, Confirmed):
            assert_shows(users[0], asked, answer)
        elif attempt == ATTEMPTS - 1:
            assert_is_deserved(before, asked, answer)


def prepared(stage: Stage, before: Before | None, asked: Asked) -> Access:
    number = next(numbers)
    username, legacy = f"counterfoil_{number:016x}", f"omniflow_{number:016x}"
    known = NOBODYS_ID if asked.is_id_stale else None
    if before is not None:
        user_id = stage.born(legacy if before.is_legacy else username, **before.members)
        stage.panel.use_traffic(user_id, before.used_bytes)
        known = user_id if before.is_known else known
    return Access(
        username=username,
        legacy_username=legacy,
        panel_user_id=known,
        desired=asked.desired,
        at=NOW,
        is_off=asked.is_off,
    )


def users_of(stage: Stage, access: Access) -> list[BookedUser]:
    names = {access.username, access.legacy_username}
    return [user for user in stage.panel.users() if user.username in names]


def assert_shows(user: BookedUser, asked: Asked, answer: Confirmed) -> None:
    desired, observed = asked.desired, answer.observed
    assert (user.status == "DISABLED") == asked.is_off
    assert (user.id, user.status) == (observed.panel_user_id, observed.status)
    assert user.expire_at == shown(observed.expire_at)
    assert user.traffic_limit_bytes == observed.traffic_limit_bytes
    assert user.hwid_device_limit == observed.device_limit
    assert tuple(sorted(user.squads)) == answer.squad_ids
    if asked.operation not in PUSHING:
        return
    assert user.traffic_limit_bytes == (desired.traffic_bytes or 0)
    assert user.hwid_device_limit == (desired.device_limit or 0)
    assert set(user.squads) == {squad.lower() for squad in desired.squad_ids}
    if desired.remote_expire_at > NOW:
        assert user.expire_at == shown(desired.remote_expire_at)


def assert_is_deserved(
    before: Before | None, asked: Asked, answer: PanelAnswer
) -> None:
    match answer:
        case Rejected(code="unknown_squads"):
            assert asked.operation in PUSHING
            assert UNKNOWN_SQUAD in asked.desired.squad_ids
        case Unavailable(code="remote_user_not_found"):
            assert asked.operation not in MAKING
            assert before is None
        case _:
            pytest.fail(f"{answer} without a fault")
