"""What a new connection shows of a restore: the host's journal against the log."""

from pathlib import Path

import pytest

from application.operators.instruction import Instruction
from application.operators.quarantine import GuardState, Quarantining
from domain.goods.commands import Withdraw
from infrastructure.guards.journal import NAME
from infrastructure.guards.quarantine import PostgresRestoreGuard
from infrastructure.guards.wiring import Guarding, keep_place
from infrastructure.ids import new_id
from infrastructure.postgres.database import Database
from infrastructure.telemetry import listen
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.guards.buyer import Buyer
from tests.guards.conftest import WORKER
from tests.guards.looked import looked_at

pytestmark = ON_BOTH_SERVERS


def looked_anew(database: TestDatabase, guarding: Guarding) -> GuardState:
    """Return the guard after another process has connected."""
    with looked_at(database.conninfo, guarding) as pool:
        return PostgresRestoreGuard(pool).state()


def test_what_the_log_knows_is_no_sign(
    database: TestDatabase, buyer: Buyer, guarding: Guarding
) -> None:
    for delivery in buyer.owe(3):
        assert buyer.buy(delivery) == "bought"

    state = looked_anew(database, guarding)

    assert (state.state, state.stored) == ("open", state.found)


def test_a_purchase_that_the_log_lacks_engages_before_the_next(
    database: TestDatabase, buyer: Buyer, guarding: Guarding
) -> None:
    known, unknown = buyer.owe(2)
    buyer.buy(known)
    lost = f"goods:{new_id()}:1:1"
    guarding.journal.write(lost, 1)

    state = looked_anew(database, guarding)

    assert (state.state, state.signs) == ("quarantined", ("journal",))
    assert [(each.key, each.delivery_id) for each in state.lost] == [(lost, None)]
    assert buyer.buy(unknown) == "quarantined"


def test_a_later_purchase_of_a_known_delivery_is_told_with_it(
    database: TestDatabase, buyer: Buyer, guarding: Guarding
) -> None:
    (delivery,) = buyer.owe()
    buyer.buy(delivery)
    guarding.journal.write(buyer.book[0][:-1] + "2", 2)

    (lost,) = looked_anew(database, guarding).lost

    assert (lost.purchase, lost.delivery_id) == (2, delivery.id)


def test_what_was_told_once_and_released_is_no_sign_any_more(
    database: TestDatabase,
    buyer: Buyer,
    guarding: Guarding,
    quarantining: Quarantining,
    olga: Instruction,
) -> None:
    guarding.journal.write(f"goods:{new_id()}:1:1", 1)
    looked_anew(database, guarding)
    quarantining.release(olga, is_override=False)

    state = looked_anew(database, guarding)

    assert state.state == "open"
    assert buyer.buy(buyer.owe()[0]) == "bought"


def test_a_release_looks_once_more_itself(
    buyer: Buyer, guarding: Guarding, quarantining: Quarantining, olga: Instruction
) -> None:
    """What it finds is told and released in one go: it is what a person has seen."""
    buyer.owe()
    guarding.journal.write(f"goods:{new_id()}:1:1", 1)

    with pytest.raises(Exception, match="1 delivery is neither reconciled"):
        quarantining.release(olga, is_override=False)


def test_a_withdrawn_purchase_is_not_lost(
    database: TestDatabase, buyer: Buyer, guarding: Guarding
) -> None:
    (delivery,) = buyer.owe()
    buyer.buy(delivery)
    buyer.command(delivery, Withdraw("no_time"))

    assert looked_anew(database, guarding).state == "open"


def test_a_journal_that_cannot_be_read_lets_commands_work_and_is_told(
    database: TestDatabase, tmp_path: Path
) -> None:
    (tmp_path / NAME).mkdir()
    told: list[str] = []

    with listen(lambda event, _values: told.append(event)):
        state = looked_anew(database, Guarding.of(tmp_path, WORKER))

    assert state.state == "open"
    assert "journal cannot be read" in told


def test_a_database_without_our_schema_can_be_connected_to(
    empty_database: str, guarding: Guarding
) -> None:
    with (
        looked_at(empty_database, guarding) as pool,
        pool.connection() as connection,
    ):
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_the_place_is_kept_once(database: TestDatabase) -> None:
    keep_place(database.conninfo)
    keep_place(database.conninfo)

    with Database(database.conninfo, pool_size=1) as pool:
        state = PostgresRestoreGuard(pool).state()

    assert state.stored == state.found
