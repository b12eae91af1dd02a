"""Transaction 1 and 2 in PostgreSQL: what is lost on the way is never bought twice."""

import threading
from datetime import timedelta

import msgspec
import pytest
from psycopg.sql import SQL, Literal

from application.goods.port import Confirmed, Unavailable, Unknown
from domain.goods.state import Stage, Standing
from domain.jobs.outcome import Completed, Snooze
from domain.jobs.verdict import Interrupted
from infrastructure.postgres.database import Connection
from infrastructure.processor.running import run
from tests.application.goods.counter import counter
from tests.application.goods.world import BLIND, HONEST, Seller
from tests.application.memory import MemoryContext
from tests.fixtures.database import TestDatabase
from tests.fixtures.proxy import Proxy
from tests.fixtures.workers import enqueue

pytestmark = pytest.mark.usefixtures("heads_equal_folds")

SUBMITTED = "goods.purchase_submitted"


def test_a_line_is_bought_and_its_order_is_looked_at(database: TestDatabase) -> None:
    with counter(database, Seller()) as shop:
        delivery = shop.owe()

        ending = shop.run()

        assert isinstance(ending, Completed)
        assert shop.state(delivery).stage is Stage.DELIVERED
        assert shop.jobs() == ["order_completion"]


def test_lines_of_one_order_take_turns(database: TestDatabase) -> None:
    with counter(database, Seller()) as shop:
        first, second = shop.owe(1), shop.owe(2)

        held = shop.rig.claim(10, queue="critical")

        assert len(held) == 1, "the serial key of the order"
        shop.run(held[0])
        shop.run()
        stages = {shop.state(each).stage for each in (first, second)}
        assert stages == {Stage.DELIVERED}


def test_a_submission_whose_answer_was_lost_is_seen_before_it_is_asked_for(
    database: TestDatabase, proxy: Proxy
) -> None:
    seller = Seller()
    with counter(database, seller, conninfo=proxy.conninfo) as shop:
        delivery = shop.owe()
        plan = proxy.cut_commit_answer(of=SUBMITTED)

        shop.run()

        plan.wait()
        assert shop.tags(delivery).count(SUBMITTED) == 1
        assert seller.ledger.total() == 1
        assert shop.state(delivery).stage is Stage.DELIVERED


def test_a_submission_that_was_lost_on_its_way_is_made_again_before_it_is_asked_for(
    database: TestDatabase, proxy: Proxy
) -> None:
    seller = Seller()
    with counter(database, seller, conninfo=proxy.conninfo) as shop:
        delivery = shop.owe()
        plan = proxy.cut_before_commit(of=SUBMITTED)

        shop.run()

        plan.wait()
        assert shop.tags(delivery).count(SUBMITTED) == 1
        assert seller.ledger.total() == 1


def test_nothing_is_asked_for_while_the_answer_to_the_submission_is_kept_back(
    database: TestDatabase, proxy: Proxy
) -> None:
    seller = Seller()
    with counter(database, seller, conninfo=proxy.conninfo) as shop:
        delivery = shop.owe()
        plan = proxy.hold_commit_answer(of=SUBMITTED)
        buyer = threading.Thread(target=shop.run)
        buyer.start()
        plan.wait()

        assert shop.tags(delivery)[-1] == SUBMITTED
        assert (seller.requests, shop.journal) == ([], [])
        proxy.close_all()
        buyer.join()

        assert seller.ledger.total() == 1
        assert shop.tags(delivery).count(SUBMITTED) == 1


def test_who_never_asked_takes_back_what_it_had_submitted(
    database: TestDatabase,
) -> None:
    seller = Seller()
    with counter(database, seller) as shop:
        delivery = shop.owe()
        held = shop.claim()
        # The answer comes too late to be asked for: there is no time for the call.
        context = MemoryContext(held.job.id, held.job.token, seconds_left=9.0)
        held.kind.handler(held.kind.args(delivery.id), context)

        shop.rig.settle(held, Interrupted(cause="database_unavailable"))

        assert shop.tags(delivery)[-1] == "goods.purchase_withdrawn"
        assert shop.state(delivery).stage is Stage.PENDING
        assert seller.requests == []
        shop.run()
        assert seller.ledger.total() == 1


def test_a_buyer_that_died_in_its_call_is_found_out_by_the_provider(
    database: TestDatabase,
) -> None:
    seller = Seller(HONEST)
    with counter(database, seller) as shop:
        delivery = shop.owe()
        held = shop.claim()
        run(held, shop.rig.leases)  # and then it is killed

        assert shop.rescue() == 1

        state = shop.state(delivery)
        assert (state.stage, state.standing) == (Stage.SUBMITTED, Standing.UNKNOWN)
        shop.run()
        assert shop.jobs() == ["goods_reconcile"]
        shop.run()
        assert shop.state(delivery).stage is Stage.DELIVERED
        assert seller.ledger.total() == 1


