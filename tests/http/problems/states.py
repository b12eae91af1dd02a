"""Stories of requests that are refused for what there is, or is not."""

import hashlib
import shutil
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import httpx

from api.http.surface import Surface
from tests.fixtures.workers import enqueue
from tests.http.access.matrix import NOBODY
from tests.http.problems.requests import WORDS
from tests.http.problems.stage import Stage, provokes
from tests.http.world import CALLBACK
from tests.limits.room import limit

NOTE = b"what the provider said"


@provokes("state_conflict")
def what_is_in_no_review_is_decided(stage: Stage) -> httpx.Response:
    return stage.decide(stage.shop.owe(), stage.ann)


@provokes("unique_job_active")
def a_job_is_retried_beside_its_twin(stage: Stage) -> httpx.Response:
    job = stage.world.report(uniqueKey="one")
    stage.world.cancel(job)
    stage.world.report(uniqueKey="one")
    return stage.admin.post(f"/jobs/job_{job}/retry")


@provokes("job_mutation_rejected")
def a_dead_job_is_snoozed(stage: Stage) -> httpx.Response:
    job = stage.world.report()
    stage.world.cancel(job)
    body = {"until": "2098-01-01T00:00:00Z"}
    return stage.admin.post(f"/jobs/job_{job}/snooze", json=body)


@provokes("maintenance_open")
def it_is_closed_in_other_words(stage: Stage) -> httpx.Response:
    stage.ann.put("/overview/maintenance", json=WORDS)
    return stage.bob.put("/overview/maintenance", json=WORDS | {"noticeEn": "Other"})


@provokes("projection_paused")
def somebody_has_paused_the_projection(stage: Stage) -> httpx.Response:
    stage.ann.post("/projections/drifts/pause")
    return stage.bob.post("/projections/drifts/pause")


@provokes("queue_paused")
def somebody_has_paused_the_queue(stage: Stage) -> httpx.Response:
    at = datetime.now(UTC) + timedelta(hours=1)
    body = {"expiresAt": at.strftime("%Y-%m-%dT%H:%M:%SZ")}
    stage.ann.put("/queues/bulk/pause", json=body)
    return stage.bob.put("/queues/bulk/pause", json=body)


@provokes("review_decided")
def somebody_has_decided(stage: Stage) -> httpx.Response:
    delivery = stage.shop.review()
    stage.decide(delivery, stage.ann)
    return stage.decide(delivery, stage.bob, verdict="delivered")


@provokes("sender_not_gone")
def a_sender_may_still_ask(stage: Stage) -> httpx.Response:
    delivery = stage.shop.review(is_sender_gone=False)
    return stage.decide(delivery, stage.ann)


@provokes("purchases_spent")
def a_seventh_purchase_is_asked_for(stage: Stage) -> httpx.Response:
    delivery = stage.shop.review()
    for number in range(1, 6):
        stage.shop.decide(delivery, "buy_again", f"ledger lacks key {number}")
        stage.shop.send_to_review(delivery)
    return stage.decide(delivery, stage.ann, verdict="buy_again")


@provokes("self_approval")
def a_person_agrees_with_themselves(stage: Stage) -> httpx.Response:
    delivery = stage.shop.review()
    stage.decide(delivery, stage.ann, verdict="buy_again")
    evidence = "my own word once more"
    return stage.decide(delivery, stage.ann, verdict="buy_again", evidence=evidence)


@provokes("lookup_unsupported")
def a_blind_provider_is_asked(stage: Stage) -> httpx.Response:
    delivery = stage.shop.review(provider="blind")
    return stage.admin.post(f"/deliveries/dlv_{delivery}/reconcile")


@provokes("provider_unconfigured")
def nobody_has_configured_the_provider(stage: Stage) -> httpx.Response:
    delivery = stage.shop.review(provider="moon")
    return stage.admin.post(f"/deliveries/dlv_{delivery}/reconcile")


@provokes("precondition_failed")
def a_review_was_read_before_it_changed(stage: Stage) -> httpx.Response:
    delivery = stage.shop.review()
    return stage.decide(delivery, stage.ann, match=f'"dlv_{delivery}:1"')


@provokes("precondition_required")
def nobody_says_what_was_read(stage: Stage) -> httpx.Response:
    return stage.decide(stage.shop.review(), stage.ann, match=None)


