"""Deliveries, two gateways in one ledger, and buyers that die: for all scenes here.

`blind` is a provider that keeps nothing and tells nothing; `keyed` buys once for a key
and can be asked.  Both are the same simulated gateway, whose clock goes with ours.
"""

import json
import os
import signal
import sqlite3
import urllib.request
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from application import births
from application.operators.instruction import instruct
from application.providers.credential import Credential
from application.unit import Group, Locked, Refused, Written, changed
from domain.event import Actor, Instant, Meta
from domain.goods import aggregate
from domain.goods.commands import GoodsCommand, Owe
from domain.goods.events import Product
from domain.goods.state import GoodsDelivery
from domain.stream import Change, Ref
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.providers.registry.wiring import configure_over
from infrastructure.seals.key_ring import key_ring_of, new_key
from infrastructure.simulators.gateway.gateway import current_ms
from infrastructure.simulators.gateway.simulator import (
    GatewaySettings,
    GatewaySimulator,
)
from tests.crash.goods.ledger import Judge
from tests.fixtures.database import TestDatabase
from tests.fixtures.folds import assert_heads_equal_folds
from tests.fixtures.processes import ROOT, Process, start
from tests.fixtures.workers import descendants, until, wait_gone

TOKEN = "a-token"  # noqa: S105 - of the simulated gateway
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - of a test
BLIND, KEYED = "blind", "keyed"
ADAPTERS = {BLIND: "fragment", KEYED: "idempotent"}
PAST_THE_LEASE = timedelta(seconds=200)
"""Of 150 s, and for any sender's deadline as well."""
META = Meta(actor=Actor("operator", "olga"), correlation_id="test", reason="the scene")
KEY = new_key("k1")
PAID = 190


@dataclass(frozen=True)
class Line:
    """One line of goods that is owed."""

    order: UUID
    ref: Ref
    provider: str


