"""What people do with the restore guard, and what the database refuses meanwhile."""

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from application.births import enqueued
from application.errors import RestoreUnfinishedError
from application.operators.instruction import Instruction
from application.operators.quarantine import Quarantining, Wish
from application.policies import deliver
from application.unit import Group, Refused, Written
from domain.goods.commands import Fail, OpenReview, Reconcile
from domain.goods.state import GoodsDelivery, Stage, Standing
from domain.stream import Ref
from infrastructure.guards.journal import FileJournal
from infrastructure.guards.marking import PAGE
from infrastructure.guards.quarantine import PostgresRestoreGuard
from infrastructure.guards.wiring import Guarding
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.postgres.streams import PostgresStreams
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.guards.buyer import META, Buyer, owed
from tests.store.groups import births

pytestmark = [
    ON_BOTH_SERVERS,
    pytest.mark.usefixtures("heads_equal_folds", "messages_equal_events"),
]

BY_OLGA = Wish(sign="operator")
PLANNED = Wish(sign="operator", is_planned=True)


def remarks(database: TestDatabase) -> list[dict[str, Any]]:
    """Return the guard's events in their order, with who and why."""
    rows = database.connect().execute(
        """
        SELECT data || jsonb_build_object('tag', type, 'by', meta->'actor'->>'id',
                                          'why', meta->>'reason')
          FROM counterfoil.events
         WHERE type LIKE 'restore.%' OR type = 'operator.action_refused'
         ORDER BY position
        """
    )
    return [row[0] for row in rows]


def state_of(pool: Database, delivery: Ref) -> GoodsDelivery:
    head = PostgresStreams(pool).head(delivery)
    assert head is not None
    assert isinstance(head.state, GoodsDelivery)
    return head.state


def test_nothing_is_bought_once_it_is_engaged_and_that_is_on_record(
    database: TestDatabase, buyer: Buyer, quarantining: Quarantining, olga: Instruction
) -> None:
    first, second = buyer.owe(2)
    assert buyer.buy(first) == "bought"

    engaged = quarantining.engage(BY_OLGA, olga)

    (later,) = buyer.owe()
    assert buyer.buy(later) == "quarantined"
    assert buyer.submit_lawlessly(second) == Refused("quarantined")
    assert (engaged.marked, engaged.guard.left) == (2, 2)
    (detected,) = remarks(database)
    assert (detected["tag"], detected["signs"]) == ("restore.detected", ["operator"])
    assert (detected["by"], detected["why"]) == ("olga", olga.reason)
    assert engaged.guard.engaged_by == "olga"


def test_everything_open_is_marked_whatever_its_state(
    buyer: Buyer, pool: Database, quarantining: Quarantining, olga: Instruction
) -> None:
    pending, submitted, failed, in_review = deliveries = buyer.owe(4)
    buyer.buy(submitted)
    buyer.command(failed, Fail("budget_spent"))
    buyer.buy(in_review)
    buyer.command(in_review, OpenReview("poll_unsupported"))

    quarantining.engage(BY_OLGA, olga)

    states = [state_of(pool, each) for each in deliveries]
    assert all(each.is_restored for each in states)
    assert [each.stage for each in states] == [
        Stage.SUBMITTED,
        Stage.SUBMITTED,
        Stage.NEEDS_REVIEW,  # no job would look at it any more
        Stage.NEEDS_REVIEW,
    ]
    assert {states[0].standing, states[1].standing} == {Standing.UNKNOWN}
    work = {each.delivery_id for each in quarantining.status().work}
    assert work == {pending.id, submitted.id}


