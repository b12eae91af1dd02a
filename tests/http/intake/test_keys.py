"""S18: one create request, repeated in every way that there is."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import httpx
import pytest

from api.http.surface import Surface
from domain.jobs.outcome import Cancel, Completed, Fail, Outcome
from tests.fixtures.database import TestDatabase
from tests.fixtures.http import Api
from tests.fixtures.workers import kind, until, worker_here
from tests.http.intake.asked import JOB, KEY, order, pointers, under

pytestmark = pytest.mark.database

AT_ONCE = 50
HEADER = "Idempotency-Key"


def jobs(api: Api) -> int:
    with api.services.database.connection() as connection:
        rows = connection.execute("SELECT count(*) FROM counterfoil.jobs").fetchall()
    return int(str(rows[0][0]))


def post(shop: httpx.Client, body: object, key: str = KEY) -> httpx.Response:
    return shop.post("/jobs", json=body, headers=under(key))


def replayed(answer: httpx.Response) -> bool:
    return "idempotency-replayed" in answer.headers


def refusal(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def test_the_same_request_is_the_stored_job(api: Api) -> None:
    """Also when it is told in another order, or with what would be so anyway."""
    shop = api.client(Surface.SHOPS)
    first = post(shop, JOB)

    for same in (
        JOB,
        dict(reversed(list(JOB.items()))),
        JOB | {"queue": "default", "priority": 1, "runAt": None, "notify": True},
    ):
        again = post(shop, same)
        assert replayed(again)
        assert (again.status_code, again.json()) == (202, first.json())
        assert again.headers["location"] == first.headers["location"]
    assert not replayed(first)
    assert jobs(api) == 1


def test_both_forms_of_the_header_are_one_key(api: Api) -> None:
    shop = api.client(Surface.SHOPS)
    post(shop, JOB)

    assert replayed(post(shop, JOB, f'"{KEY}"'))


def test_another_request_under_the_key_is_refused(api: Api) -> None:
    shop = api.client(Surface.SHOPS)
    post(shop, JOB)

    for answer in (
        post(shop, JOB | {"args": {"n": 2}}),
        shop.post("/orders/settle", json=order(), headers=under(KEY)),
        shop.post("/orders/A-1/refund", json={"reason": "why"}, headers=under(KEY)),
    ):
        assert refusal(answer) == (409, "idempotency_key_reused")
    assert jobs(api) == 1


def test_the_same_key_for_another_resource_is_refused(api: Api) -> None:
    shop = api.client(Surface.SHOPS)
    why = {"reason": "charged back"}
    shop.post("/orders/A-1/refund", json=why, headers=under(KEY))

    other = shop.post("/orders/A-2/refund", json=why, headers=under(KEY))

    assert refusal(other) == (409, "idempotency_key_reused")


def test_fifty_at_once_are_one_job(api: Api) -> None:
    shop = api.client(Surface.SHOPS)

    with ThreadPoolExecutor(AT_ONCE) as callers:
        told = list(callers.map(lambda _: post(shop, JOB), range(AT_ONCE)))

    accepted = [answer for answer in told if answer.status_code == 202]
    waiting = [answer for answer in told if answer.status_code != 202]
    assert len({answer.json()["id"] for answer in accepted}) == 1
    assert Counter(replayed(answer) for answer in accepted)[False] == 1
    for answer in waiting:
        assert refusal(answer) == (409, "idempotency_in_progress")
        assert answer.headers["retry-after"] == "1"
        assert answer.json()["retryable"] is True
    assert jobs(api) == 1
    assert replayed(post(shop, JOB))


def test_of_fifty_other_requests_at_once_one_is_done(api: Api) -> None:
    shop = api.client(Surface.SHOPS)

    with ThreadPoolExecutor(AT_ONCE) as callers:
        told = list(
            callers.map(lambda n: post(shop, JOB | {"args": {"n": n}}), range(AT_ONCE))
        )

    codes = Counter(answer.status_code for answer in told)
    assert codes == {202: 1, 409: AT_ONCE - 1}
    assert {answer.json()["code"] for answer in told if answer.status_code == 409} == {
        "idempotency_key_reused"
    }
    assert jobs(api) == 1


def test_keys_of_other_tenants_and_callers_are_other_keys(api: Api) -> None:
    callers = [
        api.client(Surface.SHOPS),
        api.client(Surface.SHOPS, tenant="acme"),
        api.client(Surface.SHOPS, name="bob"),
    ]

    told = [post(caller, JOB) for caller in callers]

    assert [answer.status_code for answer in told] == [202] * 3
    assert len({answer.json()["id"] for answer in told}) == 3
    assert not any(replayed(answer) for answer in told)


ENDS: dict[str, Outcome] = {
    "succeeded": Completed(),
    "failed": Fail(code="no_such_address"),
    "cancelled": Cancel(code="too_late"),
}


@pytest.mark.parametrize("state", ENDS)
def test_after_its_end_the_job_is_answered_as_it_is_now(
    api: Api, database: TestDatabase, state: str
) -> None:
    shop = api.client(Surface.SHOPS)
    first = post(shop, JOB)
    ends = kind("noop", lambda _args, _context: ENDS[state])
    with worker_here(database, ends):
        until(lambda: jobs(api) == 0)

    again = post(shop, JOB)

    assert replayed(again)
    assert again.status_code == 202
    assert again.json()["id"] == first.json()["id"]
    assert again.json()["state"] == state


def test_a_key_without_a_hash_answers_nobody(api: Api) -> None:
    shop = api.client(Surface.SHOPS)
    post(shop, JOB)
    with api.services.database.connection() as connection:
        connection.execute(
            "UPDATE counterfoil.idempotency_keys SET request_hash = NULL"
        )

    assert refusal(post(shop, JOB)) == (409, "idempotency_key_reused")


def test_after_thirty_days_a_key_is_as_good_as_new(
    api: Api, database: TestDatabase
) -> None:
    shop = api.client(Surface.SHOPS)
    first = post(shop, JOB)
    database.advance(timedelta(days=30, seconds=1))

    later = post(shop, JOB)

    assert not replayed(later)
    assert later.json()["id"] != first.json()["id"]


def test_what_is_no_key_is_refused(api: Api) -> None:
    shop = api.client(Surface.SHOPS)

    for key in ("", "1234567", "x" * 129, "a b c d e f", '"1234567"'):
        answer = post(shop, JOB, key)
        assert (answer.status_code, pointers(answer)) == (400, ["Idempotency-Key"])
    two = shop.post("/jobs", json=JOB, headers=[(HEADER, KEY), (HEADER, KEY + "2")])
    assert (two.status_code, pointers(two)) == (400, ["Idempotency-Key"])
    assert jobs(api) == 0


def test_a_refused_request_uses_up_no_key(api: Api) -> None:
    shop = api.client(Surface.SHOPS)

    assert post(shop, JOB | {"priority": 9}).status_code == 400
    assert post(shop, JOB).status_code == 202
