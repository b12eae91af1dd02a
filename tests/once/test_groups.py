"""S18 under the batch store: a key and what was done under it are one transaction."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from application.unit import (
    KEY_IN_PROGRESS,
    KEY_REUSED,
    Answer,
    Refused,
    Repeated,
)
from domain.jobs.aggregate import Cancel
from domain.stream import Change
from infrastructure.postgres.batch_store import BatchStore
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.once.asked import KEY, REQUEST, birth_once, born, keys, once, running
from tests.store.groups import births, commanding, job_birth, step, tags, written

pytestmark = [ON_BOTH_SERVERS, pytest.mark.usefixtures("heads_equal_folds")]


def other_body() -> dict[str, object]:
    return {**REQUEST, "body": {"a": 2}}


def test_a_key_is_written_with_what_it_stands_for(
    database: TestDatabase, store: BatchStore
) -> None:
    job = job_birth()

    (result,) = store.commit([birth_once(job)])

    assert written(result).position == 1
    assert keys(database.connect()) == [("shop:a", KEY, 202, "job", str(job.ref.id))]
    stated = database.connect().execute(
        "SELECT expires_at - created_at FROM counterfoil.idempotency_keys"
    )
    assert stated.fetchall() == [(timedelta(days=30),)]


def test_a_repeated_request_is_answered_and_writes_nothing(
    database: TestDatabase, store: BatchStore
) -> None:
    first, second = job_birth(), job_birth()
    store.commit([birth_once(first)])
    reordered = once(request=dict(reversed(list(REQUEST.items()))))

    (result,) = store.commit([birth_once(second, reordered)])

    answer = Answer(status=202, kind="job", id=str(first.ref.id))
    assert result == Repeated("idempotency_replayed", answer)
    assert born(database.connect(), first, second) == [True, False]


@pytest.mark.parametrize(
    "member",
    [
        {"body": {"a": 2}},
        {"method": "PUT"},
        {"route": "/v1/orders/settle"},
        {"path": {"id": "1"}},
    ],
    ids=["body", "method", "route", "path"],
)
def test_another_request_under_the_key_is_refused(
    database: TestDatabase, store: BatchStore, member: dict[str, object]
) -> None:
    first, second = job_birth(), job_birth()
    store.commit([birth_once(first)])

    (result,) = store.commit([birth_once(second, once(request={**REQUEST, **member}))])

    assert result == KEY_REUSED
    assert born(database.connect(), first, second) == [True, False]


def test_keys_of_other_tenants_and_callers_are_other_keys(
    database: TestDatabase, store: BatchStore
) -> None:
    jobs = [job_birth(), job_birth(), job_birth()]
    whose = [once(), once(tenant_id="other"), once(principal="shop:b")]

    results = store.commit(
        [birth_once(job, who) for job, who in zip(jobs, whose, strict=True)]
    )

    assert [written(result).position > 0 for result in results] == [True] * 3
    assert born(database.connect(), *jobs) == [True] * 3


def test_while_the_first_runs_nobody_waits_and_everybody_is_told_why(
    database: TestDatabase, store: BatchStore
) -> None:
    first = job_birth()
    with running(store, birth_once(first)) as running_first:
        told = [
            store.commit([birth_once(job_birth(), asked)])[0]
            for asked in (once(), once(request=other_body()), once())
        ]
        assert not running_first.done()

    assert told == [KEY_IN_PROGRESS, KEY_REUSED, KEY_IN_PROGRESS]
    assert written(running_first.result()[0]).position == 1
    assert born(database.connect(), first) == [True]


def test_whoever_asks_again_does_not_wait_for_the_heads_of_the_first(
    store: BatchStore,
) -> None:
    """The first holds the very job's head: without the key first, 2 s would pass."""
    job = job_birth()
    store.commit([births(job)])
    ended = step(job.ref, make=commanding(Cancel()))
    cancel = birth_once(job)
    group = type(cancel)(
        refs=ended.refs, decide=ended.decide, meta=ended.meta, once=cancel.once
    )

    with running(store, group) as first:
        (again,) = store.commit([group])

    assert again == KEY_IN_PROGRESS
    assert written(first.result()[0]).position > 0


