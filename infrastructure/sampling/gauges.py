"""The gauges that are sampled, each beside its look, which is bounded.

Jobs and letters are counted up to `MOST`: what there is beyond says no more about
whether somebody must come.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, LiteralString

import psycopg
from psycopg import sql
from psycopg.rows import tuple_row

from projections.connections import Lend
from projections.queries.holders import FeedHolders
from projections.queries.outbox.lag import OutboxLag
from projections.queries.projections import ProjectionList
from projections.reading import reading

MOST: Final = 100_000
MOST_LETTERS: Final = 20_000

type Rows = list[Any]


@dataclass(frozen=True, slots=True)
class Sampled:
    """One gauge."""

    name: str
    told: str
    labels: tuple[str, ...] = ()
    most: int = 60
    """Sets of labels; the ones beyond are left out."""


type Found = tuple[Sampled, tuple[str, ...], float]
type Look = Callable[[Lend], Iterator[Found]]

JOBS: Final = Sampled(
    "jobs",
    f"Unfinished jobs; {MOST} are counted at most.",
    ("queue", "state"),
)
OLDEST_READY: Final = Sampled(
    "queue_oldest_ready_age_seconds", "Of the job that is ready longest.", ("queue",)
)

# In the order of the table: what there is beyond the bound nobody counts.
_JOBS: Final = """
SELECT j.queue,
       CASE WHEN j.state = 'running' THEN 'running'
            WHEN j.gate IS NOT NULL THEN 'held'
            WHEN j.run_at <= n.now THEN 'ready'
            WHEN j.cause = 'after_failure' THEN 'retryable'
            WHEN j.cause = 'parked' THEN 'held'
            ELSE 'scheduled' END,
       count(*),
       extract(epoch FROM max(n.now - j.run_at) FILTER (
           WHERE j.state = 'waiting' AND j.run_at <= n.now))::float8
  FROM (SELECT queue, state, gate, run_at, cause FROM counterfoil.jobs LIMIT %(most)s) j
 CROSS JOIN (SELECT counterfoil.now() AS now) n
 GROUP BY 1, 2
"""


def jobs(lend: Lend) -> Iterator[Found]:
    """Yield how many jobs there are, and how long they have been ready."""
    for queue, state, n, age in _rows(lend, _JOBS, {"most": MOST}):
        yield JOBS, (queue, state), n
        if age is not None:
            yield OLDEST_READY, (queue,), age


LETTERS: Final = Sampled(
    "dead_letters",
    f"What nothing runs again without a person; {MOST_LETTERS} are counted at most.",
    ("kind", "code"),
    most=200,
)
OLDEST_LETTER: Final = Sampled(
    "dead_letter_oldest_age_seconds", "Of the oldest that is open.", ("kind",)
)

_LETTERS: Final = sql.SQL("""
SELECT d.kind, d.code, count(*),
       extract(epoch FROM max(counterfoil.now() - d.died_at))::float8
  FROM (SELECT kind, code, died_at FROM {table} WHERE state = 'open' LIMIT {most}) d
 GROUP BY 1, 2
""")


def letters(lend: Lend) -> Iterator[Found]:
    """Yield dead letters by cause, and the age of the oldest by kind."""
    with reading(lend, "dead_letters") as look:
        whole = _LETTERS.format(table=look.table, most=sql.Literal(MOST_LETTERS))
        with look.connection.cursor(row_factory=tuple_row) as cursor:
            rows = cursor.execute(whole).fetchall()
    oldest: dict[str, float] = {}
    for kind, code, n, age in rows:
        oldest[kind] = max(oldest.get(kind, 0.0), age)
        yield LETTERS, (kind, code), n
    for kind, age in oldest.items():
        yield OLDEST_LETTER, (kind,), age


LAG_SECONDS: Final = Sampled(
    "projection_lag_seconds", "Age of the oldest event that it lacks.", ("projection",)
)
LAG_EVENTS: Final = Sampled(
    "projection_lag_events",
    "Positions of the log that it has not read.",
    ("projection",),
)
REBUILD: Final = Sampled(
    "projection_rebuild_progress_ratio",
    "Of the log that a rebuild has read; none: nothing is being rebuilt.",
    ("projection",),
)


def projections(lend: Lend) -> Iterator[Found]:
    """Yield how far projections are behind, and how far rebuilds are."""
    for each in ProjectionList(lend)().projections:
        yield LAG_SECONDS, (each.name,), each.lag_seconds
        yield LAG_EVENTS, (each.name,), each.lag_positions
        if each.build is not None:
            yield REBUILD, (each.name,), each.build.ratio


HORIZON: Final = Sampled(
    "log_horizon_age_seconds",
    "Of the oldest open transaction that has written events; followers wait for it.",
)


def horizon(lend: Lend) -> Iterator[Found]:
    """Yield for how long the log has been held back."""
    ages = [each.age_seconds or 0.0 for each in FeedHolders(lend)().holders]
    yield HORIZON, (), max(ages, default=0.0)


PENDING: Final = Sampled("outbox_pending", "Messages that nobody has published.")
OLDEST_MESSAGE: Final = Sampled(
    "outbox_oldest_age_seconds", "Of the oldest message that nobody has published."
)


def outbox(lend: Lend) -> Iterator[Found]:
    """Yield what waits in the outbox."""
    backlog = OutboxLag(lend)()
    yield PENDING, (), backlog.pending_count
    yield OLDEST_MESSAGE, (), backlog.oldest_age_seconds or 0.0


DELIVERIES: Final = Sampled(
    "deliveries", "Lines of goods that are not over.", ("state",)
)
AMBIGUOUS: Final = Sampled(
    "deliveries_ambiguous",
    "Purchases of which nobody knows whether they happened.",
    ("provider",),
)

_DELIVERIES: Final = """
SELECT d.state, d.provider, count(*), count(*) FILTER (WHERE d.standing = 'unknown')
  FROM (SELECT state, provider, standing
          FROM counterfoil.deliveries
         WHERE state NOT IN ('delivered', 'refunded', 'cancelled')
         LIMIT %(most)s) d
 GROUP BY 1, 2