def test_a_buyer_that_died_before_it_submitted_costs_nothing(
    database: TestDatabase,
) -> None:
    seller = Seller(HONEST)
    with counter(database, seller) as shop:
        delivery = shop.owe()
        shop.claim()

        assert shop.rescue() == 1

        assert shop.tags(delivery) == ["goods.owed"]
        attempts = shop.connection.execute("SELECT attempt FROM counterfoil.jobs")
        assert attempts.fetchall() == [(0,)]
        shop.run()
        assert seller.ledger.total() == 1


@pytest.mark.parametrize("is_bought", [True, False])
def test_a_woken_buyer_decides_nothing_but_tells_what_only_he_can(
    database: TestDatabase,
    is_bought: bool,  # noqa: FBT001 - generated
) -> None:
    seller = Seller(BLIND)
    seller.answers.append(Confirmed("r") if is_bought else Unknown("http_502"))
    with counter(database, seller) as shop:
        delivery = shop.owe()
        held = shop.claim()
        ending = run(held, shop.rig.leases)
        shop.rescue()
        before = shop.tags(delivery)
        assert len(shop.state(delivery).senders) == 1

        shop.rig.settle(held, ending)

        told = shop.tags(delivery)[len(before) :]
        if is_bought:
            assert told[-2:] == ["goods.purchase_confirmed", "goods.delivered"]
            assert "order_completion" in shop.jobs()
        else:
            assert told == ["goods.sender_ended"]
            assert shop.state(delivery).standing is Standing.UNKNOWN
        assert shop.state(delivery).senders == ()
        assert shop.jobs().count("goods_delivery") == 1, "it is as it was"


@pytest.mark.parametrize("sqlstate", ["CF409", "22023"])
@pytest.mark.parametrize("is_bought", [True, False])
def test_what_a_provider_said_outlives_the_group_that_is_refused_for_other_reasons(
    database: TestDatabase,
    sqlstate: str,
    is_bought: bool,  # noqa: FBT001 - generated
) -> None:
    seller = Seller(BLIND)
    seller.answers.append(Confirmed("r") if is_bought else Unknown("http_502"))
    with counter(database, seller) as shop:
        delivery = shop.owe()
        refuse_success(shop.connection, sqlstate)

        shop.run()

        state = shop.state(delivery)
        assert state.senders == (), "he says himself that his call is over"
        if is_bought:
            assert (state.stage, state.reference) == (Stage.DELIVERED, "r")
        else:
            assert state.standing is Standing.UNKNOWN
        assert seller.ledger.total() == 1


def refuse_success(connection: Connection, sqlstate: str) -> None:
    """Let the database take no job's success."""
    connection.execute(
        """
        CREATE FUNCTION refuse_success() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION 'no' USING ERRCODE = TG_ARGV[0], HINT = 'no';
        END $$;
        """
    )
    trigger = """
        CREATE TRIGGER refuse_success BEFORE INSERT ON counterfoil.events FOR EACH ROW
            WHEN (NEW.type = 'job.succeeded') EXECUTE FUNCTION refuse_success({})
        """
    connection.execute(SQL(trigger).format(Literal(sqlstate)))


def test_a_woken_buyer_s_refusal_does_not_end_what_somebody_else_repeats(
    database: TestDatabase,
) -> None:
    """He says that his own request was refused, while another one is on its way."""
    keyed = msgspec.structs.replace(HONEST, can_look_up=False)
    seller = Seller(keyed)
    seller.answers.append(Unavailable("retryable", "http_429"))
    with counter(database, seller) as shop:
        delivery = shop.owe()
        sleeper = shop.claim()
        refused = run(sleeper, shop.rig.leases)
        shop.rescue()
        other = shop.claim()
        run(other, shop.rig.leases)
        asked = shop.state(delivery)
        assert (asked.standing, asked.purchases) == (Standing.ASKED, 2)

        shop.rig.settle(sleeper, refused)

        assert shop.state(delivery) == asked


def test_a_stranger_s_key_does_not_lose_what_the_provider_said(
    database: TestDatabase,
) -> None:
    """Somebody has a live job under the key of the one that would look it up."""
    seller = Seller(HONEST)
    seller.answers.append(Unknown("timeout"))
    with counter(database, seller) as shop:
        delivery = shop.owe()
        enqueue(
            shop.connection,
            "report",
            args={},
            uniqueKey=f"goods_reconcile:{delivery.id}",
        )

        shop.run()

        state = shop.state(delivery)
        assert (state.stage, state.standing) == (Stage.SUBMITTED, Standing.UNKNOWN)
        assert "goods_delivery" in shop.jobs()


def test_a_provider_that_is_asked_again_later_frees_its_slot(
    database: TestDatabase,
) -> None:
    seller = Seller(BLIND)
    seller.answers.append(Unavailable("retryable", "http_429"))
    seller.buys.append(False)
    with counter(database, seller) as shop:
        delivery = shop.owe()

        ending = shop.run()

        assert isinstance(ending, Snooze)
        assert shop.rig.claim(10, queue="critical") == []
        database.advance(timedelta(minutes=2, seconds=1))
        shop.run()
        assert shop.state(delivery).stage is Stage.DELIVERED
        assert shop.state(delivery).decision == 2
