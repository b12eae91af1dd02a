"""Groups that tests commit: births of jobs and operations, and steps of either."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg

from application.unit import Decide, Group, Locked, Refused, Result, Written
from domain.entitlement.state import Desired
from domain.event import Actor, Event, Instant, JsonObject, Meta
from domain.fulfillment import aggregate as operations
from domain.fulfillment.commands import Request
from domain.jobs import aggregate as jobs
from domain.jobs.aggregate import Claim, Job, JobCommand
from domain.jobs.events import Owner
from domain.stream import Change, Ref, StreamKind
from infrastructure.ids import new_id
from tests.any_stream import evolve, unborn

META = Meta(actor=Actor("system", "test"), correlation_id="test")
OWNER = Owner(host="host", pid=1, boot=UUID(int=1))
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
CLAIM = Claim(owner=OWNER, lease_seconds=60)


def birth(ref: Ref, *events: Event, tenant_id: str = "default") -> Change:
    state = unborn(ref.kind)
    for event in events:
        state = evolve(state, event)
    return Change(ref=ref, tenant_id=tenant_id, expected=0, events=events, state=state)


def job_birth(args: JsonObject | None = None, **more: Any) -> Change:  # noqa: ANN401 - members of Enqueue
    members: dict[str, Any] = {"kind": "noop", "args": args or {}, "run_at": LONG_AGO}
    asked = jobs.Enqueue(**members | more)
    ref = Ref(StreamKind.JOB, new_id())
    return birth(ref, *jobs.decide(Job(), asked))


def operation_birth() -> Change:
    ref = Ref(StreamKind.OPERATION, new_id())
    asked = Request(
        entitlement=new_id(),
        order=None,
        operation="create",
        desired_version=1,
        desired=Desired(
            ends_at=LONG_AGO,
            grace_seconds=0,
            traffic_bytes=None,
            device_limit=None,
            squad_ids=(),
            reset_traffic=False,
        ),
        effective_at=LONG_AGO,
        idempotency_key=str(ref.id),
    )
    return birth(ref, *operations.decide(operations.FulfillmentOperation(), asked))


def births(*changes: Change, meta: Meta = META) -> Group:
    """Return a group that only gives birth."""
    return Group(
        refs=tuple(change.ref for change in changes),
        decide=lambda _locked, _now: changes,
        meta=meta,
    )


def step(
    *refs: Ref, make: Callable[[Job], tuple[Event, ...]], meta: Meta = META
) -> Group:
    """Return a group that takes one step in each of some jobs."""

    def decide(locked: Locked, _now: Instant) -> tuple[Change, ...] | Refused:
        changes: list[Change] = []
        for ref in refs:
            head = locked.get(ref)
            if head is None or not isinstance(head.state, Job):
                return Refused("missing")
            state: Any = head.state
            events = make(state)
            for event in events:
                state = evolve(state, event)
            changes.append(
                Change(
                    ref=ref,
                    tenant_id=head.tenant_id,
                    expected=head.state.version,
                    events=events,
                    state=state,
                )
            )
        return tuple(changes)

    return Group(refs=refs, decide=decide, meta=meta)


def commanding(command: JobCommand) -> Callable[[Job], tuple[Event, ...]]:
    return lambda job: jobs.decide(job, command)


def saying(*refs: Ref, decide: Decide) -> Group:
    return Group(refs=refs, decide=decide, meta=META)


def written(result: Result) -> Written:
    assert isinstance(result, Written), result
    return result


def tags(connection: psycopg.Connection[Any], *refs: Ref) -> list[str]:
    """Return the tags of all events of some streams, by stream and version."""
    rows = connection.execute(
        """
        SELECT type FROM counterfoil.events
         WHERE stream_id = ANY(%s)
         ORDER BY stream_id, version
        """,
        ([ref.id for ref in refs],),
    )
    return [row[0] for row in rows]