"""


def deliveries(lend: Lend) -> Iterator[Found]:
    """Yield lines of goods that are not over."""
    states: dict[str, int] = {}
    unknown: dict[str, int] = {}
    for state, provider, n, n_unknown in _rows(lend, _DELIVERIES, {"most": MOST}):
        states[state] = states.get(state, 0) + n
        unknown[provider] = unknown.get(provider, 0) + n_unknown
    for state, n in states.items():
        yield DELIVERIES, (state,), n
    for provider, n in unknown.items():
        yield AMBIGUOUS, (provider,), n


BREAKER: Final = Sampled(
    "provider_circuit_open", "1: the provider is left alone for a while.", ("provider",)
)
LOW: Final = Sampled(
    "provider_balance_low", "1: somebody was told that money runs out.", ("provider",)
)

_HEALTH: Final = """
SELECT provider,
       bool_or(closed_at IS NOT NULL AND retry_at > counterfoil.now()),
       bool_or(low_since IS NOT NULL)
  FROM counterfoil.goods_health
 GROUP BY provider
 ORDER BY provider
 LIMIT 60
"""


def providers(lend: Lend) -> Iterator[Found]:
    """Yield how providers of goods are."""
    for provider, is_open, is_low in _rows(lend, _HEALTH):
        yield BREAKER, (provider,), is_open
        yield LOW, (provider,), is_low


DRIFTS: Final = Sampled("drifts", "Open differences of panels.", ("kind",))

_DRIFTS: Final = sql.SQL("""
SELECT d.kind, count(*)
  FROM (SELECT kind FROM {table} WHERE state = 'open' LIMIT {most}) d
 GROUP BY 1
""")


def drifts(lend: Lend) -> Iterator[Found]:
    """Yield what panels differ in."""
    with reading(lend, "drifts") as look:
        whole = _DRIFTS.format(table=look.table, most=sql.Literal(MOST_LETTERS))
        with look.connection.cursor(row_factory=tuple_row) as cursor:
            rows = cursor.execute(whole).fetchall()
    for kind, n in rows:
        yield DRIFTS, (kind,), n


MAINTENANCE: Final = Sampled(
    "maintenance_active", "Windows of maintenance that are open.", ("source",)
)
QUARANTINE: Final = Sampled(
    "restore_quarantine", "1: after a restore nothing is bought."
)

_STANDING: Final = """
SELECT (SELECT count(*) FROM counterfoil.maintenance
         WHERE state = 'open' AND source = 'manual'),
       (SELECT count(*) FROM counterfoil.maintenance
         WHERE state = 'open' AND source <> 'manual'),
       EXISTS (SELECT FROM counterfoil.restore_guard WHERE state = 'quarantined')
"""


def standing(lend: Lend) -> Iterator[Found]:
    """Yield what a person has stopped, or the guard has."""
    ((manual, automatic, is_quarantined),) = _rows(lend, _STANDING)
    yield MAINTENANCE, ("manual",), manual
    yield MAINTENANCE, ("automatic",), automatic
    yield QUARANTINE, (), is_quarantined


LOOKS: Final[Sequence[Look]] = (
    *(jobs, letters, projections, horizon, outbox),
    *(deliveries, providers, drifts, standing),
)
"""Every look, in the order in which they are made."""

DECLARED: Final[Sequence[Sampled]] = (
    *(JOBS, OLDEST_READY, LETTERS, OLDEST_LETTER, LAG_SECONDS, LAG_EVENTS, REBUILD),
    *(HORIZON, PENDING, OLDEST_MESSAGE, DELIVERIES, AMBIGUOUS, BREAKER, LOW, DRIFTS),
    *(MAINTENANCE, QUARANTINE),
)
"""Every gauge that they set."""

# The server itself ends a look that takes longer.
_BOUND: Final = "SET LOCAL statement_timeout = '2s'; SET LOCAL jit = off"


def _rows(
    lend: Lend, statement: LiteralString, asked: dict[str, object] | None = None
) -> Rows:
    with lend() as connection, connection.transaction():
        connection.execute(_BOUND)
        return _fetched(connection, statement, asked or {})


def _fetched(
    connection: psycopg.Connection[Any],
    statement: LiteralString,
    asked: dict[str, object],
) -> Rows:
    with connection.cursor(row_factory=tuple_row) as cursor:
        return cursor.execute(statement, asked).fetchall()
