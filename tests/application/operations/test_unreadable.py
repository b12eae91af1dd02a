"""What somebody has spoilt in a head ends its own work at once, and nobody else's.

Requirements 5.1, step 5: what cannot be parsed fails for good, and a person looks.
"""

import pytest

from application.errors import StateConflictError
from infrastructure.processor.running import run
from tests.application.place import Place
from tests.fixtures.folds import assert_heads_equal_folds

pytestmark = [pytest.mark.database]

LINE: dict[str, object] = {"days": 30}
DEAD = "SELECT kind, code, error_code FROM counterfoil.jobs_dead ORDER BY 1"
SPOILT = ["[]", "{}", '{"ends_at": "2026-01-01T00:00:00"}', '{"ends_at": 1}']
"""No object, a member missing, an instant without its offset, another type."""


def spoil(place: Place, table: str, column: str, text: str) -> str:
    """Put `text` into the first row; return what was there."""
    ((id_, before),) = place.rows(
        f"SELECT stream_id, {column}::text FROM counterfoil.{table} LIMIT 1"  # noqa: S608 - names of this test
    )
    put(place, table, column, text, id_)
    return str(before)


def put(place: Place, table: str, column: str, text: str, id_: object) -> None:
    statement = f"UPDATE counterfoil.{table} SET {column} = %s WHERE stream_id = %s"  # noqa: S608 - names of this test
    place.parts.connection.execute(statement.encode(), [text, id_])


def fanned_out(place: Place) -> None:
    """Settle an order, and decide what it owes."""
    place.settle("a", line=LINE)
    (held,) = place.parts.claim(1, queue="critical")
    place.parts.settle(held, run(held, place.parts.leases))


@pytest.mark.parametrize("text", SPOILT)
def test_an_operation_that_nobody_can_read_is_dead_at_once(
    place: Place, text: str
) -> None:
    """I13: it neither stops the settler nor comes back for ever."""
    fanned_out(place)
    spoil(place, "operations", "desired", text)
    place.settle("b", customerId="other", line=LINE)

    place.work()

    assert place.rows(DEAD) == [("fulfillment", "permanent", "invalid_desired_state")]
    assert place.rows(
        "SELECT state, code FROM counterfoil.operations ORDER BY stream_id"
    ) == [("failed", "invalid_desired_state"), ("succeeded", None)]
    assert place.rows("SELECT topic FROM counterfoil.outbox WHERE topic LIKE '%failed'")
    assert len(place.panel.users()) == 1


@pytest.mark.parametrize(
    ("column", "text"),
    [*(("desired", text) for text in SPOILT), ("observed", "{}"), ("drifts", "[1]")],
)
def test_an_entitlement_that_nobody_can_read_takes_nothing_and_keeps_its_days(
    place: Place, column: str, text: str
) -> None:
    fanned_out(place)
    place.work()
    before = spoil(place, "entitlements", column, text)
    asked = len(place.panel.book())
    place.settle("b", "renewal", line=LINE)
    place.refund("a")

    place.work()
    for operation in ("pause", "reconcile"):
        with pytest.raises(StateConflictError, match="nobody can read"):
            place.operate(operation)

    assert place.rows(DEAD) == [
        ("order_fanout", "permanent", "invalid_desired_state"),
        ("order_refund", "permanent", "invalid_desired_state"),
    ]
    assert len(place.panel.book()) == asked
    ((id_,),) = place.rows("SELECT stream_id FROM counterfoil.entitlements")
    if before != "None":
        put(place, "entitlements", column, before, id_)
        assert_heads_equal_folds(place.parts.connection)


def test_once_it_is_repaired_a_retry_delivers(place: Place) -> None:
    fanned_out(place)
    before = spoil(place, "entitlements", "desired", "{}")
    place.work()
    assert place.rows(DEAD) == [("fulfillment", "permanent", "invalid_desired_state")]
    ((id_,),) = place.rows("SELECT stream_id FROM counterfoil.entitlements")
    put(place, "entitlements", "desired", before, id_)

    ((job,),) = place.rows("SELECT stream_id FROM counterfoil.jobs_dead")
    place.retry(job)
    place.work()

    assert place.user().status == "ACTIVE"
    assert place.rows("SELECT state FROM counterfoil.orders") == [("fulfilled",)]
    assert_heads_equal_folds(place.parts.connection)
