"""A large installation: many rows like those that the product has written itself."""

import psycopg

from domain.jobs.outcome import Completed, Fail
from infrastructure.client import Client
from infrastructure.ids import new_id
from infrastructure.processor.settler import Ended
from tests.fixtures.workers import enqueue
from tests.performance import goods, intake, operators
from tests.performance.shop import fulfil, keep_a_window, maintenance_of, order
from tests.processor.rig import Rig

type Connection = psycopg.Connection[tuple[object, ...]]

ROWS = 50_000

# What differs from row to row, by table; everything else is as in the first row.
_DIFFERENT = {
    "jobs": """
        'stream_id', counterfoil.uuid7(),
        'run_at', counterfoil.now() + make_interval(secs => n - 5000),
        'priority', 1 + n % 4,
        'in_line', n % 3 = 0,
        'unique_key', CASE WHEN n % 5 = 0 THEN 'unique ' || n END,
        'serial_key', CASE WHEN n % 2 = 0 THEN 'serial ' || n END""",
    "events": """
        'position', nextval('counterfoil.position_seq') + 0 * n,
        'stream_id', counterfoil.uuid7()""",
    "outbox": """
        'id', counterfoil.uuid7(),
        'position', n + 1000000,
        'stream_id', counterfoil.uuid7()""",
    "jobs_dead": """
        'stream_id', counterfoil.uuid7(),
        'unique_key', CASE WHEN n % 5 = 0 THEN 'dead ' || n END""",
    "orders": """
        'stream_id', counterfoil.uuid7(),
        'order_id', 'filled ' || n,
        'customer_id', 'customer ' || n""",
    "external_keys": """
        'key', 'filled ' || n""",
    "entitlements": """
        'stream_id', counterfoil.uuid7(),
        'customer_id', 'customer ' || n,
        'username', 'user ' || n""",
    "operations": """
        'stream_id', counterfoil.uuid7(),
        'entitlement_id', counterfoil.uuid7(),
        'order_stream_id', counterfoil.uuid7(),
        'idempotency_key', 'key ' || n""",
    "maintenance": """
        'stream_id', counterfoil.uuid7(),
        'reason', 'reason ' || n""",
}

_MULTIPLY = """
INSERT INTO counterfoil.{table}
SELECT r.*
  FROM (SELECT t FROM counterfoil.{table} t LIMIT 1) AS first (row),
       generate_series(1, {rows}) AS n,
       jsonb_populate_record(first.row, jsonb_build_object({different})) AS r
"""

_RUN = """
WITH begun AS (
    UPDATE counterfoil.jobs
       SET state = 'running', version = 2, token = 2, owner_host = 'host',
           owner_pid = 1, owner_boot = counterfoil.uuid7(), claim_id = %(claim)s,
           lease_until = counterfoil.now() + interval '1 day'
     WHERE run_at > counterfoil.now() + interval '43800 seconds'
    RETURNING tenant_id, serial_key, stream_id
)
INSERT INTO counterfoil.running_keys (tenant_id, key, job_id, token)
SELECT tenant_id, serial_key, stream_id, 2
  FROM begun
 WHERE serial_key IS NOT NULL
"""


def fill(parts: Rig, connection: Connection) -> None:
    """Let one of everything be made by the product, then ROWS like it by SQL."""
    client = Client(connection)
    client.settle_order(order(0))
    fulfil(parts)
    enqueue(connection, "noop")
    parts.settle(parts.claim(1)[0], Fail(code="permanent"))
    enqueue(connection, "noop")
    keep_a_window(maintenance_of(parts))
    goods.begin(connection)
    intake.begin(connection)
    operators.begin(connection)
    with connection.transaction():
        connection.execute("SET LOCAL session_replication_role = replica")
        for table, different in (
            _DIFFERENT | goods.DIFFERENT | intake.DIFFERENT | operators.DIFFERENT
        ).items():
            multiply = _MULTIPLY.format(table=table, rows=ROWS, different=different)
            connection.execute(multiply.encode())
        connection.execute(_RUN, {"claim": new_id()})


def finish(parts: Rig, n: int) -> None:
    """Claim `n` jobs and succeed them."""
    held = parts.claim(n)
    parts.settler.settle([Ended(each, Completed()) for each in held])
