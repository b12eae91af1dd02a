"""Jobs as shops and operators see them."""

from typing import Any
from uuid import UUID

import httpx
import pytest

from api.http.surface import Surface
from tests.http.records.conftest import CANARY, Day

pytestmark = pytest.mark.database


def ids(answer: httpx.Response) -> set[UUID]:
    assert answer.status_code == 200, answer.text
    return {UUID(it["id"].removeprefix("job_")) for it in answer.json()["items"]}


def states(answer: httpx.Response) -> dict[str, str]:
    items: list[dict[str, Any]] = answer.json()["items"]
    return {it["id"].removeprefix("job_"): it["state"] for it in items}


def test_each_surface_has_its_words_and_its_default(day: Day) -> None:
    shop, admin, panel = map(
        day.api.client, (Surface.SHOPS, Surface.ADMIN, Surface.PANEL)
    )

    assert states(shop.get("/jobs")) == {
        str(day.succeeded): "succeeded",
        str(day.dead): "failed",
        str(day.again): "queued",
        str(day.running): "running",
        str(day.waiting): "queued",
    }
    assert states(panel.get("/jobs")) == {
        str(day.succeeded): "completed",
        str(day.dead): "discarded",
        str(day.again): "retryable",
        str(day.running): "running",
        str(day.waiting): "available",
    }
    assert ids(admin.get("/jobs")) == {day.dead}
    assert ids(admin.get("/jobs?f=")) == day.ours
    assert ids(admin.get("/jobs?state=completed")) == {day.succeeded}
    assert ids(admin.get("/jobs?f=state:retryable,available")) == {
        day.again,
        day.waiting,
    }
    assert ids(shop.get("/jobs?f=state:queued correlation:a-story")) == {day.again}


def test_a_list_is_walked_both_ways_by_its_links(day: Day) -> None:
    admin = day.api.client()
    forward: list[str] = []
    answer = admin.get("/jobs?f=&limit=2&count=capped")
    assert answer.json()["count"] == {"value": 5, "relation": "eq"}
    while True:
        forward += [it["id"] for it in answer.json()["items"]]
        if "next" not in answer.links:
            break
        answer = admin.get(f"{day.api.address}{answer.links['next']['url']}")
    backward = [it["id"] for it in answer.json()["items"]]
    while "prev" in answer.links:
        answer = admin.get(f"{day.api.address}{answer.links['prev']['url']}")
        backward = [it["id"] for it in answer.json()["items"]] + backward

    assert len(forward) == 5
    assert backward == forward
    oldest = admin.get("/jobs?f=&sort=createdAt")
    assert [it["id"] for it in oldest.json()["items"]] == forward[::-1]


def test_a_cursor_is_of_one_list_filter_order_and_tenant(day: Day) -> None:
    admin = day.api.client()
    cursor = admin.get("/jobs?f=&limit=2").json()["page"]["next"]
    others = day.api.client(tenant="other")

    same = admin.get("/jobs", params={"f": "  ", "limit": 1, "cursor": cursor})
    assert same.status_code == 200
    for asked in (
        admin.get("/jobs", params={"f": "kind:noop", "cursor": cursor}),
        admin.get("/jobs", params={"f": "", "sort": "createdAt", "cursor": cursor}),
        admin.get("/jobs", params={"f": "", "cursor": cursor[:-2] + "AA"}),
        admin.get("/jobs", params={"f": "", "cursor": "€"}),
        admin.get("/jobs", params={"f": "", "cursor": ""}),
        others.get("/jobs", params={"f": "", "cursor": cursor}),
        day.api.client(Surface.SHOPS).get("/jobs", params={"cursor": cursor}),
    ):
        assert asked.status_code == 400
        assert asked.json()["code"] == "invalid_cursor"


