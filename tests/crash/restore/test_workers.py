"""Another cluster under workers that run: judged by the gateway's own ledger."""

import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from application import births
from application.operators.instruction import instruct
from application.providers.credential import Credential
from application.unit import Group, Written
from domain.event import Actor, Meta
from domain.goods.commands import Owe
from domain.goods.events import Product
from infrastructure import embedded
from infrastructure.embedded import lifecycle
from infrastructure.embedded.place import lasting_place
from infrastructure.guards.wiring import keep_place
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database, connect
from infrastructure.postgres.migrator import migrate
from infrastructure.providers.registry.wiring import configure_over
from infrastructure.seals.key_ring import key_ring_of, new_key
from infrastructure.simulators.gateway.simulator import (
    GatewaySettings,
    GatewaySimulator,
)
from tests.api.command import Command
from tests.fixtures.database import TEST_CLOCK
from tests.fixtures.workers import until
from tests.guards.buyer import paid_order
from tests.guards.servers import QUICK, dumped, tool, var

__all__ = ["var"]

pytestmark = pytest.mark.crash

TOKEN = "a-token"  # noqa: S105 - of the simulated gateway
KEY = new_key("k1")
PATIENCE_S = 90
ADAPTERS = {"blind": "fragment", "keyed": "idempotent"}
META = Meta(actor=Actor("operator", "olga"), correlation_id="test", reason="the scene")


@dataclass
class Shop:
    """One installation whose cluster is thrown away, and the gateway that stays."""

    conninfo: str
    ledger: Path
    owed: int = 0

    def owe(self, provider: str) -> None:
        self.owed += 1
        order = paid_order()
        owe = Owe(
            order=order.ref.id,
            order_id=f"A-{self.owed}",
            customer_id=f"C-{self.owed}",
            line=1,
            provider=provider,
            product=Product(kind="telegram_stars", quantity=50),
            quantity=1,
            recipient=f"anna_{self.owed:04}",
            currency="USD",
            cost_minor=50,
            price_minor=100,
            paid_minor=100,
        )
        with Database(self.conninfo, pool_size=1) as pool:
            with pool.connection() as connection:
                (row,) = connection.execute("SELECT counterfoil.now()").fetchall()
            now: Any = row[0]
            born = (order, *births.owed(new_id, "default", owe, now))
            refs = tuple(change.ref for change in born)
            group = Group(refs, lambda _locked, _now: born, META)
            (result,) = BatchStore(pool).commit([group])
        assert isinstance(result, Written), result

    def configure(self, url: str) -> None:
        why = instruct("olga", "the scene")
        with Database(self.conninfo, pool_size=1) as pool:
            people = configure_over(pool, key_ring_of(KEY), BatchStore(pool))
            for slug, adapter in ADAPTERS.items():
                people.configure("default", slug, adapter, why)
                credential = Credential(base_url=url, token=TOKEN)
                people.set_credential("default", slug, credential, why)

    def sold(self) -> Counter[str]:
        """Return how often each recipient got something, by the gateway's ledger."""
        with closing(sqlite3.connect(self.ledger)) as book:
            rows = book.execute("SELECT recipient FROM effects").fetchall()
        return Counter(row[0] for row in rows)

    def states(self) -> Counter[tuple[str, str]]:
        return Counter(self.rows("SELECT provider, state FROM counterfoil.deliveries"))

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        with closing(connect(self.conninfo)) as connection:
            found: list[tuple[Any, ...]] = connection.execute(
                statement.encode()
            ).fetchall()
            return found

    def is_quiet(self) -> bool:
        """Go on in time to whatever job is due next; whether there is none."""
        try:
            return self._is_quiet()
        except (psycopg.Error, AssertionError):
            return False

    def _is_quiet(self) -> bool:
        ((running, left, wait),) = self.rows(
            """
            SELECT count(*) FILTER (WHERE state = 'running'), count(*),
                   min(run_at) FILTER (WHERE state = 'waiting') - counterfoil.now()
              FROM counterfoil.jobs WHERE kind LIKE 'goods%' AND gate IS NULL
            """
        )
        if not running and wait is not None and wait > timedelta():
            with closing(connect(self.conninfo)) as connection:
                connection.execute(
                    "UPDATE counterfoil.test_clock SET ahead = ahead + %(by)s",
                    {"by": wait + timedelta(milliseconds=10)},
                )
        return not left


@pytest.fixture
def command(var: Path) -> Iterator[Command]:
    command = Command(
        COUNTERFOIL_DATA_DIR=str(var),
        COUNTERFOIL_DATA_ENCRYPTION_KEYS=KEY,
        COUNTERFOIL_OPERATOR="olga",
    )
    try:
        yield command
    finally:
        command.close()


def fresh(var: Path) -> str:
    with embedded.serve(var, options=QUICK, keep=True) as server:
        return server.uri


def opened(var: Path, ledger: Path, url: str) -> Shop:
    """Return a shop that owes three lines at each provider."""
    shop = Shop(fresh(var), ledger)
    migrate(shop.conninfo)
    with closing(connect(shop.conninfo)) as connection:
        connection.execute(TEST_CLOCK)
    keep_place(shop.conninfo)
    shop.configure(url)
    for _ in range(3):
        shop.owe("blind")
        shop.owe("keyed")
    return shop


def thrown_away(var: Path, shop: Shop, dump: Path) -> None:
    """Let an older dump take the place of the cluster."""
    lifecycle.stop(lasting_place(var))
    shutil.rmtree(lasting_place(var).data)
    assert fresh(var) == shop.conninfo
    tool("pg_restore", f"--dbname={shop.conninfo}", str(dump))


def test_what_an_older_dump_has_forgotten_is_not_bought_again(
    var: Path, command: Command, tmp_path: Path
) -> None:
    """The workers run all the while; the gateway has sold everything before."""
    ledger = tmp_path / "ledger.sqlite"
    with GatewaySimulator(
        ledger=ledger, settings=GatewaySettings(token=TOKEN)
    ) as gateway:
        shop = opened(var, ledger, gateway.url)
        dump = dumped(shop.conninfo, tmp_path)
        worker = command.start(
            "worker", "--only", "jobs", COUNTERFOIL_DATABASE_URL=shop.conninfo
        )
        done = {(slug, "delivered") for slug in ADAPTERS}
        until(lambda: set(shop.states()) == done, PATIENCE_S)
        assert set(shop.sold().values()) == {1}

        thrown_away(var, shop, dump)
        until(shop.is_quiet, PATIENCE_S)

        # then nothing was bought twice, and everything is known, or with a person
        assert shop.sold() == Counter({f"anna_{n:04}": 1 for n in range(1, 7)})
        assert shop.states() == Counter(
            {("blind", "needs_review"): 3, ("keyed", "delivered"): 3}
        )
        told = {"COUNTERFOIL_DATABASE_URL": shop.conninfo}
        state = command("restore-guard", "status", "--json", **told).document
        assert {"system_identifier", "journal"} <= set(state["signs"])
        assert (state["left"], state["inReview"], state["lostPurchases"]) == (0, 3, 6)

        # and what is new is bought once a person has released it
        shop.owe("keyed")
        released = command("restore-guard", "release", "--reason", "all known", **told)
        assert released.code == 0, released.err
        until(lambda: shop.is_quiet() and shop.sold()["anna_0007"] == 1, PATIENCE_S)
        assert set(shop.sold().values()) == {1}
        assert worker.process.poll() is None
