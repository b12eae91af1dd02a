"""Whoever sees that a sender is dead records it, for every delivery that waits."""

import os
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import psycopg
import pytest

from domain.goods.events import Sender
from domain.goods.state import Stage
from infrastructure.processor.running import run
from infrastructure.processor.senders.identity import started_of, who_sends
from infrastructure.processor.senders.proof import _AT_LARGE, Undertaker
from tests.application.goods.counter import Counter, counter
from tests.application.goods.world import HONEST, Seller
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import until
from tests.processor.senders.test_ended import process, sender_of

pytestmark = pytest.mark.usefixtures("heads_equal_folds")

LOOKED_UP = msgspec.structs.replace(HONEST, key_lifetime=None)


def undertaker(shop: Counter) -> Undertaker:
    return Undertaker(shop.rig.pool, shop.rig.store, shop.rig.actor)


def test_a_dead_sender_is_recorded_once_and_what_was_not_bought_is_bought(
    database: TestDatabase,
) -> None:
    seller = Seller(LOOKED_UP)
    seller.buys.append(False)
    with process() as child:
        sender = sender_of(child.pid)
        with counter(database, seller, sends=lambda _boot: sender) as shop:
            delivery = shop.owe()
            run(shop.claim(), shop.rig.leases)  # and then it is killed
            shop.rescue()
            assert undertaker(shop).round() == 0, "it lives"
            child.kill()
            child.wait()

            assert undertaker(shop).round() == 1

            assert shop.state(delivery).senders == ()
            assert shop.tags(delivery)[-1] == "goods.sender_ended"
            assert undertaker(shop).round() == 0
            database.advance(timedelta(minutes=1))
            while shop.state(delivery).stage is not Stage.DELIVERED:
                shop.run()
            assert seller.ledger.total() == 1


def test_nothing_is_said_before_the_sender_would_have_given_up(
    database: TestDatabase,
) -> None:
    with process() as child:
        sender = sender_of(child.pid)
        child.kill()
        child.wait()
        with counter(database, Seller(), sends=lambda _boot: sender) as shop:
            delivery = shop.owe()
            run(shop.claim(), shop.rig.leases)

            assert undertaker(shop).round() == 0

            database.advance(timedelta(seconds=121))
            assert undertaker(shop).round() == 1
            assert shop.state(delivery).senders == ()


def test_a_sender_on_another_machine_is_left_to_others(database: TestDatabase) -> None:
    far = Sender(host="far", machine="far", pid=1, started=1, boot=UUID(int=1))
    with counter(database, Seller(), sends=lambda _boot: far) as shop:
        delivery = shop.owe()
        run(shop.claim(), shop.rig.leases)
        shop.rescue()

        assert undertaker(shop).round() == 0

        assert len(shop.state(delivery).senders) == 1


def test_a_look_is_one_step_of_an_index_however_many_deliveries_there_are(
    database: TestDatabase,
) -> None:
    with counter(database, Seller()) as shop:
        delivery = shop.owe()
        # Rolled back: these heads have no streams.
        with shop.connection.transaction(force_rollback=True):
            _fill(shop.connection, delivery.id)
            told = shop.connection.execute(
                f"EXPLAIN {_AT_LARGE}",
                {"machine": "m", "after": UUID(int=0), "page": 100},
            ).fetchall()

    assert any("deliveries_at_large" in str(row[0]) for row in told), told


def _fill(connection: psycopg.Connection[Any], like: UUID) -> None:
    connection.execute(
        """
        INSERT INTO counterfoil.deliveries
        SELECT (jsonb_populate_record(d, jsonb_build_object(
                    'stream_id', gen_random_uuid(), 'line', n))).*
          FROM counterfoil.deliveries d, generate_series(2, 5000) AS n
         WHERE d.stream_id = %s
        """,
        (like,),
    )
    connection.execute("ANALYZE counterfoil.deliveries")


def test_a_sender_is_who_calls_and_when_it_was_started() -> None:
    me = who_sends(UUID(int=3))

    assert (me.pid, me.boot) == (os.getpid(), UUID(int=3))
    assert me.started == until(lambda: started_of(os.getpid()))
    assert me.machine
