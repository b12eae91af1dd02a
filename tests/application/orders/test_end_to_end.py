"""Orders of every kind, later ones and refunds, over a real database and a panel."""

from datetime import timedelta

import pytest

from tests.application.place import Place

pytestmark = [
    pytest.mark.database,
    pytest.mark.usefixtures("heads_equal_folds", "messages_equal_events"),
]

GIB = 2**30
DAYS = timedelta(days=1)
STATES = "SELECT order_id, state FROM counterfoil.orders ORDER BY order_id"
REQUESTED = """
SELECT data->>'operation', data->>'idempotency_key'
  FROM counterfoil.events
 WHERE type = 'fulfillment.requested'
 ORDER BY position
"""


def test_every_kind_of_settlement_is_delivered(place: Place) -> None:
    """I1, I2: one customer's life as a shop tells it."""
    place.settle("a", line={"days": 30, "trafficBytes": GIB, "deviceLimit": 1})
    place.settle("b", "topup")
    place.work()
    first = place.user()
    place.settle("c", "addon", line={"trafficBytes": 5 * GIB})
    place.work()
    added = place.user()
    place.settle("d", "upgrade", line={"days": 30, "deviceLimit": 3})
    place.work()
    upgraded = place.user()
    place.settle("e", "downgrade", line={"days": 30, "deviceLimit": 1})
    place.work()

    assert (first.traffic_limit_bytes, first.hwid_device_limit) == (GIB, 1)
    assert added == first._replace(traffic_limit_bytes=5 * GIB)
    assert (upgraded.traffic_limit_bytes, upgraded.hwid_device_limit) == (0, 3)
    assert place.user().hwid_device_limit == 1
    assert place.rows(STATES) == [(name, "fulfilled") for name in "abcde"]
    assert place.rows(REQUESTED) == [
        ("create", "order:a:fulfill"),
        ("set_limits", "order:c:addon"),
        ("create", "order:d:fulfill"),
        ("create", "order:e:fulfill"),
    ]


def test_before_it_takes_effect_an_order_asks_nobody_and_writes_nothing(
    place: Place,
) -> None:
    """Requirements 22.4: no attempt, no history, no HTTP; it runs at its time."""
    place.settle("a", line={"days": 30, "deviceLimit": 5})
    place.work()
    ((effect,),) = place.rows(
        "SELECT counterfoil.instant_text(counterfoil.now() + interval '30 days')"
    )
    place.settle(
        "b", "downgrade", effectiveAt=effect, line={"days": 30, "deviceLimit": 1}
    )
    place.work()
    before, asked = place.user(), len(place.panel.book())
    stored = place.events()

    for _ in range(5):
        place.database.advance(5 * DAYS)
        assert place.work() == 0
    assert (place.user(), len(place.panel.book())) == (before, asked)
    assert place.events() == stored
    assert place.rows(STATES) == [("a", "fulfilled"), ("b", "paid")]
    place.database.advance(6 * DAYS)
    assert place.work() == 1

    assert (before.hwid_device_limit, place.user().hwid_device_limit) == (5, 1)
    assert place.rows(STATES) == [("a", "fulfilled"), ("b", "fulfilled")]


def test_a_refund_ends_the_access_and_a_new_order_brings_it_back(
    place: Place,
) -> None:
    place.settle("a", line={"days": 30})
    place.work()
    assert place.user().status == "ACTIVE"

    place.refund("a")
    place.work()
    assert place.user().status == "DISABLED"
    assert place.rows(STATES) == [("a", "refunded")]

    place.settle("b", line={"days": 30})
    place.work()
    assert place.user().status == "ACTIVE"
    assert place.rows(STATES) == [("a", "refunded"), ("b", "fulfilled")]


def test_one_order_is_taken_back_and_another_sold_in_one_transaction(
    place: Place,
) -> None:
    """What was asked for last counts, and not what happens to be decided last."""
    place.settle("a", line={"days": 30})
    place.work()

    with place.parts.connection.transaction():
        place.refund("a")
        place.settle("b", "upgrade", line={"days": 30, "deviceLimit": 3})
    place.work()

    assert place.rows(STATES) == [("a", "refunded"), ("b", "fulfilled")]
    assert (place.user().status, place.user().hwid_device_limit) == ("ACTIVE", 3)


@pytest.mark.parametrize("kind", ["purchase", "topup"])
def test_an_order_is_settled_and_refunded_before_anybody_looks(
    place: Place, kind: str
) -> None:
    place.settle("a", kind, line=None if kind == "topup" else {"days": 30})
    place.refund("a")

    place.work()

    assert place.rows(STATES) == [("a", "refunded")]
    statuses = [user.status for user in place.panel.users()]
    # Whichever of the two jobs was claimed first: no access is left.
    assert statuses in ([], ["DISABLED"])
    assert place.rows("SELECT 1 FROM counterfoil.jobs") == []


def test_an_add_on_is_refunded_and_the_access_stays(place: Place) -> None:
    place.settle("a", line={"days": 30, "deviceLimit": 1})
    place.settle("b", "addon", line={"deviceLimit": 2})
    place.work()

    place.refund("b")
    place.work()

    assert place.rows(STATES) == [("a", "fulfilled"), ("b", "refunded")]
    assert (place.user().status, place.user().hwid_device_limit) == ("ACTIVE", 2)


def test_what_cannot_be_decided_waits_for_a_person(place: Place) -> None:
    place.settle("a", "addon", line={"days": 7})
    place.refund("nobody")

    place.work()

    dead = place.rows("SELECT kind, error_code FROM counterfoil.jobs_dead ORDER BY 1")
    assert dead == [
        ("order_fanout", "no_entitlement"),
        ("order_refund", "order_missing"),
    ]
    assert place.panel.book() == []
