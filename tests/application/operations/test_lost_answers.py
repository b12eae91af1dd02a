"""Each settlement, operation and drift with its answer lost on the way back (I2, I3).

The panel has done what it was asked, and nobody hears of it.  The next attempt looks
and finds it done: nothing is made, given or taken twice.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from domain.entitlement.drift import KINDS
from domain.fulfillment.operations import BY_OPERATORS
from infrastructure.simulators.panel.book import BookedUser
from infrastructure.simulators.panel.faults import FaultRule
from tests.application.installed import SQUADS
from tests.application.place import Place

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]

GIB = 2**30
DAY = timedelta(days=1)
PAUSE = timedelta(seconds=15)
"""Longer than the first pause after a failure."""

WRITES = ("POST", "PATCH")
OPERATION = """
SELECT operation, state, code, attempts
  FROM counterfoil.operations ORDER BY stream_id DESC LIMIT 1
"""
ORDER = "SELECT state FROM counterfoil.orders WHERE order_id = 'b'"
DRIFTS = """
SELECT type, data->>'kind' FROM counterfoil.events
 WHERE type LIKE 'entitlement.drift%' ORDER BY position
"""


def lose(place: Place, path: str = "/api/users") -> None:
    """Let the panel's next write be done, and its answer be lost."""
    rule = FaultRule("reset_after", methods=WRITES, path_prefix=path, times=1)
    place.panel.faults.set(rule)


def delivered(place: Place) -> BookedUser:
    """Let a customer have 30 days, 1 GiB, 2 devices and a squad."""
    place.settle(
        "a",
        line={
            "days": 30,
            "trafficBytes": GIB,
            "deviceLimit": 2,
            "squadIds": [SQUADS[0]],
        },
    )
    place.work()
    return place.user()


def assert_lost_and_found(place: Place, operation: str) -> None:
    """Run the newest operation: its answer is lost, and the next attempt finds out."""
    place.work()
    lost = [(operation, "retrying", "remnawave_unavailable", 1)]
    assert place.rows(OPERATION) == lost

    place.database.advance(PAUSE)
    place.work()
    assert place.rows(OPERATION) == [(operation, "succeeded", None, 2)]
    assert place.rows("SELECT 1 FROM counterfoil.jobs") == []


def moved(user: BookedUser, by: timedelta) -> str:
    return shown(datetime.fromisoformat(user.expire_at) + by)


def shown(instant: datetime) -> str:
    told = instant.astimezone(UTC).isoformat(timespec="milliseconds")
    return told.replace("+00:00", "Z")


def test_a_first_purchase_makes_one_user(place: Place) -> None:
    lose(place)
    place.settle("b", line={"days": 30, "deviceLimit": 2})

    assert_lost_and_found(place, "create")

    assert place.user().hwid_device_limit == 2
    assert place.rows(ORDER) == [("fulfilled",)]


@pytest.mark.parametrize(
    "kind", ["purchase", "renewal", "extension", "upgrade", "downgrade"]
)
def test_a_further_settlement_adds_its_days_once(place: Place, kind: str) -> None:
    before = delivered(place)
    lose(place)
    place.settle("b", kind, line={"days": 7, "deviceLimit": 4})

    assert_lost_and_found(place, "create")

    assert place.user() == before._replace(
        expire_at=moved(before, 7 * DAY),
        traffic_limit_bytes=0,
        hwid_device_limit=4,
        squads=(),
    )
    assert place.rows(ORDER) == [("fulfilled",)]


def test_a_renewal_whose_reset_is_lost_resets_again_and_fulfils_once(
    place: Place,
) -> None:
    before = delivered(place)
    place.panel.use_traffic(before.id, 5)
    lose(place, f"/api/users/{before.id}/actions/reset-traffic")
    place.settle("b", "renewal", line={"days": 7})

    assert_lost_and_found(place, "create")

    assert place.user().expire_at == moved(before, 7 * DAY)
    resets = [each for each in place.panel.book() if "reset-traffic" in each.path]
    assert [each.applied for each in resets] == [True, True]
    fulfilled = "SELECT count(*) FROM counterfoil.events WHERE type = 'order.fulfilled'"
    assert place.rows(fulfilled) == [(2,)]


def test_a_downgrade_at_the_periods_end_comes_once(place: Place) -> None:
    before = delivered(place)
    place.settle(
        "b",
        "downgrade",
        line={"days": 30, "deviceLimit": 1},
        effectiveAt=before.expire_at,
    )
    place.work()
    assert place.user() == before

    place.database.advance(30 * DAY)
    lose(place)
    assert_lost_and_found(place, "create")

    assert place.user().hwid_device_limit == 1
    assert place.user().expire_at == moved(before, 30 * DAY)
    assert place.rows(ORDER) == [("fulfilled",)]


