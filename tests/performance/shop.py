"""The product's own processor, driven by hand before a panel without faults."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from application.job_kinds import AnyKind
from application.operators.instruction import instruct
from application.operators.maintenance import Maintenance, Planned
from domain.event import Actor
from infrastructure.ids import new_id
from infrastructure.kinds import Parts, product_kinds
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.postgres.streams import PostgresStreams
from infrastructure.postgres.windows import PostgresWindows
from infrastructure.processor.running import run
from infrastructure.providers.panel.http_panel import HttpPanel
from infrastructure.providers.panel.wire import PanelWire
from infrastructure.simulators.panel.simulator import PanelSimulator
from tests.fixtures.database import TestDatabase
from tests.processor.rig import Rig


def order(number: int) -> dict[str, object]:
    """Return what a shop asks for: one order of one customer."""
    return {
        "orderId": f"o{number}",
        "customerId": f"c{number}",
        "kind": "renewal",
        "currency": "USD",
        "amountMinor": 100,
        "lines": [{"line": 1, "type": "access", "days": 30}],
    }


@contextmanager
def processor(database: TestDatabase, folder: Path, *more: AnyKind) -> Iterator[Rig]:
    """Give the parts of a worker, all over two connections: one of them claims."""
    with (
        PanelSimulator(book=folder / "panel.db", token="t") as panel,  # noqa: S106 - of the simulator
        Database(database.conninfo, pool_size=1) as pool,
    ):
        adapter = HttpPanel(PanelWire(panel.url, "t"))
        parts = Parts(
            streams=PostgresStreams(pool),
            units=BatchStore(pool),
            ids=new_id,
            panel=adapter,
            username_prefix="counterfoil_",
            actor=Actor("worker", "test"),
        )
        yield Rig(database, pool, *product_kinds(parts).values(), *more)
        adapter.close()


def maintenance_of(parts: Rig) -> Maintenance:
    """Return what opens and closes windows over the rig's own connections."""
    return Maintenance(PostgresWindows(parts.pool), parts.store, new_id)


def keep_a_window(maintenance: Maintenance) -> None:
    """Open a window, and close it."""
    instruction = instruct("ann", "the panel moves")
    planned = Planned(notice_ru="Идут работы", notice_en="We are at work")
    assert maintenance.open(planned, instruction).events
    assert maintenance.close(planned.scope, instruction).events


def fulfil(parts: Rig) -> int:
    """Run what is due, one job at a time, until nothing is; return how many ran."""
    ran = 0
    while held := parts.claim(1, queue="critical"):
        parts.settle(held[0], run(held[0], parts.leases))
        ran += 1
    return ran
