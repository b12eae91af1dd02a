"""A process that stood still asks anew who it is (mechanisms 23)."""

from domain.jobs.outcome import Completed
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.processor.beating import Heartbeat
from infrastructure.processor.identity import actor_of, this_process
from infrastructure.processor.leases import Leases, boottime
from infrastructure.processor.settler import Settler
from infrastructure.telemetry import listen
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import Events, kind, until

HEARTBEATS = """
SELECT pid FROM pg_stat_activity
 WHERE application_name = 'counterfoil heartbeat' AND datname = current_database()
"""


def test_a_connection_from_before_a_freeze_is_not_used_after_it(
    database: TestDatabase,
) -> None:
    """No lease is believed in until another connection has confirmed it."""
    ahead = [0.0]
    leases = Leases(clock=lambda: boottime() + ahead[0])
    events = Events()
    connection = database.connect()
    owner = this_process()
    kinds = {"noop": kind("noop", lambda *_: Completed())}
    with listen(events.add), Database(database.conninfo, pool_size=2) as pool:
        settler = Settler(pool, BatchStore(pool), leases, actor_of(owner))
        heartbeat = Heartbeat(pool, owner, kinds, leases, settler)
        heartbeat.start()
        try:
            until(heartbeat.is_recent)
            (before,) = connection.execute(HEARTBEATS).fetchall()

            ahead[0] = 60.0
            events.wait_for("process was frozen")
            until(lambda: before not in connection.execute(HEARTBEATS).fetchall())
            until(heartbeat.is_recent)
        finally:
            heartbeat.stop()

    (frozen,) = events.of("process was frozen")
    assert frozen["seconds"] >= 60
