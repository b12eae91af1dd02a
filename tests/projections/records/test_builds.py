"""Records made anew are the records that were followed event by event (I7)."""

import pytest

from application.operators.instruction import instruct
from infrastructure.projecting.builds.rebuild import Rebuild
from infrastructure.projecting.builds.verify import Verify
from projections.builds import Progress
from projections.queries.records.orders import OrderList
from projections.read_models.all import BY_NAME
from tests.fixtures.read_models import assert_read_model_holds, live_slot
from tests.projections.records.life import Life

pytestmark = pytest.mark.database


def silent(_: Progress) -> None:
    """Tell nobody."""


@pytest.mark.parametrize("name", BY_NAME)
def test_a_refold_differs_in_no_row(lived: Life, name: str) -> None:
    pool = lived.place.parts.pool

    verified = Verify(pool)(BY_NAME[name], silent)

    assert verified.is_right, verified
    assert verified.rows > 0
    assert (verified.set_aside, verified.set_aside_anew) == (0, 0)


def test_a_rebuilt_list_answers_the_same(lived: Life) -> None:
    pool, orders = lived.place.parts.pool, BY_NAME["orders"]
    before = OrderList(lived.lend)()
    slot = live_slot(lived.connection, orders)

    rebuild = Rebuild(pool, batch=7, quiet_s=0.0)
    rebuild(orders, instruct("ann", "it looked wrong"), silent)

    after = OrderList(lived.lend)()
    assert live_slot(lived.connection, orders) != slot
    assert after.items == before.items
    assert_read_model_holds(lived.connection, orders)
    lived.project()  # the others know of the rebuild too
