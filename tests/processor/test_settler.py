"""What becomes of endings: each job whole or not at all, none at another's cost."""

import threading
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest

from application.job_kinds import JobKind
from domain.jobs.aggregate import Cancel
from domain.jobs.outcome import Completed, Fail, Outcome, Retry, Snooze
from domain.jobs.verdict import Ending, Unfit
from domain.stream import Ref, StreamKind
from infrastructure.postgres.database import Database
from infrastructure.processor.leases import Held
from infrastructure.processor.settler import Ended
from infrastructure.telemetry import listen
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.fixtures.proxy import Proxy
from tests.fixtures.workers import Args, Events, enqueue, facts, history
from tests.processor.rig import Rig, done, rig
from tests.store.groups import (
    births,
    commanding,
    job_birth,
    operation_birth,
    step,
    tags,
)

pytestmark = [
    ON_BOTH_SERVERS,
    pytest.mark.usefixtures("heads_equal_folds", "messages_equal_events"),
]


def ref(held: Held) -> Ref:
    return Ref(StreamKind.JOB, held.job.id)


def claimed(parts: Rig, n: int) -> list[Held]:
    for _ in range(n):
        enqueue(parts.connection, "noop")
    return parts.claim(n=n)


def test_one_unstorable_result_ends_its_job_and_no_other(parts: Rig) -> None:
    """Mechanisms 6: `unstorable_result`, with cleaned text."""
    held = claimed(parts, 12)
    endings: list[Ending] = [Completed(result={"n": 1}) for _ in held]
    endings[5] = Completed(result={"text": "secret\x00"})
    endings[7] = Completed(result={"n": msgspec.Raw(b"1" + b"0" * 150_000)})

    parts.settler.settle(
        [Ended(each, ending) for each, ending in zip(held, endings, strict=True)]
    )

    for n, each in enumerate(held):
        expected = "discarded" if n in {5, 7} else "succeeded"
        assert history(parts.connection, each.job.id)[-1] == expected
    (dead,) = facts(parts.connection, held[5].job.id, "job.discarded")
    assert dead["code"] == "unstorable_result"
    assert dead["attempt"] == 1
    assert "\x00" not in dead["error"]
    assert not parts.leases.all()


def test_a_whole_batch_of_mixed_endings_is_settled_each_its_own_way(
    parts: Rig,
) -> None:
    held = claimed(parts, 4)
    parts.store.commit([step(ref(held[0]), make=commanding(Cancel()))])
    parts.store.commit([step(ref(held[1]), make=commanding(Cancel()))])

    parts.settler.settle(
        [
            Ended(held[0], Completed()),
            Ended(held[1], Retry(code="down")),
            Ended(held[2], Retry(code="down")),
            Ended(held[3], Fail(code="no")),
        ]
    )

    endings = [history(parts.connection, each.job.id)[-1] for each in held]
    assert endings == ["succeeded", "cancelled", "attempt_failed", "discarded"]


class Strange(msgspec.Struct, frozen=True):
    """An ending that nobody foresaw."""


@pytest.mark.parametrize(
    "strange",
    [Strange(), Snooze(until=datetime(2026, 1, 1)), Retry(code=7)],  # type: ignore[arg-type]  # noqa: DTZ001 - wrong on purpose
    ids=["no ending", "naive time", "wrong type"],
)
def test_an_ending_that_breaks_the_decider_ends_its_own_job_only(
    strange: Any,  # noqa: ANN401 - wrong on purpose
    parts: Rig,
) -> None:
    """I13: the settler goes on."""
    held = claimed(parts, 3)
    parts.settler.start()
    parts.settler.put(held[1], strange)
    parts.settler.put(held[0], Completed())
    parts.settler.put(held[2], Retry(code="down"))

    assert parts.settler.stop(30)

    endings = [history(parts.connection, each.job.id)[-1] for each in held]
    assert endings == ["succeeded", "discarded", "attempt_failed"]
    (dead,) = facts(parts.connection, held[1].job.id, "job.discarded")
    assert dead["code"] == "unstorable_result"


def test_changes_that_conflict_for_good_cost_attempts_and_end(parts: Rig) -> None:
    """A birth whose key is taken: the handler is run again, within its budget."""
    parts.store.commit([births(job_birth(unique_key="u", kind="elsewhere"))])
    (held,) = claimed(parts, 1)
    twin = job_birth(unique_key="u")

    for ending in (Completed(changes=(twin,)), Retry(code="down", changes=(twin,))):
        parts.settle(held, ending)
        (failed,) = facts(parts.connection, held.job.id, "job.attempt_failed")[-1:]
        assert failed["code"] == "conflict"
        parts.database.advance(timedelta(minutes=5))
        (held,) = [each for each in parts.claim() if each.job.id == held.job.id]
    assert held.job.attempt == 3


class OperationArgs(Args, frozen=True):
    """Arguments of a kind that serves a record."""

    operation_id: str = ""


