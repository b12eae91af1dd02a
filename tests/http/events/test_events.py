"""The log as operators search it; what is held is told with the look on record."""

from collections.abc import Generator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.http.surface import Surface
from domain.access.roles import Role
from infrastructure.client import Client
from infrastructure.postgres.database import Database
from tests.fixtures.database import TestDatabase
from tests.fixtures.http import Api, api_over
from tests.fixtures.read_models import project

pytestmark = pytest.mark.database

CANARY = "cc-canary-4000-1234"


class Log:
    """A few jobs of two tenants."""

    def __init__(self, api: Api, database: TestDatabase) -> None:
        self.api = api
        self.database = database
        self.connection = database.connect()
        client = Client(self.connection)
        args = {"bank": CANARY}
        self.jobs = [
            client.enqueue("noop", args, correlation_id=f"story-{n % 2}").job_id
            for n in range(5)
        ]
        self.theirs = client.enqueue("noop", args, tenant="other").job_id

    def count(self, type_: str) -> int:
        ((n,),) = self.connection.execute(
            "SELECT count(*) FROM counterfoil.events WHERE type = %s", (type_,)
        ).fetchall()
        return int(n)


@pytest.fixture
def log(database: TestDatabase, tmp_path: Path) -> Generator[Log]:
    with api_over(database, tmp_path) as api:
        yield Log(api, database)


def found(client: httpx.Client, **asked: str) -> list[dict[str, Any]]:
    """Every event, page by page."""
    items: list[dict[str, Any]] = []
    params = httpx.QueryParams(asked)
    while True:
        answer = client.get("/events", params=params)
        assert answer.status_code == 200, answer.text
        assert CANARY not in answer.text
        told = answer.json()
        items += told["items"]
        if told["page"]["next"] is None:
            return items
        params = params.set("cursor", told["page"]["next"])


def streams(items: list[dict[str, Any]]) -> list[str]:
    return [it["streamId"] for it in items]


def test_events_are_found_newest_first_and_whole(log: Log) -> None:
    admin = log.api.client()
    newest = [str(job) for job in log.jobs[::-1]]

    of_type = found(admin, type="job.enqueued,job.claimed", limit="2")

    assert streams(of_type) == newest
    assert of_type[0]["members"] == sorted(of_type[0]["members"])
    assert "args" in of_type[0]["members"]
    assert streams(found(admin, actor="nobody")) == []
    assert streams(found(admin, stream=f"job_{log.jobs[2]}")) == [newest[2]]
    with Database(log.database.conninfo, pool_size=1) as pool:
        project(pool)
    assert streams(found(admin, correlationId="story-0", limit="1")) == newest[::2]
    theirs = log.api.client(tenant="other")
    assert streams(found(theirs, type="job.enqueued")) == [str(log.theirs)]
    assert found(theirs, stream=str(log.jobs[0])) == []
    assert found(theirs, correlationId="story-0") == []


def test_a_window_is_looked_through_and_is_no_longer_than_31_days(log: Log) -> None:
    admin = log.api.client()
    ((began,),) = log.connection.execute(
        "SELECT min(recorded_at) FROM counterfoil.events WHERE type = 'job.enqueued'"
    ).fetchall()
    log.database.advance(timedelta(days=40))
    late = str(Client(log.connection).enqueue("noop", {}).job_id)

    assert streams(found(admin, type="job.enqueued")) == [late]
    around = {
        "from": (began - timedelta(days=1)).isoformat(),
        "to": (began + timedelta(days=1)).isoformat(),
        "type": "job.enqueued",
    }
    assert streams(found(admin, **around)) == [str(job) for job in log.jobs[::-1]]
    assert found(admin, **(around | {"to": began.isoformat()})) == []
    for wrong in (
        {"from": began.isoformat()},
        {"from": "2020-01-01", "to": "2021-01-01"},
        {"from": "yesterday"},
        {"to": "0001-01-01T00:00:00Z", "from": "9999-12-31"},
        {"type": "\0"},
        {"stream": "a" * 300},
    ):
        answer = admin.get("/events", params=wrong)
        if answer.status_code == 400:
            assert answer.json()["code"] == "invalid_request"
        else:
            assert answer.json()["items"] == []
    assert admin.get("/events", params={"from": "yesterday"}).status_code == 400
    assert admin.get("/events", params={"from": began.isoformat()}).status_code == 400


def test_a_stream_is_told_and_nobody_elses(log: Log) -> None:
    panel = log.api.client(Surface.PANEL)

    told = panel.get(f"/streams/job_{log.jobs[0]}/events").json()
    assert [it["type"] for it in told["items"]] == ["job.enqueued"]
    of_job = panel.get(f"/jobs/{log.jobs[0]}/events").json()
    assert of_job["items"] == told["items"]
    for path in ("/streams/{}/events", "/jobs/{}/events"):
        assert panel.get(path.format(log.theirs)).status_code == 404
        assert panel.get(path.format("nothing")).status_code == 404


def test_a_payload_is_told_when_the_look_is_on_record(log: Log) -> None:
    panel = log.api.client(Surface.PANEL)
    position = found(panel, type="job.enqueued")[0]["position"]
    path = f"/events/{position}"

    masked = panel.get(path)
    assert masked.json()["payload"] is None
    assert CANARY not in masked.text
    assert log.count("access.payload_viewed") == 0
    unmasked = panel.get(f"{path}?unmask=true")
    assert unmasked.json()["payload"]["args"] == {"bank": CANARY}
    ((data, meta),) = log.connection.execute(
        "SELECT data, meta FROM counterfoil.events WHERE type = 'access.payload_viewed'"
    ).fetchall()
    assert data == {
        "position": int(position),
        "stream": str(log.jobs[-1]),
        "type": "job.enqueued",
    }
    assert (meta["actor"]["id"], meta["reason"]) == ("ann", "the customer asked")
    with Database(log.database.conninfo, pool_size=1) as pool:
        project(pool)
    row = panel.get(f"/audit?f=target:event:{position}").json()["items"][0]
    assert (row["action"], row["targetKind"]) == ("access.payload_viewed", "event")


def test_who_may_not_see_a_payload_is_refused_on_record(log: Log) -> None:
    auditor = log.api.client(Surface.PANEL, name="aud", role=Role.VIEWER)
    position = found(auditor, type="job.enqueued")[0]["position"]

    refused = auditor.get(f"/events/{position}?unmask=true")

    assert refused.status_code == 403
    assert CANARY not in refused.text
    assert log.count("operator.action_refused") == 1
    panel = log.api.client(Surface.PANEL)
    del panel.headers["X-Operator-Reason"]
    silent = panel.get(f"/events/{position}?unmask=true")
    assert (silent.status_code, silent.json()["code"]) == (422, "reason_required")
    assert log.count("access.payload_viewed") == 0
    others = log.api.client(Surface.PANEL, name="zoe", tenant="other")
    for path in (f"/events/{position}", "/events/x", "/events/99999999999999999999"):
        assert others.get(f"{path}?unmask=true").status_code == 404
    assert log.count("access.payload_viewed") == 0
