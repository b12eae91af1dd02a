"""Workers over HTTP: who lives, what they hold, and asking one to drain."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from api.http.surface import Surface
from infrastructure.processor.heartbeat import register
from tests.fixtures.database import TestDatabase
from tests.fixtures.http import Api
from tests.fixtures.workers import enqueue
from tests.http.test_skeleton import NOBODY, problem
from tests.processor.rig import NOOP, Rig, rig

pytestmark = pytest.mark.database


@pytest.fixture
def parts(database: TestDatabase) -> Iterator[Rig]:
    """A worker that is registered, and does nothing by itself."""
    with rig(database, NOOP) as made:
        register(made.connection, made.owner, ["noop"], ["jobs", "projections"])
        yield made


def test_a_worker_is_shown_with_what_it_holds(api: Api, parts: Rig) -> None:
    job = enqueue(parts.connection, "noop")
    parts.claim()

    (told,) = api.client().get("/workers").json()["items"]

    assert told["id"] == f"wrk_{parts.owner.boot}"
    assert (told["host"], told["pid"]) == (parts.owner.host, parts.owner.pid)
    assert (told["state"], told["running"]) == ("alive", 1)
    assert told["jobs"] == [{"id": f"job_{job}", "kind": "noop", "queue": "default"}]
    assert (told["roles"], told["kinds"]) == (["jobs", "projections"], ["noop"])


@pytest.mark.parametrize("surface", [Surface.ADMIN, Surface.PANEL])
def test_it_is_asked_to_drain_and_is_drained_when_it_holds_nothing(
    surface: Surface, api: Api, parts: Rig
) -> None:
    ann = api.client(surface)
    enqueue(parts.connection, "noop")
    (held,) = parts.claim()

    answer = ann.post(f"/workers/wrk_{parts.owner.boot}/drain")

    assert answer.status_code == 202
    assert answer.json()["state"] == "draining"
    assert answer.headers["location"] == f"{surface}/workers"
    parts.settler.give_back(held, "shutdown")
    parts.connection.execute("DELETE FROM counterfoil.jobs")
    (told,) = ann.get("/workers").json()["items"]
    assert told["state"] == "drained"
    again = ann.post(f"/workers/{parts.owner.boot}/drain")
    assert (again.status_code, again.json()["state"]) == (202, "drained")


def test_under_its_key_it_is_asked_once(
    api: Api, parts: Rig, database: TestDatabase
) -> None:
    ann = api.client()
    path, key = (
        f"/workers/wrk_{parts.owner.boot}/drain",
        {"Idempotency-Key": "drain-one"},
    )

    first = ann.post(path, headers=key)
    again = ann.post(path, headers=key)

    assert (first.status_code, again.status_code) == (202, 202)
    assert again.headers["idempotency-replayed"] == "true"
    rows = database.connect().execute(
        "SELECT 1 FROM counterfoil.events WHERE data->>'action' = 'worker.drained'"
    )
    assert len(rows.fetchall()) == 1


def test_what_is_gone_is_not_drained(
    api: Api, parts: Rig, database: TestDatabase
) -> None:
    database.advance(timedelta(minutes=2))

    told = problem(api.client().post(f"/workers/wrk_{parts.owner.boot}/drain"))

    assert (told["code"], told["state"]) == ("state_conflict", "silent")


@pytest.mark.parametrize("named", [f"wrk_{NOBODY}", f"job_{NOBODY}", "me"])
def test_what_never_was_is_not_found(named: str, api: Api) -> None:
    told = problem(api.client().post(f"/workers/{named}/drain"))

    assert told["code"] == "not_found"


def test_workers_are_the_installations(api: Api, parts: Rig) -> None:
    stranger = api.client(tenant="shop")

    assert stranger.get("/workers").status_code == 404
    told = stranger.post(f"/workers/wrk_{parts.owner.boot}/drain")
    assert problem(told)["code"] == "not_found"
