"""A read of a job waits for its end, and for no longer than it was told."""

import json
from concurrent.futures import ThreadPoolExecutor

from api.http.surface import Surface
from tests.fixtures.http import SHELL, Api
from tests.fixtures.workers import until

NOBODY = "0197d3a0-0000-7000-8000-000000000000"


def enqueue(api: Api) -> str:
    with api.services.database.connection() as connection:
        rows = connection.execute(
            "SELECT counterfoil.enqueue(%s::jsonb)->>'jobId'",
            [json.dumps({"kind": "mail"})],
        ).fetchall()
    return str(rows[0][0])


def test_it_is_answered_when_the_job_has_ended(api: Api) -> None:
    job = enqueue(api)
    client = api.client(Surface.SHOPS)

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client.get, f"/jobs/{job}", headers={"Prefer": "wait=30"})
        until(lambda: api.services.feed.n_followers == 1)
        api.services.cancel(job, SHELL)
        answer = waiting.result()

    assert answer.headers["preference-applied"] == "wait=30"
    assert answer.json()["state"] == "cancelled"
    assert answer.elapsed.total_seconds() < 30


def test_it_is_answered_after_the_time_as_it_is_then(api: Api) -> None:
    job = enqueue(api)

    answer = api.client(Surface.SHOPS).get(
        f"/jobs/{job}", headers={"Prefer": "respond-async, wait=1"}
    )

    assert answer.headers["preference-applied"] == "wait=1"
    assert answer.json()["state"] == "queued"


def test_nobody_waits_for_what_is_not_there(api: Api) -> None:
    client = api.client(Surface.SHOPS, tenant="blue")
    job = enqueue(api)

    for each in (NOBODY, job, "no-id"):
        answer = client.get(f"/jobs/{each}", headers={"Prefer": "wait=30"})
        assert answer.status_code == 404
        assert answer.elapsed.total_seconds() < 30
    assert api.services.feed.n_followers == 0


def test_whoever_waits_holds_no_thread(api: Api) -> None:
    job = enqueue(api)
    client = api.client(Surface.SHOPS)

    with ThreadPoolExecutor(40) as pool:
        waiting = [
            pool.submit(client.get, f"/jobs/{job}", headers={"Prefer": "wait=30"})
            for _ in range(40)
        ]
        until(lambda: api.services.feed.n_followers == 40)
        quick = api.client(Surface.ADMIN).get(f"/jobs/{job}")
        api.services.cancel(job, SHELL)
        states = {each.result().json()["state"] for each in waiting}

    assert quick.status_code == 200
    assert states == {"cancelled"}
