"""Lock the heads of a unit: kind by kind in the global order, by id inside each.

One statement, so one round trip: each kind waits for the count of the one before,
which says in SQL that all of those are locked, and the clock waits for the last.

    orders ─► entitlements ─► operations ─► deliveries ─► jobs ─► dead jobs
                                     ─► maintenance ─► bulk operations ─► clock

One statement is one snapshot.  It finds every head that was committed before it, in
its latest version.  What a snapshot cannot follow is a job that dies or is brought
back while its lock is waited for, because that is a move between two tables: then
`moved` is told, and the locks are taken again.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, LiteralString

from application.unit import Head
from domain.event import Instant
from domain.stream import Ref, StreamKind
from infrastructure.postgres.arrays import UuidArray
from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads.bulk import BULK
from infrastructure.postgres.heads.deliveries import DELIVERIES
from infrastructure.postgres.heads.entitlements import ENTITLEMENTS
from infrastructure.postgres.heads.jobs import JOBS, READ_DEAD
from infrastructure.postgres.heads.maintenance import MAINTENANCE
from infrastructure.postgres.heads.operations import OPERATIONS
from infrastructure.postgres.heads.orders import ORDERS
from infrastructure.postgres.heads.table import HeadTable, instant

if TYPE_CHECKING:
    from uuid import UUID

TABLES: Final[Mapping[StreamKind, HeadTable]] = {
    StreamKind.ORDER: ORDERS,
    StreamKind.ENTITLEMENT: ENTITLEMENTS,
    StreamKind.OPERATION: OPERATIONS,
    StreamKind.DELIVERY: DELIVERIES,
    StreamKind.JOB: JOBS,
    StreamKind.MAINTENANCE: MAINTENANCE,
    StreamKind.BULK: BULK,
}
"""In the order of the locks; a remark has no head."""

_CLOCK_ALONE: Final = "SELECT counterfoil.now(), false"

_NEVER: Final = "false"

# Only births and moves leave a job unfound, so only they pay for the second look.
_MOVED: Final = """
CASE WHEN (SELECT count(*) FROM jobs) + (SELECT count(*) FROM jobs_dead)
          < cardinality(%(jobs)b::uuid[])
     THEN (SELECT count(*) FROM jobs) + (SELECT count(*) FROM jobs_dead)
          < (SELECT count(*) FROM counterfoil.jobs
              WHERE stream_id = ANY(%(jobs)b::uuid[]))
          + (SELECT count(*) FROM counterfoil.jobs_dead
              WHERE stream_id = ANY(%(jobs)b::uuid[]))
     ELSE false
END
"""


def lock(
    connection: Connection, refs: Iterable[Ref]
) -> tuple[Instant, dict[Ref, Head]]:
    """Return the clock and the heads that exist, locked until the transaction's end.

    The clock is read after the last lock: it is never older than what it decides on.
    """
    asked: dict[StreamKind, set[UUID]] = {}
    for ref in refs:
        asked.setdefault(ref.kind, set()).add(ref.id)
    kinds = tuple(kind for kind in TABLES if kind in asked)
    statement = _statement(kinds)
    parameters = {
        TABLES[kind].name: UuidArray([id_.bytes for id_ in asked[kind]])
        for kind in kinds
    }
    while True:
        rows = connection.execute(statement, parameters, prepare=True).fetchall()
        if not rows[0][1]:
            return instant(rows[0][0]), _heads(kinds, rows)


def _heads(
    kinds: Sequence[StreamKind], rows: Sequence[tuple[object, ...]]
) -> dict[Ref, Head]:
    heads: dict[Ref, Head] = {}
    first = 2
    for kind in kinds:
        table = TABLES[kind]
        last = first + table.width
        for row in rows:
            if row[first] is not None:
                stream_id, head = table.head(row[first:last])
                heads[Ref(kind, stream_id)] = head
        first = last
    return heads


@cache
def _statement(kinds: tuple[StreamKind, ...]) -> LiteralString:
    """Return the statement for some kinds, given in the order of the locks."""
    if not kinds:
        return _CLOCK_ALONE
    steps: list[LiteralString] = []
    found: list[LiteralString] = []
    before: LiteralString = ""
    for kind in kinds:
        table = TABLES[kind]
        steps.append(_step(table.name, table.read, table.name, before))
        before = table.name
        if kind is StreamKind.JOB:
            steps.append(_step("jobs_dead", READ_DEAD, "jobs", before))
            found.append(
                "(SELECT * FROM jobs UNION ALL SELECT * FROM jobs_dead) AS job"
            )
            before = "jobs_dead"
        else:
            found.append(table.name)
    moved = _MOVED if StreamKind.JOB in kinds else _NEVER
    clock = f"SELECT counterfoil.now(), {moved} WHERE {_all_of(before)}"
    # Side by side: a row holds one head, and NULL in the columns of other kinds.
    heads = found[0]
    for each in found[1:]:
        heads = f"({heads} FULL JOIN {each} ON false)"
    parts = ", ".join([*steps, f"clock AS MATERIALIZED ({clock})"])
    return f"WITH {parts} SELECT * FROM clock LEFT JOIN {heads} ON true"  # noqa: S608 - names of ours


def _step(
    name: LiteralString,
    read: LiteralString,
    ids: LiteralString,
    before: LiteralString,
) -> LiteralString:
    """Return one kind's part, which is begun when `before` has all its locks."""
    keyed = read.replace("%(ids)s", f"%({ids})b::uuid[]")
    after = f"AND {_all_of(before)}" if before else ""
    return f"{name} AS MATERIALIZED ({keyed} {after} ORDER BY stream_id FOR UPDATE)"


def _all_of(step: LiteralString) -> LiteralString:
    """Return a condition that is true once `step` has given its last row."""
    return f"(SELECT count(*) FROM {step}) >= 0"  # noqa: S608 - a name of ours
