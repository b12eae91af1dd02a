"""Files of deliveries are given back as they were added, and looks are on record."""

import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from api.http.surface import Surface
from domain.access.roles import Role
from infrastructure.settings import Settings
from infrastructure.telemetry import listen
from tests.fixtures.database import TestDatabase
from tests.fixtures.http import Api, api_over
from tests.http.deliveries.test_decision import refusal
from tests.http.deliveries.test_evidence import DIGEST, PNG, add
from tests.operators.deliveries.goods import Shop

pytestmark = pytest.mark.database

LOOKS = """
SELECT data->>'target', data->'after'->>'sha256', data->>'category',
       meta->'actor'->>'id', meta->>'reason'
  FROM counterfoil.events
 WHERE type = 'operator.action_taken' AND data->>'action' = 'goods.evidence_viewed'
 ORDER BY position
"""


def looks(shop: Shop) -> list[tuple[Any, ...]]:
    return shop.world.connection.execute(LOOKS.encode()).fetchall()


def look(client: httpx.Client, delivery: UUID, digest: str = DIGEST) -> httpx.Response:
    return client.get(f"/deliveries/dlv_{delivery}/evidence/{digest}")


def test_a_file_is_given_back_as_it_was_added_and_who_looked_is_on_record(
    api: Api, shop: Shop
) -> None:
    delivery, ann = shop.review(), api.client(Surface.PANEL)
    sam = api.client(Surface.PANEL, name="sam", role=Role.SUPPORT)
    added = add(ann, delivery)
    where = f"{Surface.PANEL}/deliveries/dlv_{delivery}/evidence/{DIGEST}"
    assert added.headers["location"] == where

    (told,) = sam.get(f"/deliveries/dlv_{delivery}").json()["evidence"]
    given = sam.get(told["links"]["self"].removeprefix(Surface.PANEL))

    assert told == added.json()
    assert (given.status_code, given.content) == (200, PNG)
    shown = {name: given.headers[name] for name in HEADERS}
    assert shown == HEADERS
    why = "the customer asked"
    assert looks(shop) == [(str(delivery), DIGEST, "financial", "sam", why)]
    (listed,) = api.client().get(f"/deliveries/dlv_{delivery}").json()["evidence"]
    assert listed == told | {"links": {}}


HEADERS = {
    "content-type": "image/png",
    "content-length": str(len(PNG)),
    "content-disposition": f'attachment; filename="{DIGEST}.png"',
    "content-security-policy": "default-src 'none'; sandbox",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}


def test_a_page_is_given_as_text_and_never_run(api: Api, shop: Shop) -> None:
    delivery, ann = shop.review(), api.client(Surface.PANEL)
    page = b"<script>alert(1)</script>"
    digest = add(ann, delivery, page, "text/html").json()["sha256"]

    given = look(ann, delivery, digest)

    assert given.content == page
    assert given.headers["content-type"] == "text/plain; charset=utf-8"
    assert given.headers["content-disposition"].endswith(f'"{digest}.txt"')


def changed(file: Path) -> None:
    file.write_bytes(PNG[:-1] + b"!")


def grown(file: Path) -> None:
    file.write_bytes(PNG + b"!")


def replaced(file: Path) -> None:
    file.unlink()
    file.symlink_to("/etc/hostname")


def piped(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


DAMAGE: Mapping[str, tuple[Callable[[Path], None], str]] = {
    "missing": (Path.unlink, "is not in the folder"),
    "changed": (changed, "has changed since it was kept"),
    "grown": (grown, "has changed since it was kept"),
    "link": (replaced, "cannot be read"),
    "pipe": (piped, "has changed since it was kept"),
}


def test_what_is_not_as_it_was_added_is_not_given_and_is_told_to_the_log(
    api: Api, shop: Shop, tmp_path: Path
) -> None:
    delivery, ann = shop.review(), api.client(Surface.PANEL)
    lines: list[dict[str, Any]] = []
    for damage, words in DAMAGE.values():
        add(ann, delivery)
        damage(tmp_path / "evidence" / DIGEST)

        with listen(lambda event, values: lines.append({"event": event, **values})):
            answer = look(ann, delivery)

        assert refusal(answer) == (500, "evidence_unreadable"), words
        problem = answer.json()
        assert f"{DIGEST} {words}" in problem["detail"]
        assert "add the same file to the delivery again" in problem["detail"]
        assert problem["retryable"] is False
        assert str(tmp_path) not in answer.text
        (line,) = [it for it in lines if it["event"] == "request failed"]
        assert line["request_id"] == problem["requestId"]
        assert line["detail"] == problem["detail"]
        lines.clear()
    assert looks(shop) == []
    refused = ("view_evidence", str(delivery), "evidence_unreadable")
    assert [row[:3] for row in shop.world.refusals()] == [refused] * len(DAMAGE)

    add(ann, delivery)
    assert look(ann, delivery).content == PNG


def test_a_file_is_its_own_deliverys_and_its_own_tenants(api: Api, shop: Shop) -> None:
    delivery, other = shop.review(), shop.review()
    ann, eve = api.client(Surface.PANEL), api.client(Surface.PANEL, tenant="acme")
    add(ann, delivery)

    for answer in (
        look(eve, delivery),
        look(ann, other),
        look(ann, delivery, hashlib.sha256(b"another").hexdigest()),
        look(ann, delivery, DIGEST.upper()),
        look(ann, delivery, "FOLDER"),
        look(ann, delivery, "..%2fFOLDER"),
    ):
        assert refusal(answer) == (404, "not_found")
    del ann.headers["X-Operator-Reason"]
    assert refusal(look(ann, delivery)) == (422, "reason_required")
    assert looks(shop) == []


def test_a_process_that_changes_nothing_shows_no_file(
    database: TestDatabase, api: Api, shop: Shop, tmp_path: Path
) -> None:
    delivery, ann = shop.review(), api.client(Surface.PANEL)
    add(ann, delivery)

    with api_over(database, tmp_path, Settings(read_only=True)) as reading:
        there = f"{reading.address}{Surface.PANEL}/deliveries/dlv_{delivery}/evidence"
        answer = httpx.get(f"{there}/{DIGEST}", headers=ann.headers)

    assert refusal(answer) == (503, "jobs_unavailable")
    assert looks(shop) == []
