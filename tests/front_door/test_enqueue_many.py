"""Many jobs in one call: the rows, answers and refusals of a call for each."""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, LiteralString
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.front_door import rows
from tests.front_door.asked import Request, jobs, json_values, put
from tests.front_door.conftest import wait_until_blocked
from tests.front_door.faults import JOB_FAULTS, NOT_AN_OBJECT
from tests.front_door.rows import Connection
from tests.limits.room import limit

pytestmark = [pytest.mark.database, ON_BOTH_SERVERS]

ENQUEUE = "SELECT counterfoil.enqueue(%s::jsonb)"
MANY = """
SELECT index, job_id::text, duplicate, position
  FROM counterfoil.enqueue_many(%s::jsonb[])
"""
IS_PLAIN = "SELECT counterfoil.is_plain_job(%s::jsonb)"
TICKETS = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = %s"
# The job that has the key ends between an insert that lost to it and the look at it.
KEY_COMES_AND_GOES = """
CREATE FUNCTION pg_temp.come() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_trigger_depth() = 1 AND nextval('rounds') <= {rounds} THEN
        PERFORM counterfoil.enqueue('{{"kind": "other", "uniqueKey": "k"}}');
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION pg_temp.go() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_trigger_depth() = 1 THEN
        DELETE FROM counterfoil.jobs WHERE kind = 'other';
    END IF;
    RETURN NULL;
END $$;
CREATE TEMPORARY SEQUENCE rounds;
CREATE TRIGGER come BEFORE INSERT ON counterfoil.jobs EXECUTE FUNCTION pg_temp.come();
CREATE TRIGGER go AFTER INSERT ON counterfoil.jobs EXECUTE FUNCTION pg_temp.go();
"""

ONE_DATABASE = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=100,
)

type Ask = Callable[[Connection, Sequence[object]], list[dict[str, Any]]]


@st.composite
def batches(draw: st.DrawFn) -> list[Request]:
    """Draw requests of which some ask for one and the same key."""
    drawn = draw(st.lists(jobs, max_size=6))
    for request in drawn:
        if draw(st.booleans()):
            request["uniqueKey"] = draw(st.sampled_from(["a", "b", "Б", "c", None]))
            request["tenant"] = draw(st.sampled_from(["default", "t"]))
    return drawn


def enqueue(connection: Connection, request: object) -> dict[str, Any]:
    (answer,) = rows.one(connection, ENQUEUE, json.dumps(request))
    return dict(answer)


def enqueue_many(
    connection: Connection, requests: Sequence[object]
) -> list[dict[str, Any]]:
    told = connection.execute(MANY, [[json.dumps(each) for each in requests]])
    return [
        {"index": index, "jobId": job_id, "duplicate": duplicate, "position": position}
        for index, job_id, duplicate, position in told.fetchall()
    ]


def one_by_one(
    connection: Connection, requests: Sequence[object]
) -> list[dict[str, Any]]:
    return [
        {"index": index} | enqueue(connection, request)
        for index, request in enumerate(requests)
    ]


def refusal(
    connection: Connection, query: LiteralString, value: object
) -> tuple[str, str, str] | None:
    """Return code, path and rule of the refusal, or None when it was accepted."""
    try:
        with connection.transaction(force_rollback=True):
            connection.execute(query, [value])
    except psycopg.DatabaseError as error:
        if error.sqlstate != "CF400":
            raise
        code, _, words = (error.diag.message_primary or "").partition(": ")
        path = error.diag.message_detail or ""
        return code, path, words.removeprefix(f"{path}: ")
    return None


def what_it_left(
    connection: Connection, answers: Sequence[dict[str, Any]], before: set[str]
) -> dict[str, Any]:
    """Return rows and answers with every id, position and instant of now made equal."""
    events = [
        row
        for row in rows.stored(connection, "events")
        if row["stream_id"] not in before
    ]
    names = {row["stream_id"]: f"#{n}" for n, row in enumerate(events)}
    places = {row["position"]: f"#{n}" for n, row in enumerate(events)}
    born_at = {row["stream_id"]: row["recorded_at"] for row in events}
    heads = [
        row for row in rows.stored(connection, "jobs") if row["stream_id"] in names
    ]
    for row in events:
        del row["meta"]["commit_id"], row["position"], row["recorded_at"]
        row["data"]["run_at"] = soon(row["data"]["run_at"], born_at[row["stream_id"]])
    for row in heads:
        row["run_at"] = soon(row["run_at"], born_at[row["stream_id"]])
    return {
        "answers": [
            (
                answer["index"],
                names.get(answer["jobId"], answer["jobId"]),
                answer["duplicate"],
                places.get(answer["position"], answer["position"]),
            )
            for answer in answers
        ],
        "events": [named(row, names) for row in events],
        "jobs": sorted(
            (named(row, names) for row in heads), key=lambda row: str(row["stream_id"])
        ),
    }


def soon(run_at: str, born_at: str) -> str:
    """Return `run_at`, or "now" for a job that is due when it is born."""
    waits = rows.instant(run_at) - rows.instant(born_at)
    return "now" if timedelta(0) <= waits < timedelta(milliseconds=10) else run_at


