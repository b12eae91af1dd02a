"""Jobs and operations brought to every state, through the product's own parts."""

import socket
import time
from collections.abc import Iterator
from typing import Any, cast
from uuid import UUID

import psycopg
import pytest

from application.fulfillment.changes import operation_change
from application.job_kinds import JobKind
from application.operators.action import Done
from application.operators.cancel import cancel_job
from application.operators.instruction import instruct
from application.operators.retry import retry_job
from application.operators.target import Targets
from application.unit import Group, Written
from domain.entitlement.state import Observed
from domain.event import Actor, Causation, Meta
from domain.fulfillment.aggregate import FulfillmentOperation
from domain.fulfillment.commands import FulfillmentCommand, StartAttempt, Succeed
from domain.jobs.outcome import Completed, Fail, Gated, Park, Retry
from domain.jobs.verdict import Ending
from domain.maintenance.gates import MAINTENANCE_ACTIVE, PANEL
from domain.stream import Change, Ref, StreamKind
from infrastructure.client import Client
from infrastructure.ids import new_id
from infrastructure.kinds import Parts, product_kinds
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.postgres.streams import PostgresStreams
from infrastructure.processor.claim import Claimer, Lane
from infrastructure.processor.claimed import ClaimedJob
from infrastructure.processor.identity import actor_of, this_process
from infrastructure.processor.settling import Claimed, record_of, settlement
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import Args, enqueue

GENERIC = "report"
SERVED = "fulfillment"
QUEUES = {
    GENERIC: "default",
    SERVED: "critical",
    "order_fanout": "critical",
    "order_refund": "critical",
    "goods_delivery": "critical",
    "goods_reconcile": "critical",
}

type Connection = psycopg.Connection[Any]