def test_what_is_to_be_bought_much_later_is_given_to_a_person_at_once(
    buyer: Buyer, pool: Database, quarantining: Quarantining, olga: Instruction
) -> None:
    soon, later = buyer.owe(2)
    for delivery, ahead in ((soon, timedelta(minutes=50)), (later, timedelta(days=9))):
        order = state_of(pool, delivery).order
        assert order is not None
        enqueue = deliver(delivery.id, order, PostgresStreams(pool).clock() + ahead)
        job = enqueued(new_id, "default", enqueue)
        BatchStore(pool).commit([Group((job.ref,), lambda *_, j=job: (j,), META)])

    guard = quarantining.engage(BY_OLGA, olga).guard

    states = [state_of(pool, each) for each in (soon, later)]
    assert [each.stage for each in states] == [Stage.SUBMITTED, Stage.NEEDS_REVIEW]
    assert all(each.is_restored for each in states)
    assert (guard.left, guard.in_review) == (1, 1)


def test_again_changes_nothing(
    database: TestDatabase, buyer: Buyer, quarantining: Quarantining, olga: Instruction
) -> None:
    buyer.owe(2)
    quarantining.engage(BY_OLGA, olga)

    again = quarantining.engage(BY_OLGA, olga)

    assert (again.events, again.marked) == ((), 0)
    assert len(remarks(database)) == 1


def test_it_is_not_released_while_deliveries_are_left_unless_overridden(
    database: TestDatabase, buyer: Buyer, quarantining: Quarantining, olga: Instruction
) -> None:
    marked, reviewed = buyer.owe(2)
    quarantining.engage(BY_OLGA, olga)
    buyer.command(reviewed, OpenReview("restored"))

    with pytest.raises(RestoreUnfinishedError, match="1 delivery is neither"):
        quarantining.release(olga, is_override=False)
    released = quarantining.release(olga, is_override=True)

    assert released.guard.state == "open"
    assert released.guard.in_review == 1
    _, refused, last = remarks(database)
    assert (refused["action"], refused["code"], refused["by"]) == (
        "release_restore_guard",
        "restore_unfinished",
        "olga",
    )
    assert (last["tag"], last["is_override"], last["left"]) == (
        "restore.released",
        True,
        1,
    )
    assert buyer.submit_lawlessly(marked) == Refused("restored")
    assert buyer.buy(buyer.owe()[0]) == "bought"


def test_with_nothing_left_it_is_released_and_once_is_enough(
    buyer: Buyer, quarantining: Quarantining, olga: Instruction
) -> None:
    (delivery,) = buyer.owe()
    quarantining.engage(BY_OLGA, olga)
    buyer.command(delivery, OpenReview("restored"))

    released = quarantining.release(olga, is_override=False)
    again = quarantining.release(olga, is_override=False)

    assert (released.events, again.events) == (("restore.released",), ())
    assert again.guard.signs == ()


def test_what_is_born_late_of_an_order_paid_before_is_marked_before_it_is_bought(
    buyer: Buyer,
    pool: Database,
    quarantining: Quarantining,
    guarding: Guarding,
    olga: Instruction,
) -> None:
    """Its order waited for its fan-out, which the older database had forgotten."""
    order, delivery = owed()
    store = BatchStore(pool)
    store.commit([births(order, meta=META)])
    quarantining.engage(BY_OLGA, olga)
    quarantining.release(olga, is_override=False)
    store.commit([births(delivery, meta=META)])

    assert buyer.buy(delivery.ref) == "restored"
    for _, once in guarding.rounds(pool, store):
        once()

    assert state_of(pool, delivery.ref).is_restored
    assert buyer.submit_lawlessly(delivery.ref) == Refused("restored")


def test_what_a_provider_says_of_a_lost_purchase_is_recorded_in_quarantine(
    buyer: Buyer, pool: Database, quarantining: Quarantining, olga: Instruction
) -> None:
    """Looking up buys nothing, although the counters of the delivery rise by it."""
    (delivery,) = buyer.owe()
    quarantining.engage(BY_OLGA, olga)
    told = Reconcile(
        decision=1,
        found="delivered",
        reference="r-1",
        code=None,
        is_conclusive=True,
        next_at=datetime(2026, 12, 1, tzinfo=UTC),
    )

    assert isinstance(buyer.command(delivery, told), Written)

    state = state_of(pool, delivery)
    assert (state.stage, state.purchases) == (Stage.DELIVERED, 1)
    assert quarantining.status().left == 0


