"""I14: the postmaster is killed right after a 202, and what was accepted is there."""

import signal
from contextlib import closing
from pathlib import Path

import pytest

from infrastructure.postgres.database import connect
from tests.crash.intake.process import api_process, shop, token
from tests.crash.test_database_restart import OwnServer
from tests.fixtures.workers import until

pytestmark = [pytest.mark.crash, pytest.mark.timeout(150)]

ORDER = {
    "orderId": "A-1",
    "customerId": "anna",
    "kind": "purchase",
    "currency": "USD",
    "amountMinor": 1299,
    "lines": [{"line": 1, "type": "access", "days": 30}],
}


def test_what_was_accepted_is_there_after_the_database_was_killed(
    own_server: OwnServer, tmp_path: Path
) -> None:
    secret = token(own_server.uri)
    with (
        api_process(own_server.uri, tmp_path) as process,
        shop(process, secret) as asking,
    ):
        settled = asking.post(
            "/v1/orders/settle", json=ORDER, headers={"Idempotency-Key": "settle-00001"}
        )
        accepted = asking.post("/v1/jobs", json={"kind": "mail"})
        own_server.restart(signal.SIGKILL)

        # The same process, whose connections are all gone.
        again = until(
            lambda: (
                (it := asking.post("/v1/jobs", json={"kind": "mail"})).status_code
                != 503
                and it
            )
        )
        order = asking.get("/v1/orders/A-1")

    assert (settled.status_code, accepted.status_code) == (202, 202)
    assert again.status_code == 202
    assert again.json() == accepted.json()
    assert again.headers["idempotency-replayed"] == "true"
    assert order.json()["jobId"] == settled.json()["jobId"]
    with closing(connect(own_server.uri)) as connection:
        rows = connection.execute(
            "SELECT 'job_' || stream_id FROM counterfoil.jobs"
        ).fetchall()
    assert {row[0] for row in rows} == {
        accepted.json()["id"],
        settled.json()["jobId"],
    }
