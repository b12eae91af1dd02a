"""Two workers and very many operations on one customer's access (I2, I13).

The operations are asked for faster than the panel takes them, so that most wait behind
their serial key.  One worker is killed inside a request of one of them.  Judge is the
panel's own book, with the moments at which each request came and was answered.
"""

import random
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from application.errors import StateConflictError
from application.operators.instruction import instruct
from application.operators.operate import Operate, Wanted
from domain.errors import InvalidRequestError
from infrastructure.client import Client
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.postgres.streams import PostgresStreams
from infrastructure.simulators.panel.book import BookedRequest
from infrastructure.simulators.panel.faults import Rotation
from tests.crash.test_fulfillment_kills import ORDER, PAST_THE_LEASE, Scene, staged
from tests.fixtures.database import TestDatabase
from tests.fixtures.folds import assert_heads_equal_folds
from tests.fixtures.workers import until

pytestmark = [pytest.mark.crash, pytest.mark.timeout(150)]

SQUADS = (
    ("11111111-1111-4111-8111-111111111111", "Alpha"),
    ("22222222-2222-4222-8222-222222222222", "Beta"),
)
LOST_ANSWERS = ("reset_after", "close_after", "error_after", "truncated_json")
OPERATIONS = (
    *("set_limits",) * 4,
    *("extend",) * 3,
    *("set_squads",) * 2,
    *("disable", "enable", "pause", "resume", "reset_traffic", "reconcile"),
)
FIRST_END = datetime(2040, 1, 1, tzinfo=UTC)
RENEWALS = 3
MANY = 100
"""So many due jobs of one key take longer than anybody else's order."""

WAITS = """
SELECT count(*), (SELECT max(position) FROM counterfoil.events)
  FROM counterfoil.jobs j
  JOIN counterfoil.entitlements e ON j.serial_key = 'entitlement:' || e.stream_id
 WHERE e.customer_id = 'customer-1' AND j.state = 'waiting'
"""
HOLDER = """
SELECT j.owner_pid FROM counterfoil.jobs j
  JOIN counterfoil.entitlements e ON j.serial_key = 'entitlement:' || e.stream_id
 WHERE e.customer_id = 'customer-1' AND j.state = 'running'
"""
ENDS = """
SELECT o.stream_id::text, o.state, o.desired_version, o.operation,
       (SELECT max(v.position) FROM counterfoil.events v
         WHERE v.stream_id = o.stream_id
           AND v.type IN ('fulfillment.succeeded', 'fulfillment.cancelled')),
       (SELECT v.data->>'covered_by' FROM counterfoil.events v
         WHERE v.stream_id = o.stream_id AND v.type = 'fulfillment.cancelled')
  FROM counterfoil.operations o
  JOIN counterfoil.entitlements e ON e.stream_id = o.entitlement_id
 WHERE e.customer_id = 'customer-1'
 ORDER BY o.desired_version, o.stream_id
"""
OTHERS = """
SELECT o.order_id,
       (SELECT v.position FROM counterfoil.events v
         WHERE v.stream_id = o.stream_id AND v.type = 'order.fulfilled')
  FROM counterfoil.orders o WHERE o.customer_id <> 'customer-1'
"""
OWED = """
SELECT desired, paused_at IS NOT NULL OR disabled_version IS NOT NULL, username
  FROM counterfoil.entitlements WHERE customer_id = 'customer-1'
"""


