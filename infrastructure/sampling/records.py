"""What is told by read models: dead letters, operations, orders and drifts."""

from collections.abc import Iterator
from typing import Final

from psycopg import sql

from infrastructure.sampling.gauge import Found, Look, Sampled, read
from infrastructure.sampling.jobs import HOLDS
from projections.connections import Lend
from projections.reading import reading

MOST: Final = 10_000
"""Of letters, and of drifts."""

MOST_IN_A_STATE: Final = 5_000
"""Of operations."""

MOST_ORDERS: Final = 1_000

LETTERS: Final = Sampled(
    "dead_letters",
    f"What nothing runs again without a person; the {MOST} oldest are counted.",
    ("kind", "code"),
    most=200,
)
OLDEST_LETTER: Final = Sampled(
    "dead_letter_oldest_age_seconds",
    "Of the oldest that is open.",
    ("kind",),
    merge=max,
)

_LETTERS: Final = sql.SQL("""
SELECT d.kind, d.code, count(*),
       extract(epoch FROM counterfoil.now() - min(d.died_at))::float8
  FROM (SELECT kind, code, died_at FROM {table}
         WHERE state = 'open'
         ORDER BY died_at, stream_id
         LIMIT {most}) d
 GROUP BY 1, 2
""")


def letters(lend: Lend) -> Iterator[Found]:
    """Yield dead letters by cause, and the age of the oldest by kind."""
    with reading(lend, "dead_letters") as look:
        rows = read(look, _LETTERS, MOST)
    oldest: dict[str, float] = {}
    for kind, code, n, age in rows:
        oldest[kind] = max(oldest.get(kind, 0.0), age)
        yield LETTERS, (kind, code), n
    for kind, age in oldest.items():
        yield OLDEST_LETTER, (kind,), age


OPERATIONS: Final = Sampled(
    "operations",
    f"Operations not over, or failed; {MOST_IN_A_STATE} of each state are counted.",
    ("operation", "state"),
)

_OPERATIONS: Final = sql.SQL("""
WITH present AS MATERIALIZED (SELECT counterfoil.now() AS now)
SELECT r.operation, r.state, count(*),
       count(*) FILTER (WHERE r.state = 'pending' AND r.effective_at > n.now)
  FROM unnest(ARRAY['pending', 'running', 'retrying', 'failed']) AS s(state)
 CROSS JOIN LATERAL (
       SELECT o.operation, o.state, o.effective_at FROM {table} o
        WHERE o.state = s.state
        LIMIT {most}) r
 CROSS JOIN present n
 GROUP BY 1, 2
""")


def operations(lend: Lend) -> Iterator[Found]:
    """Yield operations, and how many of them wait for when they are to take effect."""
    with reading(lend, "operations") as look:
        rows = read(look, _OPERATIONS, MOST_IN_A_STATE)
    for operation, state, n, _ in rows:
        yield OPERATIONS, (operation, state), n
    yield HOLDS, ("effective_at",), sum(row[3] for row in rows)


WITHOUT_WORK: Final = Sampled(
    "paid_orders_without_work",
    f"Of the {MOST_ORDERS} oldest paid orders, those with no job, operation or line.",
)

# Neither what has to be decided of it, nor what was: nobody would ever come to it.
# All of one snapshot; what has its work is asked by keys.  Only the index of states
# gives the order that is asked for: that of births begins with what is long fulfilled.
_WITHOUT_WORK: Final = sql.SQL("""
SELECT count(*)
  FROM (SELECT stream_id, tenant_id, 'order_fanout:' || stream_id AS key
          FROM {table}
         WHERE state BETWEEN 'paid' AND 'paid'
         ORDER BY state, created_at, stream_id
         LIMIT {most}) o
 WHERE NOT EXISTS (SELECT FROM counterfoil.operations w
                    WHERE w.order_stream_id = o.stream_id)
   AND NOT EXISTS (SELECT FROM counterfoil.deliveries w
                    WHERE w.order_stream_id = o.stream_id)
   AND NOT EXISTS (SELECT FROM counterfoil.jobs w
                    WHERE w.tenant_id = o.tenant_id AND w.unique_key = o.key)
   AND NOT EXISTS (SELECT FROM counterfoil.jobs_dead w
                    WHERE w.tenant_id = o.tenant_id AND w.unique_key = o.key)
""")


def orders(lend: Lend) -> Iterator[Found]:
    """Yield how many paid orders nobody does anything about (I1)."""
    with reading(lend, "orders") as look:
        ((n,),) = read(look, _WITHOUT_WORK, MOST_ORDERS)
    yield WITHOUT_WORK, (), n


DRIFTS: Final = Sampled("drifts", "Open differences of panels.", ("kind",))

_DRIFTS: Final = sql.SQL("""
SELECT d.kind, count(*)
  FROM (SELECT kind FROM {table}
         WHERE state = 'open'
         LIMIT {most}) d
 GROUP BY 1
""")


def drifts(lend: Lend) -> Iterator[Found]:
    """Yield what panels differ in."""
    with reading(lend, "drifts") as look:
        rows = read(look, _DRIFTS, MOST)
    for kind, n in rows:
        yield DRIFTS, (kind,), n


LOOKS: Final = (
    Look(letters, (LETTERS, OLDEST_LETTER)),
    Look(operations, (OPERATIONS, HOLDS)),
    Look(orders, (WITHOUT_WORK,)),
    Look(drifts, (DRIFTS,)),
)
