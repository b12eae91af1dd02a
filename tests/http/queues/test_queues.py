"""Queues over HTTP: paused until an instant, limited by whoever has read them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest

from api.http.surface import Surface
from domain.access.roles import Role
from tests.fixtures.database import TestDatabase
from tests.fixtures.http import Api
from tests.fixtures.workers import enqueue
from tests.http.test_skeleton import problem

pytestmark = pytest.mark.database

BOTH = pytest.mark.parametrize("surface", [Surface.ADMIN, Surface.PANEL])


def later(hours: float = 1) -> str:
    return (datetime.now(UTC) + timedelta(hours=hours)).isoformat()


def pause(client: httpx.Client, hours: float = 1, queue: str = "bulk") -> Any:  # noqa: ANN401 - an answer
    return client.put(f"/queues/{queue}/pause", json={"expiresAt": later(hours)})


@pytest.fixture
def connection(database: TestDatabase) -> psycopg.Connection[Any]:
    return database.connect()


def actions(connection: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
    return connection.execute(
        """
        SELECT type, data->>'action', data->>'code', meta->'actor'->>'id',
               meta->>'reason'
          FROM counterfoil.events
         WHERE type LIKE 'operator.%' AND data->>'action' LIKE 'queue.%'
         ORDER BY position
        """
    ).fetchall()


def test_all_queues_are_shown_with_what_is_due(
    api: Api, connection: psycopg.Connection[Any]
) -> None:
    enqueue(connection, "noop", queue="reports")

    told = api.client().get("/queues").json()

    names = {each["name"]: each for each in told["items"]}
    assert set(names) == {"bulk", "critical", "default", "reports"}
    assert names["reports"]["due"] == 1
    assert names["reports"]["dueSince"] is not None
    assert names["bulk"] == {
        "name": "bulk",
        "version": 0,
        "concurrency": None,
        "pause": None,
        "running": 0,
        "due": 0,
        "isDueCapped": False,
        "dueSince": None,
    }


@BOTH
def test_a_queue_is_paused_renewed_and_resumed(
    surface: Surface, api: Api, connection: psycopg.Connection[Any]
) -> None:
    ann = api.client(surface)

    answer = pause(ann)
    assert answer.status_code == 200
    told = answer.json()
    assert told["pause"]["reason"] == "the customer asked"
    assert answer.headers["etag"] == '"queue_bulk:1"'
    assert pause(ann, 2).json()["version"] == 2
    other = problem(pause(api.client(surface, name="bob")))
    assert (other["status"], other["code"]) == (409, "queue_paused")
    gone = ann.delete("/queues/bulk/pause")
    assert (gone.status_code, gone.content) == (204, b"")
    assert ann.get("/queues/bulk").json()["pause"] is None

    assert [row[1:3] for row in actions(connection)] == [
        ("queue.paused", None),
        ("queue.paused", None),
        ("queue.paused", "queue_paused"),
        ("queue.resumed", None),
    ]


@pytest.mark.parametrize("hours", [-1, 25])
def test_a_pause_ends_within_a_day(hours: float, api: Api) -> None:
    told = problem(pause(api.client(), hours))

    assert (told["status"], told["code"]) == (400, "invalid_request")


@BOTH
def test_a_limit_is_set_by_whoever_has_read_the_queue(
    surface: Surface, api: Api
) -> None:
    ann = api.client(surface)
    read = ann.get("/queues/bulk")
    match = {"If-Match": read.headers["etag"]}

    first = ann.patch("/queues/bulk", json={"concurrency": 3}, headers=match)
    assert (first.status_code, first.json()["concurrency"]) == (200, 3)
    stale = ann.patch("/queues/bulk", json={"concurrency": 4}, headers=match)
    assert problem(stale)["code"] == "precondition_failed"
    unsaid = ann.patch("/queues/bulk", json={"concurrency": 4})
    assert problem(unsaid)["status"] == 428
    other = {"If-Match": '"queue_default:1"'}
    wrong = ann.patch("/queues/bulk", json={"concurrency": 4}, headers=other)
    assert problem(wrong)["status"] == 412
    weak = ann.patch(
        "/queues/bulk",
        json={"concurrency": 4},
        headers={"If-Match": 'W/"queue_bulk:1"'},
    )
    assert problem(weak)["code"] == "precondition_failed"
    newest = {"If-Match": first.headers["etag"]}
    none = ann.patch("/queues/bulk", json={"concurrency": None}, headers=newest)
    assert none.json()["concurrency"] is None


@pytest.mark.parametrize(
    "body", [{}, {"concurrency": 0}, {"concurrency": 1, "rate": 2}]
)
def test_a_limit_that_is_none_is_refused(body: dict[str, Any], api: Api) -> None:
    answer = api.client().patch("/queues/bulk", json=body, headers={"If-Match": "*"})

    assert problem(answer)["status"] == 400


def test_a_queue_that_is_not_there_is_not_found(api: Api) -> None:
    ann = api.client()

    for answer in (ann.get("/queues/none"), pause(ann, queue="none")):
        assert problem(answer)["code"] == "not_found"


def test_queues_are_the_installations_and_shops_have_none(
    api: Api, connection: psycopg.Connection[Any]
) -> None:
    stranger = api.client(tenant="shop")

    assert stranger.get("/queues").status_code == 404
    assert stranger.get("/queues/bulk").status_code == 404
    assert pause(stranger).status_code == 404
    assert stranger.delete("/queues/bulk/pause").status_code == 404
    limit = {"If-Match": "*"}
    told = stranger.patch("/queues/bulk", json={"concurrency": 1}, headers=limit)
    assert told.status_code == 404
    assert api.client(Surface.SHOPS).get("/queues").status_code == 404
    assert {row[2] for row in actions(connection)} == {"not_found"}


def test_a_viewer_looks_and_pauses_nothing(api: Api) -> None:
    viewer = api.client(Surface.PANEL, role=Role.VIEWER)

    assert viewer.get("/queues").status_code == 200
    assert problem(pause(viewer))["code"] == "forbidden"
