"""The library's `Application`, log, subscription and runner, on our log."""

import threading
from collections.abc import Iterable, Iterator
from typing import Any, cast, override
from uuid import UUID

import pytest
from eventsourcing.application import Application
from eventsourcing.domain import DomainEventProtocol
from eventsourcing.persistence import StoredEvent, Tracking
from eventsourcing.projection import (
    ApplicationSubscription,
    Projection,
    ProjectionRunner,
)

from domain.jobs.aggregate import Job, Stage, evolve
from infrastructure.log.checkpoints import CheckpointRecorder
from infrastructure.log.mapper import StreamEvent
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.log.door.library import environment_of
from tests.log.jobs import (
    BIRTH,
    CLAIM,
    META,
    SUCCESS,
    appending,
    births,
    job_refs,
    written,
)
from tests.log.plain import append

pytestmark = [pytest.mark.database, ON_BOTH_SERVERS]

DEADLINE_SECONDS = 20


class Log(Application[UUID]):
    """What an auditor who knows the library writes to read our log."""

    name = "log"


class Kinds(CheckpointRecorder):
    """A materialised view: how many events there are of each tag."""

    def count(self, tag: str, tracking: Tracking) -> None:
        with self.datastore.transaction(commit=True) as cursor:
            self._insert_tracking(cursor, tracking)
            cursor.execute(
                """
                INSERT INTO kinds AS k (tag, seen) VALUES (%(tag)s, 1)
                    ON CONFLICT (tag) DO UPDATE SET seen = k.seen + 1
                """,
                {"tag": tag},
            )


class KindsProjection(Projection[Kinds]):
    name = "kinds"

    @override
    def process_event(
        self, domain_event: DomainEventProtocol[UUID], tracking: Tracking
    ) -> None:
        self.view.count(cast("StreamEvent", domain_event).event.tag, tracking)


@pytest.fixture
def store(database: TestDatabase) -> Iterator[BatchStore]:
    with Database(database.conninfo, pool_size=2) as opened:
        yield BatchStore(opened)


@pytest.fixture
def log(database: TestDatabase) -> Iterator[Log]:
    with Log(env=environment_of(database.conninfo)) as application:
        yield application


def folded(job: Job | None, events: Iterable[Any]) -> Job | None:
    """Fold events as the library hands them out."""
    state = job or Job()
    for each in events:
        state = evolve(state, each.event)
    return state


def born(log: Log, stream_id: UUID) -> StoredEvent:
    """Return the first event of a stream that has no head."""
    event = StreamEvent(
        originator_id=stream_id,
        originator_version=1,
        tenant_id="default",
        event=BIRTH,
        meta=META,
    )
    return log.mapper.to_stored_event(cast("Any", event))


def test_its_repository_folds_our_streams(log: Log, store: BatchStore) -> None:
    (job,) = job_refs(1)
    written(store.commit([births([job])]))
    written(store.commit([appending([job], CLAIM)]))

    state: Any = log.repository.get(job.id, projector_func=cast("Any", folded))
    earlier: Any = log.repository.get(
        job.id, version=1, projector_func=cast("Any", folded)
    )

    assert (state.version, state.stage) == (2, Stage.RUNNING)
    assert (earlier.version, earlier.stage) == (1, Stage.WAITING)


def test_its_event_store_hands_out_our_events(log: Log, store: BatchStore) -> None:
    (job,) = job_refs(1)
    written(store.commit([births([job])]))
    written(store.commit([appending([job], CLAIM)]))

    events = [cast("StreamEvent", event) for event in log.events.get(job.id)]

    assert [event.event for event in events] == [BIRTH, CLAIM]
    assert [event.originator_version for event in events] == [1, 2]
    assert {event.tenant_id for event in events} == {"default"}
    assert all(event.recorded_at is not None for event in events)


def test_its_notification_log_pages_through_ours(log: Log, store: BatchStore) -> None:
    written(store.commit([births(job_refs(25))]))

    first = log.notification_log["1,10"]
    rest = log.notification_log.select(start=21, limit=10)

    assert [item.id for item in first.items] == list(range(1, 11))
    assert first.next_id == "11,20"
    assert [item.id for item in rest] == list(range(21, 26))
    assert {item.topic for item in first.items} == {"job.enqueued:1"}


def test_its_subscription_yields_what_was_and_what_comes(
    log: Log, store: BatchStore
) -> None:
    jobs = job_refs(2)
    written(store.commit([births(jobs)]))

    with ApplicationSubscription(log, gt=0) as subscription:
        before = [next(subscription) for _ in jobs]
        written(store.commit([appending(jobs, CLAIM)]))
        after = [next(subscription) for _ in jobs]

    assert [tracking.notification_id for _, tracking in before] == [1, 2]
    assert [cast("StreamEvent", event).event for event, _ in after] == [CLAIM, CLAIM]


def test_its_subscription_waits_at_the_horizon(
    log: Log, store: BatchStore, database: TestDatabase
) -> None:
    slow = database.connect()
    seen: list[int] = []
    yielded = threading.Event()

    with log.recorder.subscribe(gt=0) as subscription:

        def follow() -> None:
            for notification in subscription:
                seen.append(notification.id)
                yielded.set()
                if notification.id == 3:
                    return

        follower = threading.Thread(target=follow)
        with slow.transaction(force_rollback=True):
            written(store.commit([births(job_refs(1))]))
            append(slow)
            written(store.commit([births(job_refs(1))]))
            follower.start()
            assert yielded.wait(DEADLINE_SECONDS)
            assert log.recorder.max_notification_id() == 1
        follower.join(DEADLINE_SECONDS)

    assert seen == [1, 3]


def test_its_subscription_chooses_by_topic(log: Log, store: BatchStore) -> None:
    (job,) = job_refs(1)
    written(store.commit([births([job])]))
    written(store.commit([appending([job], CLAIM)]))
    written(store.commit([appending([job], SUCCESS)]))

    with log.recorder.subscribe(gt=0, topics=["job.succeeded:1"]) as subscription:
        only = next(subscription)

    assert (only.id, only.originator_version) == (3, 3)


def test_writing_through_the_same_recorder_wakes_its_subscriptions(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "infrastructure.log.subscription._POLL_SECONDS", 100 * DEADLINE_SECONDS
    )
    first, second = (born(log, ref.id) for ref in job_refs(2))

    with log.recorder.subscribe(gt=0) as subscription:
        log.recorder.insert_events([first])
        assert next(subscription).originator_id == first.originator_id
        log.recorder.insert_events([second])
        assert next(subscription).originator_id == second.originator_id


def test_its_runner_keeps_a_view_in_step_with_our_log(
    store: BatchStore, database: TestDatabase
) -> None:
    """I7: positions and view in one transaction, in our checkpoint table."""
    connection = database.connect()
    connection.execute("CREATE TABLE kinds (tag text PRIMARY KEY, seen bigint)")
    jobs = job_refs(3)
    written(store.commit([births(jobs)]))

    with ProjectionRunner(
        application_class=Log,
        projection_class=KindsProjection,
        view_class=Kinds,
        env=environment_of(database.conninfo),
    ) as runner:
        written(store.commit([appending(jobs[:2], CLAIM)]))
        runner.wait(5, timeout=DEADLINE_SECONDS)

    seen = dict(connection.execute("SELECT tag, seen FROM kinds").fetchall())
    checkpoints = connection.execute(
        "SELECT name, position FROM counterfoil.checkpoints"
    ).fetchall()
    assert seen == {"job.enqueued": 3, "job.claimed": 2}
    assert checkpoints == [("kinds:log", 5)]
