"""S20: SIGKILL of the API around the commit of a cancel: one cancel, one record.

the request ─► its key ─► the cancel and its record ─► COMMIT ─► the answer
                                                    ✗          ✗
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.crash.http.conftest import Desk, said
from tests.fixtures.proxy import Plan, Proxy
from tests.fixtures.workers import Gate, is_over, until

pytestmark = [pytest.mark.crash, pytest.mark.usefixtures("heads_equal_folds")]

KEY = "ticket-4711"


@pytest.fixture
def api_conninfo(proxy: Proxy) -> str:
    """Let the API process reach the database through the proxy."""
    return proxy.conninfo


@pytest.mark.parametrize(
    ("hold", "is_done"),
    [(Proxy.hold_before_commit, False), (Proxy.hold_commit_answer, True)],
    ids=["before the commit", "before the answer"],
)
def test_s20_a_cancel_whose_answer_died_with_the_api_is_one(
    hold: Callable[[Proxy, str], Plan],
    desk: Desk,
    gate: Gate,
    proxy: Proxy,
    *,
    is_done: bool,
) -> None:
    desk.worker(heartbeat_seconds=0.5)
    job = desk.enqueue(args={"n": 1})
    gate.wait_call(job=job)
    held = hold(proxy, "counterfoil.keep_key")
    with ThreadPoolExecutor(1) as caller:
        lost = caller.submit(desk.cancel, job, key=KEY)
        held.wait()
        desk.process.kill()
        assert isinstance(lost.exception(), httpx.TransportError)

    desk.ask_elsewhere()
    # The old backend has the key until the server notices that it is alone.
    told: httpx.Response = until(
        lambda: (it := desk.cancel(job, key=KEY)).status_code != 409 and it
    )
    until(lambda: is_over(desk.connection))
    later = desk.cancel(job, key=KEY)

    assert said(told) == (202, [] if is_done else ["job.cancel_requested"])
    assert ("idempotency-replayed" in told.headers) is is_done
    assert (said(later), later.json()["state"]) == ((202, []), "cancelled")
    assert desk.tags(job).count("cancel_requested") == 1
    assert desk.ends(job) == ["cancelled"]
    assert desk.records(job) == 1