@dataclass
class Rush:
    """Operations on one customer, orders of others, and dice."""

    scene: Scene
    dice: random.Random
    n: int
    asked: int = 0
    settled: int = 0
    others: list[str] = field(default_factory=list[str])

    def settle(self) -> None:
        """Take one more payment of the customer."""
        self.settled += 1
        with self.scene.connection() as connection:
            Client(connection).settle_order(
                {**ORDER, "orderId": f"order-{self.settled}"}
            )

    def settle_others(self, n: int) -> list[str]:
        """Take payments of `n` new customers, in three tenants; return the orders."""
        named = [f"other-{len(self.others) + i}" for i in range(n)]
        with self.scene.connection() as connection:
            for i, name in enumerate(named):
                told = {
                    "orderId": name,
                    "customerId": name,
                    "tenant": f"tenant-{i % 3}",
                }
                Client(connection).settle_order({**ORDER, **told})
        self.others += named
        return named

    def ask(self, asked: int, operations: Sequence[str] = OPERATIONS) -> None:
        """Ask for operations, until so many were accepted."""
        with Database(self.scene.database.conninfo, pool_size=2) as pool:
            operate = Operate(PostgresStreams(pool), BatchStore(pool), new_id)
            while self.asked < asked:
                # What the present state forbids is refused, and does not count.
                with suppress(StateConflictError, InvalidRequestError):
                    answer = operate(
                        self._wanted(operations), instruct("ann", "a test")
                    )
                    self.asked += not answer.replayed

    def _wanted(self, operations: Sequence[str]) -> Wanted:
        operation = self.dice.choice(operations)
        members: dict[str, Any] = {}
        match operation:
            case "set_limits":
                members["trafficBytes"] = self.dice.choice([None, 0, 10**9, 2 * 10**9])
                members["deviceLimit"] = self.dice.choice([None, 1, 5])
            case "extend":
                ends_at = FIRST_END + timedelta(days=40 * self.asked)
                members["endsAt"] = ends_at.isoformat()
            case "set_squads":
                chosen = self.dice.sample(SQUADS, self.dice.randrange(3))
                members["squadIds"] = [squad for squad, _ in chosen]
            case _:
                pass
        return Wanted(
            entitlement="customer:customer-1", operation=operation, parameters=members
        )

    def kill_the_holder(self, asked: int) -> None:
        """End the worker that carries out an operation, inside its request.

        Until its lease ends, everybody else is served, though hundreds of due jobs
        wait behind the key of the dead (I13).
        """
        self.ask(asked - 1)
        hold = self.scene.panel.hold("PATCH", "/api/users", when="after")
        self.ask(asked, ("set_limits",))
        hold.wait_arrived(timeout_s=40)
        ((pid,),) = self.scene.rows(HOLDER)
        self.scene.kill(pid)
        hold.release(drop=True)
        self.scene.start_worker()
        self.wait_fulfilled(self.settle_others(10))
        assert self.scene.rows(HOLDER) == [(pid,)], "somebody took what the dead holds"
        self.scene.database.advance(PAST_THE_LEASE)

    def wait_fulfilled(self, orders: Sequence[str]) -> None:
        until(lambda: set(orders) <= self._fulfilled())

    def _fulfilled(self) -> set[str]:
        return {name for name, position in self.scene.rows(OTHERS) if position}

    def wait_over(self) -> None:
        """Return when nothing is left to do; backoffs pass quickly, leases do not."""
        until(self._is_over, within_s=100 + self.n / 2)

    def _is_over(self) -> bool:
        if self.scene.rows("SELECT 1 FROM counterfoil.jobs LIMIT 1") == []:
            return True
        # Three times as fast as the clock: a beat each 15 s keeps a lease of 60 s.
        with suppress(AssertionError):
            until(
                lambda: self.scene.rows("SELECT 1 FROM counterfoil.jobs LIMIT 1") == [],
                within_s=1,
            )
        self.scene.database.advance(timedelta(seconds=2))
        return False


