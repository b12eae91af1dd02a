"""Whoever ends or moves a job moves its delivery with it."""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from application.goods.record import follow
from domain.goods import events as facts
from domain.goods.state import FINAL, GoodsDelivery, Stage, Standing
from domain.jobs import events as jobs
from domain.jobs.events import JobEvent

AT = datetime(2026, 8, 1, tzinfo=UTC)
BOOT = UUID(int=1)

PENDING = GoodsDelivery(
    version=1,
    stage=Stage.PENDING,
    order=UUID(int=2),
    line=1,
    quantity=1,
    currency="USD",
    paid_minor=900,
)
ASKED = GoodsDelivery(
    version=2,
    stage=Stage.SUBMITTED,
    standing=Standing.ASKED,
    order=UUID(int=2),
    line=1,
    quantity=1,
    currency="USD",
    paid_minor=900,
    purchases=1,
    decision=1,
    key="k",
    token=2,
    deadline=AT,
)

FAILED = jobs.AttemptFailed(
    attempt=1, token=2, code="handler_timeout", error="e", retry_at=AT
)
PARKED = jobs.Parked(attempt=0, token=2, until=AT, cause="maintenance", parkings=1)
SNOOZED = jobs.Snoozed(attempt=0, token=2, until=AT, cause="later")
RELEASED = jobs.Released(attempt=0, token=2, until=AT, cause="shutdown")
EXPIRED = jobs.LeaseExpired(attempt=1, token=2, cause="process_gone", retry_at=AT)
DISCARDED = jobs.Discarded(
    attempt=12, token=2, code="budget_spent", error_code="lease_lost", error="e"
)
CANCELLED = jobs.Cancelled(attempt=1, code="operator")
RETRIED = jobs.Retried(run_at=AT)
SUCCEEDED = jobs.Succeeded(attempt=1, token=2, result=None)
CLAIMED = jobs.Claimed(
    attempt=1, owner=jobs.Owner("h", 1, BOOT), token=2, lease_seconds=150
)
ALL: list[JobEvent] = [
    FAILED,
    PARKED,
    SNOOZED,
    RELEASED,
    EXPIRED,
    DISCARDED,
    CANCELLED,
    RETRIED,
    SUCCEEDED,
    CLAIMED,
    jobs.CancelRequested(),
    jobs.Unparked(run_at=AT),
]


def tags(
    delivery: GoodsDelivery, event: JobEvent, *, has_called: bool = True
) -> list[str]:
    return [it.tag for it in follow(delivery, event, has_called=has_called)[1]]


@pytest.mark.parametrize("ended", [FAILED, PARKED, SNOOZED, EXPIRED])
def test_what_was_asked_for_is_unknown_after_any_end(ended: JobEvent) -> None:
    after, told = follow(ASKED, ended, has_called=True)

    (unknown,) = told
    assert isinstance(unknown, facts.PurchaseUnknown)
    assert not unknown.is_sender_gone
    assert (after.stage, after.standing) == (Stage.SUBMITTED, Standing.UNKNOWN)


def test_only_who_never_called_takes_a_submission_back() -> None:
    assert tags(ASKED, RELEASED, has_called=False) == ["goods.purchase_withdrawn"]
    assert tags(ASKED, RELEASED, has_called=True) == ["goods.purchase_unknown"]


def test_a_discarded_job_fails_what_was_never_asked_for() -> None:
    after, _ = follow(PENDING, DISCARDED, has_called=False)

    assert (after.stage, after.code) == (Stage.FAILED, "lease_lost")


@pytest.mark.parametrize("ended", [DISCARDED, CANCELLED, SUCCEEDED])
def test_what_was_asked_for_waits_for_a_person_when_its_job_ends(
    ended: JobEvent,
) -> None:
    after, told = follow(ASKED, ended, has_called=True)

    assert [it.tag for it in told] == ["goods.purchase_unknown", "goods.review_opened"]
    assert after.stage is Stage.NEEDS_REVIEW


def test_a_cancelled_job_gives_the_money_back_when_nothing_is_open() -> None:
    after, told = follow(PENDING, CANCELLED, has_called=False)

    assert [it.tag for it in told] == ["goods.cancelled", "goods.refunded"]
    assert after.refunded_minor == 900


def test_a_retried_job_revives_a_failed_delivery_only() -> None:
    failed, _ = follow(PENDING, DISCARDED, has_called=False)

    assert tags(failed, RETRIED) == ["goods.retried"]
    assert tags(PENDING, RETRIED) == []


@given(
    stage=st.sampled_from(Stage),
    standing=st.sampled_from(Standing),
    events=st.lists(st.sampled_from(ALL), max_size=3),
    has_called=st.booleans(),
    is_doubtful=st.booleans(),
)
def test_following_never_raises_and_leaves_nothing_asked_without_a_run(
    stage: Stage,
    standing: Standing,
    events: list[JobEvent],
    has_called: bool,  # noqa: FBT001 - generated
    is_doubtful: bool,  # noqa: FBT001 - generated
) -> None:
    delivery = GoodsDelivery(
        version=3,
        stage=stage,
        standing=standing,
        order=UUID(int=2),
        quantity=1,
        currency="USD",
        purchases=0 if standing is Standing.NONE else 1,
        decision=0 if standing is Standing.NONE else 1,
        is_doubtful=is_doubtful,
    )
    after = delivery
    for event in events:
        after, _ = follow(after, event, has_called=has_called)

    ends = any(it.tag not in _KEEP_RUNNING for it in events)
    if ends and after.stage is Stage.SUBMITTED:
        assert after.standing is not Standing.ASKED
    if delivery.stage in FINAL:
        assert after == delivery


_KEEP_RUNNING = frozenset(
    {"job.claimed", "job.cancel_requested", "job.unparked", "job.retried"}
)
