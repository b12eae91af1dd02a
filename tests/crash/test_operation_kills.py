"""SIGKILL at the steps that only other operations than `create` have (I2, I3, I4).

A reconciliation commits what it found before it repairs; pause and resume move the
standing by an action that is no absolute write.  Judge is the panel's own book.
"""

from collections.abc import Callable
from functools import partial
from uuid import UUID

import httpx
import pytest

from application.operators.instruction import instruct
from application.operators.operate import Operate, Wanted
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.postgres.streams import PostgresStreams
from infrastructure.simulators.panel.holds import When
from tests.crash.test_fulfillment_kills import PAST_THE_LEASE, TOKEN, Scene
from tests.fixtures.folds import assert_heads_equal_folds
from tests.fixtures.workers import until

pytestmark = [pytest.mark.crash, pytest.mark.timeout(150)]

OWNER = "SELECT 1 FROM counterfoil.entitlements FOR UPDATE"


@pytest.fixture
def delivered(scene: Scene) -> Scene:
    """One order, carried to the panel; no worker runs."""
    scene.settle()
    scene.start_worker()
    until(lambda: scene.rows("SELECT 1 FROM counterfoil.orders WHERE state <> 'paid'"))
    until(lambda: scene.rows("SELECT 1 FROM counterfoil.jobs") == [])
    scene.kill()
    return scene


def ask(scene: Scene, operation: str, **parameters: object) -> UUID:
    wanted = Wanted(
        entitlement="customer:customer-1", operation=operation, parameters=parameters
    )
    with Database(scene.database.conninfo, pool_size=2) as pool:
        operate = Operate(PostgresStreams(pool), BatchStore(pool), new_id)
        return operate(wanted, instruct("ann", "a test")).operation_id


def edit(scene: Scene, **members: object) -> None:
    """Change the user at the panel, behind our back."""
    (user,) = scene.panel.users()
    httpx.patch(
        f"{scene.panel.url}/api/users",
        json={"id": user.id, **members},
        headers={
            "Authorization": f"Bearer {TOKEN}",
            "X-Forwarded-For": "127.0.0.1",
            "X-Forwarded-Proto": "https",
        },
        trust_env=False,
    ).raise_for_status()


def is_over(scene: Scene, operation: UUID) -> bool:
    rows = scene.rows(
        f"SELECT state FROM counterfoil.operations WHERE stream_id = '{operation}'"  # noqa: S608 - an id
    )
    return rows == [("succeeded",)]


def finish(scene: Scene, operation: UUID) -> None:
    """Let another worker bring the operation to its end."""
    scene.database.advance(PAST_THE_LEASE)
    scene.start_worker()
    until(lambda: is_over(scene, operation))
    until(lambda: scene.rows("SELECT 1 FROM counterfoil.jobs") == [])
    with scene.connection() as connection:
        assert_heads_equal_folds(connection)
    applied = [
        (str(each.request_id).rpartition(".")[0], each.method, each.path)
        for each in scene.panel.book()
        if each.applied and each.request_id
    ]
    assert len(applied) == len(set(applied))


def _kill_while_what_was_found_commits(scene: Scene) -> None:
    hold = scene.panel.hold("GET", "/api/users", when="after")
    scene.start_worker()
    hold.wait_arrived(timeout_s=40)
    with scene.blocked(OWNER):
        hold.release()
        until(scene.somebody_waits_for_a_lock)
        scene.kill()


def _kill_at_the_repair(scene: Scene, when: When) -> None:
    hold = scene.panel.hold("PATCH", "/api/users", when=when)
    scene.start_worker()
    hold.wait_arrived(timeout_s=40)
    scene.kill()
    hold.release(drop=True)


def _kill_before_the_record(scene: Scene) -> None:
    hold = scene.panel.hold("PATCH", "/api/users", when="after")
    scene.start_worker()
    hold.wait_arrived(timeout_s=40)
    with scene.blocked(OWNER):
        hold.release()
        until(scene.somebody_waits_for_a_lock)
        scene.kill()


STEPS: dict[str, Callable[[Scene], None]] = {
    "while what was found commits": _kill_while_what_was_found_commits,
    "before the repair": partial(_kill_at_the_repair, when="before"),
    "after the repair": partial(_kill_at_the_repair, when="after"),
    "before the record": _kill_before_the_record,
}


@pytest.mark.parametrize("step", STEPS)
def test_what_a_reconciliation_found_is_on_record_once_whatever_kills_it(
    delivered: Scene, step: str
) -> None:
    edit(delivered, trafficLimitBytes=1)
    operation = ask(delivered, "reconcile")

    STEPS[step](delivered)
    is_found = step != "while what was found commits"
    found = "SELECT 1 FROM counterfoil.events WHERE type = 'entitlement.drift_detected'"
    assert bool(delivered.rows(found)) == is_found
    finish(delivered, operation)

    tags = delivered.rows(
        """
        SELECT type, data->>'kind' FROM counterfoil.events
         WHERE type LIKE 'entitlement.drift%' ORDER BY position
        """
    )
    # After the panel had applied the repair, the next look finds nothing any more.
    assert tags == [
        ("entitlement.drift_detected", "traffic"),
        ("entitlement.drift_resolved", "traffic"),
    ]
    (user,) = delivered.panel.users()
    assert user.traffic_limit_bytes == 0


ACTIONS = [
    ("pause", "POST", "DISABLED"),
    ("disable", "POST", "DISABLED"),
    ("reset_traffic", "POST", "ACTIVE"),
    ("extend", "PATCH", "ACTIVE"),
]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("operation", "method", "status"), ACTIONS)
def test_an_operation_that_was_killed_at_its_call_ends_once(
    delivered: Scene, operation: str, method: str, status: str, when: str
) -> None:
    parameters = {"endsAt": "2090-01-01T00:00:00Z"} if operation == "extend" else {}
    asked = ask(delivered, operation, **parameters)
    hold = delivered.panel.hold(
        method, "/api/users", "before" if when == "before" else "after"
    )

    delivered.start_worker()
    hold.wait_arrived(timeout_s=40)
    delivered.kill()
    hold.release()  # the panel carries out what a client that is gone has asked
    finish(delivered, asked)

    (user,) = delivered.panel.users()
    assert user.status == status
    if operation == "extend":
        assert user.expire_at == "2090-01-01T00:00:00.000Z"


@pytest.mark.parametrize("method", ["PATCH", "POST"])
def test_a_resumption_that_was_killed_between_its_writes_gives_the_time_back_once(
    delivered: Scene, method: str
) -> None:
    until(delivered.panel.users)
    paused = ask(delivered, "pause")
    delivered.start_worker()
    until(lambda: is_over(delivered, paused))
    delivered.kill()
    resumed = ask(delivered, "resume")
    hold = delivered.panel.hold(method, "/api/users", "after")

    delivered.start_worker()
    hold.wait_arrived(timeout_s=40)
    delivered.kill()
    hold.release(drop=True)
    finish(delivered, resumed)

    (user,) = delivered.panel.users()
    assert user.status == "ACTIVE"
    ((ends_at,),) = delivered.rows(
        "SELECT (desired->>'ends_at')::timestamptz FROM counterfoil.entitlements"
    )
    milliseconds = ends_at.microsecond // 1000
    assert user.expire_at == f"{ends_at:%Y-%m-%dT%H:%M:%S}.{milliseconds:03d}Z"