def test_a_refused_request_uses_up_no_key(
    database: TestDatabase, store: BatchStore
) -> None:
    refused, accepted = birth_once(job_birth()), birth_once(job_birth())
    with running(store, refused, Refused("no")) as first:
        pass

    (result,) = store.commit([accepted])

    assert first.result() == [Refused("no")]
    assert written(result).position > 0
    assert len(keys(database.connect())) == 1


def test_what_the_database_refuses_uses_up_no_key(
    database: TestDatabase, store: BatchStore
) -> None:
    unstorable, good = job_birth(args={"text": "\x00"}), job_birth()

    store.commit([birth_once(unstorable)])
    (result,) = store.commit([birth_once(good)])

    assert written(result).position > 0
    assert born(database.connect(), unstorable, good) == [False, True]


def test_groups_of_other_requests_in_the_commit_are_unharmed(
    database: TestDatabase, store: BatchStore
) -> None:
    before, repeated, plain = job_birth(), job_birth(), job_birth()
    store.commit([birth_once(before)])

    results = store.commit([births(plain), birth_once(repeated)])

    assert written(results[0]).position > 0
    assert isinstance(results[1], Repeated)
    assert born(database.connect(), plain, repeated) == [True, False]


def test_two_groups_of_one_commit_under_one_key_are_one_effect(
    database: TestDatabase, store: BatchStore
) -> None:
    jobs = [job_birth(), job_birth(), job_birth()]
    asked = [once(), once(), once(request=other_body())]

    results = store.commit(
        [birth_once(job, who) for job, who in zip(jobs, asked, strict=True)]
    )

    assert [type(result).__name__ for result in results] == [
        "Written",
        "Repeated",
        "KeyRefused",
    ]
    assert results[2] == KEY_REUSED
    assert born(database.connect(), *jobs) == [True, False, False]


def test_a_key_without_a_hash_answers_nobody(
    database: TestDatabase, store: BatchStore
) -> None:
    store.commit([birth_once(job_birth())])
    database.connect().execute(
        "UPDATE counterfoil.idempotency_keys SET request_hash = NULL"
    )

    (result,) = store.commit([birth_once(job_birth())])

    assert result == KEY_REUSED


def test_after_its_thirty_days_a_key_is_as_good_as_new(
    database: TestDatabase, store: BatchStore
) -> None:
    first, second, third = job_birth(), job_birth(), job_birth()
    store.commit([birth_once(first)])
    database.advance(timedelta(days=30, seconds=-60))
    (before,) = store.commit([birth_once(second)])
    database.advance(timedelta(seconds=60))

    (after,) = store.commit([birth_once(third, once(request=other_body()))])

    assert isinstance(before, Repeated)
    assert written(after).position > 0
    connection = database.connect()
    assert keys(connection) == [("shop:a", KEY, 202, "job", str(third.ref.id))]
    assert born(connection, first, second, third) == [True, False, True]


def test_the_status_follows_from_what_was_written(
    database: TestDatabase, store: BatchStore
) -> None:
    job = job_birth()
    store.commit([births(job)])
    ended = step(job.ref, make=commanding(Cancel()))
    asked = once(status=200, status_asked=202, is_asked=ends).making(
        "job", str(job.ref.id)
    )

    store.commit(
        [type(ended)(refs=ended.refs, decide=ended.decide, meta=ended.meta, once=asked)]
    )

    connection = database.connect()
    assert tags(connection, job.ref) == ["job.enqueued", "job.cancelled"]
    assert keys(connection) == [("shop:a", KEY, 202, "job", str(job.ref.id))]


def ends(changes: Sequence[Change]) -> bool:
    return any(event.tag == "job.cancelled" for it in changes for event in it.events)