def test_an_add_on_adds_once(place: Place) -> None:
    before = delivered(place)
    lose(place)
    place.settle("b", "addon", line={"days": 7, "deviceLimit": 9})

    assert_lost_and_found(place, "set_limits")

    assert place.user() == before._replace(
        expire_at=moved(before, 7 * DAY), hwid_device_limit=9
    )
    assert place.rows(ORDER) == [("fulfilled",)]


def test_a_topup_asks_nobody_so_no_answer_is_lost(place: Place) -> None:
    lose(place)
    place.settle("b", "topup")

    place.work()

    assert place.panel.book() == []
    assert place.rows(ORDER) == [("fulfilled",)]


def test_a_refund_ends_the_access_once(place: Place) -> None:
    before = delivered(place)
    lose(place)
    place.refund("a")

    assert_lost_and_found(place, "disable")

    assert place.user() == before._replace(status="DISABLED")
    assert place.rows("SELECT state FROM counterfoil.orders") == [("refunded",)]


ASKED: dict[str, dict[str, object]] = {
    "extend": {"endsAt": "2090-01-01T00:00:00Z"},
    "set_limits": {"trafficBytes": None, "deviceLimit": 9},
    "set_squads": {"squadIds": [SQUADS[1]]},
}
AFTER: dict[str, dict[str, Any]] = {
    "extend": {"expire_at": "2090-01-01T00:00:00.000Z"},
    "set_limits": {"traffic_limit_bytes": 0, "hwid_device_limit": 9},
    "set_squads": {"squads": (SQUADS[1],)},
    "disable": {"status": "DISABLED"},
    "pause": {"status": "DISABLED"},
}
BEFORE = {"enable": "disable", "resume": "pause"}
APPLIED = {
    "extend": ["PATCH", "PATCH"],
    "set_limits": ["PATCH", "PATCH"],
    "set_squads": ["PATCH", "PATCH"],
    "reconcile": ["PATCH", "PATCH"],
    "resume": ["PATCH", "PATCH", "POST"],
    "reset_traffic": ["POST", "POST"],
}
"""What was written: a PATCH is absolute, and a reset cannot be seen to be done; an
action that is seen to be done is not repeated."""


@pytest.mark.parametrize("operation", BY_OPERATORS)
def test_an_operation_is_carried_out_once(place: Place, operation: str) -> None:
    """The tenth, `create`, is what settlements ask for."""
    before = delivered(place)
    if operation in BEFORE:
        place.operate(BEFORE[operation])
        place.work()
        before = before._replace(status="ACTIVE")
    lose(place)
    asked = place.operate(operation, **ASKED.get(operation, {}))

    assert_lost_and_found(place, operation)

    after = place.user()
    if operation == "resume":
        assert after.expire_at >= before.expire_at
        before = before._replace(expire_at=after.expire_at)
    assert after == before._replace(**AFTER.get(operation, {}))
    assert [
        each.method
        for each in place.panel.book()
        if each.applied and str(asked.operation_id) in (each.request_id or "")
    ] == APPLIED.get(operation, ["POST"])


type Edit = Callable[[Place, BookedUser], None]


def _patched(**members: object) -> Edit:
    return lambda place, user: place.at_the_panel("PATCH", "", id=user.id, **members)


EDITS: dict[str, Edit] = {
    "missing_remote": lambda place, user: place.at_the_panel("DELETE", f"/{user.id}"),
    "expiry": lambda place, user: place.at_the_panel(
        "PATCH", "", id=user.id, expireAt=moved(user, timedelta(milliseconds=1))
    ),
    "traffic": _patched(trafficLimitBytes=GIB - 1),
    "device_limit": _patched(hwidDeviceLimit=None),
    "squads": _patched(activeInternalSquads=list(SQUADS)),
    "status": lambda place, user: place.at_the_panel(
        "POST", f"/{user.id}/actions/disable"
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_drift_is_found_once_and_repaired_once(place: Place, kind: str) -> None:
    before = delivered(place)
    EDITS[kind](place, before)
    lose(place)
    place.operate("reconcile")

    place.work()
    assert place.rows(DRIFTS) == [("entitlement.drift_detected", kind)]
    place.database.advance(PAUSE)
    place.work()

    assert place.rows(OPERATION) == [("reconcile", "succeeded", None, 2)]
    assert place.rows(DRIFTS) == [
        ("entitlement.drift_detected", kind),
        ("entitlement.drift_resolved", kind),
    ]
    assert place.user()._replace(id=before.id) == before
    assert place.rows("SELECT drifts FROM counterfoil.entitlements") == [(None,)]


def test_what_the_panel_shows_to_the_millisecond_is_no_drift(place: Place) -> None:
    """The end of access has microseconds, and the panel has none."""
    delivered(place)
    ends = "SELECT desired->>'ends_at' FROM counterfoil.entitlements"
    ((ends_at,),) = place.rows(ends)
    place.operate("reconcile")

    place.work()

    assert len(ends_at.partition(".")[2]) > len("123Z")
    assert place.rows(DRIFTS) == []
    assert place.rows(OPERATION) == [("reconcile", "succeeded", None, 1)]
