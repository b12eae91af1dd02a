"""One installation over a real database and a simulated panel, driven by hand."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx
import pytest

from application.operators.action import Done
from application.operators.cancel import cancel_job
from application.operators.instruction import instruct
from application.operators.operate import Operate, Operated, Wanted
from application.operators.retry import retry_job
from application.operators.target import Targets
from domain.event import Actor
from infrastructure.client import Client
from infrastructure.goods.kinds import Goods
from infrastructure.ids import new_id
from infrastructure.kinds import Parts, product_kinds
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.postgres.streams import PostgresStreams
from infrastructure.processor.running import run
from infrastructure.providers.panel.http_panel import HttpPanel
from infrastructure.providers.panel.wire import PanelWire
from infrastructure.simulators.panel.book import BookedUser
from infrastructure.simulators.panel.simulator import PanelSimulator
from tests.application.installed import TOKEN
from tests.fixtures.database import TestDatabase
from tests.processor.rig import Rig


@dataclass
class Place:
    """One installation that works only when it is told to."""

    database: TestDatabase
    panel: PanelSimulator
    parts: Rig
    streams: PostgresStreams

    def settle(
        self,
        order_id: str,
        kind: str = "purchase",
        line: dict[str, object] | None = None,
        **members: object,
    ) -> None:
        request: dict[str, object] = {
            "orderId": order_id,
            "customerId": "c",
            "kind": kind,
            "currency": "USD",
            "amountMinor": 100,
        }
        if line is not None:
            request["lines"] = [{"line": 1, "type": "access"} | line]
        Client(self.parts.connection).settle_order(request | members)

    def refund(self, order_id: str, **members: object) -> None:
        asked: dict[str, object] = {"orderId": order_id, "reason": "charged back"}
        Client(self.parts.connection).refund_order(asked | members)

    def operate(
        self, operation: str, customer: str = "c", /, **parameters: object
    ) -> Operated:
        """Ask for an operation, as an operator does."""
        wanted = Wanted(
            entitlement=f"customer:{customer}",
            operation=operation,
            parameters=parameters,
        )
        operate = Operate(self.streams, self.parts.store, new_id)
        return operate(wanted, instruct("ann", "the customer asked"))

    def retry(self, id_: UUID) -> Done:
        """Revive what is dead, as an operator does."""
        targets = Targets(self.streams, self.streams, self.parts.kinds)
        retry = retry_job(targets, self.parts.store, new_id)
        return retry(str(id_), instruct("ann", "it is repaired"))

    def cancel(self, id_: UUID) -> Done:
        """End what is not finished, as an operator does."""
        targets = Targets(self.streams, self.streams, self.parts.kinds)
        cancel = cancel_job(targets, self.parts.store, new_id)
        return cancel(str(id_), instruct("ann", "it was a mistake"))

    def at_the_panel(self, method: str, path: str, **members: object) -> None:
        """Do something there behind everybody's back."""
        httpx.request(
            method,
            f"{self.panel.url}/api/users{path}",
            json=members,
            headers={
                "Authorization": f"Bearer {TOKEN}",
                "X-Forwarded-For": "127.0.0.1",
                "X-Forwarded-Proto": "https",
            },
            trust_env=False,
        ).raise_for_status()

    def work(self) -> int:
        """Run what is due, one job at a time, until nothing is."""
        ran = 0
        while held := self.parts.claim(1, queue="critical"):
            self.parts.settle(held[0], run(held[0], self.parts.leases))
            ran += 1
        return ran

    def user(self) -> BookedUser:
        (user,) = self.panel.users()
        return user

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        return self.parts.connection.execute(statement.encode()).fetchall()

    def events(self) -> int:
        ((count,),) = self.rows("SELECT count(*) FROM counterfoil.events")
        return int(count)


@contextmanager
def placed(
    database: TestDatabase, panel: PanelSimulator, goods: Goods | None = None
) -> Iterator[Place]:
    """Give an installation whose jobs run when the test says so."""
    with Database(database.conninfo, pool_size=2) as pool:
        adapter = HttpPanel(PanelWire(panel.url, TOKEN))
        streams = PostgresStreams(pool)
        parts = Parts(
            streams=streams,
            units=BatchStore(pool),
            ids=new_id,
            panel=adapter,
            goods=goods,
            username_prefix="counterfoil_",
            actor=Actor("worker", "test"),
        )
        kinds = product_kinds(parts).values()
        yield Place(database, panel, Rig(database, pool, *kinds), streams)
        adapter.close()


@pytest.fixture
def place(database: TestDatabase, panel: PanelSimulator) -> Iterator[Place]:
    """An installation whose jobs run when the test says so."""
    with placed(database, panel) as place:
        yield place