def test_a_planned_switchover_marks_nothing(
    database: TestDatabase, buyer: Buyer, quarantining: Quarantining, olga: Instruction
) -> None:
    (delivery,) = buyer.owe()

    engaged = quarantining.engage(PLANNED, olga)

    assert buyer.buy(delivery) == "quarantined"
    assert (engaged.marked, engaged.guard.left, engaged.guard.is_planned) == (
        0,
        0,
        True,
    )
    quarantining.release(olga, is_override=False)
    assert buyer.buy(delivery) == "bought"
    assert [each["tag"] for each in remarks(database)] == [
        "restore.detected",
        "restore.released",
    ]


def test_what_was_planned_is_marked_when_a_person_says_otherwise(
    buyer: Buyer, quarantining: Quarantining, olga: Instruction
) -> None:
    buyer.owe()
    quarantining.engage(PLANNED, olga)

    engaged = quarantining.engage(BY_OLGA, olga)

    assert (engaged.events, engaged.marked) == (("restore.detected",), 1)
    assert not engaged.guard.is_planned


def test_a_quarantine_waits_for_what_is_being_submitted_and_bars_the_next(
    database: TestDatabase, buyer: Buyer, pool: Database
) -> None:
    """Whoever is in transaction 1 holds the guard's row until the commit."""
    first, second = buyer.owe(2)
    holder = database.connect()
    holder.execute("BEGIN")
    holder.execute(
        "UPDATE counterfoil.deliveries SET purchases = 1, decision = 1, key = 'k',"
        " state = 'submitted', standing = 'asked' WHERE stream_id = %s",
        (first.id,),
    )
    kept: list[object] = []
    engaging = threading.Thread(
        target=lambda: kept.append(
            PostgresRestoreGuard(pool).engage(("operator",), META)
        )
    )
    engaging.start()
    watcher = database.connect()
    while not watcher.execute(
        "SELECT 1 FROM pg_stat_activity"
        " WHERE wait_event_type = 'Lock' AND datname = current_database()"
    ).fetchone():
        assert engaging.is_alive()

    holder.execute("ROLLBACK")
    engaging.join()

    assert getattr(kept[0], "is_new", None) is True
    assert buyer.buy(second) == "quarantined"


class Dying(BatchStore):
    """Commits one page of marks, and is killed."""

    def commit(self, groups: Any) -> Any:  # noqa: ANN401 - as the parent's
        super().commit(groups)
        raise KeyboardInterrupt


def test_marking_goes_on_where_it_was_killed(
    buyer: Buyer,
    pool: Database,
    guarding: Guarding,
    quarantining: Quarantining,
    olga: Instruction,
) -> None:
    buyer.owe(PAGE + 20)
    with pytest.raises(KeyboardInterrupt):
        guarding.quarantining(pool, Dying(pool)).engage(BY_OLGA, olga)
    unmarked = "SELECT count(*) FROM counterfoil.deliveries WHERE restored_at IS NULL"
    with pool.connection() as connection:
        assert connection.execute(unmarked).fetchone() == (20,)

    again = quarantining.engage(BY_OLGA, olga)

    assert (again.events, again.marked) == ((), 20)
    assert again.guard.left == PAGE + 20


def test_the_row_is_kept(database: TestDatabase) -> None:
    for statement in ("DELETE FROM", "TRUNCATE"):
        with pytest.raises(Exception, match="append-only"):
            database.connect().execute(
                f"{statement} counterfoil.restore_guard".encode()
            )


def test_a_database_that_was_never_looked_at_keeps_its_place_at_the_first_purchase(
    database: TestDatabase, tmp_path: Path
) -> None:
    with Database(database.conninfo, pool_size=2) as unlooked:
        buyer = Buyer(unlooked, FileJournal(tmp_path))
        (delivery,) = buyer.owe()
        assert buyer.buy(delivery) == "bought"
        state = PostgresRestoreGuard(unlooked).state()

    assert state.stored == state.found
