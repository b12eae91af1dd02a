"""A person tells again what had come to nothing, with a reason, on record."""

from dataclasses import replace
from typing import NoReturn

import psycopg
import pytest

from application.callbacks.callback import Callback
from application.callbacks.said import Said
from application.errors import NoKeyError, NotFoundError, StateConflictError
from application.goods.pace import Pace
from application.operators.instruction import instruct
from domain.goods.state import Stage
from infrastructure.errors import DatabaseUnavailableError
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.streams import PostgresStreams
from infrastructure.providers.callbacks.wiring import callbacks_over
from infrastructure.seals.key_ring import KeyRing
from tests.callbacks.stage import Shop, body_of, configure, signed

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]

OLGA = instruct("olga", "its provider was named wrongly")


def misnamed(shop: Shop) -> str:
    """Return a callback of a provider that did not know its delivery yet."""
    receipt = shop.tell("goods:01976f3e-0000-7000-8000-000000000001:1:1")
    assert receipt.status == "ignored"
    return str(receipt.callback_id)


def away(_callback: Callback, _said: Said) -> NoReturn:
    msg = "the database is away"
    raise DatabaseUnavailableError(msg)


def interrupted(shop: Shop, key: str) -> str:
    """Return a callback of which nothing has followed."""
    body = body_of(key)
    record = replace(shop.callbacks.record, tell=away)
    with pytest.raises(DatabaseUnavailableError):
        record("default", "stars", signed(body, shop.now()), body)
    (kept,) = shop.callbacks.book.latest(status="failed", provider=None, limit=2)
    assert kept.code == "interrupted"
    return str(kept.id)


def test_an_interrupted_callback_is_told_by_its_replay(shop: Shop) -> None:
    delivery = shop.bought()
    callback = interrupted(shop, shop.key(delivery))

    receipt = shop.callbacks.replay(callback, OLGA)

    assert receipt.status == "accepted"
    assert shop.state(delivery).stage is Stage.DELIVERED
    ((data, meta),) = shop.remarks("callback.replayed")
    assert (data["callback"], data["before"]) == (callback, "interrupted")
    assert meta["actor"] == {"type": "operator", "id": "olga"}
    assert meta["reason"] == OLGA.reason


def test_what_is_still_about_nothing_stays_ignored(shop: Shop) -> None:
    callback = misnamed(shop)

    receipt = shop.callbacks.replay(callback, OLGA)

    assert (receipt.status, receipt.code) == ("ignored", "unknown_key")
    assert len(shop.remarks("callback.replayed")) == 1


@pytest.mark.parametrize("status", ["accepted", "duplicate", "rejected"])
def test_what_is_over_is_not_replayed_and_that_is_on_record(
    shop: Shop, status: str
) -> None:
    key = shop.key(shop.bought())
    receipt = shop.tell(key)
    if status == "duplicate":
        receipt = shop.tell(key)
    if status == "rejected":
        receipt = shop.send({}, b"{}")
    assert receipt.status == status

    with pytest.raises(StateConflictError) as refused:
        shop.callbacks.replay(str(receipt.callback_id), OLGA)

    assert refused.value.state == status
    ((data, meta),) = shop.remarks("operator.action_refused")
    assert (data["action"], data["code"]) == ("replay_callback", "state_conflict")
    assert data["target"] == str(receipt.callback_id)
    assert meta["reason"] == OLGA.reason


@pytest.mark.parametrize("key", ["01976f3e-0000-7000-8000-000000000009", "nonsense"])
def test_a_callback_that_never_came_is_not_found(shop: Shop, key: str) -> None:
    with pytest.raises(NotFoundError):
        shop.callbacks.replay(key, OLGA)

    assert len(shop.remarks("operator.action_refused")) == 1


@pytest.mark.parametrize(
    ("ring", "error"),
    [(None, NoKeyError), (KeyRing({"k9": bytes(range(1, 33))}), StateConflictError)],
)
def test_a_body_that_does_not_open_is_not_told(
    shop: Shop, ring: KeyRing | None, error: type[Exception]
) -> None:
    callback = misnamed(shop)
    streams, units = PostgresStreams(shop.pool), BatchStore(shop.pool)
    other = callbacks_over(shop.pool, ring, streams, units, Pace())

    with pytest.raises(error):
        other.replay(callback, OLGA)

    assert shop.rows() == [("ignored", "unknown_key")]


def test_a_replay_after_another_adapter_reads_it_anew(shop: Shop) -> None:
    configure(shop.connection, adapter="fragment", slug="blind")
    delivery = shop.owed(slug="blind")
    shop.buyer.command(delivery)
    body = body_of(shop.key(delivery))
    receipt = shop.send(signed(body, shop.now()), body, slug="blind")
    assert (receipt.status, receipt.code) == ("ignored", "unknown_kind")
    shop.connection.execute(
        "UPDATE counterfoil.goods_providers SET adapter = 'idempotent'"
    )

    replayed = shop.callbacks.replay(str(receipt.callback_id), OLGA)

    assert replayed.status == "accepted"
    assert shop.state(delivery).stage is Stage.DELIVERED


def test_what_is_accepted_is_final_for_everyone(shop: Shop) -> None:
    shop.tell(shop.key(shop.bought()))

    with pytest.raises(psycopg.Error) as refused:
        shop.connection.execute(
            "UPDATE counterfoil.provider_callbacks SET state = 'failed', code = 'x'"
        )

    assert refused.value.sqlstate == "CF409"


def test_the_latest_ones_are_listed_by_status_and_provider(shop: Shop) -> None:
    shop.tell(shop.key(shop.bought()))
    misnamed_id = str(shop.tell("other", event="evt_2").callback_id)
    book = shop.callbacks.book

    found = book.latest(status="ignored", provider="stars", limit=5)

    assert [str(each.id) for each in found] == [misnamed_id]
    assert len(book.latest(status=None, provider=None, limit=1)) == 1
    assert book.latest(status=None, provider="other", limit=5) == []


def test_the_body_of_an_accepted_one_can_be_sealed_anew(shop: Shop) -> None:
    shop.tell(shop.key(shop.bought()))

    shop.connection.execute("UPDATE counterfoil.provider_callbacks SET body_key = 'k2'")

    assert shop.rows("state, body_key") == [("accepted", "k2")]