SERVING: JobKind[OperationArgs] = JobKind(
    name="serving",
    args=OperationArgs,
    handler=done,
    unique_key=lambda args: f"serving:{args.operation_id}",
    record=lambda args: UUID(args.operation_id),
)


def serve(parts: Rig, args: dict[str, object]) -> tuple[Held, Ref]:
    """Return a claimed job of an operation, and the operation."""
    operation = operation_birth()
    told = {"operation_id": str(operation.ref.id)} | args
    job = job_birth(args=told, kind="serving", unique_key=f"serving:{operation.ref.id}")
    parts.store.commit([births(operation, job)])
    (held,) = parts.claim()
    return held, operation.ref


@pytest.mark.parametrize(
    ("ending", "tag"),
    [
        (Fail(code="no"), "fulfillment.failed"),
        (Unfit(code="deadline_exceeded"), "fulfillment.failed"),
        (Completed(result={"x": "\x00"}), "fulfillment.failed"),
        (Retry(code="down"), "fulfillment.attempt_failed"),
    ],
    ids=["fail", "unfit", "unstorable", "retry"],
)
def test_whoever_moves_a_job_moves_its_record(
    ending: Ending, tag: str, database: TestDatabase
) -> None:
    """Mechanisms 25, in one transaction."""
    with rig(database, SERVING) as parts:
        held, operation = serve(parts, {})
        parts.settle(held, ending)
        assert tags(parts.connection, operation)[-1] == tag


@pytest.mark.parametrize(
    "stray", [{}, {"uniqueKey": "other"}, {"uniqueKey": "own", "tenant": "elsewhere"}]
)
def test_i1_a_job_that_anybody_enqueued_moves_no_record(
    stray: dict[str, str], database: TestDatabase
) -> None:
    """Neither without the key of the kind's entry nor from another tenant."""
    with rig(database, SERVING) as parts:
        _, operation = serve(parts, {})
        asked = {"args": {"operation_id": str(operation.id)}} | stray
        if stray.get("uniqueKey") == "own":
            asked["uniqueKey"] = f"serving:{operation.id}"
        enqueue(parts.connection, "serving", **asked)
        (held,) = parts.claim()
        parts.settle(held, Unfit(code="deadline_exceeded"))

        assert tags(parts.connection, operation) == ["fulfillment.requested"]
        assert history(parts.connection, held.job.id)[-1] == "discarded"


def test_a_job_whose_arguments_cannot_be_read_ends_with_its_record(
    database: TestDatabase,
) -> None:
    """S25: the record is found by the unique key."""
    with rig(database, SERVING) as parts:
        held, operation = serve(parts, {"operation_id": 7, "schema": 99})
        parts.settle(held, Unfit(code="undecodable", error="of a newer version"))
        assert tags(parts.connection, operation)[-1] == "fulfillment.failed"
        (dead,) = facts(parts.connection, held.job.id, "job.discarded")
        assert (dead["code"], dead["attempt"]) == ("undecodable", 0)


def test_a_success_whose_answer_was_lost_is_told_as_settled(
    database: TestDatabase, proxy: Proxy
) -> None:
    """Mechanisms 10, for the set-based success: found by its commit id."""
    for cut in (proxy.cut_commit_answer, proxy.cut_before_commit):
        events = Events()
        with (
            Database(proxy.conninfo, pool_size=4) as pool,
            listen(events.add),
        ):
            parts = Rig(database, pool)
            held = claimed(parts, 3)
            plan = cut(of="job.succeeded")
            parts.settler.start()
            for each in held:
                parts.settler.put(each, Completed())
            assert parts.settler.stop(30)
            plan.wait()
        for each in held:
            assert history(parts.connection, each.job.id)[1:] == [
                "claimed",
                "succeeded",
            ]
        assert sum(each["jobs"] for each in events.of("jobs settled")) == 3
        assert not events.of("lease lost")


def test_the_settler_waits_for_a_database_that_is_away(
    database: TestDatabase, proxy: Proxy
) -> None:
    events = Events()
    with Database(proxy.conninfo, pool_size=4) as pool, listen(events.add):
        parts = Rig(database, pool)
        (held,) = claimed(parts, 1)
        plans = [proxy.cut_before_commit(of="job.succeeded") for _ in range(3)]
        parts.settler.start()
        parts.settler.put(held, Completed())
        for plan in plans:
            plan.wait()
        assert parts.settler.stop(30)
    assert history(parts.connection, held.job.id)[-1] == "succeeded"
    assert len(events.of("settle waits for the database")) >= 3


def test_only_the_first_ending_of_a_run_counts(parts: Rig) -> None:
    (held,) = claimed(parts, 1)
    outcomes: list[Outcome] = [Retry(code="handler_timeout"), Completed()]
    start = threading.Barrier(2)

    def put(outcome: Outcome) -> None:
        start.wait(10)
        parts.settler.put(held, outcome)

    threads = [threading.Thread(target=put, args=(each,)) for each in outcomes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    parts.settler.start()
    assert parts.settler.stop(30)

    assert len(history(parts.connection, held.job.id)) == 3
