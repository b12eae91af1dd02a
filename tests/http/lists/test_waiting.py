"""Reads that wait for what somebody has just changed."""

from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from threading import Event
from typing import TYPE_CHECKING, cast

import pytest

from api.http.lists.waiting import MOST_WAITING, no_older_than
from api.http.problems.problem import ProblemError
from api.http.surface import Surface
from infrastructure.client import Client
from infrastructure.postgres.database import Database
from projections.reading import AtLeast
from tests.fixtures.database import TestDatabase
from tests.fixtures.http import Api
from tests.fixtures.read_models import project

if TYPE_CHECKING:
    from api.http.call import Call

pytestmark = pytest.mark.database


def test_what_is_not_shown_in_time_is_told_with_when_to_ask_again(
    api: Api, database: TestDatabase
) -> None:
    job = Client(database.connect()).enqueue("noop", {}).job_id
    shop = api.client(Surface.SHOPS)

    late = shop.get("/jobs?atPosition=1")

    assert late.status_code == 503
    assert late.json()["code"] == "projection_behind"
    assert late.headers["retry-after"] == "2"
    with Database(database.conninfo, pool_size=1) as pool:
        project(pool)
    seen = shop.get("/jobs?atPosition=1")
    assert [it["id"] for it in seen.json()["items"]] == [f"job_{job}"]
    assert int(seen.headers["x-as-of-position"]) >= 1


class Waiter:
    """Services that let reads wait until they are told to go on."""

    def __init__(self) -> None:
        self.go_on = Event()
        self.waiting: Queue[int] = Queue()

    @property
    def services(self) -> "Waiter":
        return self

    def at_least(self, position: int | None) -> AtLeast | None:
        return None if position is None else AtLeast(position, self.wait)

    def wait(self, _projection: str, position: int) -> None:
        self.waiting.put(position)
        assert self.go_on.wait(30)


def test_those_who_wait_leave_room_for_others() -> None:
    waiter = Waiter()

    def read() -> None:
        least = no_older_than(cast("Call", waiter), 1)
        assert least is not None
        least.wait("jobs", 1)

    with ThreadPoolExecutor(MOST_WAITING) as pool:
        asked = [pool.submit(read) for _ in range(MOST_WAITING)]
        assert [waiter.waiting.get(timeout=30) for _ in asked] == [1] * MOST_WAITING
        with pytest.raises(ProblemError, match="too many reads wait") as raised:
            read()
        waiter.go_on.set()
        assert [each.result() for each in asked] == [None] * MOST_WAITING
    assert raised.value.code == "projection_behind"
    read()