def named(row: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Return `row` with the job's id, wherever it stands, told by its name."""
    job_id = row["stream_id"]
    return dict(json.loads(json.dumps(row).replace(job_id, names[job_id])))


@given(earlier=batches(), requests=batches())
@ONE_DATABASE
def test_many_write_and_answer_what_a_call_for_each_does(
    connection: Connection, earlier: list[Request], requests: list[Request]
) -> None:
    left: list[dict[str, Any]] = []
    with connection.transaction(force_rollback=True):
        enqueue_many(connection, earlier)
        before = {row["stream_id"] for row in rows.stored(connection, "events")}
        for ask in (one_by_one, enqueue_many):
            with connection.transaction(force_rollback=True):
                answers = ask(connection, requests)
                left.append(what_it_left(connection, answers, before))
                assert not rows.stored(connection, "outbox")

    assert left[1] == left[0]


@given(requests=st.lists(jobs, min_size=1, max_size=5), data=st.data())
@ONE_DATABASE
def test_the_first_wrong_request_is_refused_in_the_words_of_a_single_call(
    connection: Connection, requests: list[Request], data: st.DataObject
) -> None:
    (before,) = rows.one(connection, "SELECT counterfoil.last_position()")
    wrong = data.draw(st.lists(st.integers(0, len(requests) - 1), min_size=1))
    asked: list[object] = list(requests)
    for index in wrong:
        fault = data.draw(st.sampled_from(JOB_FAULTS))
        asked[index] = put(requests[index], fault.path, fault.value)
    first = min(wrong)
    single = refusal(connection, ENQUEUE, json.dumps(asked[first]))
    assert single is not None
    code, path, rule = single

    refused = refusal(connection, MANY, [json.dumps(each) for each in asked])

    assert refused == (code, f"[{first}].{path}", rule)
    assert not rows.stored(connection, "jobs")
    assert rows.one(connection, "SELECT counterfoil.last_position()") == (before,)


@given(
    request=jobs,
    path=st.sampled_from(sorted({fault.path for fault in JOB_FAULTS})),
    value=json_values | st.sampled_from([fault.value for fault in JOB_FAULTS]),
)
@ONE_DATABASE
def test_any_value_of_any_member_is_taken_or_refused_as_by_a_single_call(
    connection: Connection, request: Request, path: str, value: object
) -> None:
    text = json.dumps(put(request, path, value))

    single = refusal(connection, ENQUEUE, text)
    refused = refusal(connection, MANY, [text])

    if single is None:
        assert refused is None
    else:
        code, member, rule = single
        assert refused == (code, f"[0].{member}", rule)


def test_numbers_are_read_as_a_single_call_reads_them(connection: Connection) -> None:
    for told in ("1", "1.0", "1e0", "10e-1", "0.1e1", "4.00", "-0", "5", "1e400"):
        text = f'{{"kind": "mail", "priority": {told}, "maxAttempts": {told}}}'

        single = refusal(connection, ENQUEUE, text)
        refused = refusal(connection, MANY, [text])

        assert (refused is None) is (single is None), told


def test_what_is_no_object_is_refused_by_its_index(connection: Connection) -> None:
    right = '{"kind": "mail"}'
    for request in (*(json.dumps(each) for each in NOT_AN_OBJECT), None):
        refused = refusal(connection, MANY, [right, request])

        assert refused == ("invalid_member", "[1]", "the request is an object")
    assert refusal(connection, MANY, None) == (
        "invalid_member",
        "",
        "a list of at most 10000 requests",
    )


@pytest.mark.parametrize(
    "request_",
    [
        {"kind": "mail"},
        {"kind": "mail", "args": {"to": "anna@example.org", "text": "ä" * 1000}},
        {
            "kind": "mail",
            "tenant": "shop",
            "queue": "bulk",
            "priority": 4,
            "runAt": "2030-01-31T12:00:00.25+03:00",
            "uniqueKey": "привет:anna",
            "serialKey": "anna",
            "deadline": "2030-02-28T12:00:00Z",
            "maxAttempts": 25,
            "correlationId": "order:A-1",
            "notify": False,
        },
    ],
)
def test_what_nearly_every_request_is_needs_no_second_look(
    connection: Connection, request_: Request
) -> None:
    assert rows.one(connection, IS_PLAIN, json.dumps(request_)) == (True,)


def test_an_empty_list_answers_nothing_and_writes_nothing(
    connection: Connection,
) -> None:
    before = rows.one(connection, "SELECT counterfoil.last_position()")

    assert enqueue_many(connection, []) == []

    assert not rows.stored(connection, "jobs")
    after = rows.one(connection, "SELECT counterfoil.last_position()")
    assert after == before


def test_ten_thousand_are_taken_in_order_and_one_more_is_not(
    database: TestDatabase,
) -> None:
    """Mechanisms 1 and 3: one lock, and positions in the order of the requests."""
    shop, watcher = database.connect(), database.connect()
    limit(watcher)
    keys = [f"{n * 7919 % 10_000:05}" for n in range(10_000)]
    requests = [{"kind": "mail", "uniqueKey": key} for key in keys]

    with shop.transaction():
        answers = enqueue_many(shop, requests)
        assert rows.one(watcher, TICKETS, shop.info.backend_pid) == (1,)

    assert [answer["index"] for answer in answers] == [*range(10_000)]
    positions = [answer["position"] for answer in answers]
    ids = [UUID(answer["jobId"]) for answer in answers]
    assert positions == sorted(positions)
    assert ids == sorted(set(ids))
    assert {each.version for each in ids} == {7}
    claimed = "SELECT unique_key FROM counterfoil.jobs ORDER BY queue, priority, run_at"
    assert [key for (key,) in shop.execute(claimed).fetchall()] == keys
    versions = "SELECT count(DISTINCT meta->>'commit_id') FROM counterfoil.events"
    assert rows.one(shop, versions) == (1,)

    refused = refusal(shop, MANY, [json.dumps({"kind": "mail"})] * 10_001)
    assert refused == ("invalid_member", "", "a list of at most 10000 requests")


def test_a_call_inserts_in_the_order_of_the_keys(database: TestDatabase) -> None:
    """Mechanisms 11: so two calls never wait for each other."""
    first, second, third, watcher = (database.connect() for _ in range(4))
    third.execute("SET lock_timeout = '10s'")
    requests = [{"kind": "mail", "uniqueKey": key} for key in ("c", "b", "a")]

    with ThreadPoolExecutor(1) as threads:
        with first.transaction(force_rollback=True):
            enqueue(first, requests[1])
            late = threads.submit(enqueue_many, second, requests)
            wait_until_blocked(watcher, second.info.backend_pid, first.info.backend_pid)
            # Of three keys it waits for the second: the third is still free.
            third_c = enqueue(third, requests[0])
        answers = late.result(timeout=20)

    assert [answer["duplicate"] for answer in answers] == [True, False, False]
    assert answers[0] == {"index": 0} | third_c | {"duplicate": True}


def test_a_key_that_comes_and_goes_is_tried_five_times(connection: Connection) -> None:
    connection.execute(KEY_COMES_AND_GOES.format(rounds="4"))
    requests = [{"kind": "mail"}, *[{"kind": "mail", "uniqueKey": "k"}] * 2]

    answers = enqueue_many(connection, requests)

    assert [answer["duplicate"] for answer in answers] == [False, False, True]
    assert answers[2]["jobId"] == answers[1]["jobId"]


@pytest.mark.parametrize("ask", [one_by_one, enqueue_many])
def test_a_key_that_comes_and_goes_for_ever_ends_in_a_serialization_failure(
    connection: Connection, ask: Ask
) -> None:
    connection.execute(KEY_COMES_AND_GOES.format(rounds="99"))

    with pytest.raises(psycopg.errors.SerializationFailure, match="come and go"):
        ask(connection, [{"kind": "mail", "uniqueKey": "k"}])

    assert not rows.stored(connection, "jobs")


def test_an_idle_worker_is_woken_once_for_each_queue_that_has_something_due(
    database: TestDatabase,
) -> None:
    listener, shop = database.connect(), database.connect()
    listener.execute("LISTEN counterfoil_due")
    shop.execute("""
        INSERT INTO counterfoil.idle_signs (until, boot, queues)
        VALUES (counterfoil.now() + interval '1 hour', gen_random_uuid(),
                '{critical,default,bulk,later,quiet}')
        """)
    enqueue(shop, {"kind": "mail", "queue": "quiet", "uniqueKey": "k", "notify": False})

    enqueue_many(
        shop,
        [
            {"kind": "mail"},
            {"kind": "mail"},
            {"kind": "mail", "queue": "bulk"},
            {"kind": "mail", "queue": "bulk", "notify": False},
            {"kind": "mail", "queue": "critical", "notify": False},
            {"kind": "mail", "queue": "later", "runAt": "2999-01-01T00:00:00Z"},
            {"kind": "mail", "queue": "quiet", "uniqueKey": "k"},
        ],
    )
    shop.execute("NOTIFY counterfoil_due, 'the end'")

    heard: list[str] = []
    for notice in listener.notifies(timeout=20):
        if notice.payload == "the end":
            break
        heard.append(notice.payload)
    assert sorted(heard) == ["bulk", "default"]


def test_ids_drawn_at_once_are_rising_uuids_of_version_7(
    connection: Connection,
) -> None:
    drawn = [
        [
            UUID(each)
            for each in rows.one(connection, "SELECT counterfoil.uuid7s(500)::text[]")[
                0
            ]
        ]
        for _ in range(20)
    ]

    for ids in drawn:
        assert ids == sorted(set(ids))
        assert {(each.version, each.variant) for each in ids} == {
            (7, "specified in RFC 4122")
        }
    assert len({each for ids in drawn for each in ids}) == 20 * 500
    steps = {int(ids[1]) - int(ids[0]) for ids in drawn}
    assert len(steps) == len(drawn)
    assert rows.one(connection, "SELECT counterfoil.uuid7s(0)::text[]") == ([],)
