"""`GET /v1/ready`, and what is never on the public address."""

import httpx
import pytest

from infrastructure.listening.check import Check, Flaw
from tests.fixtures.http import Api

pytestmark = pytest.mark.database


def test_what_was_not_checked_is_not_ready(api: Api) -> None:
    answer = httpx.get(f"{api.address}/v1/ready")

    assert answer.status_code == 503
    assert answer.json()["code"] == "dependency_unavailable"
    assert "start: starting" in answer.json()["detail"]
    assert answer.headers["Retry-After"] == "2"


def test_ready_is_what_the_internal_listener_says_and_needs_no_credential(
    api: Api,
) -> None:
    flaws: list[Flaw | None] = [None]
    look = Check("database", lambda: flaws[0], fresh_seconds=0.0)
    api.services.internal.probes.watch(pulses=(), ready=[look], started=())

    well = httpx.get(f"{api.address}/v1/ready")
    flaws[0] = Flaw.TIMEOUT
    ill = httpx.get(f"{api.address}/v1/ready")

    assert (well.status_code, well.json()) == (
        200,
        {"status": "ok", "checks": ["database"]},
    )
    assert ill.status_code == 503
    assert "database: timeout" in ill.json()["detail"]


@pytest.mark.parametrize("path", ["metrics", "livez", "readyz", "startupz", "healthz"])
def test_the_internal_paths_are_not_on_the_public_address(api: Api, path: str) -> None:
    assert httpx.get(f"{api.address}/{path}").status_code == 404
    assert httpx.get(f"{api.address}/v1/{path}").status_code in {401, 404}
