"""The audit, and callbacks of providers, as operators see them."""

import httpx
import pytest

from api.http.surface import Surface
from infrastructure.ids import new_id
from infrastructure.postgres.database import Database
from tests.fixtures.read_models import project
from tests.http.records.conftest import Day

pytestmark = pytest.mark.database

ADD = """
INSERT INTO counterfoil.provider_callbacks
       (id, tenant_id, provider, event_id, state, code, body_sha256, body_bytes, body,
        body_key)
SELECT id, tenant, 'stars', nullif(event, ''), state, nullif(code, ''),
       sha256('x'), 1, CASE WHEN state = 'ignored' THEN 'sealed'::bytea END,
       CASE WHEN state = 'ignored' THEN 'k1' END
  FROM unnest(%s::uuid[], %s::text[], %s::text[], %s::text[], %s::text[])
       r(id, tenant, event, state, code)
"""


def test_who_did_what_is_told_with_before_and_after(day: Day) -> None:
    panel = day.api.client(Surface.PANEL)
    assert panel.post(f"/jobs/{day.dead}/retry").status_code == 202
    assert panel.post(f"/jobs/{day.succeeded}/retry").status_code == 409
    with Database(day.api.services.place.uri, pool_size=1) as pool:
        project(pool)

    done, refused = (
        panel.get(f"/audit?f=outcome:{outcome} actor:ann action:{action}").json()
        for outcome, action in (("accepted", "job.retried"), ("refused", "retry"))
    )

    (row,) = done["items"]
    assert row["target"] == str(day.dead)
    assert row["reason"] == "the customer asked"
    assert row["before"] != row["after"]
    assert row["role"] == "owner"
    (no,) = refused["items"]
    assert (no["code"], no["target"]) == ("state_conflict", str(day.succeeded))
    assert panel.get(f"/audit/{row['id']}").json() == row
    others = day.api.client(Surface.PANEL, name="zoe", tenant="other")
    assert others.get(f"/audit/{row['id']}").status_code == 404
    for key in ("x", "0", "99999999999999999999", "²"):
        assert panel.get(f"/audit/{key}").status_code == 404
    seen = {it["id"] for it in others.get("/audit").json()["items"]}
    assert row["id"] not in seen
    assert day.api.client().get("/audit").status_code == 404


def test_callbacks_are_listed_by_tenant_and_status(day: Day) -> None:
    ours, theirs = sorted(new_id() for _ in range(3)), [new_id()]
    with day.pool.connection() as connection:
        connection.execute(
            ADD,
            (
                [*ours, *theirs],
                ["default"] * 3 + ["other"],
                ["e1", "", "e3", "e1"],
                ["ignored", "rejected", "ignored", "ignored"],
                ["unknown_kind", "signature_invalid", "unknown_kind", "unknown_kind"],
            ),
        )
    admin, panel = day.api.client(), day.api.client(Surface.PANEL)

    def ids(answer: httpx.Response) -> list[str]:
        assert answer.status_code == 200, answer.text
        return [it["id"] for it in answer.json()["items"]]

    newest = [f"cbk_{id_}" for id_ in ours[::-1]]
    assert ids(admin.get("/webhooks")) == newest
    assert ids(panel.get("/system/webhooks?status=ignored")) == newest[::2]
    first = admin.get("/webhooks?limit=2").json()
    rest = {"limit": 2, "cursor": first["nextCursor"]}
    assert ids(admin.get("/webhooks", params=rest)) == newest[2:]
    assert (
        admin.get("/webhooks", params=rest | {"status": "ignored"}).status_code == 400
    )
    rejected = admin.get("/webhooks?status=rejected").json()["items"][0]
    assert rejected["signatureValid"] is False
    assert rejected["errorCode"] == "signature_invalid"
    others = day.api.client(tenant="other")
    assert ids(others.get("/webhooks")) == [f"cbk_{theirs[0]}"]
    assert ids(admin.get("/webhooks?provider=moon")) == []
    assert admin.get("/webhooks?status=lost").status_code == 400
