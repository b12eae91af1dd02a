"""What waits for what: an order for its operation and goods, and those for their jobs.

An order's own operation may have been covered: then the one that covers it, however
many times over, carries the order to the panel.
"""

from typing import Any, Final
from uuid import UUID

import msgspec
import psycopg
from psycopg import sql
from psycopg.rows import class_row

from domain.event import Instant
from projections.queries.records.goods import URGENT, GoodsWait, goods_of
from projections.queries.records.waits_for import WaitsFor
from projections.reading import Reading

# Every look is one of an index, for each id.
_CARRIERS: Final = sql.SQL("""
WITH RECURSIVE carried AS (
    SELECT i.id AS order_stream_id, o.*
      FROM unnest(%(ids)s::uuid[]) AS i(id)
     CROSS JOIN LATERAL (
        SELECT o.stream_id, o.covered_by
          FROM {operations} o
         WHERE o.order_stream_id = i.id
         ORDER BY o.created_at DESC, o.stream_id DESC
         LIMIT 1) o
     UNION
    SELECT c.order_stream_id, o.*
      FROM carried c
     CROSS JOIN LATERAL (
        SELECT o.stream_id, o.covered_by
          FROM {operations} o
         WHERE o.stream_id = c.covered_by
        OFFSET 0) o
)
SELECT c.order_stream_id, o.stream_id, o.state, o.attempts, o.code, o.parked_cause,
       o.next_attempt_at, o.effective_at, o.covered_by
  FROM carried c
  JOIN {operations} o ON o.stream_id = c.stream_id
""")

_JOBS: Final = sql.SQL("""
SELECT i.id AS serves, j.*
  FROM unnest(%(ids)s::uuid[]) AS i(id)
 CROSS JOIN LATERAL (
    SELECT j.stream_id, j.state, j.cause, j.run_at, j.gate, j.code, j.error_code
      FROM {jobs} j
     WHERE j.{column} = i.id
     ORDER BY j.created_at DESC, j.stream_id DESC
     LIMIT 1) j
""")


