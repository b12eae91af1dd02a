"""Files that show what became of a purchase: on the disk, then on record, once."""

import hashlib
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest

from api.http.surface import Surface
from application.evidence.add import LARGEST_BYTES
from domain.access.roles import Role
from tests.fixtures.http import Api
from tests.http.deliveries.test_decision import decide, refusal
from tests.operators.deliveries.goods import Shop

pytestmark = pytest.mark.database

PNG = b"\x89PNG\r\n\x1a\n" + b"a receipt"
DIGEST = hashlib.sha256(PNG).hexdigest()
ROWS = """
SELECT encode(sha256, 'hex'), size_bytes, media_type, added_by
  FROM counterfoil.delivery_evidence
"""
TAKEN = """
SELECT data->'before', data->'after' FROM counterfoil.events
 WHERE type = 'operator.action_taken' AND data->>'action' = 'goods.evidence_added'
 ORDER BY position
"""


def add(
    client: httpx.Client, delivery: UUID, content: bytes = PNG, told: str = "image/png"
) -> httpx.Response:
    return client.post(
        f"/deliveries/dlv_{delivery}/evidence",
        content=content,
        headers={"Content-Type": told},
    )


def rows(shop: Shop) -> list[tuple[Any, ...]]:
    return list(shop.world.connection.execute(ROWS.encode()).fetchall())


def test_a_file_is_kept_once_by_what_it_holds(
    api: Api, shop: Shop, tmp_path: Path
) -> None:
    delivery, ann = shop.review(), api.client(Surface.PANEL)

    first, again = add(ann, delivery), add(ann, delivery)

    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    told = first.json()
    assert (told["sha256"], told["sizeBytes"]) == (DIGEST, len(PNG))
    assert (told["mediaType"], told["addedBy"]) == ("image/png", "ann")
    assert (tmp_path / "evidence" / DIGEST).read_bytes() == PNG
    assert [file.name for file in (tmp_path / "evidence").iterdir()] == [DIGEST]
    assert rows(shop) == [(DIGEST, len(PNG), "image/png", "ann")]
    shown = {"sha256": DIGEST, "media_type": "image/png", "size_bytes": len(PNG)}
    taken = shop.world.connection.execute(TAKEN.encode()).fetchall()
    assert taken == [({}, shown), (shown, shown)]


def test_its_own_bytes_say_what_it_is(api: Api, shop: Shop) -> None:
    delivery, ann = shop.review(), api.client(Surface.PANEL)

    page = add(ann, delivery, b"<script>alert(1)</script>", "image/png")
    program = add(ann, delivery, b"\x7fELF\x02\x01\x01\x00", "image/png")

    assert page.json()["mediaType"] == "text/plain"
    assert refusal(program) == (415, "unsupported_media_type")
    assert refusal(add(ann, delivery, b"")) == (415, "unsupported_media_type")
    assert len(rows(shop)) == 1
    assert {row[2] for row in shop.world.refusals()} == {"unsupported_media_type"}


def test_the_largest_file_is_taken_and_a_larger_one_is_not(
    api: Api, shop: Shop
) -> None:
    delivery, ann = shop.review(), api.client(Surface.PANEL)
    largest = PNG.ljust(LARGEST_BYTES, b"\0")

    assert add(ann, delivery, largest).status_code == 201
    assert refusal(add(ann, delivery, largest + b"\0")) == (413, "payload_too_large")


def test_a_damaged_file_is_written_anew(api: Api, shop: Shop, tmp_path: Path) -> None:
    delivery, ann = shop.review(), api.client(Surface.PANEL)
    add(ann, delivery)
    (tmp_path / "evidence" / DIGEST).write_bytes(PNG[:-3])

    assert add(ann, delivery).status_code == 200
    assert (tmp_path / "evidence" / DIGEST).read_bytes() == PNG


def test_where_nothing_can_be_kept_nothing_is_on_record(
    api: Api, shop: Shop, tmp_path: Path
) -> None:
    delivery, ann = shop.review(), api.client(Surface.PANEL)
    (tmp_path / "evidence").write_text("in the way")

    answer = add(ann, delivery)

    assert refusal(answer) == (503, "evidence_unwritable")
    assert str(tmp_path) not in answer.text
    assert rows(shop) == []


def test_who_may_not_decide_adds_nothing(api: Api, shop: Shop) -> None:
    delivery = shop.review()
    vera = api.client(Surface.PANEL, name="vera", role=Role.VIEWER)
    eve = api.client(Surface.PANEL, name="eve", tenant="acme")

    assert refusal(add(vera, delivery)) == (403, "forbidden")
    assert refusal(add(eve, delivery)) == (404, "not_found")
    assert rows(shop) == []


def test_a_decision_names_files_that_are_there(api: Api, shop: Shop) -> None:
    delivery, other = shop.review(), shop.review()
    ann = api.client(Surface.PANEL)
    add(ann, other)

    unknown = decide(ann, shop, delivery, evidenceFiles=[DIGEST])
    add(ann, delivery)
    done = decide(ann, shop, delivery, evidenceFiles=[DIGEST])

    assert refusal(unknown) == (400, "invalid_request")
    assert unknown.json()["errors"][0]["pointer"] == "#/evidenceFiles/0"
    assert unknown.json()["errors"][0]["code"] == "unknown_evidence"
    assert done.status_code == 200
    ((evidence,),) = shop.world.connection.execute(
        """
        SELECT data->>'evidence' FROM counterfoil.events
         WHERE type = 'goods.review_decided'
        """
    ).fetchall()
    assert evidence == f"the provider's ledger has none [sha256:{DIGEST}]"


def test_what_was_added_stays(api: Api, shop: Shop) -> None:
    add(api.client(Surface.PANEL), shop.review())

    for statement in ("DELETE FROM {}", "UPDATE {} SET added_by = 'me'"):
        with pytest.raises(psycopg.errors.DatabaseError):
            shop.world.connection.execute(
                statement.format("counterfoil.delivery_evidence").encode()
            )
