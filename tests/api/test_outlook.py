"""What happens next, in words: one sentence for each state that a job can be in."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest

from api.cli.outlook import outlook
from api.cli.times import at, distance
from projections.job_line import JobLine
from projections.why import Story
from projections.why.heads import OperationHead, OrderHead

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
JOB = UUID("01a229c8-15d6-7b9a-a414-da3f4ad17f77")
OPERATION = UUID("01a229c8-824c-73c9-8a13-aa2fe85d7552")
ORDER = UUID("01a229c8-125b-7f32-890c-c088dd007ebd")
BUDGETS = {"fulfillment": 12}

WAITING = JobLine(
    job_id=JOB,
    tenant_id="default",
    kind="fulfillment",
    queue="critical",
    priority=1,
    state="waiting",
    cause="due",
    attempt=3,
    max_attempts=None,
    parkings=0,
    run_at=NOW - timedelta(seconds=2),
    gate=None,
    gate_closed_since=None,
    deadline=None,
    code=None,
    error_code=None,
    owner_host=None,
    owner_pid=None,
    claimed_at=None,
    lease_until=None,
    cancel_requested=False,
    waits_behind=None,
    known=True,
    operation_id=str(OPERATION),
    delivery_id=None,
    correlation_id="order:1",
    died_at=None,
)
HELD: dict[str, Any] = {
    "cause": "parked",
    "run_at": None,
    "gate": "panel",
    "gate_closed_since": NOW - timedelta(hours=1),
    "error_code": "maintenance_active",
}
ORDER_HEAD = OrderHead(
    stream_id=ORDER,
    order_id="cdnow:17",
    customer_id="00004",
    slot=1,
    kind="purchase",
    state="paid",
    currency="USD",
    amount_minor=1,
    fulfilled_by=None,
)
OPERATION_HEAD = OperationHead(
    stream_id=OPERATION,
    entitlement_id=JOB,
    order_stream_id=ORDER,
    operation="create",
    state="pending",
    desired_version=1,
    effective_at=NOW,
    attempts=0,
    code=None,
    parked_cause=None,
    covered_by=None,
)
STORY = Story(
    key="x",
    kind="job",
    now=NOW,
    live_workers=1,
    events=(),
    has_earlier=False,
    orders=(),
    entitlements=(),
    operations=(),
    deliveries=(),
    jobs=(),
    windows=(),
)
replace = msgspec.structs.replace


def sentence(workers: int = 1, **job: Any) -> str:  # noqa: ANN401 - fields of a line
    line = replace(WAITING, **job)
    (told,) = outlook(replace(STORY, jobs=(line,), live_workers=workers), BUDGETS)
    return told


@pytest.mark.parametrize(
    ("job", "told"),
    [
        ({}, "due since 2026-01-01 11:59:58.000Z (2 s ago); 3 of 12 attempts spent"),
        ({"cause": "not_due", "run_at": NOW + timedelta(minutes=5)}, "(in 5 min)"),
        ({"cause": "after_failure", "error_code": "http_502"}, "after http_502"),
        (
            {"cause": "parked", "error_code": "panel_credentials"},
            "parked because panel_credentials, looks again",
        ),
        (
            HELD,
            (
                "waits for the end of maintenance, and then runs by itself; the gate "
                "panel has been closed since 2026-01-01 11:00:00.000Z; 3 of 12"
            ),
        ),
        (
            HELD | {"error_code": "breaker_open"},
            "waits for the gate panel, and then runs by itself",
        ),
        (
            HELD | {"gate_closed_since": None},
            "about to be due: the gate panel is open again; 3 of 12",
        ),
        (HELD | {"workers": 0}, "no worker is alive to run it"),
        ({"waits_behind": ORDER}, f"behind job {ORDER}"),
        ({"queue_paused_until": NOW}, "; queue critical is paused until 20"),
        ({"known": False}, "no live worker knows fulfillment"),
        ({"workers": 0}, "start `counterfoil up`"),
        ({"kind": "mine"}, "3 of ? attempts spent"),
        ({"max_attempts": 5}, "3 of 5 attempts spent"),
        (
            {
                "state": "running",
                "cause": None,
                "owner_host": "vm",
                "owner_pid": 7,
                "claimed_at": NOW,
                "lease_until": NOW + timedelta(seconds=60),
                "cancel_requested": True,
            },
            (
                "running at vm:7 since 2026-01-01 12:00:00.000Z, lease until "
                "2026-01-01 12:01:00.000Z (in 60 s); a cancel is requested"
            ),
        ),
        (
            {
                "state": "running",
                "cause": None,
                "lease_until": NOW - timedelta(seconds=3),
            },
            "its lease ended 3 s ago: it is about to be rescued",
        ),
        (
            {
                "state": "discarded",
                "cause": None,
                "code": "budget_spent",
                "error_code": "http_500",
            },
            (
                "dead because budget_spent after http_500; only a person can revive "
                f"it: counterfoil retry {JOB}"
            ),
        ),
        (
            {"state": "cancelled", "cause": None, "code": "operator"},
            "nothing: it is cancelled, and so is its operation",
        ),
        (
            {
                "state": "cancelled",
                "cause": None,
                "code": "operator",
                "operation_id": None,
            },
            f"counterfoil retry {JOB}",
        ),
    ],
)
def test_each_state_of_a_job_has_its_sentence(job: dict[str, Any], told: str) -> None:
    assert told in sentence(**job)


def test_a_dead_job_whose_operation_was_cancelled_is_not_to_be_revived() -> None:
    dead = replace(WAITING, state="discarded", cause=None, code="permanent")
    cancelled = replace(OPERATION_HEAD, state="cancelled", order_stream_id=None)

    (told,) = outlook(replace(STORY, jobs=(dead,), operations=(cancelled,)), BUDGETS)

    assert "nothing: it is cancelled" in told
    assert "retry" not in told


@pytest.mark.parametrize(
    ("operations", "told"),
    [
        ((), "order cdnow:17: what it owes is decided by its job"),
        (
            (OPERATION_HEAD,),
            "order cdnow:17: fulfilled when operation …5d7552 (pending) succeeds",
        ),
        (
            (
                replace(OPERATION_HEAD, state="cancelled", covered_by=JOB),
                replace(
                    OPERATION_HEAD,
                    stream_id=JOB,
                    order_stream_id=None,
                    state="retrying",
                ),
            ),
            "order cdnow:17: fulfilled when operation …d17f77 (retrying) succeeds",
        ),
        (
            (replace(OPERATION_HEAD, state="cancelled"),),
            "order cdnow:17: stays paid, its operation is cancelled",
        ),
    ],
)
def test_an_order_tells_what_it_waits_for(
    operations: tuple[OperationHead, ...], told: str
) -> None:
    story = replace(STORY, orders=(ORDER_HEAD,), operations=operations)

    assert outlook(story, BUDGETS) == [told]


def test_when_nothing_is_left_it_says_so() -> None:
    done = replace(ORDER_HEAD, state="fulfilled")

    assert outlook(replace(STORY, orders=(done,)), BUDGETS) == [
        "nothing: everything is done"
    ]


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (12, "in 12 s"),
        (-3, "3 s ago"),
        (119, "in 119 s"),
        (600, "in 10 min"),
        (7200, "in 2 h"),
        (-86400 * 3, "3 days ago"),
    ],
)
def test_distances_are_told_in_the_unit_that_matters(seconds: int, told: str) -> None:
    assert distance(NOW + timedelta(seconds=seconds), NOW) == told


def test_instants_are_told_in_utc_to_the_millisecond() -> None:
    assert at(NOW.replace(microsecond=5999)) == "2026-01-01 12:00:00.005Z"
