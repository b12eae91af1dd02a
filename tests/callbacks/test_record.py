"""A callback is recorded once, by its signature, and told to its delivery."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import msgspec
import pytest

from application.callbacks.record import LARGEST_BODY_BYTES
from application.goods.pace import Pace
from domain.event import Actor
from domain.goods.commands import Accept, Decide, LoseTrack, OpenReview, Refuse
from domain.goods.state import Stage, Standing
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.streams import PostgresStreams
from infrastructure.providers.callbacks.wiring import callbacks_over
from tests.callbacks.stage import (
    CREDENTIAL,
    RING,
    Shop,
    body_of,
    configure,
    signed,
)

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]

UNKNOWN = LoseTrack(code="gateway_unreachable", is_sender_gone=True)
REVIEW = OpenReview("unclear")
REFUND = Decide(
    verdict="not_purchased",
    evidence="the statement",
    by=Actor("operator", "olga"),
    is_override=True,
    needs_second=False,
)
TAKEN = Accept(decision=1, reference="pur_1", next_at=None, is_answer=True)


def test_a_callback_before_the_answer_delivers(shop: Shop) -> None:
    delivery = shop.bought()

    receipt = shop.tell(shop.key(delivery))

    assert (receipt.status, receipt.code) == ("accepted", None)
    assert receipt.delivery_id == delivery.id
    assert shop.state(delivery).stage is Stage.DELIVERED
    assert shop.state(delivery).reference == "pur_1"
    assert shop.events(delivery.id)[-2:] == [
        ("goods.purchase_confirmed", "provider"),
        ("goods.delivered", "provider"),
    ]
    assert shop.rows("state, code, kind, event_id") == [
        ("accepted", None, "delivered", "evt_1")
    ]


def test_what_a_callback_caused_names_it_and_gives_birth_to_what_follows(
    shop: Shop,
) -> None:
    delivery = shop.bought()

    receipt = shop.tell(shop.key(delivery))

    caused = shop.connection.execute(
        """
        SELECT type, data->>'kind' FROM counterfoil.events
         WHERE meta->'causation'->>'request_id' = %s ORDER BY position
        """,
        (f"callback:{receipt.callback_id}",),
    ).fetchall()
    assert [kind for tag, kind in caused if tag == "job.enqueued"] == [
        "order_completion"
    ]
    assert receipt.position > 0


@pytest.mark.parametrize("before", [(UNKNOWN,), (UNKNOWN, REVIEW), (TAKEN,)])
def test_a_callback_ends_what_was_unknown_or_in_review(
    shop: Shop, before: tuple[LoseTrack | OpenReview | Accept, ...]
) -> None:
    delivery = shop.bought(*before)

    receipt = shop.tell(shop.key(delivery))

    assert receipt.status == "accepted"
    assert shop.state(delivery).stage is Stage.DELIVERED


def test_a_callback_after_the_refund_is_evidence_and_told(shop: Shop) -> None:
    delivery = shop.bought(UNKNOWN, REVIEW, REFUND)
    assert shop.state(delivery).stage is Stage.REFUNDED
    version = shop.state(delivery).version

    receipt = shop.tell(shop.key(delivery))

    assert (receipt.status, receipt.code) == ("failed", "contradicted")
    assert shop.state(delivery).version == version
    ((data, meta),) = shop.remarks("callback.contradicted")
    assert data["delivery"] == str(delivery.id)
    assert data["said"] == "delivered"
    assert meta["actor"] == {"type": "provider", "id": "stars"}


def test_a_contradiction_is_said_once(shop: Shop) -> None:
    delivery = shop.bought(UNKNOWN, REVIEW, REFUND)

    receipts = [shop.tell(shop.key(delivery)) for _ in range(2)]

    assert [it.code for it in receipts] == ["contradicted"] * 2
    assert receipts[0].callback_id == receipts[1].callback_id
    assert len(shop.remarks("callback.contradicted")) == 1


def test_an_acceptance_is_followed_by_its_failure(shop: Shop) -> None:
    delivery = shop.bought()
    shop.tell(shop.key(delivery), "accepted", "evt_1")
    assert shop.state(delivery).standing is Standing.ACCEPTED
    shop.buyer.command(delivery, LoseTrack(code="timeout", is_sender_gone=True))

    receipt = shop.tell(shop.key(delivery), "failed", "evt_2")

    assert receipt.status == "accepted"
    state = shop.state(delivery)
    assert (state.stage, state.code) == (Stage.PENDING, "purchase_failed")
    assert state.next_at is not None
    assert state.purchases == 1


def test_a_failure_while_the_sender_may_still_ask_is_evidence_only(shop: Shop) -> None:
    delivery = shop.bought()

    receipt = shop.tell(shop.key(delivery), "failed")

    assert receipt.status == "accepted"
    assert shop.state(delivery).standing is Standing.ASKED
    assert shop.events(delivery.id)[-1] == ("goods.reconciled", "provider")


def test_a_failure_of_an_earlier_decision_changes_nothing(shop: Shop) -> None:
    refused = Refuse(
        decision=1,
        failure_class="retryable",
        code="http_429",
        next_at=shop.callbacks.book.now(),
        is_answer=True,
    )
    delivery = shop.bought(refused)
    shop.buyer.command(delivery)
    version = shop.state(delivery).version

    receipt = shop.tell(shop.key(delivery, 1), "failed")

    assert (receipt.status, receipt.code) == ("accepted", "already_so")
    assert shop.state(delivery).version == version


def test_the_same_event_once_more_is_a_duplicate(shop: Shop) -> None:
    delivery = shop.bought()
    first = shop.tell(shop.key(delivery))
    version = shop.state(delivery).version

    again = shop.tell(shop.key(delivery))

    assert (again.status, again.duplicate_of) == ("duplicate", first.callback_id)
    assert again.delivery_id == delivery.id
    assert shop.state(delivery).version == version
    assert shop.rows() == [("accepted", None), ("duplicate", None)]


def test_another_body_under_the_same_event_is_rejected(shop: Shop) -> None:
    delivery = shop.bought()
    shop.tell(shop.key(delivery))

    again = shop.tell(shop.key(delivery), "failed")

    assert (again.status, again.code) == ("rejected", "event_id_reused")
    assert shop.state(delivery).stage is Stage.DELIVERED


def test_what_was_never_decided_opens_a_review(shop: Shop) -> None:
    delivery = shop.owed()

    shop.tell(shop.key(delivery, 1))

    state = shop.state(delivery)
    assert (state.stage, state.code) == (Stage.NEEDS_REVIEW, "contradicted")


@pytest.mark.parametrize(
    "key", ["goods:x:1:1", "other", "goods:01976f3e-0000-7000-8000-000000000001:1:1"]
)
def test_a_key_of_nothing_here_is_ignored(shop: Shop, key: str) -> None:
    receipt = shop.tell(key)

    assert (receipt.status, receipt.code) == ("ignored", "unknown_key")


def test_a_provider_tells_only_of_its_own_deliveries(shop: Shop) -> None:
    delivery = shop.bought()
    configure(shop.connection, slug="thief")
    configure(shop.connection, tenant_id="other")
    body = body_of(shop.key(delivery))
    headers = signed(body, shop.now())

    receipts = [
        shop.send(headers, body, slug="thief"),
        shop.send(headers, body, tenant="other"),
    ]

    assert [it.code for it in receipts] == ["unknown_key"] * 2
    assert shop.state(delivery).stage is Stage.SUBMITTED


def test_what_nobody_has_signed_is_kept_without_its_body(shop: Shop) -> None:
    delivery = shop.bought()
    body = body_of(shop.key(delivery))
    forged = signed(body, shop.now(), secret="whsec_" + "QUJD" * 8)

    receipt = shop.send(forged, body)
    genuine = shop.tell(shop.key(delivery))

    assert (receipt.status, receipt.code) == ("rejected", "signature_invalid")
    assert genuine.status == "accepted"  # the forged one has not taken its name
    assert shop.rows("state, body IS NULL, body_bytes") == [
        ("rejected", True, len(body)),
        ("accepted", False, len(body)),
    ]


def test_a_stale_signature_is_rejected(shop: Shop) -> None:
    body = body_of(shop.key(shop.bought()))

    receipt = shop.send(signed(body, shop.now() - 301), body)

    assert receipt.code == "timestamp_outside"


def test_a_body_that_is_too_long_is_rejected(shop: Shop) -> None:
    body = b" " * (LARGEST_BODY_BYTES + 1)

    assert shop.send(signed(body, shop.now()), body).code == "body_too_large"


def test_a_body_that_cannot_be_read_has_failed(shop: Shop) -> None:
    body = b'{"type": "purchase.delivered", "data": 7}'

    receipt = shop.send(signed(body, shop.now()), body)

    assert (receipt.status, receipt.code) == ("failed", "malformed_body")


def test_a_provider_that_cannot_be_asked_is_not_believed(shop: Shop) -> None:
    configure(shop.connection, None, slug="bare")
    silent = msgspec.structs.replace(CREDENTIAL, webhook_secret=None)
    configure(shop.connection, silent, slug="silent")
    body = body_of("k")
    headers = signed(body, shop.now())

    codes = [shop.send(headers, body, slug=it).code for it in ("no", "bare", "silent")]

    assert codes == ["unknown_provider", "provider_unconfigured", "no_webhook_secret"]


def test_without_keys_nothing_is_believed(shop: Shop) -> None:
    streams, units = PostgresStreams(shop.pool), BatchStore(shop.pool)
    keyless = callbacks_over(shop.pool, None, streams, units, Pace())
    body = body_of("k")

    receipt = keyless.record("default", "stars", signed(body, shop.now()), body)

    assert receipt.code == "provider_unconfigured"


def test_a_body_opens_in_its_own_row_alone(shop: Shop) -> None:
    shop.tell("one", event="evt_1")
    shop.tell("other", event="evt_2")
    one, other = reversed(
        shop.callbacks.book.latest(status=None, provider=None, limit=10)
    )

    assert one.sealed is not None
    assert other.sealed is not None
    assert RING.open(one.sealed, one.place) == body_of("one")
    assert not isinstance(RING.open(one.sealed, other.place), bytes)
    assert b"other" not in other.sealed.content


def test_of_many_that_arrive_at_once_one_is_told(shop: Shop) -> None:
    delivery = shop.bought()
    key, barrier = shop.key(delivery), Barrier(4)
    body = body_of(key)
    headers = signed(body, shop.now())

    def arrive(_: int) -> str:
        barrier.wait(10)
        return shop.send(headers, body).status

    with ThreadPoolExecutor(4) as providers:
        statuses = list(providers.map(arrive, range(4)))

    assert set(statuses) <= {"accepted", "duplicate"}
    assert "accepted" in statuses
    tags = [tag for tag, _ in shop.events(delivery.id)]
    assert tags.count("goods.delivered") == 1
    assert [state for (state,) in shop.rows("state")].count("accepted") == 1
