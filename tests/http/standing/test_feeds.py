"""The outbox, drifts and projections over HTTP."""

import json
from typing import Any
from uuid import UUID

import pytest

from api.http.surface import Surface
from domain.access.permissions import Permission
from domain.entitlement.drift import KINDS
from tests.fixtures.http import Api
from tests.fixtures.read_models import project
from tests.http.test_skeleton import problem
from tests.operators.world import World

pytestmark = pytest.mark.database


def drift(world: World, customer: str = "ann", kind: str = "expiry") -> UUID:
    """Return the entitlement of a customer, which the panel shows differently."""
    world.operation(customer)
    found = world.streams.entitlement_of("default", customer, 1)
    assert found is not None
    id_ = found[0].id
    data = {"kind": kind, "expected": {"value": 7}, "observed": {"value": None}}
    world.connection.execute(
        """
        INSERT INTO counterfoil.events
               (tenant_id, stream_id, version, type, schema, data, meta)
        SELECT tenant_id, stream_id, max(version) + 1, 'entitlement.drift_detected', 1,
               %(data)s::jsonb, (array_agg(meta))[1]
          FROM counterfoil.events
         WHERE stream_id = %(id)s
         GROUP BY tenant_id, stream_id
        """,
        {"id": id_, "data": json.dumps(data)},
    )
    project(world.database)
    return id_


def test_the_outbox_tells_its_size_and_age_and_nothing_else(
    api: Api, world: World
) -> None:
    ops = api.client()
    assert ops.get("/outbox").json() == {"pendingCount": 0, "oldestAgeSeconds": 0.0}

    drift(world)

    told = ops.get("/outbox").json()
    assert set(told) == {"pendingCount", "oldestAgeSeconds"}
    assert told["pendingCount"] > 0
    assert api.client(tenant="shop").get("/outbox").json()["pendingCount"] == 0


def test_the_panel_lists_messages_by_topic_and_age(api: Api, world: World) -> None:
    drift(world)
    ann = api.client(Surface.PANEL)

    (first,) = ann.get("/system/outbox?pageSize=1").json()["items"]

    assert set(first) == {"id", "topic", "occurredAt", "ageSeconds"}
    assert first["topic"] == "order.paid"
    assert first["id"].startswith("out_")
    stranger = api.client(Surface.PANEL, tenant="shop")
    assert stranger.get("/system/outbox").json() == {"items": []}
    assert problem(ann.get("/system/outbox?pageSize=201"))["status"] == 400


@pytest.mark.parametrize(
    ("surface", "path"),
    [(Surface.ADMIN, "/fulfillment/drifts"), (Surface.PANEL, "/system/drift")],
)
def test_drifts_are_listed_with_both_sides(
    surface: Surface, path: str, api: Api, world: World
) -> None:
    entitlement = drift(world)

    (told,) = api.client(surface).get(path).json()["items"]

    assert told["id"] == f"drf_{entitlement}.expiry"
    assert told["entitlementId"] == f"ent_{entitlement}"
    assert (told["customerId"], told["kind"]) == ("ann", "expiry")
    assert (told["status"], told["repairedAt"]) == ("open", None)
    assert told["expected"] == {"value": 7}
    assert told["observed"] == {"value": None}
    assert api.client(surface, tenant="shop").get(path).json() == {"items": []}


def test_repaired_drifts_are_listed_apart(api: Api, world: World) -> None:
    drift(world)
    ann = api.client(Surface.PANEL)

    assert ann.get("/system/drift?status=repaired").json() == {"items": []}
    assert problem(ann.get("/system/drift?status=gone"))["status"] == 400


def test_more_drifts_than_a_page_are_listed_at_once(api: Api, world: World) -> None:
    for kind in KINDS:
        drift(world, customer=kind, kind=kind)

    few = api.client().get("/fulfillment/drifts?limit=2").json()["items"]

    assert [each["kind"] for each in few] == [KINDS[-1], KINDS[-2]]


def test_a_drift_is_reconciled_once_per_quarter_of_an_hour(
    api: Api, world: World
) -> None:
    entitlement = drift(world)
    ops = api.client(permissions=frozenset({Permission.DRIFT_WRITE}))
    path = f"/drifts/drf_{entitlement}.expiry/reconcile"

    first, again = ops.post(path), ops.post(path)

    assert (first.status_code, again.status_code) == (202, 202)
    told = first.json()
    assert (told["operation"], told["status"]) == ("reconcile", "pending")
    assert told["entitlementId"] == f"ent_{entitlement}"
    if not told["replayed"]:  # the quarter may have turned
        assert again.json()["operationId"] == told["operationId"]


def test_what_has_not_drifted_anywhere_is_not_found(api: Api, world: World) -> None:
    entitlement = drift(world)
    ops = api.client()

    for named in (
        f"drf_{entitlement}.mood",
        f"{entitlement}",
        f"ent_{entitlement}.expiry",
    ):
        assert problem(ops.post(f"/drifts/{named}/reconcile"))["code"] == "not_found"
    stranger = api.client(tenant="shop")
    told = stranger.post(f"/drifts/drf_{entitlement}.expiry/reconcile")
    assert problem(told)["code"] == "not_found"


@pytest.mark.parametrize("surface", [Surface.ADMIN, Surface.PANEL])
def test_a_projection_is_shown_paused_and_resumed(
    surface: Surface, api: Api, world: World
) -> None:
    drift(world)
    ann = api.client(surface)
    names = [each["name"] for each in ann.get("/projections").json()["items"]]
    assert "jobs" in names

    paused = ann.post("/projections/jobs/pause")

    assert paused.json()["events"] == ["projection.paused"]
    told: Any = ann.get("/projections/jobs").json()
    assert (told["state"], told["pause"]["reason"]) == ("paused", "the customer asked")
    other = api.client(surface, name="bob").post("/projections/jobs/pause")
    assert problem(other)["code"] == "projection_paused"
    resumed = ann.post("/projections/jobs/resume").json()
    assert (resumed["events"], resumed["pause"]) == (["projection.resumed"], None)
    assert problem(ann.get("/projections/jbos"))["code"] == "not_found"
    assert problem(ann.post("/projections/jbos/pause"))["code"] == "not_found"


def test_projections_are_the_whole_installations(api: Api) -> None:
    stranger = api.client(tenant="shop")

    assert stranger.get("/projections").status_code == 404
    assert stranger.get("/projections/jobs").status_code == 404
