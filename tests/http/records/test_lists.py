"""Every list: its own rows, of one tenant, whole by its cursors; and their details."""

from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.http.surface import Surface
from domain.access.roles import Role
from tests.http.records.conftest import Seen

pytestmark = pytest.mark.database

LISTS = (
    "/jobs?f=",
    "/operations",
    "/deliveries",
    "/orders",
    "/entitlements",
    "/dead-letters",
)
DETAILS = ("/jobs", "/operations", "/deliveries", "/orders", "/entitlements")
HALVES = st.sets(st.sampled_from("0123456789abcdef"), min_size=4, max_size=12)


def items(client: httpx.Client, path: str, **asked: object) -> list[dict[str, Any]]:
    """Every item, page by page."""
    found: list[dict[str, Any]] = []
    params = httpx.QueryParams(path.partition("?")[2]).merge(
        {name: str(value) for name, value in asked.items()}
    )
    where = path.partition("?")[0]
    answer = client.get(where, params=params)
    while True:
        assert answer.status_code == 200, answer.text
        told = answer.json()
        found += told["items"]
        if told["page"]["next"] is None:
            return found
        answer = client.get(where, params=params.set("cursor", told["page"]["next"]))


def counted(client: httpx.Client, path: str) -> object:
    where, _, asked = path.partition("?")
    answer = client.get(f"{where}?{asked}&count=capped&limit=1")
    return answer.json()["count"]


def test_each_tenant_sees_its_own_and_nothing_else(seen: Seen) -> None:
    """Whoever owns what: no list, count, cursor or detail shows a row of another."""
    ours, theirs = (seen.api.client(tenant=tenant) for tenant in ("default", "other"))
    seen.share()
    whole = {path: {it["id"] for it in items(ours, path)} for path in LISTS}
    assert all(whole.values()), whole

    @settings(
        max_examples=2, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(halves=HALVES)
    def holds(halves: set[str]) -> None:
        seen.share(*halves)
        for path, every in whole.items():
            other = {id_ for id_ in every if id_[-1] in halves}
            for client, expected in ((ours, every - other), (theirs, other)):
                found = [it["id"] for it in items(client, path, limit=2)]
                assert len(found) == len(set(found))
                assert set(found) == expected, path
                told = counted(client, path)
                assert told == {"value": len(expected), "relation": "eq"}
        for path in DETAILS:
            of_list = next(each for each in LISTS if each.startswith(path))
            for id_ in sorted(whole[of_list])[:2]:
                is_theirs = id_[-1] in halves
                seen_by = (ours.get(f"{path}/{id_}"), theirs.get(f"{path}/{id_}"))
                statuses = [each.status_code for each in seen_by]
                assert statuses == ([404, 200] if is_theirs else [200, 404]), path

    try:
        holds()
    finally:
        seen.share()


def test_details_have_the_version_that_they_show(seen: Seen) -> None:
    admin = seen.api.client(Surface.PANEL)
    for path in DETAILS[1:]:
        (first, *_) = items(admin, path)
        answer = admin.get(f"{path}/{first['id']}")
        assert answer.status_code == 200, answer.text
        stream = first["id"].partition("_")[2]
        ((version,),) = seen.life.connection.execute(
            "SELECT max(version) FROM counterfoil.events WHERE stream_id = %s",
            (stream,),
        ).fetchall()
        assert answer.headers["etag"] == f'"{first["id"]}:{version}"'
        if path != "/deliveries":
            assert answer.json() == first
        assert admin.get(f"{path}/job_{stream}").status_code == 404


def test_filters_of_every_list(seen: Seen) -> None:
    admin = seen.api.client()

    assert {it["state"] for it in items(admin, "/operations", f="state:failed")} == {
        "failed"
    }
    (of_ann,) = items(admin, "/operations", f="customer:ann -state:failed")
    assert of_ann["shopOrderId"] == "ann"
    reviews = items(admin, "/deliveries", f="state:needs_review")
    assert len(reviews) == 2
    (order,) = items(admin, "/orders", f="order:dan")
    assert order["wait"]["waitsFor"] == "person"
    (entitlement,) = items(admin, "/entitlements", f="customer:ann endsAt:>2020-01-01")
    assert entitlement["appliedVersion"] == entitlement["desiredVersion"]
    (letter,) = items(admin, "/dead-letters", f="order:dan")
    assert (letter["of"], letter["shopOrderId"]) == ("operation", "dan")
    assert items(admin, "/dead-letters", f="order:nobody") == []


def test_dead_letters_are_grouped_by_cause_and_age(seen: Seen) -> None:
    told = seen.api.client().get("/dead-letters/causes").json()

    letters = items(seen.api.client(), "/dead-letters")
    assert sum(each["count"]["value"] for each in told["items"]) == len(letters)
    for each in told["items"]:
        assert sum(each["ages"].values()) == each["count"]["value"]
        assert each["sample"] in {it["id"] for it in letters}


def test_the_panel_shows_operations_as_it_always_has(seen: Seen) -> None:
    panel = seen.api.client(Surface.PANEL)

    first = panel.get("/system/jobs?pageSize=1").json()

    assert {it["status"] for it in first["items"]} == {"failed"}
    assert list(first["items"][0]) == [
        "id",
        "entitlementId",
        "customerId",
        "operation",
        "status",
        "attemptCount",
        "nextAttemptAt",
        "lastErrorCode",
        "correlationId",
        "createdAt",
        "completedAt",
    ]
    cursor = {"pageSize": 1, "cursor": first["nextCursor"]}
    second = panel.get("/system/jobs", params=cursor).json()
    assert second["items"] != first["items"]
    of_one = {
        "status": "succeeded",
        "entitlementId": second["items"][0]["entitlementId"],
    }
    assert panel.get("/system/jobs", params=of_one).json()["items"] == []
    assert panel.get("/system/jobs?status=dead").json()["code"] == "invalid_filter"


def test_the_panel_tells_the_history_of_an_operation(seen: Seen) -> None:
    panel = seen.api.client(Surface.PANEL)
    theirs = seen.api.client(Surface.PANEL, name="zoe", tenant="other")
    (first,) = panel.get("/system/jobs?pageSize=1").json()["items"]

    history = panel.get(f"/system/jobs/{first['id']}/history").json()
    assert [it["status"] for it in history["items"]] == [
        "pending",
        "running",
        "failed",
    ]
    assert list(history["items"][0]) == [
        "status",
        "correlationId",
        "errorCode",
        "occurredAt",
    ]
    assert panel.get("/system/jobs/nothing/history").status_code == 404
    assert theirs.get(f"/system/jobs/{first['id']}/history").status_code == 404


def test_a_recipient_is_told_to_those_alone_who_decide(seen: Seen) -> None:
    finance = seen.api.client(Surface.PANEL, name="fay", role=Role.FINANCE)
    viewer = seen.api.client(Surface.PANEL, name="vic", role=Role.VIEWER)
    (first, *_) = items(finance, "/deliveries", f="state:needs_review")

    told = finance.get(f"/deliveries/{first['id']}").json()
    assert told["recipient"]
    assert [it["type"] for it in told["events"]][-1] == "goods.review_opened"
    masked = viewer.get(f"/deliveries/{first['id']}")
    assert masked.json()["recipient"] is None
    assert told["recipient"] not in masked.text