def _rush(scene: Scene, seed: int, n: int, *, loses_answers: bool) -> None:
    dice = random.Random(seed)  # noqa: S311 - repeatable by its seed
    rush = Rush(scene, dice, n)
    rush.settle()
    for _ in range(2):
        scene.start_worker()
    until(lambda: scene.rows("SELECT 1 FROM counterfoil.orders WHERE state <> 'paid'"))

    faults = Rotation(0.05, LOST_ANSWERS, seed) if loses_answers else None
    scene.panel.faults.set(rotation=faults)
    for part in range(1, RENEWALS):
        rush.ask(n * part // 20)
        rush.settle()
    scene.panel.faults.clear()
    rush.kill_the_holder(n // 2)
    scene.panel.faults.set(rotation=faults)
    rush.ask(n * 3 // 4)
    ((waiting, since),) = scene.rows(WAITS)
    late = rush.settle_others(10)
    rush.ask(n)
    rush.wait_over()

    _assert_each_ended(scene, rush)
    _assert_never_two_at_once(scene)
    if not loses_answers:  # then an earlier one in backoff is not waited for
        _assert_in_order_of_version(scene)
    _assert_last_version_stands(scene)
    _assert_others_were_served(scene)
    if waiting > MANY:
        _assert_nobody_stood_behind(scene, late, waiting, since)
    with scene.connection() as connection:
        assert_heads_equal_folds(connection)


def _assert_each_ended(scene: Scene, rush: Rush) -> None:
    ends = scene.rows(ENDS)
    assert len(ends) == rush.asked + rush.settled
    states = {row[0]: row[1] for row in ends}
    covering = {row[0]: row[5] for row in ends if row[1] == "cancelled"}
    for id_ in states:
        last = id_
        while last in covering:  # who covers may be covered by a still later one
            last = covering[last]
        assert states[last] == "succeeded"
    assert scene.rows("SELECT 1 FROM counterfoil.jobs_dead") == []


def _assert_never_two_at_once(scene: Scene) -> None:
    """The panel was never asked anything while it was busy with that customer."""
    mine = {row[0] for row in scene.rows(ENDS)}
    asked = [
        request
        for request in scene.panel.book()
        if request.request_id and request.request_id.partition(".")[0] in mine
    ]
    asked.sort(key=_began)
    assert {each.request_id for each in asked if each.ended_ns is None} == set()
    for earlier, later in pairwise(asked):
        assert _ended(earlier) < _began(later), (earlier, later)
    # One at a time also means: no operation began within another's attempt.
    attempts = [str(each.request_id).rpartition(".")[0] for each in asked]
    runs = [now for before, now in pairwise(["", *attempts]) if before != now]
    assert max(Counter(runs).values()) == 1
    succeeded = {row[0] for row in scene.rows(ENDS) if row[1] == "succeeded"}
    assert succeeded <= {run.partition(".")[0] for run in runs}


def _assert_in_order_of_version(scene: Scene) -> None:
    """What was carried out at the first attempt succeeded in the order of versions."""
    again = {
        str(each.request_id).partition(".")[0]
        for each in scene.panel.book()
        if ".2." in str(each.request_id)
    }
    done = [row for row in scene.rows(ENDS) if row[1] == "succeeded"]
    done.sort(key=lambda row: row[4])
    versions = [row[2] for row in done if row[0] not in again]
    assert versions == sorted(versions)


def _began(request: BookedRequest) -> int:
    assert request.began_ns is not None
    return request.began_ns


def _ended(request: BookedRequest) -> int:
    assert request.ended_ns is not None
    return request.ended_ns


def _assert_last_version_stands(scene: Scene) -> None:
    ((desired, is_off, username),) = scene.rows(OWED)
    (user,) = [user for user in scene.panel.users() if user.username == username]
    ends_at = datetime.fromisoformat(desired["ends_at"])
    assert user.expire_at == (
        f"{ends_at:%Y-%m-%dT%H:%M:%S}.{ends_at.microsecond // 1000:03d}Z"
    )
    assert user.status == ("DISABLED" if is_off else "ACTIVE")
    assert user.traffic_limit_bytes == (desired.get("traffic_bytes") or 0)
    assert user.hwid_device_limit == (desired.get("device_limit") or 0)
    assert set(user.squads) == set(desired.get("squad_ids", ()))


def _assert_others_were_served(scene: Scene) -> None:
    assert None not in dict(scene.rows(OTHERS)).values()
    names = [user.username for user in scene.panel.users()]
    assert len(names) == len(set(names)) == len(scene.rows(OTHERS)) + 1


def _assert_nobody_stood_behind(
    scene: Scene, orders: Sequence[str], waiting: int, since: int
) -> None:
    """By the log's order: they were done before what had waited before them was."""
    fulfilled = dict(scene.rows(OTHERS))
    last = max(fulfilled[order] for order in orders)
    meanwhile = [row for row in scene.rows(ENDS) if since < row[4] < last]
    assert len(meanwhile) < waiting


@pytest.mark.parametrize("loses_answers", [False, True])
def test_a_few_dozen_operations_on_one_customer(
    database: TestDatabase,
    tmp_path: Path,
    loses_answers: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    with staged(database, tmp_path, squads=SQUADS, latency_ms=3.0) as scene:
        _rush(scene, 1, 40, loses_answers=loses_answers)


@pytest.mark.campaign
@pytest.mark.timeout(900)
@pytest.mark.parametrize("loses_answers", [False, True])
@pytest.mark.parametrize("seed", range(100, 105))
def test_a_thousand_operations_on_one_customer(
    database: TestDatabase,
    tmp_path: Path,
    seed: int,
    loses_answers: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    with staged(database, tmp_path, squads=SQUADS, latency_ms=1.0) as scene:
        _rush(scene, seed, 1000, loses_answers=loses_answers)
