"""S31 over HTTP: as many are let in as may be, not one more and not one less."""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from api.http.surface import Surface
from tests.fixtures.http import Api
from tests.http.intake.asked import JOB, order, under
from tests.limits.room import limit, pending

pytestmark = pytest.mark.database

CLIENTS = 20


def ask(shops: Sequence[httpx.Client], first: int, last: int) -> list[httpx.Response]:
    """Return the answers to that many requests, each under a key, from all shops."""

    def one(n: int) -> httpx.Response:
        body = JOB | {"args": {"n": n}}
        while True:
            answer = shops[n % len(shops)].post(
                "/jobs", json=body, headers=under(f"job-{n:06}")
            )
            # A second: whether there is room could not be found out in time.
            if answer.headers.get("retry-after") != "1":
                return answer

    with ThreadPoolExecutor(len(shops)) as clients:
        return list(clients.map(one, range(first, last)))


def full_house(api: Api, most: int, asked: int) -> None:
    shops = [api.client(Surface.SHOPS)] * CLIENTS
    connection = api.services.database.connect()
    limit(connection, tenant=most, in_all=10 * most)

    told = ask(shops, 0, asked)
    again = ask(shops, 0, asked)

    codes = Counter(answer.status_code for answer in told)
    assert codes == {202: most, 429: asked - most}
    assert pending(connection) == most
    for first, second in zip(told, again, strict=True):
        assert second.status_code == first.status_code
        if first.status_code == 202:
            assert second.headers["idempotency-replayed"] == "true"
            assert second.json() == first.json()
        else:
            assert first.json()["code"] == "tenant_pending_limit"
            assert first.headers["retry-after"] == "5"
    assert shops[0].post("/orders/settle", json=order()).status_code == 202
    connection.close()


def test_a_full_house_lets_in_what_may_be_and_answers_what_it_has_let_in(
    api: Api,
) -> None:
    full_house(api, most=30, asked=40)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_s31_of_eleven_hundred_a_thousand_are_accepted(api: Api) -> None:
    full_house(api, most=1_000, asked=1_100)
