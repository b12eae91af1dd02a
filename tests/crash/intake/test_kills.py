"""SIGKILL of the API at every commit boundary, and the same request again (I5, S18).

    before anything ─► the key ─► what is asked for ─► COMMIT ─► the answer
                  ✗                               ✗          ✗

The database is behind a proxy, which keeps a COMMIT back or the answer to it.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from domain.access.audience import Audience
from infrastructure.postgres.database import Database
from tests.crash.intake.process import ApiProcess, api_process, shop, token
from tests.fixtures.database import TestDatabase
from tests.fixtures.proxy import Plan, Proxy
from tests.fixtures.workers import until
from tests.operators.world import World

pytestmark = [pytest.mark.crash, pytest.mark.timeout(150)]

ORDER = {
    "orderId": "A-1",
    "customerId": "anna",
    "kind": "purchase",
    "currency": "USD",
    "amountMinor": 1299,
    "lines": [{"line": 1, "type": "access", "days": 30}],
}
AT_ONCE = 50


@dataclass(frozen=True)
class Request:
    """One request, and what it leaves when it was carried out once."""

    path: str
    body: dict[str, Any]
    events: tuple[str, ...]
    surface: Audience = Audience.SHOP


REQUESTS = {
    "job": Request("/v1/jobs", {"kind": "mail"}, ("job.enqueued",)),
    "settle": Request("/v1/orders/settle", ORDER, ("order.paid", "job.enqueued")),
    "refund": Request(
        "/v1/orders/A-1/refund", {"reason": "charged back"}, ("job.enqueued",)
    ),
    "operation": Request(
        "/v1/admin/entitlements/ENTITLEMENT/operations",
        {"operation": "set_limits", "deviceLimit": 5},
        ("entitlement.desired_changed", "fulfillment.requested", "job.enqueued"),
        Audience.ADMIN,
    ),
}
requests = pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)


@dataclass
class Scene:
    """A database behind a proxy, and processes that ask it."""

    database: TestDatabase
    proxy: Proxy
    folder: Path
    secrets: dict[Audience, str]
    entitlement: UUID
    since: int
    """Position of the last event that is no test's."""
    begun: list[ApiProcess] = field(default_factory=list[ApiProcess])

    def start(self) -> ApiProcess:
        process = ApiProcess(self.proxy.conninfo, self.folder)
        self.begun.append(process)
        return process

    def events(self) -> list[str]:
        """Return the tags of what was born, in order."""
        rows = self.database.connect().execute(
            """
            SELECT type FROM counterfoil.events
             WHERE position > %s AND type <> 'operator.action_taken' ORDER BY position
            """,
            [self.since],
        )
        return [row[0] for row in rows]

    def ask(self, process: ApiProcess, request: Request) -> httpx.Response:
        """Return what a process answers."""
        secret = self.secrets[request.surface]
        path = request.path.replace("ENTITLEMENT", f"ent_{self.entitlement}")
        with shop(process, secret) as asking:
            return asking.post(path, json=request.body)

    def answers(self) -> list[tuple[int, str]]:
        rows = self.database.connect().execute(
            "SELECT status, made_id FROM counterfoil.idempotency_keys"
        )
        return list(rows)


@pytest.fixture
def scene(database: TestDatabase, proxy: Proxy, tmp_path: Path) -> Iterator[Scene]:
    secrets = {
        surface: token(database.conninfo, surface)
        for surface in (Audience.SHOP, Audience.ADMIN)
    }
    connection = database.connect()
    with Database(database.conninfo, pool_size=2) as pool:
        world = World(pool, connection)
        world.operation("ann")
        found = world.streams.entitlement_of("default", "ann", 1)
    assert found is not None
    (last,) = connection.execute("SELECT max(position) FROM counterfoil.events")
    made = Scene(database, proxy, tmp_path, secrets, found[0].id, last[0])
    try:
        yield made
    finally:
        for process in made.begun:
            process.kill()


def hold_before(proxy: Proxy) -> Plan:
    return proxy.hold_before_commit("counterfoil.keep_key")


def hold_answer(proxy: Proxy) -> Plan:
    return proxy.hold_commit_answer("counterfoil.keep_key")


