"""How long an order took is counted from when it could begin."""

import time
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from hypothesis import given
from hypothesis import strategies as st

from domain.fulfillment.aggregate import FulfillmentOperation
from domain.ids import unix_ms_of, uuid7_from
from domain.order.aggregate import Order, Stage
from domain.order.events import Fulfilled
from domain.stream import Change, Ref, StreamKind
from infrastructure.postgres.figures.written import tell_written
from infrastructure.telemetry import measuring
from infrastructure.telemetry.measures import Measure, OrderFulfilled

HOUR = timedelta(hours=1)


@given(st.integers(0, 2**48 - 1), st.integers(0, 2**74 - 1))
def test_an_id_tells_when_it_was_made(unix_ms: int, noise: int) -> None:
    assert unix_ms_of(uuid7_from(unix_ms, noise)) == unix_ms
    assert unix_ms_of(uuid4()) is None


def paid(ago: timedelta) -> UUID:
    return uuid7_from(int((time.time() - ago.total_seconds()) * 1_000), 1)


def fulfilled(order: UUID, effective_at: datetime | None = None) -> list[float]:
    """Return what is told of an order and its operation, committed now."""
    told: list[Measure] = []
    state = Order(stage=Stage.FULFILLED, kind="renewal")
    done = Change(
        ref=Ref(StreamKind.ORDER, order),
        tenant_id="default",
        expected=1,
        events=(Fulfilled(),),
        state=state,
    )
    operation = Change(
        ref=Ref(StreamKind.OPERATION, uuid4()),
        tenant_id="default",
        expected=1,
        events=(),
        state=FulfillmentOperation(effective_at=effective_at),
    )
    with measuring(told.append):
        tell_written([(operation, done)])
    return [it.seconds for it in told if isinstance(it, OrderFulfilled)]


def test_an_order_counts_from_its_payment_or_from_when_it_takes_effect() -> None:
    now = datetime.now(UTC)

    (since_paid,) = fulfilled(paid(2 * HOUR), now - 3 * HOUR)
    (since_due,) = fulfilled(paid(2 * HOUR), now - HOUR)
    (early,) = fulfilled(paid(HOUR), now + HOUR)

    assert 7_200 <= since_paid < 7_260
    assert 3_600 <= since_due < 3_660
    assert early == 0


def test_an_order_whose_id_tells_no_time_is_not_counted() -> None:
    assert fulfilled(uuid4()) == []
