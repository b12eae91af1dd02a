"""Whatever goes wrong on the way, no write is repeated blindly, and the next attempt
ends with one user in its desired state."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from application.ports import (
    Confirmed,
    LookAnswer,
    Misconfigured,
    PanelAnswer,
    Unavailable,
    Unknown,
)
from infrastructure.simulators.panel.faults import FAULT_NAMES, FaultRule, Rotation
from tests.providers.stage import DESIRED, OPERATIONS, PUSHING, Stage, shown

LIMIT_SECONDS = 0.6
"""Of one request, so that a panel that hangs costs a test no longer."""


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with Stage(tmp_path, limit_seconds=LIMIT_SECONDS) as stage:
        yield stage


UNKNOWN = (Unknown, "remnawave_unavailable")
UNAVAILABLE = (Unavailable, "remnawave_unavailable")
CREDENTIALS = (Misconfigured, "panel_credentials")
CONFIGURATION = (Misconfigured, "panel_configuration")

ON_A_WRITE: dict[str, tuple[type, str]] = {
    "hang_before": UNKNOWN,
    "hang_after": UNKNOWN,
    "reset_before": UNKNOWN,
    "reset_after": UNKNOWN,
    "close_before": UNKNOWN,
    "close_after": UNKNOWN,
    "error_before": (Unknown, "remnawave_http_502"),
    "error_after": (Unknown, "remnawave_http_502"),
    "rate_limited": (Unavailable, "remnawave_http_429"),
    "rate_limited_retry_after": (Unavailable, "remnawave_http_429"),
    "unauthorized": CREDENTIALS,
    "forbidden": CREDENTIALS,
    "not_json": CONFIGURATION,
    "truncated_json": CONFIGURATION,
    "cut_body": UNKNOWN,
    "big_body": UNKNOWN,
    "redirect": CONFIGURATION,
    "database_error": (Unknown, "remnawave_http_500"),
}
APPLIED = {"hang_after", "reset_after", "close_after", "error_after"} | {
    "truncated_json",
    "cut_body",
    "big_body",
}


def kind_and_code(answer: PanelAnswer | LookAnswer) -> tuple[type, str]:
    match answer:
        case Misconfigured():
            return Misconfigured, answer.cause
        case Unavailable() | Unknown():
            return type(answer), answer.code
        case _:
            return type(answer), ""


def test_the_table_knows_every_fault() -> None:
    assert set(ON_A_WRITE) == set(FAULT_NAMES) - {"latency"}


@pytest.mark.parametrize("fault", ON_A_WRITE)
@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_a_write_that_goes_wrong_is_classified_and_done_by_the_next_attempt(
    stage: Stage, method: str, fault: str
) -> None:
    """I2: an answer that is lost never makes a second user."""
    if method == "PATCH":
        stage.born()
    stage.panel.faults.set(FaultRule(fault, methods=(method,), times=1))

    first = stage.create()
    second = stage.create()

    assert kind_and_code(first) == ON_A_WRITE[fault]
    assert len(stage.calls(1)) == 2
    spoiled = stage.book()[1]
    assert spoiled.request_id == "op.1.2"
    assert spoiled.applied == (fault in APPLIED)
    assert isinstance(second, Confirmed)
    assert stage.user().expire_at == shown(DESIRED.remote_expire_at)
    stage.assert_no_write_was_applied_twice()


IN_EVERY_OPERATION = (
    "reset_before",
    "reset_after",
    "close_before",
    "close_after",
    "error_before",
    "error_after",
    "truncated_json",
    "unauthorized",
    "forbidden",
    "database_error",
)


@pytest.mark.parametrize("fault", IN_EVERY_OPERATION)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_write_of_any_operation_that_goes_wrong_is_done_by_the_next_attempt(
    stage: Stage, operation: str, fault: str
) -> None:
    """Repeated absolute state: neither a lost answer nor A029 and A030 end it."""
    is_off = operation in {"disable", "pause"}
    user_id = stage.born(status="ACTIVE" if is_off else "DISABLED")
    writes = FaultRule(fault, methods=("POST", "PATCH"), times=1)
    stage.panel.faults.set(writes)

    first = stage.carry_out(operation, is_off=is_off, panel_user_id=user_id)
    second = stage.carry_out(operation, is_off=is_off, panel_user_id=user_id)

    assert kind_and_code(first) == ON_A_WRITE[fault]
    spoiled = stage.book()[0 if operation in PUSHING else 1]
    assert spoiled.fault == fault
    assert spoiled.applied == (fault in APPLIED)
    assert isinstance(second, Confirmed)
    assert stage.user().status == ("DISABLED" if is_off else "ACTIVE")
    if operation in PUSHING:
        assert stage.user().expire_at == shown(DESIRED.remote_expire_at)
    stage.assert_no_write_was_applied_twice()


@pytest.mark.parametrize("fault", ON_A_WRITE)
@pytest.mark.parametrize("operation", ["read", "disable", "reset_traffic"])
def test_what_looks_first_does_nothing_when_the_look_goes_wrong(
    stage: Stage, operation: str, fault: str
) -> None:
    user_id = stage.born()
    before = stage.user()
    stage.panel.faults.set(FaultRule(fault, times=1))

    answer = (
        stage.read(panel_user_id=user_id)
        if operation == "read"
        else stage.carry_out(operation, is_off=True, panel_user_id=user_id)
    )

    kind, code = ON_A_WRITE[fault]
    expected = (Unavailable if kind is Unknown else kind, code)
    assert kind_and_code(answer) == expected
    assert len(stage.book()) == 1
    assert stage.user() == before


@pytest.mark.parametrize("fault", ON_A_WRITE)
def test_a_read_that_goes_wrong_leaves_everything_as_it_was(
    stage: Stage, fault: str
) -> None:
    stage.panel.faults.set(FaultRule(fault, methods=("GET",), times=1))

    answer = stage.create()

    kind, code = ON_A_WRITE[fault]
    expected = (Unavailable if kind is Unknown else kind, code)
    assert kind_and_code(answer) == expected
    assert len(stage.book()) == 1
    assert stage.panel.users() == []


@pytest.mark.parametrize("fault", ["reset_after", "error_after", "truncated_json"])
def test_an_action_of_unknown_end_is_not_repeated_in_its_attempt(
    stage: Stage, fault: str
) -> None:
    user_id = stage.born(status="DISABLED")
    action = f"/api/users/{user_id}/actions/enable"
    stage.panel.faults.set(FaultRule(fault, path_prefix=action, times=1))

    first = stage.create()
    second = stage.create(panel_user_id=user_id)

    assert not isinstance(first, Confirmed)
    assert isinstance(second, Confirmed)
    assert second.observed.status == "ACTIVE"
    # The second attempt saw from its PATCH that nothing was left to enable.
    assert stage.calls(2) == ["PATCH /api/users"]


def test_what_a_panel_asks_for_by_retry_after_is_handed_on(stage: Stage) -> None:
    rule = FaultRule("rate_limited_retry_after", retry_after=17, times=1)
    stage.panel.faults.set(rule)

    answer = stage.create()

    assert isinstance(answer, Unavailable)
    assert answer.retry_after_seconds == 17


def test_latency_alone_changes_nothing(stage: Stage) -> None:
    stage.panel.faults.set(FaultRule("latency", ms=30))

    assert isinstance(stage.create(), Confirmed)


def test_a_panel_that_closes_with_0_bytes_earns_a_hint(stage: Stage) -> None:
    stage.panel.faults.set(FaultRule("close_before", times=1))

    answer = stage.create()

    assert isinstance(answer, Unavailable)
    assert "X-Forwarded-Proto: https" in answer.detail


def test_no_answer_brings_the_panels_secrets_along(stage: Stage) -> None:
    """I12: passwords and links of the user stay in the panel's answer."""
    shown_user = stage.call("GET", f"/api/users/{stage.born()}")

    answer = stage.create()

    assert isinstance(answer, Confirmed)
    for name in ("trojanPassword", "vlessUuid", "ssPassword", "subscriptionUrl"):
        assert str(shown_user[name]) not in repr(answer)


@pytest.mark.parametrize("seed", range(3))
def test_under_every_fault_in_turn_the_book_stays_right(
    stage: Stage, seed: int
) -> None:
    names = tuple(name for name in FAULT_NAMES if not name.startswith("hang"))
    stage.panel.faults.set(rotation=Rotation(rate=0.4, names=names, seed=seed))

    confirmed = [isinstance(stage.create(), Confirmed) for _ in range(60)]

    assert any(confirmed)
    assert not all(confirmed)
    assert stage.user().expire_at == shown(DESIRED.remote_expire_at)
    for attempt in range(1, 61):
        stage.calls(attempt)  # numbered without a gap
    stage.assert_no_write_was_applied_twice()
