"""Groups of job streams for the batch store: born, claimed, ended."""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from application.unit import Group, Head, Result, Written
from domain.event import Actor, Meta
from domain.jobs.aggregate import Job, fold
from domain.jobs.events import (
    Claimed,
    Discarded,
    Enqueued,
    JobEvent,
    Owner,
    Snoozed,
    Succeeded,
)
from domain.stream import Change, Ref, StreamKind
from infrastructure.ids import new_id

META = Meta(actor=Actor("system", "test"), correlation_id="test")
DUE = datetime(2026, 1, 1, tzinfo=UTC)
BOOT = UUID(int=7)

BIRTH = Enqueued(
    kind="test",
    queue="default",
    priority=1,
    args={"n": 1},
    unique_key=None,
    serial_key=None,
    serial_order=0,
    run_at=DUE,
    max_attempts=None,
    deadline=None,
)
CLAIM = Claimed(
    attempt=1, owner=Owner(host="here", pid=1, boot=BOOT), token=2, lease_seconds=60
)
SNOOZE = Snoozed(attempt=0, token=2, until=DUE, cause="not_yet")
SUCCESS = Succeeded(attempt=1, token=2, result=None)
DEATH = Discarded(
    attempt=1, token=2, code="permanent", error_code=None, error="it never works"
)


def job_refs(count: int) -> list[Ref]:
    return [Ref(StreamKind.JOB, new_id()) for _ in range(count)]


def births(refs: Sequence[Ref]) -> Group:
    """Return one group that gives birth to jobs."""
    changes = tuple(
        Change(
            ref=ref,
            tenant_id="default",
            expected=0,
            events=(BIRTH,),
            state=fold([BIRTH]),
        )
        for ref in refs
    )
    return Group(tuple(refs), lambda _locked, _now: changes, META)


def appending(refs: Sequence[Ref], *events: JobEvent) -> Group:
    """Return one group that appends the same events to each of some jobs."""

    def changed(ref: Ref, head: Head) -> Change:
        assert isinstance(head.state, Job)
        return Change(
            ref=ref,
            tenant_id=head.tenant_id,
            expected=head.state.version,
            events=events,
            state=fold(events, head.state),
        )

    return Group(
        tuple(refs),
        lambda locked, _now: tuple(changed(ref, locked[ref]) for ref in refs),
        META,
    )


def written(results: Sequence[Result]) -> None:
    """Fail unless every group was written."""
    assert [type(result) for result in results] == [Written] * len(results)
