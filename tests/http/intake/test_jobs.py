"""Jobs over HTTP: accepted when they are committed, refused with what is wrong."""

import pytest

from api.http.surface import Surface
from domain.access.permissions import Permission
from tests.fixtures.http import Api
from tests.http.intake.asked import JOB, KEY, pointers, under
from tests.limits.room import limit

pytestmark = pytest.mark.database


def test_a_job_is_accepted_with_where_to_look(api: Api) -> None:
    shop = api.client(Surface.SHOPS, name="web")

    answer = shop.post("/jobs", json=JOB | {"queue": "bulk"})

    told = answer.json()
    assert answer.status_code == 202
    assert answer.headers["location"] == f"/v1/jobs/{told['id']}"
    assert answer.headers["retry-after"] == "2"
    assert (told["kind"], told["queue"], told["state"]) == ("noop", "bulk", "queued")
    assert told["duplicate"] is False
    assert told["position"].isdigit()
    assert "anna" not in answer.text


def test_a_job_whose_unique_key_is_taken_is_the_one_that_has_it(api: Api) -> None:
    shop = api.client(Surface.SHOPS)
    one = JOB | {"uniqueKey": "mail:anna"}

    first = shop.post("/jobs", json=one)
    second = shop.post("/jobs", json=one, headers=under(KEY))
    again = shop.post("/jobs", json=one, headers=under(KEY))

    assert second.status_code == 202
    assert second.json() == first.json() | {"duplicate": True}
    assert "idempotency-replayed" not in second.headers
    assert again.json() == second.json()
    assert again.headers["idempotency-replayed"] == "true"


def test_a_wrong_member_is_pointed_at(api: Api) -> None:
    shop = api.client(Surface.SHOPS)
    cases: list[tuple[dict[str, object], str]] = [
        ({"kind": None}, "#/kind"),
        ({"kind": "Noop"}, "#/kind"),
        ({"kind": ["noop"]}, "#/kind"),
        ({"kind": "order_fanout"}, "#/kind"),
        ({"priority": 5}, "#/priority"),
        ({"args": []}, "#/args"),
        ({"args": {"x": 1e300}}, "#/args"),
        ({"args": "x" * 300_000}, "#/args"),
        ({"serialKey": "fanout:anna:1"}, "#/serialKey"),
        ({"tenant": "acme"}, "#/tenant"),
        ({"a~b/c": 1}, "#/a~0b~1c"),
    ]

    for wrong, where in cases:
        for headers in ({}, under(KEY)):
            answer = shop.post("/jobs", json=JOB | wrong, headers=headers)
            assert (answer.status_code, pointers(answer)) == (400, [where])


def test_a_request_is_an_object(api: Api) -> None:
    shop = api.client(Surface.SHOPS)
    as_json = {"Content-Type": "application/json"}

    for body in ("[]", "null", '"text"', "1"):
        answer = shop.post("/jobs", content=body, headers=as_json)
        assert (answer.status_code, pointers(answer)) == (400, ["#"])


def test_without_room_a_job_is_refused_and_uses_up_no_key(api: Api) -> None:
    shop, other = api.client(Surface.SHOPS), api.client(Surface.SHOPS, tenant="acme")
    with api.services.database.connection() as connection:
        limit(connection, tenant=1)
        first = shop.post("/jobs", json=JOB, headers=under(KEY))
        full = shop.post("/jobs", json=JOB, headers=under(KEY + "2"))
        again = shop.post("/jobs", json=JOB, headers=under(KEY))
        beside = other.post("/jobs", json=JOB)
        limit(connection)
    later = shop.post("/jobs", json=JOB, headers=under(KEY + "2"))

    assert (full.status_code, full.json()["code"]) == (429, "tenant_pending_limit")
    assert full.headers["retry-after"] == "5"
    assert (again.status_code, again.json()) == (202, first.json())
    assert beside.status_code == 202
    assert later.status_code == 202
    assert later.json()["id"] != first.json()["id"]


def test_a_limit_of_all_says_so(api: Api) -> None:
    shop = api.client(Surface.SHOPS)
    with api.services.database.connection() as connection:
        limit(connection, in_all=1)
    shop.post("/jobs", json=JOB)

    full = shop.post("/jobs", json=JOB)

    assert (full.status_code, full.json()["code"]) == (429, "total_pending_limit")
    assert full.json()["retryable"] is True
    assert full.headers["retry-after"] == "5"


def test_whoever_may_only_look_asks_for_nothing(api: Api) -> None:
    reader = api.client(Surface.SHOPS, permissions=frozenset({Permission.JOBS_READ}))

    assert reader.post("/jobs", json=JOB).status_code == 403
