"""SIGKILL of the API while it takes a callback, at each commit: on record, told once.

The same commits as in tests/callbacks/test_kills.py, by the address of providers.
"""

import json
from collections.abc import Iterator
from threading import Thread

import httpx
import pytest

from tests.api.command import Command, Started
from tests.callbacks.stage import Shop, body_of, signed
from tests.callbacks.test_kills import BEFORE, COMMITS, KEYS
from tests.fixtures.database import TestDatabase
from tests.fixtures.proxy import Proxy

pytestmark = [
    pytest.mark.crash,
    pytest.mark.timeout(150),
    pytest.mark.usefixtures("heads_equal_folds"),
]


@pytest.fixture
def counterfoil(database: TestDatabase) -> Iterator[Command]:
    command = Command(
        COUNTERFOIL_DATABASE_URL=database.url,
        COUNTERFOIL_DATA_ENCRYPTION_KEYS=KEYS,
        COUNTERFOIL_HTTP_ADDR="127.0.0.1:0",
    )
    try:
        yield command
    finally:
        command.close()


def address(started: Started) -> str:
    told = json.loads(started.wait_for('"api"'))["api"]
    return f"{told}/v1/hooks/stars"


@pytest.mark.parametrize(("commit", "side"), BEFORE)
def test_a_callback_is_told_once_whenever_the_api_dies(
    shop: Shop, counterfoil: Command, proxy: Proxy, *, commit: str, side: str
) -> None:
    delivery = shop.bought()
    body = body_of(shop.key(delivery))
    headers = signed(body, shop.now())
    killed = counterfoil.start("api", "--json", COUNTERFOIL_DATABASE_URL=proxy.conninfo)
    url, answers = address(killed), list[int]()
    hold = proxy.hold_before_commit if side == "before" else proxy.hold_commit_answer
    plan = hold(of=COMMITS[commit])

    def provider() -> None:
        try:
            answer = httpx.post(url, content=body, headers=headers, timeout=90)
        except httpx.TransportError:
            return
        answers.append(answer.status_code)

    asking = Thread(target=provider)
    asking.start()
    plan.wait(60)
    killed.process.kill()
    killed.end()
    asking.join()
    proxy.close_all()

    assert answers == []
    assert (shop.rows(), shop.times_delivered(delivery)) == BEFORE[commit, side]
    again = counterfoil.start("api", "--json")
    answer = httpx.post(address(again), content=body, headers=headers, timeout=30)

    is_over = (commit, side) == ("marked", "after")
    assert answer.json() == {"status": "duplicate" if is_over else "accepted"}
    assert shop.times_delivered(delivery) == 1