def repeated(scene: Scene, request: Request) -> httpx.Response:
    """Return what a new process answers to the same request, and once more to it."""
    process = scene.start()
    # The old backend may have the key until the server notices that it is alone.
    told: httpx.Response = until(
        lambda: (it := scene.ask(process, request)).status_code != 409 and it
    )
    later = scene.ask(process, request)
    assert told.status_code == later.status_code == 202
    assert later.json()["id"] == told.json()["id"]
    assert later.headers["idempotency-replayed"] == "true"
    return told


@requests
@pytest.mark.parametrize(
    ("hold", "is_done"),
    [(hold_before, False), (hold_answer, True)],
    ids=["before the commit", "before the answer"],
)
def test_killed_at_its_commit_it_was_done_once_and_is_answered(
    scene: Scene, request_: Request, hold: Callable[[Proxy], Plan], *, is_done: bool
) -> None:
    process = scene.start()
    held = hold(scene.proxy)
    with ThreadPoolExecutor(1) as caller:
        lost = caller.submit(scene.ask, process, request_)
        held.wait()
        process.kill()
        assert isinstance(lost.exception(), httpx.TransportError)

    told = repeated(scene, request_)

    assert ("idempotency-replayed" in told.headers) is is_done
    assert scene.events() == list(request_.events)
    assert [status for status, _ in scene.answers()] == [202]


@requests
def test_killed_before_anything_it_is_as_if_it_had_never_come(
    scene: Scene, request_: Request
) -> None:
    process = scene.start()
    with ThreadPoolExecutor(1) as caller:
        with scene.proxy.stalled():
            lost = caller.submit(scene.ask, process, request_)
            process.kill()
        assert isinstance(lost.exception(), httpx.TransportError)

    told = repeated(scene, request_)

    assert "idempotency-replayed" not in told.headers
    assert scene.events() == list(request_.events)


@requests
@pytest.mark.parametrize(
    "cut", [Proxy.cut_commit_answer, Proxy.cut_before_commit], ids=["after", "before"]
)
def test_when_the_answer_of_commit_is_lost_the_api_finds_out_by_itself(
    scene: Scene, request_: Request, cut: Callable[[Proxy, str], Plan]
) -> None:
    process = scene.start()
    plan = cut(scene.proxy, "counterfoil.keep_key")

    told, again = scene.ask(process, request_), scene.ask(process, request_)

    plan.wait()
    assert told.status_code == again.status_code == 202
    assert again.json()["id"] == told.json()["id"]
    assert again.headers["idempotency-replayed"] == "true"
    assert scene.events() == list(request_.events)


def test_fifty_at_once_over_two_processes_are_one_job(scene: Scene) -> None:
    """S18 (d): real processes, real connections."""
    request = REQUESTS["job"]
    with (
        shop(scene.start(), scene.secrets[Audience.SHOP]) as one,
        shop(scene.start(), scene.secrets[Audience.SHOP]) as other,
        ThreadPoolExecutor(AT_ONCE) as callers,
    ):
        told = list(
            callers.map(
                lambda n: (one, other)[n % 2].post(request.path, json=request.body),
                range(AT_ONCE),
            )
        )

    accepted = [answer for answer in told if answer.status_code == 202]
    others = Counter(
        answer.json()["code"] for answer in told if answer.status_code != 202
    )
    assert set(others) <= {"idempotency_in_progress"}
    assert len({answer.json()["id"] for answer in accepted}) == 1
    firsts = ["idempotency-replayed" not in answer.headers for answer in accepted]
    assert firsts.count(True) == 1
    assert scene.events() == ["job.enqueued"]


def test_i14_an_accepted_job_outlives_the_process_that_has_accepted_it(
    scene: Scene, tmp_path: Path
) -> None:
    process = scene.start()
    with shop(process, scene.secrets[Audience.SHOP], key=None) as asking:
        told = [asking.post("/v1/jobs", json={"kind": "mail"}) for _ in range(3)]
    process.kill()

    ids = [answer.json()["id"] for answer in told]
    with (
        api_process(scene.database.conninfo, tmp_path) as later,
        shop(later, scene.secrets[Audience.SHOP], key=None) as asking,
    ):
        assert [answer.status_code for answer in told] == [202] * 3
        rows = scene.database.connect().execute(
            "SELECT 'job_' || stream_id FROM counterfoil.jobs"
            " WHERE kind = 'mail' ORDER BY stream_id"
        )
        assert [row[0] for row in rows] == sorted(ids)
        assert asking.post("/v1/jobs", json={"kind": "mail"}).status_code == 202