class Wait(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What an order waits for."""

    waits_for: WaitsFor
    operation_id: UUID | None = None
    """The one that carries it now; None: it has none yet."""
    operation_state: str | None = None
    attempts: int = 0
    code: str | None = None
    """What the last attempt met."""
    parked_cause: str | None = None
    effective_at: Instant | None = None
    next_attempt_at: Instant | None = None
    is_covered: bool = False
    """Whether a later operation carries it in place of its own."""
    job_id: UUID | None = None
    """The job that does it, or decides what is owed."""
    job_state: str | None = None
    run_at: Instant | None = None
    """When the job is due; None: nobody knows when its gate opens."""
    gate: str | None = None
    """The closed gate that the job waits at."""
    goods: tuple[GoodsWait, ...] = ()
    """Its lines of goods, those that are over too."""


class _Operation(msgspec.Struct, frozen=True, kw_only=True):
    order_stream_id: UUID
    stream_id: UUID
    state: str
    attempts: int
    code: str | None
    parked_cause: str | None
    next_attempt_at: Instant | None
    effective_at: Instant
    covered_by: UUID | None


class _Job(msgspec.Struct, frozen=True, kw_only=True):
    serves: UUID
    stream_id: UUID
    state: str
    cause: str | None
    run_at: Instant | None
    gate: str | None
    code: str | None
    error_code: str | None


def waits(reading: Reading, orders: list[UUID]) -> dict[UUID, Wait]:
    """Return what paid orders wait for.

    Of `orders`, `operations`, `deliveries` and `jobs`.
    """
    if not orders:
        return {}
    connection, tables = reading.connection, reading.tables
    statement = _CARRIERS.format(operations=tables["operations"])
    operations = _rows(connection, _Operation, statement, orders)
    chains: dict[UUID, list[_Operation]] = {}
    for operation in operations:
        chains.setdefault(operation.order_stream_id, []).append(operation)
    carriers = {order: _last(chain) for order, chain in chains.items()}
    carried_by = _jobs(
        reading, "operation_id", [each.stream_id for each in carriers.values()]
    )
    goods = goods_of(reading, orders)
    undecided = [each for each in orders if each not in carriers and each not in goods]
    decided_by = _jobs(reading, "order_stream_id", undecided)
    found: dict[UUID, Wait] = {}
    for order in orders:
        if order in carriers:
            carrier = carriers[order]
            found[order] = _carried(
                carrier,
                carried_by.get(carrier.stream_id),
                reading.now,
                is_covered=len(chains[order]) > 1,
            )
        elif order not in goods:
            found[order] = _decided(decided_by.get(order))
        if order in goods:
            found[order] = _with_goods(found.get(order), goods[order])
    return found


_OVER: Final = frozenset({WaitsFor.NOTHING, WaitsFor.READ_MODEL})


def _with_goods(wait: Wait | None, lines: tuple[GoodsWait, ...]) -> Wait:
    """Return what an order waits for that has lines of goods, and access or not."""
    open_ = [each for each in lines if each.waits_for is not None]
    is_nothing = wait is not None and wait.waits_for is WaitsFor.NOTHING
    if wait is not None and (wait.waits_for not in _OVER or (is_nothing and not open_)):
        return msgspec.structs.replace(wait, goods=lines)
    if not open_:
        # Each line is over: what that means for the order is decided by a job.
        beside = wait or Wait(waits_for=WaitsFor.TURN)
        return msgspec.structs.replace(beside, waits_for=WaitsFor.TURN, goods=lines)
    first = min(open_, key=lambda each: URGENT.index(each.waits_for or WaitsFor.TURN))
    return msgspec.structs.replace(
        wait or Wait(waits_for=WaitsFor.TURN),
        waits_for=first.waits_for or WaitsFor.TURN,
        code=first.code,
        goods=lines,
    )


def _last(chain: list[_Operation]) -> _Operation:
    """Return the operation that covers the others and is covered by none of them."""
    ids = {each.stream_id for each in chain}
    return next(each for each in chain if each.covered_by not in ids)


def _decided(job: _Job | None) -> Wait:
    """Return what an order waits for that has no operation yet."""
    if job is None:
        return Wait(waits_for=WaitsFor.FAN_OUT)
    is_dead = job.state in {"discarded", "cancelled"}
    return Wait(
        waits_for=WaitsFor.PERSON if is_dead else WaitsFor.FAN_OUT,
        code=job.code or job.error_code,
        job_id=job.stream_id,
        job_state=job.state,
        run_at=job.run_at,
        gate=job.gate,
    )


def _carried(
    operation: _Operation, job: _Job | None, now: Instant, *, is_covered: bool
) -> Wait:
    return Wait(
        waits_for=_waits_for(operation, job, now),
        operation_id=operation.stream_id,
        operation_state=operation.state,
        attempts=operation.attempts,
        code=operation.code,
        parked_cause=operation.parked_cause,
        effective_at=operation.effective_at,
        next_attempt_at=operation.next_attempt_at,
        is_covered=is_covered,
        job_id=job.stream_id if job else None,
        job_state=job.state if job else None,
        run_at=job.run_at if job else None,
        gate=job.gate if job else None,
    )


_STILL: Final = {
    "failed": WaitsFor.PERSON,
    "cancelled": WaitsFor.NOTHING,
    "succeeded": WaitsFor.READ_MODEL,
    "running": WaitsFor.RUNNING,
}


def _waits_for(operation: _Operation, job: _Job | None, now: Instant) -> WaitsFor:
    still = _STILL.get(operation.state)
    if still is not None:
        return still
    if job is not None and job.state == "running":
        return WaitsFor.RUNNING
    # Once its gate is open the job is due, and the operation knows by its next attempt.
    is_parked = operation.parked_cause if job is None else job.cause == "parked"
    if is_parked:
        return WaitsFor.PARKED
    if operation.state == "retrying":
        return WaitsFor.RETRY
    return WaitsFor.EFFECTIVE_AT if operation.effective_at > now else WaitsFor.TURN


def _jobs(reading: Reading, column: str, ids: list[UUID]) -> dict[UUID, _Job]:
    """Return the newest job of each record, by the column that names the record."""
    if not ids:
        return {}
    statement = _JOBS.format(jobs=reading.tables["jobs"], column=sql.Identifier(column))
    found = _rows(reading.connection, _Job, statement, ids)
    return {job.serves: job for job in found}


def _rows[Row](
    connection: psycopg.Connection[Any],
    kind: type[Row],
    statement: sql.Composed,
    ids: list[UUID],
) -> list[Row]:
    with connection.cursor(row_factory=class_row(kind)) as cursor:
        return cursor.execute(statement, {"ids": ids}).fetchall()
