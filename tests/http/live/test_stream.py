"""Whoever follows is told what happens, in order, and what was missed."""

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.http.surface import Surface
from domain.access.permissions import Permission
from infrastructure.installation import Services
from infrastructure.live.feed import Feed, FeedLimits
from tests.fixtures.database import TestDatabase
from tests.fixtures.http import Api, api_over

ENQUEUE = "SELECT counterfoil.enqueue(%s::jsonb)"


def enqueue(api: Api, tenant: str = "default", n: int = 1) -> None:
    with api.services.database.connection() as connection:
        for number in range(n):
            job = {"kind": "mail", "tenant": tenant, "args": {"n": number}}
            connection.execute(ENQUEUE, [json.dumps(job)])


@pytest.fixture
def small(database: TestDatabase, tmp_path: Path) -> Generator[Api]:
    """Give an API that tells one follower, of two positions."""

    def change(services: Services) -> Services:
        limits = FeedLimits(followers=1, positions=2)
        return replace(services, feed=Feed(services.changes, limits))

    with api_over(database, tmp_path, change=change) as opened:
        yield opened


class Following:
    """An open stream, read event by event."""

    def __init__(self, answer: httpx.Response) -> None:
        self.answer = answer
        self._lines = answer.iter_lines()

    def frame(self) -> dict[str, str]:
        """Return the next frame; empty: the stream has ended."""
        told: dict[str, str] = {}
        for line in self._lines:
            if not line:
                return told
            name, _, value = line.partition(": ")
            told[name] = value
        return told

    def changes(self, n: int) -> list[dict[str, Any]]:
        return [json.loads(self.frame()["data"]) for _ in range(n)]


@contextmanager
def following(
    client: httpx.Client, path: str = "/stream", **headers: str
) -> Generator[Following]:
    with client.stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200, answer.read()
        stream = Following(answer)
        opened = stream.frame()
        assert opened["retry"] == "3000"
        assert opened["id"].isdecimal()
        yield stream


def position(api: Api) -> str:
    told: str = api.client(Surface.ADMIN).get("/changes").json()["next"]
    return told


def test_a_follower_is_told_what_happens_now(api: Api) -> None:
    with following(api.client(Surface.PANEL)) as stream:
        assert stream.answer.headers["content-type"].startswith("text/event-stream")
        enqueue(api)

        frame = stream.frame()

    change = json.loads(frame["data"])
    assert frame["event"] == change["type"] == "job.enqueued"
    assert frame["id"] == change["position"]
    assert change["id"].startswith("job_")
    assert (change["topic"], change["version"]) == ("jobs", 1)


def test_whoever_comes_back_is_told_what_was_missed_and_goes_on(api: Api) -> None:
    before = position(api)
    enqueue(api, n=3)

    with following(api.client(Surface.ADMIN), **{"Last-Event-ID": before}) as stream:
        missed = stream.changes(3)
        enqueue(api)
        (new,) = stream.changes(1)

    positions = [int(each["position"]) for each in (*missed, new)]
    assert positions == sorted(set(positions))
    assert int(before) < positions[0]


def test_nobody_is_told_of_another_tenant(api: Api) -> None:
    with following(api.client(Surface.SHOPS, tenant="blue")) as stream:
        enqueue(api, tenant="default")
        enqueue(api, tenant="blue")

        (change,) = stream.changes(1)

    with api.services.database.connection() as connection:
        rows = connection.execute(
            "SELECT tenant_id FROM counterfoil.jobs WHERE stream_id = %s",
            [change["id"].removeprefix("job_")],
        ).fetchall()
    assert rows == [("blue",)]


def test_what_lies_too_far_back_is_loaded_anew(small: Api) -> None:
    before = position(small)
    enqueue(small, n=5)
    client = small.client(Surface.ADMIN)

    with following(client, f"/stream?after={before}") as stream:
        assert stream.frame()["event"] == "reset"
        assert stream.frame() == {}
    assert client.get(f"/changes?after={before}").json()["reset"] is True


def test_a_topic_wants_its_permission(api: Api) -> None:
    client = api.client(Surface.SHOPS, permissions=frozenset({Permission.JOBS_READ}))

    assert client.get("/changes?topics=jobs").status_code == 200
    refused = client.get("/changes?topics=jobs,orders")
    assert refused.json()["code"] == "insufficient_scope"
    assert client.get("/stream?topics=orders").status_code == 403
    assert client.get("/changes?topics=cats").json()["code"] == "invalid_request"


def test_a_full_process_says_what_to_do_instead(small: Api) -> None:
    with following(small.client(Surface.ADMIN)):
        refused = small.client(Surface.PANEL).get("/stream")

    assert refused.json()["code"] == "too_many_streams"
    assert refused.headers["retry-after"] == "5"


def pages(client: httpx.Client, after: str) -> Iterator[dict[str, Any]]:
    while True:
        page = client.get(f"/changes?after={after}&limit=2").json()
        yield page
        if page["next"] == after:
            return
        after = page["next"]


def test_polling_sees_the_same(api: Api) -> None:
    before = position(api)
    enqueue(api, n=5)

    seen = [
        change
        for page in pages(api.client(Surface.ADMIN), before)
        for change in page["items"]
    ]

    assert [each["type"] for each in seen] == ["job.enqueued"] * 5
    assert len({each["id"] for each in seen}) == 5


def test_streams_end_when_the_process_does(api: Api) -> None:
    with following(api.client(Surface.ADMIN)) as stream:
        api.services.feed.close()

        assert stream.frame() == {}


def test_the_head_of_a_stream_has_an_end(api: Api) -> None:
    answer = api.client(Surface.ADMIN).head("/stream")

    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")


def test_a_follower_that_has_left_costs_nothing(api: Api) -> None:
    with following(api.client(Surface.ADMIN)) as stream:
        enqueue(api)
        stream.changes(1)
        assert api.services.feed.n_followers == 1

    enqueue(api)
    with following(api.client(Surface.ADMIN)) as stream:
        enqueue(api)
        stream.changes(1)
        assert api.services.feed.n_followers == 1