class World:
    """One installation without workers: what a worker would do is done by hand."""

    def __init__(self, database: Database, connection: Connection) -> None:
        self.connection = connection
        self.owner = this_process()
        self.database = database
        self.units = BatchStore(database)
        self.streams = PostgresStreams(database)
        parts = Parts(
            streams=self.streams,
            units=self.units,
            ids=new_id,
            panel=None,
            username_prefix="counterfoil_",
            actor=Actor("worker", socket.gethostname()),
        )
        report = JobKind(name=GENERIC, args=Args, handler=lambda _, __: Completed())
        self.kinds = {**product_kinds(parts), GENERIC: report}
        targets = Targets(self.streams, self.streams, self.kinds)
        self._retry = retry_job(targets, self.units, new_id)
        self._cancel = cancel_job(targets, self.units, new_id)
        self._orders = 0

    def retry(self, key: UUID | str, reason: str = "it is repaired") -> Done:
        return self._retry(str(key), instruct("ann", reason))

    def cancel(self, key: UUID | str, reason: str = "not wanted") -> Done:
        return self._cancel(str(key), instruct("bob", reason))

    def claim(self, kind: str) -> ClaimedJob:
        """Return the next job of the kind, claimed."""
        lane = Lane(QUEUES[kind], (kind,))
        # A new claimer looks at everything first.
        claimer = Claimer(self.owner, dict.fromkeys(self.kinds, 60))
        (job,) = claimer.scan(self.connection, lane, 1, time.monotonic()).jobs
        return job

    def end(self, job: ClaimedJob, ending: Ending) -> None:
        """End the claim as the settler would."""
        kind = self.kinds[job.kind]
        claimed = Claimed(
            ref=Ref(StreamKind.JOB, job.id),
            token=job.token,
            kind=kind,
            record=record_of(kind, job.args, job.unique_key),
            correlation_id=job.correlation_id,
        )
        group = settlement(claimed, ending, actor_of(self.owner))
        (result,) = self.units.commit([group])
        assert isinstance(result, Written), result

    def report(self, **request: Any) -> UUID:  # noqa: ANN401 - checked by the front door
        """Return a job without a record, just enqueued."""
        return enqueue(self.connection, GENERIC, args={"n": 1}, **request)

    def operation(self, customer: str = "ann") -> tuple[UUID, UUID]:
        """Return an operation of a new order, and the job that serves it."""
        self._orders += 1
        settled = Client(self.connection).settle_order(
            {
                "orderId": f"shop:{self._orders}",
                "customerId": customer,
                "kind": "purchase",
                "currency": "USD",
                "amountMinor": 100,
                "lines": [{"line": 1, "type": "access", "days": 30}],
            }
        )
        fanout = self.claim("order_fanout")
        kind = self.kinds["order_fanout"]
        args = kind.args(order_stream_id=settled.stream_id)
        outcome = cast("Completed", kind.handler(args, cast("Any", None)))
        self.end(fanout, outcome)
        born = {change.ref.kind: change.ref.id for change in outcome.changes}
        return born[StreamKind.OPERATION], born[StreamKind.JOB]

    def start(self, operation: UUID) -> None:
        """Put the start of an attempt on record."""
        self.command(operation, StartAttempt(("find",)))

    def command(self, operation: UUID, command: FulfillmentCommand) -> None:
        """Change an operation as its handler would."""
        change = self._changed(operation, command)
        (causing,) = self.connection.execute(
            "SELECT stream_id, token FROM counterfoil.jobs WHERE unique_key = %s",
            (f"fulfillment:{operation}",),
        ).fetchall()
        meta = Meta(
            actor=actor_of(self.owner),
            correlation_id=f"order:shop:{self._orders}",
            causation=Causation(job=causing[0], token=causing[1]),
        )
        group = Group((change.ref,), lambda _locked, _now: (change,), meta)
        (result,) = self.units.commit([group])
        assert isinstance(result, Written), result

    def success(self, operation: UUID) -> Completed:
        """Return what the handler says when the panel has confirmed."""
        observed = Observed(
            panel_user_id=7,
            status="ACTIVE",
            expire_at=self._state(operation).effective_at or self._now(),
            traffic_limit_bytes=0,
            device_limit=None,
            squads=0,
        )
        return Completed(changes=(self._changed(operation, Succeed(observed)),))

    def _changed(self, operation: UUID, command: FulfillmentCommand) -> Change:
        ref = Ref(StreamKind.OPERATION, operation)
        head = self.streams.head(ref)
        assert head is not None
        return operation_change(ref, head, self._state(operation), command)

    def _state(self, operation: UUID) -> FulfillmentOperation:
        head = self.streams.head(Ref(StreamKind.OPERATION, operation))
        assert head is not None
        assert isinstance(head.state, FulfillmentOperation)
        return head.state

    def _now(self) -> Any:  # noqa: ANN401 - an instant
        ((now,),) = self.connection.execute("SELECT counterfoil.now()").fetchall()
        return now

    def tags(self, *streams: UUID) -> list[str]:
        """Return what happened to streams, in order."""
        rows = self.connection.execute(
            """
            SELECT type FROM counterfoil.events
             WHERE stream_id = ANY(%s) ORDER BY position
            """,
            (list(streams),),
        )
        return [row[0] for row in rows]

    def refusals(self) -> list[tuple[Any, ...]]:
        """Return every refusal: what, of what, why, by whom, the reason."""
        return self.connection.execute(
            """
            SELECT data->>'action', data->>'target', data->>'code',
                   meta->'actor'->>'type', meta->'actor'->>'id', meta->>'reason',
                   version
              FROM counterfoil.events
             WHERE type = 'operator.action_refused'
             ORDER BY position
            """
        ).fetchall()

    def taken(self) -> list[tuple[Any, ...]]:
        """Return every action: what, of what, before and after, by whom."""
        return self.connection.execute(
            """
            SELECT data->>'action', data->>'category', data->>'target_kind',
                   data->>'target', data->'before', data->'after',
                   meta->'actor'->>'id', meta->>'reason', version, position
              FROM counterfoil.events
             WHERE type = 'operator.action_taken'
             ORDER BY position
            """
        ).fetchall()

    def state_of(self, job: UUID) -> str:
        """Return the state of a job that is not over, or dead; else `gone`."""
        rows = self.connection.execute(
            """
            SELECT state FROM counterfoil.jobs WHERE stream_id = %(id)s
            UNION ALL
            SELECT state FROM counterfoil.jobs_dead WHERE stream_id = %(id)s
            """,
            {"id": job},
        ).fetchall()
        return rows[0][0] if rows else "gone"


@pytest.fixture
def world(database: TestDatabase) -> Iterator[World]:
    """Jobs and operations of one migrated database."""
    with Database(database.conninfo, pool_size=8) as pool:
        yield World(pool, database.connect())


def _run(world: World, operation: UUID | None, kind: str) -> ClaimedJob:
    claimed = world.claim(kind)
    if operation is not None:
        world.start(operation)
    return claimed


def bring(world: World, state: str, kind: str) -> tuple[UUID, UUID | None]:
    """Return a new job in `state`, and the operation that it serves."""
    operation: UUID | None = None
    if kind == SERVED:
        operation, job = world.operation()
    elif state == "not_due":
        job = world.report(runAt="2999-01-01T00:00:00Z")
    else:
        job = world.report()
    match state:
        case "due" | "not_due":
            pass
        case "after_failure":
            world.end(_run(world, operation, kind), Retry(code="http_502"))
        case "parked":
            world.end(_run(world, operation, kind), Park(cause="panel_credentials"))
        case "held":
            world.end(world.claim(kind), Gated(gate=PANEL, cause=MAINTENANCE_ACTIVE))
        case "running":
            _run(world, operation, kind)
        case "cancel_requested":
            _run(world, operation, kind)
            world.cancel(job)
        case "succeeded":
            claimed = _run(world, operation, kind)
            done = Completed() if operation is None else world.success(operation)
            world.end(claimed, done)
        case "discarded":
            world.end(_run(world, operation, kind), Fail(code="permanent"))
        case "cancelled":
            world.cancel(job)
        case _:
            raise AssertionError(state)
    return job, operation
