"""What the product does with its tables, scene by scene, and the indexes it needs."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from application.errors import StateConflictError
from domain.jobs.outcome import Gated, Retry
from infrastructure.log.follower import Follower
from infrastructure.log.horizon import Horizon, require_positions_ahead
from infrastructure.processor.claim import Lane
from infrastructure.processor.claimed import ClaimedJob
from infrastructure.processor.heartbeat import deregister, register
from infrastructure.processor.leases import Held
from infrastructure.processor.slots import Slots
from infrastructure.processor.suspects.lane import SuspectLane
from infrastructure.sampling.sampler import Sampler
from infrastructure.telemetry.metrics.meter import Metrics
from projections.event_log import EventFilter, EventLog
from projections.job_history import JobHistory
from projections.job_list import JobFilter, JobList
from projections.maintenance import MaintenanceState
from tests.limits.room import limit
from tests.performance import goods, intake, operators
from tests.performance.filling import finish
from tests.performance.shop import fulfil, keep_a_window, maintenance_of, order
from tests.performance.stage import Stage


def claim_and_succeed(stage: Stage) -> None:
    finish(stage.parts, 40)


def look(stage: Stage) -> None:
    lanes = [Lane(queue, ("noop",)) for queue in ("default", "critical", "bulk")]
    assert stage.parts.claimer.look(stage.connection, lanes, 0.0) == {"default"}


def beat_and_retry(stage: Stage) -> None:
    held = stage.parts.claim(40)
    assert not stage.parts.beat(held)
    for each in held:
        stage.parts.settle(each, Retry(code="later"))


def rescue(stage: Stage) -> None:
    assert len(stage.parts.claim(3)) == 3
    stage.database.advance(timedelta(minutes=5))
    assert stage.parts.rescuer.round() == 3


def unpark(stage: Stage) -> None:
    gated = Gated(gate="panel", cause="maintenance_active")
    for each in stage.parts.claim(40):
        stage.parts.settle(each, gated)
    assert stage.parts.unparker.round() == 40


def claim_a_suspect(stage: Stage) -> None:
    parts = stage.parts
    assert len(parts.claim(3)) == 3
    assert parts.die() == 3
    slots = Slots({"default": 4}, None)
    lane = SuspectLane(parts.claimer, slots, parts.kinds, 1)

    def take(jobs: list[ClaimedJob]) -> list[Held]:
        pairs = [(job, parts.kinds[job.kind]) for job in jobs]
        return parts.leases.take(pairs, parts.leases.now(), alone=True)

    assert lane.claim(stage.connection, take) == 1


def register_worker(stage: Stage) -> None:
    register(stage.connection, stage.parts.owner, ["noop"])
    register(stage.connection, stage.parts.owner, ["noop"])
    deregister(stage.connection, stage.parts.owner)


def enqueue_twice(stage: Stage) -> None:
    first = stage.client.enqueue("noop", unique_key="one-and-only")
    assert (
        stage.client.enqueue("noop", unique_key="one-and-only").job_id == first.job_id
    )


def ask_for_room(stage: Stage) -> None:
    limit(stage.connection, tenant=1_000_000, in_all=1_000_000)
    assert stage.one("SELECT counterfoil.refresh_pending()")
    stage.client.enqueue("noop", {"n": 1}, tenant="elsewhere")
    assert stage.one("SELECT counterfoil.count_pending('default', 1000000)") > 40_000
    limit(stage.connection)


def settle_twice(stage: Stage) -> None:
    assert stage.client.settle_order(order(0)).replayed


def fulfil_order(stage: Stage) -> None:
    stage.client.settle_order(order(1))
    assert fulfil(stage.parts) == 2
    stage.client.settle_order(order(0) | {"orderId": "a-second-one"})
    assert fulfil(stage.parts) == 2


def follow(stage: Stage) -> None:
    lend = stage.parts.pool.connection
    follower = Follower(lend, Horizon(lend))
    assert len(follower.read(40_000, 100).events) == 100
    assert EventLog(lend)(EventFilter(limit=10))
    with lend() as connection:
        require_positions_ahead(connection)


def list_jobs(stage: Stage) -> None:
    list_ = JobList(stage.parts.pool.connection)
    assert len(list_(JobFilter(limit=50)).jobs) == 50
    assert len(list_(JobFilter(state="discarded", limit=50)).jobs) == 50


def tell_job(stage: Stage) -> None:
    assert JobHistory(stage.parts.pool.connection)(stage.dead) is not None


def why_each(stage: Stage) -> None:
    stage.why("o0")
    stage.why("c0")
    stage.why(stage.operation)
    stage.why(stage.dead)
    stage.why(stage.username)


def maintain(stage: Stage) -> None:
    keep_a_window(maintenance_of(stage.parts))
    assert not MaintenanceState(stage.parts.pool.connection)().windows
    assert stage.one("SELECT count(*) FROM counterfoil.gates") == 0


def retry_dead(stage: Stage) -> None:
    stage.retry(stage.dead)
    with pytest.raises(StateConflictError):
        stage.retry(stage.operation)  # it has succeeded


def sample(stage: Stage) -> None:
    metrics = Metrics(version="1", schema="1")
    sampler = Sampler(stage.parts.pool, metrics.families, lambda: True)
    sampler.sample(stage.connection)
    told = {family.name for family in sampler.standing.collect()}
    assert {f"counterfoil_{it}" for it in ("jobs", "deliveries")} < told


type Scene = Callable[[Stage], None]

SCENES: dict[Scene, set[str]] = {
    look: {"jobs_claim"},
    claim_and_succeed: {"jobs_claim", "jobs_lines", "jobs_serial", "jobs_pkey"},
    beat_and_retry: {"jobs_pkey", "running_keys_job"},
    rescue: {"jobs_running"},
    unpark: {"jobs_gate"},
    claim_a_suspect: {"jobs_suspects"},
    register_worker: {"workers_pkey"},
    enqueue_twice: {"jobs_unique_key", "jobs_pending", "events_pkey"},
    ask_for_room: {"jobs_pending", "jobs_running"},
    settle_twice: {"external_keys_pkey"},
    fulfil_order: {
        "orders_pkey",
        "entitlements_pkey",
        "entitlements_customer",
        "operations_pkey",
        "operations_entitlement",
        "jobs_pkey",
        "running_keys_pkey",
    },
    follow: {"events_position"},
    list_jobs: {"jobs_pkey", "jobs_dead_pkey"},
    tell_job: {"events_pkey"},
    why_each: {
        "orders_order_id",
        "entitlements_customer",
        "operations_entitlement",
        "operations_reconciled",
        "events_refused_target",
        "jobs_dead_unique_key",
        "jobs_unique_key",
        "orders_customer",
        "operations_order",
        "entitlements_username",
        "entitlements_legacy_username",
    },
    maintain: {"maintenance_pkey", "maintenance_one_open"},
    retry_dead: {"jobs_dead_pkey"},
    sample: {
        *("jobs_claim", "jobs_lines", "jobs_running", "jobs_gate", "jobs_suspects"),
        *("deliveries_unfinished", "maintenance_one_open"),
        *("read_orders_a_state", "read_operations_a_state", "read_drifts_a_state"),
        "read_dead_letters_a_died_at",
    },
    **goods.SCENES,
    **intake.SCENES,
    **operators.SCENES,
}
