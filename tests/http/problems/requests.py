"""Stories of requests that are refused for what they are."""

import httpx

from api.http.protocol import Patience
from api.http.surface import Surface
from domain.access.permissions import Permission
from domain.access.roles import Role
from infrastructure.ids import new_id
from tests.http.access.matrix import NOBODY
from tests.http.problems.stage import Stage, provokes

WORDS = {"active": True, "noticeRu": "Идут работы", "noticeEn": "Maintenance"}


@provokes("invalid_request")
def a_limit_is_none(stage: Stage) -> httpx.Response:
    return stage.admin.get("/jobs?limit=0")


@provokes("unknown_field")
def a_parameter_is_not_known(stage: Stage) -> httpx.Response:
    return stage.admin.get("/jobs?offset=10")


@provokes("missing_idempotency_key")
def a_program_gives_no_key(stage: Stage) -> httpx.Response:
    body = {"operation": "disable"}
    return stage.admin.post(f"/entitlements/{NOBODY}/operations", json=body)


@provokes("not_acceptable")
def a_browser_wants_a_page(stage: Stage) -> httpx.Response:
    return stage.admin.get("/jobs", headers={"Accept": "text/html"})


@provokes("request_timeout")
def a_request_breaks_off(stage: Stage) -> httpx.Response:
    return stage.told(b"GET /v1/ready HTTP/1.1\r\nHos", Patience(head_seconds=0.1))


@provokes("head_too_large")
def a_cookie_is_endless(stage: Stage) -> httpx.Response:
    return stage.told(b"GET /v1/ready HTTP/1.1\r\nCookie: " + 20_000 * b"a")


@provokes("invalid_filter")
def a_list_has_no_such_field(stage: Stage) -> httpx.Response:
    return stage.admin.get("/jobs?f=tenant:other")


@provokes("invalid_cursor")
def a_cursor_is_made_up(stage: Stage) -> httpx.Response:
    return stage.admin.get("/jobs?f=&cursor=AAAA")


@provokes("position_ahead")
def a_position_is_not_there_yet(stage: Stage) -> httpx.Response:
    return stage.admin.get("/jobs?atPosition=99999999")


@provokes("callback_rejected")
def nobody_has_signed_a_callback(stage: Stage) -> httpx.Response:
    return httpx.post(f"{stage.api.address}/v1/hooks/stars", content=b"{}")


@provokes("unauthorized")
def nobody_says_who_asks(stage: Stage) -> httpx.Response:
    return httpx.get(f"{stage.api.address}/v1/jobs")


@provokes("forbidden")
def a_role_does_not_allow_it(stage: Stage) -> httpx.Response:
    vera = stage.api.client(Surface.PANEL, name="vera", role=Role.VIEWER)
    return vera.post(f"/jobs/{NOBODY}/retry")


@provokes("insufficient_scope")
def a_token_does_not_allow_it(stage: Stage) -> httpx.Response:
    reads = frozenset({Permission.JOBS_READ})
    program = stage.api.client(Surface.ADMIN, name="reads", permissions=reads)
    return program.post(f"/jobs/{NOBODY}/retry")


@provokes("not_found")
def there_is_no_such_job(stage: Stage) -> httpx.Response:
    return stage.admin.get(f"/jobs/{NOBODY}")


@provokes("method_not_allowed")
def jobs_are_not_put(stage: Stage) -> httpx.Response:
    return stage.admin.put("/jobs")


@provokes("payload_too_large")
def a_body_has_no_end(stage: Stage) -> httpx.Response:
    return httpx.post(f"{stage.api.address}/v1/hooks/stars", content=b" " * (1 << 21))


@provokes("unsupported_media_type")
def a_body_is_no_json(stage: Stage) -> httpx.Response:
    headers = {"Content-Type": "text/plain"}
    return stage.seller.post("/jobs", content="a job", headers=headers)


@provokes("reason_required")
def a_person_does_not_say_why(stage: Stage) -> httpx.Response:
    headers = {"X-Operator-Reason": ""}
    return stage.ann.post(f"/jobs/{NOBODY}/retry", headers=headers)


@provokes("missing_operator")
def a_program_does_not_say_who_decides(stage: Stage) -> httpx.Response:
    return stage.admin.put("/maintenance", json=WORDS)


@provokes("maintenance_rejected")
def a_window_has_no_words(stage: Stage) -> httpx.Response:
    body = WORDS | {"noticeRu": None, "operatorId": "ann"}
    return stage.admin.put("/maintenance", json=body)


@provokes("unsupported_operation")
def there_is_no_such_operation(stage: Stage) -> httpx.Response:
    path = f"/entitlements/ent_{stage.entitlement}/operations"
    return stage.admin.post(path, json={"operation": "dance"}, headers=stage.under())


@provokes("empty_filter")
def a_bulk_operation_is_about_nothing(stage: Stage) -> httpx.Response:
    return bulk(stage.admin, stage)


@provokes("bulk_limit")
def an_operator_asks_for_too_much(stage: Stage) -> httpx.Response:
    ivan = stage.api.client(Surface.PANEL, name="ivan", role=Role.OPERATOR)
    return bulk(ivan, stage, *(f"job_{new_id()}" for _ in range(101)))


def bulk(client: httpx.Client, stage: Stage, *ids: str) -> httpx.Response:
    body = {"action": "retry", "target": {"ids": ids}}
    return client.post("/bulk-operations", json=body, headers=stage.under())


@provokes("idempotency_key_reused")
def a_key_is_another_requests(stage: Stage) -> httpx.Response:
    key = stage.under()
    stage.seller.post("/jobs", json={"kind": "mail"}, headers=key)
    return stage.seller.post("/jobs", json={"kind": "post"}, headers=key)