WRONG: list[tuple[str, str, dict[str, str]]] = [
    ("limit=0", "invalid_request", {"parameter": "limit"}),
    ("limit=201", "invalid_request", {"parameter": "limit"}),
    ("limit=ten", "invalid_request", {"parameter": "limit"}),
    ("count=all", "invalid_request", {"parameter": "count"}),
    ("sort=kind", "invalid_request", {"parameter": "sort"}),
    ("offset=10", "unknown_field", {"parameter": "offset"}),
    ("f=" + "x" * 2001, "invalid_request", {"parameter": "f"}),
    ("state=dead", "invalid_filter", {"pointer": "#/filter/state"}),
    ("state=a%22b%5C", "invalid_filter", {"pointer": "#/filter/state"}),
    ("f=state:dead", "invalid_filter", {"pointer": "#/filter/state"}),
    ("f=arg.bank:1", "invalid_filter", {"pointer": "#/filter"}),
    ("f=tenant:other", "invalid_filter", {"pointer": "#/filter"}),
    ("atPosition=-1", "invalid_request", {"parameter": "atPosition"}),
    ("atPosition=99999999", "position_ahead", {"parameter": "atPosition"}),
]


def test_what_cannot_be_asked_is_told_where(day: Day) -> None:
    admin = day.api.client()
    for query, code, where in WRONG:
        answer = admin.get(f"/jobs?{query}")

        told = answer.json()
        assert (answer.status_code, told["code"]) == (400, code), query
        (mistake,) = told["errors"]
        assert mistake | where == mistake, query
        if code == "invalid_filter":
            assert "available" in told["detail"] or "errorCode" in told["detail"]


def test_one_job_is_told_with_its_attempts_and_its_version(day: Day) -> None:
    admin = day.api.client()

    answer = admin.get(f"/jobs/job_{day.again}")

    told = answer.json()
    assert answer.headers["etag"] == f'"job_{day.again}:{told["version"]}"'
    assert answer.headers["retry-after"] == "2"
    assert told["state"] == "retryable"
    assert told["arguments"] == ["bank", "n"]
    (attempt,) = told["attempts"]
    assert attempt["result"] == "failed"
    assert attempt["code"] == "panel_5xx"
    assert attempt["retryAt"] == told["scheduledAt"]
    assert told["links"]["events"] == f"/v1/admin/jobs/job_{day.again}/events"
    running = admin.get(f"/jobs/{day.running}").json()
    assert running["lease"]["until"] > running["lease"]["claimedAt"]
    head = admin.head(f"/jobs/{day.running}")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["etag"] == f'"job_{day.running}:2"'


def test_a_report_tells_the_result_and_never_arguments_or_secrets(day: Day) -> None:
    shop = day.api.client(Surface.SHOPS)

    done = shop.get(f"/jobs/{day.succeeded}/report").json()

    assert done["state"] == "succeeded"
    assert done["result"] == {"sent": True, "token": "[redacted]"}
    assert done["arguments"] == ["bank", "n"]
    assert [each["worker"] for each in done["attempts"]] == [None]
    for surface in (Surface.SHOPS, Surface.ADMIN, Surface.PANEL):
        client = day.api.client(surface)
        for path in ("/jobs?f=", *(f"/jobs/{id_}" for id_ in day.ours)):
            assert CANARY not in client.get(path).text


def test_jobs_of_others_are_not_there(day: Day) -> None:
    for surface in (Surface.SHOPS, Surface.ADMIN, Surface.PANEL):
        ours, theirs = day.api.client(surface), day.api.client(surface, tenant="other")
        for path in ("/jobs/{}", "/jobs/{}/report"):
            for key in (day.theirs, f"op_{day.dead}", "job_7", UUID(int=0)):
                answer = ours.get(path.format(key))
                assert answer.status_code == 404
                assert answer.json()["code"] == "not_found"
            assert theirs.get(path.format(day.theirs)).status_code == 200
            assert theirs.get(path.format(day.waiting)).status_code == 404
        assert ids(theirs.get("/jobs?f=")) == {day.theirs}