@dataclass
class Market:
    """What happens here is seen in two books: the log, and the gateway's ledger."""

    database: TestDatabase
    gateway: GatewaySimulator
    ledger: Path
    folder: Path
    store: BatchStore
    connection: psycopg.Connection[Any]
    buyers: list[Process] = field(default_factory=list[Process])
    plan: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    ahead: timedelta = timedelta()
    cells: bool = True
    """Whether suspects run in processes of their own; without, a kill costs less."""
    n_owed: int = 0

    # ------------------------------------------------------------------ what is owed

    def owe(self, provider: str, point: str = "", deed: str = "kill") -> Line:
        """Owe one line, and set a trap for whoever buys it."""
        self.n_owed += 1
        order = new_id()
        owe = Owe(
            order=order,
            order_id=f"A-{self.n_owed}",
            customer_id=f"C-{self.n_owed}",
            line=1,
            provider=provider,
            product=Product(kind="telegram_stars", quantity=50),
            quantity=2,
            recipient=f"anna_{self.n_owed:04}",
            currency="USD",
            cost_minor=50,
            price_minor=100,
            paid_minor=PAID,
        )
        born = births.owed(new_id, "default", owe, self.now())
        if point:
            self.plan[str(order)] = self.plan[str(born[0].ref.id)] = (point, deed)
            (self.folder / "plan.json").write_text(json.dumps(self.plan))
        self._commit(tuple(change.ref for change in born), lambda _l, _n: born)
        return Line(order, born[0].ref, provider)

    def tell(self, line: Line, command: GoodsCommand) -> None:
        """Let somebody else, a person or a callback, tell of a delivery."""

        def decide(locked: Locked, now: Instant) -> tuple[Change, ...] | Refused:
            head = locked[line.ref]
            assert head is not None
            assert isinstance(head.state, GoodsDelivery)
            events = aggregate.decide(head.state, command)
            state = aggregate.fold(events, head.state)
            change = changed(line.ref, head, events, state)
            return (change, *births.after_delivery(new_id, change, now))

        self._commit((line.ref,), decide)

    def _commit(
        self,
        refs: tuple[Ref, ...],
        decide: Callable[[Locked, Instant], tuple[Change, ...] | Refused],
    ) -> None:
        (result,) = self.store.commit([Group(refs=refs, decide=decide, meta=META)])
        assert isinstance(result, Written), result

    def state(self, line: Line) -> str:
        return str(self.one("state", line))

    def one(self, what: str, line: Line) -> object:
        """Return a column of a delivery's head."""
        rows = self.rows(
            f"SELECT {what} FROM counterfoil.deliveries WHERE stream_id = %s",  # noqa: S608
            line.ref.id,
        )
        return rows[0][0]

    def facts(self, line: Line) -> list[str]:
        rows = self.rows(
            "SELECT type FROM counterfoil.events WHERE stream_id = %s ORDER BY version",
            line.ref.id,
        )
        return [row[0].removeprefix("goods.") for row in rows]

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        return self.connection.execute(statement.encode(), values).fetchall()

    @contextmanager
    def blocked(self, statement: str) -> Generator[None]:
        """Hold what `statement` locks while the block runs."""
        with (
            psycopg.connect(self.database.conninfo) as holder,
            holder.transaction(),
        ):
            holder.execute(statement.encode())
            yield

    # ------------------------------------------------------------------------- time

    def now(self) -> Instant:
        ((now,),) = self.rows("SELECT counterfoil.now()")
        assert isinstance(now, datetime)
        return now

    def advance(self, by: timedelta) -> None:
        """Let time pass here and at the gateway."""
        self.database.advance(by)
        self.ahead += by

    def pass_time(self) -> None:
        """Go to when the next job is due, unless one runs."""
        ((running, wait),) = self.rows(
            """
            SELECT count(*) FILTER (WHERE state = 'running'),
                   min(run_at) FILTER (WHERE state = 'waiting') - counterfoil.now()
              FROM counterfoil.jobs WHERE kind LIKE 'goods%%'
            """
        )
        if not running and wait is not None and wait > timedelta():
            self.advance(wait + timedelta(milliseconds=10))

    def settle_down(self, within_s: float = 60.0) -> None:
        """Return when no job buys or looks any more: all is over, or a person's."""

        def is_quiet() -> bool:
            self.pass_time()
            return not self.rows(
                "SELECT 1 FROM counterfoil.jobs WHERE kind LIKE 'goods%%' LIMIT 1"
            )

        try:
            until(is_quiet, within_s)
        except AssertionError:
            self.explain()
            raise

    def explain(self) -> None:
        """Show where everything stands, to whoever reads the failure."""
        jobs = """
            SELECT kind, state, run_at - counterfoil.now(), attempt, owner_pid,
                   lease_until - counterfoil.now()
              FROM counterfoil.jobs LIMIT 20
            """
        deliveries = """
            SELECT provider, state, standing, code, senders,
                   deadline - counterfoil.now()
              FROM counterfoil.deliveries LIMIT 30
            """
        for statement in (jobs, deliveries):
            for row in self.rows(statement):
                print(row)  # noqa: T201
        for buyer in range(len(self.buyers)):
            log = (self.folder / f"buyer-{buyer}.log").read_text()
            pid, code = self.buyers[buyer].pid, self.buyers[buyer].poll()
            stat = Path(f"/proc/{pid}/stat")
            print(pid, code, stat.read_text()[:60] if stat.exists() else "")  # noqa: T201
            print(buyer, log[-1500:])  # noqa: T201

    # ----------------------------------------------------------------------- buyers

    def start_buyer(self, conninfo: str | None = None, *, slots: int = 8) -> Process:
        """Start a worker that buys; traps are those of this moment."""
        if not (self.folder / "plan.json").exists():
            (self.folder / "plan.json").write_text("{}")
        log = (self.folder / f"buyer-{len(self.buyers)}.log").open("wb")
        environment = os.environ | {
            "PYTHONPATH": str(ROOT),
            "BUYER_TRAPS": str(self.folder),
            "COUNTERFOIL_DATABASE_URL": conninfo or self.database.conninfo,
            "COUNTERFOIL_DATA_DIR": str(self.folder / "data"),
            "COUNTERFOIL_DATA_ENCRYPTION_KEYS": KEY,
            "COUNTERFOIL_QUEUE_CRITICAL": str(slots),
            **({} if self.cells else {"BUYER_WITHOUT_CELLS": "1"}),
        }
        buyer = start(
            "tests.crash.goods.buyer",
            ["worker", "--only", "jobs"],
            environment=environment,
            stdout=log,
            stderr=log,
        )
        log.close()
        self.buyers.append(buyer)
        return buyer

    def disarm(self) -> None:
        """Set no trap for those who are started from now on."""
        self.plan.clear()
        (self.folder / "plan.json").write_text("{}")

    def caught(self, line: Line) -> int | None:
        """Return the process that a trap has caught over this line."""
        for name in (line.order, line.ref.id):
            file = self.folder / str(name)
            if file.exists() and (pid := file.read_text()):
                return int(pid)
        return None

    def go_on(self, line: Line) -> None:
        """Open a trap of the kind `wait`."""
        for name in (line.order, line.ref.id):
            (self.folder / f"{name}.go").touch()

    def kill(self, buyer: Process) -> None:
        """End it at once, and return when it and its children are gone."""
        cells = descendants(buyer.pid)
        buyer.send_signal(signal.SIGKILL)
        buyer.wait()
        wait_gone(cells)

    # ---------------------------------------------------------------------- gateway

    def control(self, switch: str, **what: object) -> Any:  # noqa: ANN401 - JSON
        request = urllib.request.Request(  # noqa: S310 - the simulator's own address
            f"{self.gateway.url}/_simulator/{switch}",
            data=json.dumps(what).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return json.load(answer)

    def hold(self, point: str, line: Line) -> int:
        """Stop the next request about a line at the gateway."""
        number: int = self.control("hold", point=point, match=str(line.order))["hold"]
        return number

    def wait_held(self, hold: int) -> None:
        assert self.control("held", hold=hold, timeout_s=40)["held"] is not None

    def release(self, hold: int, *, drop: bool = False) -> None:
        self.control("release", hold=hold, drop=drop)

    def has_answered(self, n: int) -> bool:
        """Whether the gateway has decided about that many purchases."""
        with closing(sqlite3.connect(self.ledger)) as book:
            ((answered,),) = book.execute(
                "SELECT count(*) FROM requests"
                " WHERE action = 'purchase' AND told IS NOT NULL"
            )
        return bool(answered >= n)

    def has_answered_all(self) -> bool:
        """Whether no purchase that has arrived is still under way."""
        with closing(sqlite3.connect(self.ledger)) as book:
            ((left,),) = book.execute(
                "SELECT count(*) FROM requests WHERE told IS NULL"
            )
        return bool(left == 0)

    # ------------------------------------------------------------------------ judge

    def judged(self) -> Judge:
        """Return both books, compared."""
        judge = Judge(self.connection, self.ledger)
        judge.judge()
        assert_heads_equal_folds(self.connection)
        return judge

    def somebody_waits_for_a_lock(self) -> bool:
        return bool(
            self.rows(
                """
                SELECT 1
                  FROM pg_locks l
                  JOIN pg_stat_activity a USING (pid)
                 WHERE NOT l.granted
                   AND a.application_name LIKE 'counterfoil%%'
                   AND a.datname = current_database()
                """
            )
        )


@contextmanager
def opened(database: TestDatabase, folder: Path) -> Generator[Market]:
    """A market whose buyers end with the block."""
    ledger, ahead = folder / "ledger.sqlite", [timedelta()]
    with (
        GatewaySimulator(
            ledger=ledger,
            settings=GatewaySettings(token=TOKEN, callback_secret=SECRET),
            clock=lambda: current_ms() + ahead[0] // timedelta(milliseconds=1),
        ) as gateway,
        Database(database.conninfo, pool_size=3) as pool,
    ):
        market = Market(
            database, gateway, ledger, folder, BatchStore(pool), database.connect()
        )
        market_clock = market.advance

        def advance(by: timedelta) -> None:
            market_clock(by)
            ahead[0] = market.ahead

        market.advance = advance  # type: ignore[method-assign]
        _open_shops(pool, gateway.url)
        try:
            yield market
        finally:
            for buyer in market.buyers:
                if buyer.poll() is None:
                    buyer.send_signal(signal.SIGKILL)
                buyer.wait()


def _open_shops(pool: Database, url: str) -> None:
    people = configure_over(pool, key_ring_of(KEY), BatchStore(pool))
    why = instruct("olga", "the scene")
    credential = Credential(base_url=url, token=TOKEN, webhook_secret=SECRET)
    for slug, adapter in ADAPTERS.items():
        people.configure("default", slug, adapter, why)
        people.set_credential("default", slug, credential, why)
        people.enable("default", slug, why)


@pytest.fixture
def market(database: TestDatabase, tmp_path: Path) -> Iterator[Market]:
    """One market for one test."""
    with opened(database, tmp_path) as market:
        yield market
