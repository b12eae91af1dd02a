"""A person decides over HTTP what became of a purchase (mechanisms 27)."""

from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from api.http.surface import Surface
from domain.access.permissions import EVERY, Permission
from domain.access.roles import Role
from infrastructure.settings import Settings
from tests.fixtures.database import TestDatabase
from tests.fixtures.http import Api, api_over
from tests.operators.deliveries.goods import Shop
from tests.operators.world import World

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]

SAID = {"verdict": "not_purchased", "evidence": "the provider's ledger has none"}
TAKEN = """
SELECT data->>'action', data->>'category', data->'before'->'delivery'->>'state',
       data->'after'->'delivery'->>'state', meta->'actor'->>'id', meta->>'reason'
  FROM counterfoil.events
 WHERE type = 'operator.action_taken' AND data->>'action' LIKE '%goods.%'
 ORDER BY position
"""


def decide(
    client: httpx.Client,
    shop: Shop,
    delivery: UUID,
    *,
    match: str | None = "",
    key: str | None = None,
    **said: Any,  # noqa: ANN401 - of the body
) -> httpx.Response:
    """Decide, by the version that is there now unless another is given."""
    version = shop.state(delivery).version
    tag = f'"dlv_{delivery}:{version}"' if match == "" else match
    headers = {"Idempotency-Key": key or f"decide-{uuid4()}"}
    if tag is not None:
        headers["If-Match"] = tag
    path = f"/deliveries/dlv_{delivery}/decision"
    return client.post(path, json=SAID | said, headers=headers)


