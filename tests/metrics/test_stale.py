"""What cannot be looked up any more is not told any more: never as it was last."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from prometheus_client import generate_latest

from infrastructure.postgres.database import Database
from infrastructure.sampling.gauges import LOOKS
from infrastructure.sampling.sample import OLD_SECONDS
from infrastructure.sampling.sampler import Sampler
from infrastructure.telemetry import listen
from infrastructure.telemetry.metrics.meter import Metrics
from tests.fixtures.database import TestDatabase
from tests.fixtures.proxy import Proxy
from tests.fixtures.workers import Events, until
from tests.metrics.scrape import Scrape, metered

pytestmark = pytest.mark.database


@dataclass
class Watched:
    """A process that samples over a network, by a clock of its own."""

    metrics: Metrics
    sampler: Sampler
    now: list[float] = field(default_factory=lambda: [0.0])

    def scrape(self) -> Scrape:
        return Scrape(generate_latest(self.metrics.registry).decode())

    def is_up(self) -> bool:
        return self.scrape()("dependency_up", dependency="database") == 1


@pytest.fixture
def watched(proxy: Proxy) -> Iterator[Watched]:
    now = [0.0]
    metrics = Metrics(version="1", schema="1")
    with Database(proxy.conninfo, pool_size=1) as pool:
        sampler = Sampler(pool, metrics.families, lambda: True, lambda: now[0])
        sampler.every_seconds = 0.02
        sampler.start()
        sampler.wait_sampled()
        yield Watched(metrics, sampler, now)
        proxy.resume()
        sampler.stop()


INSTALLATION = ("jobs", "dead_letters", "projection_lag_seconds", "outbox_pending")


def known(scrape: Scrape) -> set[str]:
    return {name for name in scrape.families if name.startswith("counterfoil_")}


def test_a_database_that_hangs_takes_its_gauges_away(
    watched: Watched, proxy: Proxy
) -> None:
    assert watched.is_up()
    assert watched.scrape().of("outbox_pending") == {(): 0}

    proxy.stall()
    hung = until(lambda: later(watched))

    assert not watched.is_up()
    gone = {f"counterfoil_{gauge.name}" for look in LOOKS for gauge in look.gauges}
    assert known(hung) & gone == set()
    assert hung.of("db_pool_connections")
    proxy.resume()
    until(lambda: watched.scrape().of("outbox_pending") == {(): 0})
    assert watched.is_up()


def later(watched: Watched) -> Scrape | None:
    """Return what is told when the thread has come to nothing for a while."""
    watched.now[0] += OLD_SECONDS
    scrape = watched.scrape()
    return None if scrape.of("readiness") else scrape


def test_a_database_that_is_gone_is_told_at_once(
    watched: Watched, proxy: Proxy
) -> None:
    proxy.close()

    until(lambda: not watched.is_up())
    # The last look is told a little longer, and not a moment more.
    watched.now[0] += OLD_SECONDS
    assert watched.scrape().of("outbox_pending") == {}


def test_a_look_that_fails_takes_its_own_gauges_alone(database: TestDatabase) -> None:
    owner = database.connect()
    events = Events()
    with metered(database) as meters, listen(events.add):
        before = meters.scrape()
        owner.execute("ALTER TABLE counterfoil.maintenance RENAME TO elsewhere")
        meters.scrape()
        failed = meters.scrape()
        owner.execute("ALTER TABLE counterfoil.elsewhere RENAME TO maintenance")
        healed = meters.scrape()

    lost = {"counterfoil_maintenance_active", "counterfoil_restore_quarantine"}
    assert known(before) - known(failed) == lost
    assert known(healed) == known(before)
    assert failed("dependency_up", dependency="database") == 1
    assert failed("log_messages_total", level="error") == 1
    (told,) = events.of("sample failed")
    assert told["look"] == "closed"
