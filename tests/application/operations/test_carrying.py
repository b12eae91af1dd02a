"""An operation that carries others is not cancelled over the heads of their orders."""

from datetime import timedelta
from functools import partial
from uuid import UUID

import pytest

from application.errors import StateConflictError
from application.operators.cancel import cancel_job
from application.operators.instruction import instruct
from application.operators.target import Targets
from application.unit import Group, Refused
from infrastructure.ids import new_id
from infrastructure.processor.running import run
from infrastructure.simulators.panel.faults import FaultRule
from tests.application.place import Place

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]

PAUSE = timedelta(seconds=15)
"""Longer than the first pause after a failure."""

LINE: dict[str, object] = {"days": 30}
STATES = "SELECT order_id, state FROM counterfoil.orders ORDER BY order_id"
OPERATIONS = """
SELECT stream_id, state, code FROM counterfoil.operations ORDER BY desired_version
"""


@pytest.fixture
def carrying(place: Place) -> Place:
    """Two orders while the panel is down: the second one carries the first."""
    place.panel.faults.set(FaultRule("error_before"))
    place.settle("a", line=LINE)
    place.settle("b", "renewal", line=LINE)
    place.work()
    (_, first, why), (_, second, _) = place.rows(OPERATIONS)
    assert (first, why, second) == ("cancelled", "covered_by", "retrying")
    place.panel.faults.clear()
    return place


def newest(place: Place) -> UUID:
    found: UUID = place.rows(OPERATIONS)[-1][0]
    return found


@pytest.mark.parametrize("by", ["operation", "job"])
def test_i1_a_paid_order_keeps_the_work_that_carries_it(
    carrying: Place, by: str
) -> None:
    ((job,),) = carrying.rows("SELECT stream_id FROM counterfoil.jobs")

    with pytest.raises(StateConflictError, match="refund its own order instead"):
        carrying.cancel(newest(carrying) if by == "operation" else job)

    refused = "SELECT data->>'code' FROM counterfoil.events WHERE type LIKE '%refused'"
    assert carrying.rows(refused) == [("state_conflict",)]
    carrying.database.advance(PAUSE)
    carrying.work()
    assert carrying.rows(STATES) == [("a", "fulfilled"), ("b", "fulfilled")]


def test_a_refund_of_its_own_order_lets_it_run_for_the_others(carrying: Place) -> None:
    carrying.refund("b")

    carrying.database.advance(PAUSE)
    carrying.work()

    assert carrying.rows(STATES) == [("a", "fulfilled"), ("b", "refunded")]
    assert carrying.user().status == "DISABLED"


def test_what_carries_only_what_was_refunded_is_cancelled(carrying: Place) -> None:
    carrying.refund("a")
    (held,) = carrying.parts.claim(1, queue="critical")
    carrying.parts.settle(held, run(held, carrying.parts.leases))

    done = carrying.cancel(carrying.rows(OPERATIONS)[1][0])

    assert done.events == ("job.cancelled", "fulfillment.cancelled")


def test_what_is_covered_between_the_look_and_the_lock_is_seen(place: Place) -> None:
    place.panel.faults.set(FaultRule("error_before"))
    place.settle("a", line=LINE)
    place.settle("b", "renewal", line=LINE)
    for _ in range(2):
        (held,) = place.parts.claim(1, queue="critical")
        place.parts.settle(held, run(held, place.parts.leases))
    targets = Targets(place.streams, place.streams, place.parts.kinds)
    cancel = cancel_job(targets, place.parts.store, new_id)
    target = targets.find(str(newest(place)))
    meta = instruct("ann", "it was a mistake").meta("c")

    place.work()
    group = Group(target.refs, partial(cancel.decide, target), meta)

    assert place.parts.store.commit([group]) == [Refused("operation_carrying others")]
