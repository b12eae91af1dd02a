"""Deliveries in a real database, and the parts of a worker, driven by hand."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg

from application.births import owed
from application.goods.pace import Pace
from application.goods.port import (
    GoodsProvider,
    Guard,
    LookupAnswer,
    SubmitAnswer,
    Unconfigured,
    WhoSends,
)
from application.unit import Group, Written
from domain.event import Actor, Meta
from domain.goods.commands import Owe
from domain.goods.events import Product
from domain.goods.state import GoodsDelivery
from domain.jobs.verdict import Ending
from domain.stream import Ref
from infrastructure.goods.kinds import Goods, goods_kinds
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.postgres.streams import PostgresStreams
from infrastructure.processor.leases import Held
from infrastructure.processor.running import run
from infrastructure.processor.senders.identity import who_sends
from tests.application.goods.world import Seller
from tests.fixtures.database import TestDatabase
from tests.processor.rig import Rig

ACTOR = Actor("worker", "test")


class Open:
    """Nothing keeps money from being spent, and the journal takes everything."""

    def __init__(self, seller: Seller) -> None:
        self.seller = seller
        self.journal: list[str] = []

    def find(self, tenant_id: str, slug: str) -> GoodsProvider | Unconfigured:
        del tenant_id, slug
        return self.seller

    def barring(self, tenant_id: str, slug: str, cost_minor: int) -> Guard | None:
        del tenant_id, slug, cost_minor
        return None

    def record(
        self, tenant_id: str, slug: str, answer: SubmitAnswer | LookupAnswer
    ) -> None:
        """Nobody looks."""

    def write(self, key: str, purchase: int) -> None:
        self.journal.append(f"{key} {purchase}")


@dataclass
class Counter:
    """One order that owes lines of goods, and a process that works when told to."""

    database: TestDatabase
    connection: psycopg.Connection[Any]
    seller: Seller
    rig: Rig
    streams: PostgresStreams
    journal: list[str]
    order: UUID

    def owe(self, line: int = 1) -> Ref:
        """Owe one line, as fan-out does: its delivery, and the job that buys it."""
        owe = Owe(
            order=self.order,
            order_id="o1",
            customer_id="c1",
            line=line,
            provider="starshop",
            product=Product(kind="telegram_stars", quantity=50),
            quantity=2,
            recipient="anna_k",
            currency="USD",
            cost_minor=30,
            price_minor=40,
            paid_minor=70,
        )
        now = self.streams.clock()
        born = owed(new_id, "default", owe, now)
        meta = Meta(actor=ACTOR, correlation_id="order:o1")
        refs = tuple(change.ref for change in born)
        group = Group(refs=refs, decide=lambda _locked, _now: born, meta=meta)
        (result,) = self.rig.store.commit([group])
        assert isinstance(result, Written)
        return born[0].ref

    def claim(self) -> Held:
        """Claim the one job that is due next."""
        (held,) = self.rig.claim(1, queue="critical")
        return held

    def run(self, held: Held | None = None) -> Ending:
        """Run and settle a claim; return how it ended."""
        held = held or self.claim()
        ending = run(held, self.rig.leases)
        self.rig.settle(held, ending)
        return ending

    def rescue(self, after: timedelta = timedelta(seconds=200)) -> int:
        """Be silent for longer than any lease; return how many were rescued."""
        self.database.advance(after)
        return self.rig.rescuer.round()

    def state(self, delivery: Ref) -> GoodsDelivery:
        head = self.streams.head(delivery)
        assert head is not None
        assert isinstance(head.state, GoodsDelivery)
        return head.state

    def tags(self, delivery: Ref) -> list[str]:
        rows = self.connection.execute(
            "SELECT type FROM counterfoil.events WHERE stream_id = %s ORDER BY version",
            (delivery.id,),
        )
        return [row[0] for row in rows]

    def jobs(self) -> list[str]:
        """Return the kinds of all unfinished jobs, the oldest first."""
        rows = self.connection.execute(
            "SELECT kind FROM counterfoil.jobs ORDER BY stream_id"
        )
        return [row[0] for row in rows]


@contextmanager
def counter(
    database: TestDatabase,
    seller: Seller,
    *,
    conninfo: str | None = None,
    sends: WhoSends = who_sends,
) -> Iterator[Counter]:
    """Give a counter whose handlers reach the database by `conninfo`."""
    with (
        Database(database.conninfo, pool_size=4) as pool,
        Database(conninfo or database.conninfo, pool_size=2) as handlers,
    ):
        shop = Open(seller)
        streams = PostgresStreams(pool)
        goods = Goods(
            providers=shop,
            guards=shop,
            journal=shop,
            pace=Pace(),
            who_sends=sends,
        )
        kinds = goods_kinds(goods, streams, BatchStore(handlers), new_id, ACTOR)
        rig = Rig(database, pool, *kinds)
        yield Counter(
            database=database,
            connection=database.connect(),
            seller=seller,
            rig=rig,
            streams=streams,
            journal=shop.journal,
            order=new_id(),
        )