@provokes("not_pausable")
def what_does_not_rest_is_resumed(stage: Stage) -> httpx.Response:
    return stage.ann.post(f"/entitlements/ent_{stage.entitlement}/resume")


@provokes("fulfillment_operation_rejected")
def access_is_extended_into_the_past(stage: Stage) -> httpx.Response:
    body = {"operation": "extend", "endsAt": "2020-01-01T00:00:00Z"}
    path = f"/entitlements/ent_{stage.entitlement}/operations"
    return stage.admin.post(path, json=body, headers=stage.under())


@provokes("order_busy")
def somebody_holds_the_order(stage: Stage) -> httpx.Response:
    return stage.busy["order_busy"]


@provokes("key_busy")
def somebody_holds_the_unique_key(stage: Stage) -> httpx.Response:
    return stage.busy["key_busy"]


@provokes("idempotency_in_progress")
def the_first_request_still_runs(stage: Stage) -> httpx.Response:
    return stage.busy["idempotency_in_progress"]


@provokes("evidence_unreadable")
def a_file_of_evidence_is_gone(stage: Stage) -> httpx.Response:
    path = f"/deliveries/dlv_{stage.shop.review()}/evidence"
    headers = {"Content-Type": "text/plain"}
    assert stage.ann.post(path, content=NOTE, headers=headers).status_code == 201
    digest = hashlib.sha256(NOTE).hexdigest()
    (stage.folder / "evidence" / digest).unlink()
    return stage.ann.get(f"{path}/{digest}")


@provokes("evidence_unwritable")
def no_file_can_be_kept(stage: Stage) -> httpx.Response:
    folder = stage.folder / "evidence"
    shutil.rmtree(folder, ignore_errors=True)
    folder.write_text("in the way")
    path = f"/deliveries/dlv_{stage.shop.review()}/evidence"
    headers = {"Content-Type": "text/plain"}
    return stage.ann.post(path, content=NOTE, headers=headers)


@provokes("tenant_pending_limit")
def the_tenant_has_no_room(stage: Stage) -> httpx.Response:
    return without_room(stage, tenant=1)


@provokes("total_pending_limit")
def nobody_has_room(stage: Stage) -> httpx.Response:
    return without_room(stage, in_all=1)


def without_room(stage: Stage, **room: int) -> httpx.Response:
    enqueue(stage.connection, "noop")
    limit(stage.connection, **room)
    stage.connection.execute("SELECT counterfoil.refresh_pending()")
    try:
        return stage.seller.post("/jobs", json={"kind": "mail"})
    finally:
        limit(stage.connection)


@provokes("quota_exceeded")
def somebody_asks_too_often(stage: Stage) -> httpx.Response:
    client = stage.idle.client(Surface.SHOPS, name=f"fast-{uuid4()}"[:20])
    answers = [client.get("/openapi.json") for _ in range(3)]
    return answers[-1]


@provokes("jobs_unavailable")
def a_process_changes_nothing(stage: Stage) -> httpx.Response:
    return stage.idle.client(Surface.ADMIN, name="idle").post(f"/jobs/{NOBODY}/retry")


@provokes("internal")
def something_breaks_that_nobody_thought_of(stage: Stage) -> httpx.Response:
    return stage.odd.client(Surface.ADMIN, name="odd").get("/jobs?f=&cursor=AAAA")


@provokes("too_many_streams")
def too_many_follow(stage: Stage) -> httpx.Response:
    return stage.odd.client(Surface.ADMIN, name="odd").get("/stream")


@provokes("no_key")
def a_process_without_keys_replays(stage: Stage) -> httpx.Response:
    ((callback,),) = stage.connection.execute(CALLBACK).fetchall()
    path = f"/system/webhooks/cbk_{callback}/replay"
    return stage.odd.client(Surface.ADMIN, name="odd").post(path)


@provokes("dependency_unavailable")
def a_process_has_not_started(stage: Stage) -> httpx.Response:
    return httpx.get(f"{stage.api.address}/v1/ready")


@provokes("projection_behind")
def a_list_does_not_show_that_yet(stage: Stage) -> httpx.Response:
    enqueue(stage.connection, "noop")
    return stage.seller.get("/jobs?atPosition=1")
