"""A request under a key is answered with the status of the first time, for ever."""

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from api.http.app import every_operation
from api.http.route import Key
from api.http.surface import Surface
from infrastructure.settings import Settings
from tests.fixtures.database import TestDatabase
from tests.fixtures.http import Api, api_over
from tests.operators.deliveries.goods import Shop
from tests.operators.world import GENERIC, SERVED, World, bring, world

__all__ = ["world"]

pytestmark = pytest.mark.database

CANCELS = {
    "cancel_job": ("/jobs/job_{job}/cancel", GENERIC),
    "cancel_operation": ("/operations/op_{operation}/cancel", SERVED),
    "cancel_system_job": ("/system/jobs/op_{operation}/cancel", SERVED),
}


def test_these_have_two_statuses_under_a_key() -> None:
    """Each has a story below: add one with the next."""
    found = {
        each.handler.fn.__name__
        for each in every_operation()
        if each.declared.key is not Key.NONE and each.declared.also
    }

    assert found == {*CANCELS, "decide_delivery"}


def told(answer: httpx.Response) -> tuple[int, bool]:
    return answer.status_code, "idempotency-replayed" in answer.headers


def cancelling(
    api: Api, world: World, name: str, state: str
) -> Callable[[str], httpx.Response]:
    path, kind = CANCELS[name]
    job, operation = bring(world, state, kind)
    client = api.client(Surface.PANEL)

    def cancel(key: str) -> httpx.Response:
        return client.post(
            path.format(job=job, operation=operation), headers={"Idempotency-Key": key}
        )

    return cancel


@pytest.mark.parametrize("name", CANCELS)
def test_a_cancel_that_is_only_asked_for_stays_accepted(
    api: Api, world: World, name: str
) -> None:
    """Also of whoever asks once more, under a key of his own, which writes nothing."""
    cancel = cancelling(api, world, name, "running")

    firsts = [cancel("key-of-ann"), cancel("key-of-bob")]
    again = [cancel("key-of-ann"), cancel("key-of-bob")]

    assert [told(it) for it in firsts] == [(202, False)] * 2
    assert [it.json()["events"] for it in firsts] == [["job.cancel_requested"], []]
    assert [told(it) for it in again] == [(202, True)] * 2


@pytest.mark.parametrize("name", CANCELS)
def test_a_cancel_that_is_done_stays_done(api: Api, world: World, name: str) -> None:
    cancel = cancelling(api, world, name, "due")

    firsts = [cancel("key-of-ann"), cancel("key-of-bob")]
    again = [cancel("key-of-ann"), cancel("key-of-bob")]

    assert [told(it) for it in firsts] == [(200, False)] * 2
    assert [told(it) for it in again] == [(200, True)] * 2


def test_a_proposal_stays_one_although_another_person_has_agreed(
    database: TestDatabase, tmp_path: Path
) -> None:
    with api_over(database, tmp_path, Settings(four_eyes=True)) as api:
        shop = Shop(World(api.services.database, database.connect()))
        delivery = shop.review()
        said = {"verdict": "buy_again", "evidence": "the provider's ledger has none"}

        def decide(name: str, key: str) -> httpx.Response:
            return api.client(Surface.PANEL, name=name).post(
                f"/deliveries/dlv_{delivery}/decision",
                json=said,
                headers={"Idempotency-Key": key, "If-Match": "*"},
            )

        proposed = [decide("ann", "by-ann-1"), decide("ann", "by-ann-2")]
        agreed = decide("bob", "by-bob-1")
        again = [decide("ann", "by-ann-1"), decide("ann", "by-ann-2")]

    assert [told(it) for it in proposed] == [(202, False)] * 2
    assert [it.json()["proposedBy"] for it in proposed] == ["ann", "ann"]
    assert (told(agreed), agreed.json()["state"]) == ((200, False), "pending")
    assert [told(it) for it in again] == [(202, True)] * 2
    assert again[0].json()["state"] == "pending"
