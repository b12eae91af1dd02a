"""Orders over HTTP: settled, looked at, and refunded, once by the shop's own id."""

import pytest

from api.http.surface import Surface
from domain.access.permissions import Permission
from tests.fixtures.http import Api
from tests.http.intake.asked import KEY, order, pointers, under
from tests.limits.room import limit

pytestmark = pytest.mark.database


def test_a_settled_order_is_accepted_and_can_be_looked_at(api: Api) -> None:
    shop = api.client(Surface.SHOPS, name="web")

    answer = shop.post("/orders/settle", json=order())

    told = answer.json()
    assert answer.status_code == 202
    assert answer.headers["location"] == f"/v1/orders/ord_{told['streamId']}"
    assert answer.headers["retry-after"] == "2"
    assert "idempotency-replayed" not in answer.headers
    assert (told["orderId"], told["state"], told["replayed"]) == (
        "A-1001",
        "paid",
        False,
    )
    assert told["jobId"].startswith("job_")
    assert told["position"].isdigit()
    looked = [
        shop.get(f"/orders/{key}").json()
        for key in ("A-1001", told["id"], told["streamId"])
    ]
    del told["replayed"]
    assert looked == [told] * 3


def test_the_same_order_again_is_the_stored_one_and_another_is_refused(
    api: Api,
) -> None:
    shop = api.client(Surface.SHOPS)
    first = shop.post("/orders/settle", json=order())

    again = shop.post("/orders/settle", json=order())
    other = shop.post("/orders/settle", json=order(amountMinor=1))

    assert again.status_code == 202
    assert again.headers["idempotency-replayed"] == "true"
    assert again.json() == first.json() | {"replayed": True}
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_key_reused")


def test_a_topup_owes_nothing_so_it_has_no_job(api: Api) -> None:
    shop = api.client(Surface.SHOPS)
    topup = order(kind="topup")
    del topup["lines"]

    told = shop.post("/orders/settle", json=topup).json()

    assert (told["state"], told["jobId"]) == ("fulfilled", None)
    assert "job" not in told["links"]


@pytest.mark.parametrize("key", ["A-1001", "ord_"])
def test_a_refund_is_asked_for_once(api: Api, key: str) -> None:
    shop = api.client(Surface.SHOPS)
    settled = shop.post("/orders/settle", json=order()).json()
    address = f"/orders/{settled['id'] if key == 'ord_' else key}/refund"

    first = shop.post(address, json={"reason": "charged back"})
    again = shop.post(address, json={"reason": "charged back"})
    other = shop.post(address, json={"reason": "changed their mind"})

    told = first.json()
    assert first.status_code == 202
    assert first.headers["location"] == f"/v1/jobs/{told['id']}"
    assert (told["kind"], told["state"]) == ("order_refund", "queued")
    assert (told["orderId"], told["replayed"]) == ("A-1001", False)
    assert again.headers["idempotency-replayed"] == "true"
    assert again.json() == told | {"replayed": True}
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_key_reused")
    links = shop.get("/orders/A-1001").json()["links"]
    assert links["refundJob"] == f"/v1/jobs/{told['id']}"


def test_a_refund_may_come_before_its_order(api: Api) -> None:
    shop = api.client(Surface.SHOPS)

    early = shop.post("/orders/A-9/refund", json={"reason": "charged back"})
    nowhere = shop.post(
        "/orders/ord_0197d3a0-0000-7000-8000-000000000000/refund",
        json={"reason": "charged back"},
    )

    assert early.status_code == 202
    assert nowhere.status_code == 404


def test_orders_of_others_are_not_there(api: Api) -> None:
    theirs = api.client(Surface.SHOPS, tenant="acme")
    told = theirs.post("/orders/settle", json=order()).json()
    shop = api.client(Surface.SHOPS)

    for key in ("A-1001", told["id"], told["streamId"], "%00", "%F0%9F%98%80"):
        answer = shop.get(f"/orders/{key}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert shop.post("/orders/settle", json=order()).json()["replayed"] is False


def test_a_wrong_member_is_pointed_at(api: Api) -> None:
    shop = api.client(Surface.SHOPS)
    cases: list[tuple[dict[str, object], str]] = [
        ({"amountMinor": 12.99}, "#/amountMinor"),
        ({"amountMinor": 10**30}, "#/amountMinor"),
        ({"colour": "red"}, "#/colour"),
        ({"lines": [{"line": 1, "type": "access"}]}, "#/lines/0/days"),
        ({"lines": [{"line": 1, "type": "access", "days": 0}]}, "#/lines/0/days"),
        ({"tenant": "acme"}, "#/tenant"),
        ({"effectiveAt": "2030-01-01T00:00:00"}, "#/effectiveAt"),
    ]

    for wrong, where in cases:
        for headers in ({}, under(KEY)):
            answer = shop.post("/orders/settle", json=order(**wrong), headers=headers)
            assert (answer.status_code, pointers(answer)) == (400, [where])


def test_money_taken_is_never_refused_by_a_limit(api: Api) -> None:
    shop = api.client(Surface.SHOPS)
    with api.services.database.connection() as connection:
        limit(connection, tenant=1, in_all=1)
    shop.post("/jobs", json={"kind": "noop"})
    full = shop.post("/jobs", json={"kind": "noop"})

    settled = shop.post("/orders/settle", json=order())
    refunded = shop.post("/orders/A-1001/refund", json={"reason": "sent back"})

    assert full.status_code == 429
    assert (settled.status_code, refunded.status_code) == (202, 202)


def test_settling_and_looking_are_permissions_of_their_own(api: Api) -> None:
    reader = api.client(Surface.SHOPS, permissions=frozenset({Permission.ORDERS_READ}))
    writer = api.client(
        Surface.SHOPS, name="bob", permissions=frozenset({Permission.ORDERS_WRITE})
    )

    assert reader.post("/orders/settle", json=order()).status_code == 403
    assert reader.post("/orders/A-1001/refund", json={}).status_code == 403
    assert writer.post("/orders/settle", json=order()).status_code == 202
    assert writer.get("/orders/A-1001").status_code == 403
    assert reader.get("/orders/A-1001").status_code == 200
