"""Groups are written whole or refused whole, each by itself (mechanisms 6)."""

import msgspec
import pytest

from application.unit import Refused, Written, guard, is_current
from domain.jobs.aggregate import Cancel, Job, Stage, decide, fold, holder
from domain.jobs.events import (
    Cancelled,
    CancelRequested,
    Claimed,
    JobEvent,
    Released,
    Succeeded,
)
from domain.operators.events import ActionRefused
from domain.stream import Ref, StreamKind
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import BatchStore
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.store.groups import (
    CLAIM,
    birth,
    births,
    commanding,
    job_birth,
    operation_birth,
    saying,
    step,
    tags,
    written,
)

pytestmark = [
    ON_BOTH_SERVERS,
    pytest.mark.usefixtures("heads_equal_folds", "messages_equal_events"),
]


def test_a_group_writes_heads_events_and_messages_together(
    database: TestDatabase, store: BatchStore
) -> None:
    connection = database.connect()
    job, operation = job_birth(args={"n": 1}), operation_birth()
    (born,) = store.commit([births(job, operation)])

    ended = step(job.ref, make=commanding(Cancel()))
    (done,) = store.commit([ended])

    assert written(born).position == 2
    assert written(done).position == 3
    assert tags(connection, job.ref) == ["job.enqueued", "job.cancelled"]
    outbox = connection.execute(
        "SELECT position, topic, stream_id, version, data FROM counterfoil.outbox"
    ).fetchall()
    told = {"job_id": str(job.ref.id), "kind": "noop", "attempt": 0, "code": "operator"}
    assert outbox == [(3, "job.cancelled", job.ref.id, 2, told)]


def test_all_events_of_a_commit_carry_one_id(
    database: TestDatabase, store: BatchStore
) -> None:
    store.commit([births(job_birth()), births(job_birth(), job_birth())])
    store.commit([births(job_birth())])

    rows = database.connect().execute(
        "SELECT meta->>'commit_id', count(*) FROM counterfoil.events GROUP BY 1"
    )
    assert sorted(row[1] for row in rows) == [1, 3]


def test_a_refusal_leaves_the_neighbours_alone(
    database: TestDatabase, store: BatchStore
) -> None:
    first, second, third = job_birth(), job_birth(), job_birth()
    refusing = saying(second.ref, decide=lambda _locked, _now: Refused("no_reason"))

    results = store.commit([births(first), refusing, births(third)])

    assert isinstance(results[0], Written)
    assert results[1] == Refused("no_reason")
    assert isinstance(results[2], Written)
    assert tags(database.connect(), first.ref, second.ref, third.ref) == [
        "job.enqueued",
        "job.enqueued",
    ]


def test_a_group_with_nothing_to_say_is_written_and_empty(store: BatchStore) -> None:
    assert store.commit([]) == []
    assert store.commit([births()]) == [Written((), 0)]


def test_who_decided_from_a_read_is_checked_by_version(
    database: TestDatabase, store: BatchStore
) -> None:
    """Mechanisms 8: an older read is refused, whoever made it."""
    job = job_birth()
    store.commit([births(job)])
    read_before = msgspec.structs.replace(
        job,
        expected=1,
        events=(Cancelled(attempt=0, code="operator"),),
        state=msgspec.structs.replace(
            job.state,
            stage=Stage.CANCELLED,
            version=2,
            code="operator",
        ),
    )
    store.commit([step(job.ref, make=commanding(CLAIM))])

    late = saying(
        job.ref,
        decide=lambda locked, _now: (
            (read_before,) if is_current(locked, read_before) else Refused("conflict")
        ),
    )

    assert store.commit([late]) == [Refused("conflict")]
    assert tags(database.connect(), job.ref) == ["job.enqueued", "job.claimed"]


def test_i4_who_holds_a_lease_is_checked_by_token_and_takes_the_locked_version(
    database: TestDatabase, store: BatchStore
) -> None:
    job = job_birth()
    store.commit([births(job)])
    store.commit([step(job.ref, make=commanding(CLAIM))])
    store.commit([step(job.ref, make=commanding(Cancel()))])

    def finish(token: int) -> object:
        success = Succeeded(attempt=1, token=token, result=None)
        return store.commit(
            [
                step(
                    job.ref,
                    make=lambda state: (success,) if holder(state, token) else (),
                )
            ]
        )

    finish(token=1)
    finish(token=3)
    assert tags(database.connect(), job.ref)[-1] == "job.cancel_requested"
    finish(token=2)
    assert tags(database.connect(), job.ref)[-1] == "job.succeeded"


