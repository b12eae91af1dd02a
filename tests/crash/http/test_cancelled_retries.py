"""S20: cancelled, and retried while the handler still runs: never are there two."""

import pytest

from tests.crash.http.conftest import SURFACES, Desk, said
from tests.fixtures.workers import Gate, is_over, until

pytestmark = [pytest.mark.crash, pytest.mark.usefixtures("heads_equal_folds")]

REFUSED = (422, "job_mutation_rejected")


def test_s20_a_retry_while_the_handler_still_runs_never_yields_two(
    desk: Desk, gate: Gate
) -> None:
    """Its deadline has ended the run, and nothing can end a thread."""
    first = desk.worker(deadline_seconds=1, heartbeat_seconds=0.5)
    job = desk.enqueue()
    call = gate.wait_call(job=job)
    desk.cancel(job)
    assert said(desk.retry(job)) == REFUSED
    until(lambda: desk.ends(job) == ["cancelled"])
    # Another process, with nothing else to do.
    desk.worker(deadline_seconds=600)

    for surface in SURFACES:
        answer = desk.retry(job, surface)
        assert said(answer) == REFUSED
        assert answer.json()["state"] == "lingering"
        assert "stop that worker" in answer.json()["detail"]
    assert desk.witnesses.story(job) == ["enters", "hears"]
    call.answer("complete")
    first.events.wait_for("slot free again", job=str(job))
    until(lambda: desk.retry(job).status_code == 202)
    gate.wait_call(job=job).answer("complete")
    until(lambda: is_over(desk.connection))

    assert desk.witnesses.most_at_once(job) == 1
    assert desk.ends(job) == ["cancelled", "succeeded"]


def test_s20_whoever_is_killed_runs_no_handler_any_more(desk: Desk, gate: Gate) -> None:
    """What it had said is nothing to wait for: a lease later it is taken for gone."""
    first = desk.worker(deadline_seconds=1)
    job = desk.enqueue()
    gate.wait_call(job=job)
    desk.cancel(job)
    until(lambda: desk.ends(job) == ["cancelled"])
    assert said(desk.retry(job)) == REFUSED
    first.kill()
    desk.connection.execute(
        "UPDATE counterfoil.test_clock SET ahead = ahead + interval '61 seconds'"
    )

    assert desk.retry(job).status_code == 202
    desk.worker()
    gate.wait_call(job=job).answer("complete")
    until(lambda: is_over(desk.connection))

    assert desk.ends(job) == ["cancelled", "succeeded"]
