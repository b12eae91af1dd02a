"""`create` against a panel in every state that it can be met in."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from application.ports import (
    Confirmed,
    Halted,
    Misconfigured,
    Rejected,
    Unavailable,
)
from domain.entitlement.state import Desired, truncated_to_ms
from infrastructure.simulators.panel.faults import FaultRule
from tests.providers.stage import (
    DESIRED,
    LEGACY,
    OTHER_SQUAD,
    SQUAD,
    UNKNOWN_SQUAD,
    USERNAME,
    ClosingGuard,
    Stage,
    shown,
)

FIND = f"GET /api/users/by-username/{USERNAME}"
FIND_LEGACY = f"GET /api/users/by-username/{LEGACY}"
CREATE = "POST /api/users"
UPDATE = "PATCH /api/users"


def desired(**changes: object) -> Desired:
    return msgspec.structs.replace(DESIRED, **changes)


@contextmanager
def in_a_thread[T](work: Callable[[], T]) -> Iterator[Future[T]]:
    with ThreadPoolExecutor(max_workers=1) as threads:
        yield threads.submit(work)


def test_a_user_that_nobody_has_is_created(stage: Stage) -> None:
    answer = stage.create(desired(traffic_bytes=5000, squad_ids=(SQUAD,)))

    assert stage.calls() == [FIND, CREATE]
    user = stage.user()
    assert isinstance(answer, Confirmed)
    assert answer.observed.panel_user_id == user.id
    assert answer.observed.status == "ACTIVE"
    assert answer.observed.expire_at == truncated_to_ms(DESIRED.remote_expire_at)
    assert answer.observed.squads == 1
    assert user.expire_at == shown(DESIRED.remote_expire_at)
    assert user.traffic_limit_bytes == 5000
    assert user.squads == (SQUAD,)


def test_unlimited_is_said_as_zero_so_that_the_fallback_limit_never_applies(
    stage: Stage,
) -> None:
    stage.create()

    user = stage.user()
    assert user.traffic_limit_bytes == 0
    assert user.hwid_device_limit == 0


def test_a_user_of_our_name_is_adopted(stage: Stage) -> None:
    user_id = stage.born()

    answer = stage.create(desired(device_limit=3))

    assert stage.calls() == [FIND, UPDATE]
    assert isinstance(answer, Confirmed)
    assert answer.observed.panel_user_id == user_id
    assert stage.user().hwid_device_limit == 3


def test_a_user_of_the_earlier_product_is_adopted_under_its_name(stage: Stage) -> None:
    user_id = stage.born(LEGACY)

    answer = stage.create(legacy=LEGACY)

    assert stage.calls() == [FIND, FIND_LEGACY, UPDATE]
    assert isinstance(answer, Confirmed)
    assert answer.observed.panel_user_id == user_id
    assert stage.user().username == LEGACY


def test_a_user_that_is_known_is_updated_at_once(stage: Stage) -> None:
    user_id = stage.born()

    answer = stage.create(panel_user_id=user_id)

    assert stage.calls() == [UPDATE]
    assert isinstance(answer, Confirmed)


def test_a_known_user_that_was_deleted_is_created_again(stage: Stage) -> None:
    answer = stage.create(panel_user_id=4711)

    assert stage.calls() == [UPDATE, FIND, CREATE]
    assert isinstance(answer, Confirmed)


def test_a_known_id_that_is_somebody_else_now_waits_for_a_person(stage: Stage) -> None:
    user_id = stage.born("somebody_else")

    answer = stage.create(panel_user_id=user_id)

    assert isinstance(answer, Misconfigured)
    assert answer.cause == "panel_configuration"


def test_squads_are_cleared_when_none_is_desired(stage: Stage) -> None:
    stage.born(activeInternalSquads=[SQUAD, OTHER_SQUAD])

    stage.create()

    assert stage.user().squads == ()


def test_a_squad_that_is_named_twice_is_sent_once(stage: Stage) -> None:
    answer = stage.create(desired(squad_ids=(SQUAD, SQUAD.upper())))

    assert isinstance(answer, Confirmed)
    assert stage.user().squads == (SQUAD,)


@pytest.mark.parametrize("exists", [False, True])
def test_an_unknown_squad_fails_for_good_after_a_look(
    stage: Stage,
    exists: bool,  # noqa: FBT001 - a parameter of pytest
) -> None:
    user_id = stage.born() if exists else None

    answer = stage.create(
        desired(squad_ids=(SQUAD, UNKNOWN_SQUAD)), panel_user_id=user_id
    )

    assert stage.calls()[-1] == "GET /api/internal-squads"
    assert isinstance(answer, Rejected)
    assert answer.code == "unknown_squads"
    assert UNKNOWN_SQUAD in answer.detail
    assert SQUAD not in answer.detail


def test_a_500_with_known_squads_is_transient(stage: Stage) -> None:
    stage.panel.faults.set(FaultRule("database_error", methods=("POST",), times=1))

    answer = stage.create(desired(squad_ids=(SQUAD,)))

    assert stage.calls() == [FIND, CREATE, "GET /api/internal-squads"]
    assert not isinstance(answer, Rejected | Confirmed)
    assert isinstance(stage.create(desired(squad_ids=(SQUAD,))), Confirmed)


def test_a_name_that_was_taken_meanwhile_is_adopted(stage: Stage) -> None:
    hold = stage.panel.hold("POST", "/api/users", when="before")

    with in_a_thread(stage.create) as running:
        hold.wait_arrived()
        stage.born()
        hold.release()
        answer = running.result(timeout=10)

    assert stage.calls() == [FIND, CREATE, FIND, UPDATE]
    assert isinstance(answer, Confirmed)
    assert stage.user().username == USERNAME


def test_traffic_of_an_existing_user_is_reset_when_asked_for(stage: Stage) -> None:
    user_id = stage.born(trafficLimitBytes=100)
    stage.panel.use_traffic(user_id, 70)

    answer = stage.create(desired(traffic_bytes=100, reset_traffic=True))

    reset = f"POST /api/users/{user_id}/actions/reset-traffic"
    assert stage.calls() == [FIND, UPDATE, reset, f"GET /api/users/{user_id}"]
    assert isinstance(answer, Confirmed)


def test_a_new_user_has_no_traffic_to_reset(stage: Stage) -> None:
    stage.create(desired(reset_traffic=True))

    assert stage.calls() == [FIND, CREATE]


def test_a_disabled_user_is_enabled_and_read_again(stage: Stage) -> None:
    user_id = stage.born(status="DISABLED")

    answer = stage.create()

    enable = f"POST /api/users/{user_id}/actions/enable"
    assert stage.calls() == [FIND, UPDATE, enable, f"GET /api/users/{user_id}"]
    assert isinstance(answer, Confirmed)
    assert answer.observed.status == "ACTIVE"


def test_a_user_whom_somebody_enabled_first_counts_as_enabled(stage: Stage) -> None:
    user_id = stage.born(status="DISABLED")
    enable = f"/api/users/{user_id}/actions/enable"
    hold = stage.panel.hold("POST", enable, when="before")

    with in_a_thread(stage.create) as running:
        hold.wait_arrived()
        stage.call("POST", enable)
        hold.release()
        answer = running.result(timeout=10)

    assert stage.book()[-2].error_code == "A030"
    assert isinstance(answer, Confirmed)


def test_a_user_whom_somebody_disabled_meanwhile_is_no_success(stage: Stage) -> None:
    user_id = stage.born(status="DISABLED")
    hold = stage.panel.hold("GET", f"/api/users/{user_id}", when="before")

    with in_a_thread(stage.create) as running:
        hold.wait_arrived()
        stage.call("POST", f"/api/users/{user_id}/actions/disable")
        hold.release()
        answer = running.result(timeout=10)

    assert isinstance(answer, Unavailable)
    assert answer.code == "remnawave_mismatch"
    assert "status" in answer.detail


def test_limited_and_expired_are_observed_as_they_are(stage: Stage) -> None:
    stage.born(status="LIMITED", trafficLimitBytes=100)

    answer = stage.create(desired(traffic_bytes=100))

    assert isinstance(answer, Confirmed)
    assert answer.observed.status == "LIMITED"


def test_an_expiry_that_is_past_is_left_out_of_an_update(stage: Stage) -> None:
    stage.born()

    answer = stage.create(desired(ends_at=datetime.now(UTC) - timedelta(days=1)))

    assert stage.calls() == [FIND, UPDATE]
    assert "expireAt" not in stage.book()[-1].body
    assert isinstance(answer, Confirmed)


def test_the_panels_clock_has_the_last_word_on_what_is_past(stage: Stage) -> None:
    """As long as it is past by no more than clocks may differ."""
    stage.born()

    answer = stage.create(
        desired(ends_at=datetime.now(UTC) - timedelta(hours=1, minutes=5))
    )

    assert stage.calls() == [FIND, UPDATE, UPDATE]
    refused, written = stage.book()[-2:]
    assert (refused.status, refused.applied) == (400, False)
    assert "expireAt" not in written.body
    assert isinstance(answer, Confirmed)


def test_a_new_user_may_have_an_expiry_in_the_past(stage: Stage) -> None:
    ended = datetime.now(UTC) - timedelta(days=1)

    answer = stage.create(desired(ends_at=ended, grace_seconds=0))

    assert stage.calls() == [FIND, CREATE]
    assert isinstance(answer, Confirmed)
    assert stage.user().expire_at == shown(ended)


@pytest.mark.parametrize("requests", [0, 1, 2])
def test_no_request_begins_once_the_guard_has_said_no(
    stage: Stage, requests: int
) -> None:
    """The guard is asked before every request, and before its first byte."""
    stage.born(status="DISABLED")

    answer = stage.create(guard=ClosingGuard(2 * requests))

    assert isinstance(answer, Halted)
    assert answer.requests == requests
    assert len(stage.book()) == requests


def test_the_guards_last_word_comes_before_the_first_byte(stage: Stage) -> None:
    answer = stage.create(guard=ClosingGuard(1))

    assert isinstance(answer, Halted)
    assert answer.requests == 0
    assert stage.book() == []


def test_the_longest_path_of_a_user_that_exists_fits_into_the_bound(
    stage: Stage,
) -> None:
    stage.born(LEGACY, status="DISABLED")
    ended = datetime.now(UTC) - timedelta(hours=1, minutes=5)

    answer = stage.create(
        desired(ends_at=ended, reset_traffic=True), panel_user_id=99, legacy=LEGACY
    )

    assert len(stage.calls()) == 8
    assert isinstance(answer, Confirmed)
    stage.assert_no_write_was_applied_twice()


def test_a_fault_of_the_adapter_itself_never_reaches_the_handler(stage: Stage) -> None:
    without_zone = desired(ends_at=datetime.max)  # noqa: DTZ901 - the fault

    answer = stage.create(without_zone)

    assert getattr(answer, "code", None) == "adapter_error"
    assert stage.book() == []
