"""A panel user of the earlier product belongs to one customer, whoever else comes."""

from datetime import timedelta

import pytest

from infrastructure.processor.running import run
from tests.application.place import Place

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]

PAUSE = timedelta(seconds=15)
"""Longer than the first pause after a failure."""
LEGACY = "omniflow_0f8fad5bd9cb469f"
CUSTOMER = "0f8fad5b-d9cb-469f-a165-70867728950e"
USERS = """
SELECT tenant_id, legacy_username, (observed->>'panel_user_id')::int
  FROM counterfoil.entitlements ORDER BY tenant_id
"""


def test_a_user_of_the_earlier_product_is_adopted_by_one_customer_alone(
    place: Place,
) -> None:
    """Both are decided at once, and neither sees the other: the index tells them."""
    place.at_the_panel("POST", "", username=LEGACY, expireAt="2030-01-01T00:00:00.000Z")
    place.settle("a", line={"days": 30, "deviceLimit": 1}, customerId=CUSTOMER)
    place.settle(
        "a", line={"days": 90, "deviceLimit": 7}, customerId=CUSTOMER, tenant="other"
    )
    held = place.parts.claim(2, queue="critical")
    decided = [run(each, place.parts.leases) for each in held]
    for each, ending in zip(held, decided, strict=True):
        place.parts.settle(each, ending)
    assert len(place.rows(USERS)) == 1

    place.database.advance(PAUSE)
    place.work()

    (first, second) = place.rows(USERS)
    assert {first[1], second[1]} == {LEGACY, None}
    assert first[2] != second[2]
    limits = {user.hwid_device_limit: user.username for user in place.panel.users()}
    assert set(limits) == {1, 7}
    assert LEGACY in limits.values()
