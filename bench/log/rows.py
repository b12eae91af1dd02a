"""What is appended: births of streams, the same facts on every side.

remark  one event without a head, nothing beside it: what a stock recorder writes
job     one event and the head of a job, with its indexes
"""

from datetime import UTC, datetime
from typing import Final

import msgspec

from application.unit import Group
from domain.event import Actor, Meta
from domain.jobs import aggregate as jobs
from domain.jobs.aggregate import Job
from domain.operators.events import ActionRefused
from domain.stream import Change, Ref, State, StreamKind
from infrastructure.ids import new_id

_META: Final = Meta(
    actor=Actor(type="system", id="bench"),
    correlation_id="bench",
    commit_id=new_id(),
)
_REMARK: Final = ActionRefused(action="retry", target="bench", code="not_found")
_AGO: Final = datetime(2026, 1, 1, tzinfo=UTC)

TENANT: Final = "default"
META: Final = msgspec.json.encode(_META)
REMARK_DATA: Final = msgspec.json.encode(_REMARK)


def remark() -> Group:
    """Return a group that gives birth to a stream without a head."""
    change = Change(
        ref=Ref(StreamKind.REMARK, new_id()),
        tenant_id=TENANT,
        expected=0,
        events=(_REMARK,),
        state=State(version=1),
    )
    return _birth(change)


def job() -> Group:
    """Return a group that gives birth to a job."""
    events = jobs.decide(Job(), jobs.Enqueue(kind="noop", args={"n": 1}, run_at=_AGO))
    change = Change(
        ref=Ref(StreamKind.JOB, new_id()),
        tenant_id=TENANT,
        expected=0,
        events=events,
        state=jobs.fold(events, Job()),
    )
    return _birth(change)


def _birth(change: Change) -> Group:
    return Group(refs=(change.ref,), decide=lambda _locked, _now: (change,), meta=_META)