def refusal(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def taken(shop: Shop) -> list[tuple[Any, ...]]:
    return list(shop.world.connection.execute(TAKEN.encode()).fetchall())


@pytest.mark.parametrize("surface", [Surface.ADMIN, Surface.PANEL])
def test_a_decision_is_carried_out_and_on_record_once(
    api: Api, shop: Shop, surface: Surface
) -> None:
    delivery, ann = shop.review(), api.client(surface)

    answer = decide(ann, shop, delivery)

    told = answer.json()
    assert answer.status_code == 200
    assert told["deliveryId"] == f"dlv_{delivery}"
    assert (told["state"], told["proposedBy"]) == ("refunded", None)
    assert told["events"][0] == "goods.review_decided"
    version = shop.state(delivery).version
    assert answer.headers["etag"] == f'"dlv_{delivery}:{version}"'
    actor = "ann" if surface is Surface.PANEL else "token:ann"
    assert taken(shop) == [
        (
            "panel.goods.review_resolved",
            "financial",
            "needs_review",
            "refunded",
            actor,
            "the customer asked",
        )
    ]


def test_the_same_key_decides_once(api: Api, shop: Shop) -> None:
    delivery, ann = shop.review(), api.client(Surface.PANEL)
    tag = f'"dlv_{delivery}:{shop.state(delivery).version}"'

    first = decide(ann, shop, delivery, key="support-12", match=tag)
    again = decide(ann, shop, delivery, key="support-12", match=tag)
    other = decide(
        ann, shop, delivery, key="support-12", match=tag, verdict="delivered"
    )

    assert (first.status_code, again.status_code) == (200, 200)
    assert again.headers["idempotency-replayed"] == "true"
    assert again.json()["state"] == "refunded"
    assert refusal(other) == (409, "idempotency_key_reused")
    assert len(taken(shop)) == 1


def test_only_what_was_looked_at_is_decided(api: Api, shop: Shop) -> None:
    delivery, ann = shop.review(), api.client(Surface.PANEL)
    other, version = shop.review(), shop.state(delivery).version

    assert refusal(decide(ann, shop, delivery, match=None)) == (
        428,
        "precondition_required",
    )
    for stale in (
        f'"dlv_{delivery}:{version - 1}"',
        f'"dlv_{other}:{version}"',
        f'W/"dlv_{delivery}:{version}"',
        '"abc"',
    ):
        answer = decide(ann, shop, delivery, match=stale)
        assert refusal(answer) == (412, "precondition_failed"), stale
    unread = decide(ann, shop, delivery, match=f"dlv_{delivery}:{version}")
    assert refusal(unread) == (400, "invalid_request")
    assert unread.json()["errors"][0]["parameter"] == "If-Match"
    assert shop.state(delivery).stage == "needs_review"
    either = f'"dlv_{delivery}:{version - 1}", "dlv_{delivery}:{version}"'
    assert decide(ann, shop, delivery, match=either).status_code == 200
    assert decide(ann, shop, other, match="*").status_code == 200


def test_machines_give_a_key(api: Api, shop: Shop) -> None:
    delivery, program = shop.review(), api.client(Surface.ADMIN)

    answer = program.post(f"/deliveries/{delivery}/decision", json=SAID)

    assert refusal(answer)[0] in {400, 428}


def test_a_sender_that_may_still_ask_bars_it(api: Api, shop: Shop) -> None:
    delivery, ann = shop.review(is_sender_gone=False), api.client(Surface.PANEL)

    answer = decide(ann, shop, delivery, verdict="buy_again")

    assert refusal(answer) == (409, "sender_not_gone")
    assert answer.json()["allowed"] == ["delivered", "reconcile", "override"]
    assert taken(shop) == []
    (row,) = shop.world.refusals()
    assert row[:3] == ("decide_delivery", str(delivery), "sender_not_gone")


def test_an_override_takes_its_own_permission(api: Api, shop: Shop) -> None:
    delivery = shop.review(is_sender_gone=False)
    may_not = EVERY - {Permission.DELIVERIES_OVERRIDE}
    bob = api.client(Surface.ADMIN, name="bob", permissions=may_not)
    ann = api.client(Surface.ADMIN, name="ann")

    refused = decide(bob, shop, delivery, override=True)
    done = decide(ann, shop, delivery, override=True)

    assert refusal(refused) == (403, "forbidden")
    assert done.status_code == 200
    assert shop.state(delivery).stage == "refunded"


def test_who_comes_second_is_told_who_decided(api: Api, shop: Shop) -> None:
    delivery = shop.review()
    ann, bob = (api.client(Surface.PANEL, name=name) for name in ("ann", "bob"))

    decide(ann, shop, delivery)
    answer = decide(bob, shop, delivery, verdict="delivered")

    assert refusal(answer) == (409, "review_decided")
    assert answer.json()["state"] == "refunded"
    assert "by ann at" in answer.json()["detail"]


def test_what_is_in_no_review_is_told_by_its_state(api: Api, shop: Shop) -> None:
    answer = decide(api.client(Surface.PANEL), shop, shop.owe())

    assert refusal(answer) == (409, "state_conflict")
    assert answer.json()["state"] == "pending"


@pytest.mark.parametrize(
    ("said", "pointer", "rule"),
    [
        ({"verdict": "lost"}, "#/verdict", "one of buy_again, delivered, not_p"),
        ({"evidence": ""}, "#/evidence", "of length >= 3"),
        ({"override": "yes"}, "#/override", "Expected `bool`"),
        ({"note": "x"}, "#/note", "unknown field"),
    ],
)
def test_what_cannot_be_meant_is_named(
    api: Api, shop: Shop, said: dict[str, Any], pointer: str, rule: str
) -> None:
    answer = decide(api.client(Surface.PANEL), shop, shop.review(), **said)

    assert answer.status_code == 400
    assert [each["pointer"] for each in answer.json()["errors"]] == [pointer]
    assert rule in answer.json()["errors"][0]["detail"]


def test_another_tenants_delivery_is_none(api: Api, shop: Shop) -> None:
    delivery = shop.review()
    stranger = api.client(Surface.ADMIN, name="eve", tenant="acme")

    for answer in (
        decide(stranger, shop, delivery),
        stranger.post(f"/deliveries/{delivery}/reconcile"),
    ):
        assert refusal(answer) == (404, "not_found")
    assert shop.state(delivery).stage == "needs_review"
    assert len(shop.world.refusals()) == 2


def test_support_may_not_decide(api: Api, shop: Shop) -> None:
    vera = api.client(Surface.PANEL, name="vera", role=Role.SUPPORT)

    answer = decide(vera, shop, shop.review())

    assert refusal(answer) == (403, "forbidden")


def test_two_people_buy_again(database: TestDatabase, tmp_path: Path) -> None:
    with api_over(database, tmp_path, Settings(four_eyes=True)) as api:
        shop = Shop(World(api.services.database, database.connect()))
        delivery = shop.review()
        ann, bob = (api.client(Surface.PANEL, name=name) for name in ("ann", "bob"))

        proposed = decide(ann, shop, delivery, verdict="buy_again", key="by-ann-1")
        again = decide(ann, shop, delivery, verdict="buy_again", key="by-ann-1")
        alone = decide(
            ann, shop, delivery, verdict="buy_again", evidence="my own word once more"
        )
        agreed = decide(bob, shop, delivery, verdict="buy_again")

    assert (proposed.status_code, proposed.json()["proposedBy"]) == (202, "ann")
    assert (again.status_code, again.headers["idempotency-replayed"]) == (202, "true")
    assert refusal(alone) == (403, "self_approval")
    assert (agreed.status_code, agreed.json()["state"]) == (200, "pending")
    assert [row[0] for row in taken(shop)] == [
        "goods.review_proposed",
        "panel.goods.review_resolved",
    ]


def test_a_provider_that_is_not_there_cannot_be_asked(api: Api, shop: Shop) -> None:
    answer = api.client(Surface.PANEL).post(f"/deliveries/{shop.review()}/reconcile")

    assert refusal(answer) == (409, "provider_unconfigured")
