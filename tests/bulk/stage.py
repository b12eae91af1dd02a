"""Bulk operations over one database, whose jobs are run by hand, a slice at a time."""

# ruff: noqa: ANN401 - keywords are passed on to those who check them

import socket
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import msgspec
import pytest

from application.access.principal import Principal
from application.bulk.handler import BulkArgs, CarryOutBulk
from application.bulk.request import RequestBulk, Wanted
from application.bulk.steer import SteerBulk
from application.operators.cancel import cancel_job
from application.operators.instruction import Instruction
from application.operators.retry import retry_job
from application.operators.target import Targets
from domain.access.roles import GRANTS, Role
from domain.event import Actor
from domain.jobs.outcome import Completed, Fail
from infrastructure.bulk.kinds import bulk_parts
from infrastructure.ids import new_id
from infrastructure.kinds import Parts, product_kinds
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.postgres.streams import PostgresStreams
from infrastructure.processor.leases import Held
from infrastructure.processor.running import RunContext
from tests.fixtures.database import TestDatabase
from tests.fixtures.read_models import project
from tests.fixtures.workers import enqueue, kind
from tests.processor.rig import Rig

REPORT = kind("report", lambda _args, _ctx: Completed())


def person(name: str = "olga", role: Role = Role.ADMINISTRATOR) -> Instruction:
    """Return what somebody asks for, with a reason."""
    principal = Principal(
        id=new_id(),
        tenant_id="default",
        actor=Actor("operator", name),
        permissions=GRANTS[role],
        role=role,
    )
    return principal.instruct("the panel is back", "req-1")


class Stage:
    """One installation with one worker that does nothing by itself."""

    def __init__(self, database: TestDatabase, pool: Database) -> None:
        self.database = database
        self.pool = pool
        self.connection = database.connect()
        self.streams = PostgresStreams(pool)
        self.units = BatchStore(pool)
        parts = Parts(
            streams=self.streams,
            units=self.units,
            ids=new_id,
            panel=None,
            connections=pool,
            username_prefix="counterfoil_",
            actor=Actor("worker", socket.gethostname()),
        )
        kinds = {**product_kinds(parts), REPORT.name: REPORT}
        self.rig = Rig(database, pool, *kinds.values())
        self.parts = bulk_parts(pool, self.streams, kinds, new_id, parts.actor)
        self.request = RequestBulk(
            items=self.parts.items,
            chooser=self.parts.chooser,
            verbs=self.parts.verbs,
            units=self.units,
            ids=new_id,
        )
        targets = Targets(self.streams, self.streams, kinds)
        self.retry = retry_job(targets, self.units, new_id)
        self.cancel = cancel_job(targets, self.units, new_id)
        self.steer = SteerBulk(self.streams, self.units, new_id)

    def dead(self, count: int, **request: Any) -> list[UUID]:
        """Return jobs that have just died."""
        jobs = [
            enqueue(self.connection, REPORT.name, args={"n": n}, **request)
            for n in range(count)
        ]
        self.end(*[Fail(code="broken")] * count)
        return jobs

    def end(self, *endings: Completed | Fail) -> None:
        """End as many jobs of that kind as there are endings."""
        left = list(endings)
        while left:
            for held in self.rig.claim(min(len(left), 50)):
                self.rig.settle(held, left.pop())

    def ask(self, ids: Sequence[UUID], /, **more: Any) -> UUID:
        """Return a bulk retry of these, asked for by an administrator."""
        wanted: dict[str, Any] = {
            "action": "retry",
            "ids": tuple(ids),
            "items_per_second": 1000.0,
        }
        return self.request(Wanted(**(wanted | more)), person()).bulk_id

    def ask_as_operator(self, **wanted: Any) -> UUID:
        """Return a bulk retry that an operator has asked for."""
        operator = person("ivan", Role.OPERATOR)
        return self.request(Wanted(action="retry", **wanted), operator).bulk_id

    def claim(self) -> Held | None:
        """Return the bulk job that is due, claimed."""
        due = self.rig.claim(1, queue="bulk") or self.rig.claim_suspect("bulk")
        return next(iter(due), None)

    def run(self, held: Held, **parts: Any) -> None:
        """Run one claim of a bulk job, with other parts perhaps, and settle it."""
        handler = CarryOutBulk(replace(self.parts, **parts))
        args = msgspec.json.decode(held.job.args, type=BulkArgs)
        held.begun_at = self.rig.leases.now()
        self.rig.settle(held, handler(args, RunContext(held, self.rig.leases)))

    def work(self) -> None:
        """Run bulk jobs until none is due."""
        while held := self.claim():
            self.run(held)

    def previewed(self, ids: Sequence[UUID], /, **more: Any) -> UUID:
        """Return a bulk operation that has been previewed."""
        bulk = self.ask(ids, **more)
        self.work()
        return bulk

    def follow(self) -> None:
        """Carry the read models forward."""
        project(self.pool)

    def head(self, bulk: UUID) -> dict[str, Any]:
        """Return the row of a bulk operation."""
        cursor = self.connection.execute(
            "SELECT * FROM counterfoil.bulk_operations WHERE stream_id = %s", (bulk,)
        )
        (row,) = cursor.fetchall()
        assert cursor.description is not None
        return {
            each.name: value
            for each, value in zip(cursor.description, row, strict=True)
        }

    def items(self, bulk: UUID) -> list[tuple[Any, ...]]:
        """Return the items: target, verdict, result."""
        return self.connection.execute(
            """
            SELECT target_id, verdict, result
              FROM counterfoil.bulk_items WHERE bulk_id = %s ORDER BY n
            """,
            (bulk,),
        ).fetchall()

    def facts(self, stream: UUID, tag: str) -> list[dict[str, Any]]:
        """Return what the events of a tag say."""
        rows = self.connection.execute(
            """
            SELECT data FROM counterfoil.events
             WHERE stream_id = %s AND type = %s ORDER BY version
            """,
            (stream, tag),
        )
        return [row[0] for row in rows]

    def refused(self) -> list[tuple[str, str, str]]:
        """Return every refusal: what, of what, why."""
        return self.connection.execute(
            """
            SELECT data->>'action', data->>'target', data->>'code'
              FROM counterfoil.events
             WHERE type = 'operator.action_refused' ORDER BY position
            """
        ).fetchall()

    def log(self) -> list[str]:
        """Return everything that happened, in order."""
        rows = self.connection.execute(
            "SELECT type FROM counterfoil.events ORDER BY position"
        )
        return [row[0] for row in rows]

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


@pytest.fixture
def stage(database: TestDatabase) -> Iterator[Stage]:
    """Bulk operations of one migrated database."""
    with Database(database.conninfo, pool_size=8) as pool:
        yield Stage(database, pool)
