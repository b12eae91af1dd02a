"""SIGKILL of the API around the commit of a retry: one effect, one row of the audit."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import httpx
import pytest

from domain.access.audience import Audience
from infrastructure.postgres.database import Database
from tests.crash.intake.process import ApiProcess, shop
from tests.crash.intake.test_kills import Scene, hold_answer, hold_before, scene
from tests.fixtures.proxy import Plan, Proxy
from tests.fixtures.workers import until
from tests.operators.world import GENERIC, World, bring

__all__ = ["scene"]

pytestmark = [pytest.mark.crash, pytest.mark.timeout(150)]


@pytest.mark.parametrize(
    ("hold", "is_done"),
    [(hold_before, False), (hold_answer, True)],
    ids=["before the commit", "before the answer"],
)
def test_a_retry_whose_answer_died_is_done_once_and_told_once(
    scene: Scene, hold: Callable[[Proxy], Plan], *, is_done: bool
) -> None:
    """S30, I9."""
    with Database(scene.database.conninfo, pool_size=2) as pool:
        job, _ = bring(World(pool, scene.database.connect()), "discarded", GENERIC)
    process, held = scene.start(), hold(scene.proxy)
    with ThreadPoolExecutor(1) as caller:
        lost = caller.submit(retried, scene, process, job)
        held.wait()
        process.kill()
        assert isinstance(lost.exception(), httpx.TransportError)

    other = scene.start()
    told: httpx.Response = until(
        lambda: (it := retried(scene, other, job)).status_code != 409 and it
    )

    assert told.status_code == 202
    assert told.json()["jobId"] == f"job_{job}"
    assert ("idempotency-replayed" in told.headers) is is_done
    rows = scene.database.connect().execute(
        """
        SELECT type FROM counterfoil.events
         WHERE type IN ('job.retried', 'operator.action_refused')
            OR type = 'operator.action_taken' AND data->>'action' = 'job.retried'
         ORDER BY position
        """
    )
    assert [tag for (tag,) in rows] == ["job.retried", "operator.action_taken"]


def retried(scene: Scene, process: ApiProcess, job: UUID) -> httpx.Response:
    with shop(process, scene.secrets[Audience.SHOP]) as asking:
        return asking.post(f"/v1/jobs/job_{job}/retry")