def test_the_database_refuses_a_version_that_was_written_meanwhile(
    database: TestDatabase, store: BatchStore
) -> None:
    """A group that forgot its own check cannot write either."""
    job, neighbour = job_birth(), job_birth()
    store.commit([births(job)])
    store.commit([step(job.ref, make=commanding(CLAIM))])
    stale = msgspec.structs.replace(
        job,
        expected=1,
        events=(CancelRequested(),),
        state=msgspec.structs.replace(job.state, version=2),
    )

    results = store.commit([births(stale), births(neighbour)])

    assert results[0] == Refused("conflict")
    assert isinstance(results[1], Written)
    assert tags(database.connect(), job.ref) == ["job.enqueued", "job.claimed"]


def test_a_head_that_is_gone_is_not_written_to(
    database: TestDatabase, store: BatchStore
) -> None:
    """I6: a succeeded job has no head, so nothing can follow."""
    job = job_birth()
    store.commit([births(job)])
    store.commit([step(job.ref, make=commanding(CLAIM))])
    success = Succeeded(attempt=1, token=2, result=None)
    store.commit([step(job.ref, make=lambda _job: (success,))])
    claimed = Claimed(attempt=2, owner=CLAIM.owner, token=4, lease_seconds=60)
    ghost = msgspec.structs.replace(
        job,
        expected=3,
        events=(claimed,),
        state=msgspec.structs.replace(
            job.state,
            version=4,
            stage=Stage.RUNNING,
            token=4,
            owner=CLAIM.owner,
        ),
    )
    neighbour = job_birth()

    results = store.commit([births(neighbour), births(ghost)])

    assert isinstance(results[0], Written)
    assert results[1] == Refused("conflict")
    assert tags(database.connect(), job.ref)[-1] == "job.succeeded"


def test_a_taken_unique_key_refuses_one_birth_and_only_that(
    database: TestDatabase, store: BatchStore
) -> None:
    store.commit([births(job_birth(unique_key="u"))])
    twin, other = job_birth(unique_key="u"), job_birth(unique_key="v")

    results = store.commit([births(twin, operation_birth()), births(other)])

    assert results[0] == Refused("conflict")
    assert isinstance(results[1], Written)
    connection = database.connect()
    assert tags(connection, twin.ref, other.ref) == ["job.enqueued"]
    assert connection.execute(
        "SELECT count(*) FROM counterfoil.operations"
    ).fetchone() == (0,)


def three_steps(job: Job) -> tuple[JobEvent, ...]:
    """Return a claim, its release and another claim."""
    claimed = decide(job, CLAIM)
    assert job.run_at is not None
    token = job.version + 1
    released = Released(attempt=0, token=token, until=job.run_at, cause="test")
    return (*claimed, released, *decide(fold([*claimed, released], job), CLAIM))


def test_many_streams_of_several_events_keep_their_order(
    database: TestDatabase, store: BatchStore
) -> None:
    """Mechanisms 3: versions rise with positions, also where a join would be hashed."""
    jobs = [job_birth() for _ in range(5_000)]
    for answer in store.commit([births(each) for each in jobs]):
        written(answer)

    answers = store.commit([step(each.ref, make=three_steps) for each in jobs])

    assert {written(answer).changes[0].state.version for answer in answers} == {4}
    disordered = database.connect().execute(
        """
        SELECT count(*), count(*) FILTER (WHERE e.before > e.position)
          FROM (SELECT position, lag(position) OVER (
                           PARTITION BY stream_id ORDER BY version) AS before
                  FROM counterfoil.events) e
        """
    )
    assert disordered.fetchone() == (20_000, 0)


def test_a_stream_without_a_head_is_a_birth_like_any_other(
    database: TestDatabase, store: BatchStore
) -> None:
    remark = birth(
        Ref(StreamKind.REMARK, new_id()),
        ActionRefused(action="retry", target="x", code="not_found"),
    )

    (result,) = store.commit([births(remark)])

    assert isinstance(result, Written)
    assert tags(database.connect(), remark.ref) == ["operator.action_refused"]


@pytest.mark.parametrize("first", [True, False], ids=["guard first", "guard last"])
def test_groups_that_look_at_one_stream_take_turns(
    database: TestDatabase,
    store: BatchStore,
    first: bool,  # noqa: FBT001 - the order of this row
) -> None:
    """A guard is missed by what a neighbour of the same batch has written before."""
    job, born, apart = job_birth(), job_birth(), job_birth()
    store.commit([births(job)])
    read = guard(job.ref, "default", 1)
    guarded = saying(
        job.ref,
        born.ref,
        decide=lambda locked, _now: (
            (born,) if is_current(locked, read) else Refused("conflict")
        ),
    )
    claimed = step(job.ref, make=commanding(CLAIM))

    batch = [guarded, births(apart), claimed]
    results = store.commit(batch if first else batch[::-1])

    written(results[1])
    claiming, guarding = results[::-2] if first else results[::2]
    written(claiming)
    if first:
        written(guarding)
    else:
        assert guarding == Refused("conflict")
    connection = database.connect()
    assert tags(connection, job.ref) == ["job.enqueued", "job.claimed"]
    assert tags(connection, born.ref) == (["job.enqueued"] if first else [])
