"""SIGKILL at every commit of a bulk operation's job, and SIGSTOP past its lease.

A worker talks through a proxy, which keeps a COMMIT back or the answer to it; then the
worker dies there.  Another one brings the operation to its end.  Judge is plain SQL
over the events: each item was carried out, or refused, exactly once.
"""

import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest

from application.bulk.steer import START
from infrastructure.ids import new_id
from tests.api.command import Command, Started
from tests.bulk.stage import Stage, person
from tests.fixtures.database import TestDatabase
from tests.fixtures.folds import assert_heads_equal_folds
from tests.fixtures.proxy import Proxy
from tests.fixtures.workers import descendants, until, wait_gone

pytestmark = [pytest.mark.crash, pytest.mark.timeout(180)]

PAST_THE_LEASE = timedelta(seconds=75)
JOBS = 4

DEEDS = """
SELECT meta->'causation'->>'request_id', type, count(*)
  FROM counterfoil.events
 WHERE meta->'causation'->>'request_id' LIKE %s
 GROUP BY 1, 2
 ORDER BY 1, 2
"""

WORKS = "SELECT 1 FROM counterfoil.jobs WHERE kind = 'bulk_operation'"

OF_EACH = """
SELECT t.id, count(e.position)
  FROM unnest(%s::uuid[]) AS t (id)
  LEFT JOIN counterfoil.events e
    ON (e.stream_id = t.id OR e.data->>'letter' = t.id::text)
   AND e.type = %s
 GROUP BY t.id
HAVING count(e.position) <> 1
"""

PREVIEW = ("bulk.frozen", "n_previewed", "bulk.previewed")
SAID = {
    "retry": "job.retried",
    "acknowledge": "dead_letter.acknowledged",
    "dismiss": "dead_letter.dismissed",
}
"""What is on record of each thing, by the action."""
RUN = (
    *((action, "bulk:{bulk}:2") for action in SAID),
    ("retry", "bulk:{bulk}:5"),
    ("retry", "bulk.finished"),
)


@pytest.fixture
def counterfoil(database: TestDatabase) -> Iterator[Command]:
    command = Command(COUNTERFOIL_DATABASE_URL=database.url)
    try:
        yield command
    finally:
        command.close()


def killed(counterfoil: Command, proxy: Proxy, words: str, *, committed: bool) -> None:
    """Start a worker, and kill it at the COMMIT of the transaction with these words."""
    hold = proxy.hold_commit_answer if committed else proxy.hold_before_commit
    plan = hold(of=words)
    line = ("worker", "--only", "jobs")
    worker = counterfoil.start(*line, COUNTERFOIL_DATABASE_URL=proxy.conninfo)
    plan.wait(60)
    cells = descendants(worker.process.pid)
    worker.process.kill()
    worker.end()
    wait_gone(cells)
    proxy.close_all()


def finished(stage: Stage, counterfoil: Command) -> None:
    """Let another worker do the rest."""
    stage.database.advance(PAST_THE_LEASE)
    counterfoil.start("worker", "--only", "jobs")
    until(lambda: stage.connection.execute(WORKS).fetchall() == [], 90)


def assert_each_item_had_one_end(
    stage: Stage, bulk: UUID, targets: list[UUID], action: str = "retry"
) -> None:
    said = SAID[action]
    ends: dict[str, list[tuple[str, int]]] = {}
    for request, tag, count in stage.connection.execute(DEEDS, (f"bulk:{bulk}:%",)):
        ends.setdefault(request, []).append((tag, count))
    done = [(said, 1), ("operator.action_taken", 1)]
    assert ends == {
        **{f"bulk:{bulk}:{n}": done for n in range(1, JOBS + 1)},
        f"bulk:{bulk}:{JOBS + 1}": [("operator.action_refused", 1)],
    }
    results = [result for _, _, result in stage.items(bulk)]
    assert results == ["done"] * JOBS + ["not_found"]
    assert stage.connection.execute(OF_EACH, (targets, said)).fetchall() == []
    head = stage.head(bulk)
    assert (head["state"], head["n_done"], head["n_refused"]) == ("finished", JOBS, 1)
    assert stage.tags(bulk).count("bulk.finished") == 1
    assert_heads_equal_folds(stage.connection)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("words", PREVIEW)
def test_a_preview_that_was_killed_is_made_by_another_worker(
    stage: Stage, counterfoil: Command, proxy: Proxy, words: str, when: str
) -> None:
    dead = stage.dead(JOBS)
    stage.follow()
    bulk = stage.ask((), ids=None, filter="state:discarded kind:report")

    killed(counterfoil, proxy, words, committed=when == "after")
    finished(stage, counterfoil)

    assert stage.tags(bulk) == ["bulk.requested", "bulk.frozen", "bulk.previewed"]
    assert stage.head(bulk)["verdicts"] == {"would_retry": JOBS}
    assert [target for target, _, _ in stage.items(bulk)] == dead


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("action", "words"), RUN)
def test_a_worker_that_was_killed_leaves_no_item_half_done_or_done_twice(  # noqa: PLR0913 - fixtures
    stage: Stage, counterfoil: Command, proxy: Proxy, *, action: str, words: str,
    when: str,
) -> None:  # fmt: skip
    dead = stage.dead(JOBS)
    bulk = stage.previewed([*dead, new_id()], action=action)
    stage.steer(START, bulk, person())

    killed(counterfoil, proxy, words.format(bulk=bulk), committed=when == "after")
    finished(stage, counterfoil)

    assert_each_item_had_one_end(stage, bulk, dead, action)


def test_a_worker_that_slept_past_its_lease_carries_out_nothing_more(
    stage: Stage, counterfoil: Command
) -> None:
    """I4."""
    dead = stage.dead(JOBS)
    bulk = stage.previewed([*dead, new_id()], items_per_second=2.0)
    stage.steer(START, bulk, person())
    sleeper = counterfoil.start("worker", "--only", "jobs")
    until(lambda: stage.head(bulk)["n_done"] >= 2, 60)
    _freeze(sleeper)
    begun = stage.head(bulk)["n_done"]
    assert begun < JOBS, "it slept too late to prove anything"

    finished(stage, counterfoil)
    sleeper.send(signal.SIGCONT)
    # It notices, does nothing more, and ends politely.
    assert sleeper.stop().code == 0

    assert_each_item_had_one_end(stage, bulk, dead)


def _freeze(worker: Started) -> None:
    worker.send(signal.SIGSTOP)
    stat = Path(f"/proc/{worker.process.pid}/stat")
    until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")
