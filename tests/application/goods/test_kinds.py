"""The two kinds of job that serve deliveries, and who may claim them."""

import pytest

from application.goods.port import Confirmed, Unconfigured
from application.job_kinds import Kinds
from application.policies import BULK_OPERATION, GOODS_DELIVERY, GOODS_RECONCILE
from domain.event import Actor
from domain.stream import StreamKind
from infrastructure.bulk.kinds import NoConnections
from infrastructure.goods.kinds import NO_GOODS
from infrastructure.ids import new_id
from infrastructure.kinds import Parts, product_kinds, runnable_kinds
from tests.application.goods.world import World
from tests.application.memory import MemoryLog, MemoryPanel

GOODS = {GOODS_DELIVERY, GOODS_RECONCILE}


def kinds(*, goods: bool, database: bool = True) -> tuple[Kinds, Kinds]:
    log = MemoryLog()
    parts = Parts(
        streams=log,
        units=log,
        ids=new_id,
        panel=MemoryPanel(),
        goods=NO_GOODS if goods else None,
        connections=NoConnections() if database else None,
        username_prefix="counterfoil_",
        actor=Actor("worker", "w"),
    )
    return product_kinds(parts), runnable_kinds(parts)


def test_both_ask_a_provider_with_leases_that_outlast_its_calls() -> None:
    known, _ = kinds(goods=True)

    for name in GOODS:
        kind = known[name]
        assert (kind.lease_seconds, kind.call_seconds, kind.deadline_seconds) == (
            150,
            90,
            120,
        )
        assert kind.queue == "critical"
        assert kind.budget.max_attempts == 12
        assert kind.asks_provider, "never claimed beyond free slots"
        assert kind.record_kind is StreamKind.DELIVERY


def test_without_a_key_ring_they_are_known_and_not_claimed() -> None:
    known, runnable = kinds(goods=False)

    assert set(known) - set(runnable) == GOODS


def test_with_a_key_ring_they_are_claimed() -> None:
    known, runnable = kinds(goods=True)

    assert set(known) == set(runnable)


def test_without_a_database_only_bulk_operations_are_known_and_not_claimed() -> None:
    known, runnable = kinds(goods=True, database=False)

    assert set(known) - set(runnable) == {BULK_OPERATION}


def test_where_goods_are_only_told_of_nothing_can_be_bought() -> None:
    assert isinstance(NO_GOODS.providers.find("default", "starshop"), Unconfigured)
    assert NO_GOODS.guards.barring("default", "starshop", 1) is None
    NO_GOODS.guards.record("default", "starshop", Confirmed())
    with pytest.raises(OSError, match="nothing is bought here"):
        NO_GOODS.journal.write("goods:k", 1)


def test_their_keys_lead_to_their_delivery() -> None:
    world = World()

    (job,) = world.live()

    state = world.log.job(job)
    assert state.unique_key == f"goods_delivery:{world.delivery.id}"
    assert state.serial_key == f"goods:{world.order}"
