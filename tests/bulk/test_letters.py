"""Dead letters in bulk: seen to, or dismissed, each by the rules of the single word."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from application.bulk.steer import START
from infrastructure.ids import new_id
from tests.bulk.stage import Stage, person
from tests.fixtures.workers import enqueue
from tests.operators.deliveries.goods import Shop
from tests.operators.world import SERVED, World, bring

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]

SAID = """
SELECT l.type, l.data->>'letter', a.data->>'action', a.data->>'target',
       l.meta->'actor'->>'id', l.meta->>'role', l.meta->>'reason',
       l.meta->'causation'->>'request_id'
  FROM counterfoil.events l
  JOIN counterfoil.events a
    ON a.meta->>'commit_id' = l.meta->>'commit_id'
   AND a.type = 'operator.action_taken'
 WHERE l.type LIKE 'dead_letter.%'
 ORDER BY l.position
"""

STATES = """
SELECT state FROM counterfoil.jobs_dead WHERE stream_id = ANY(%(ids)s)
UNION ALL
SELECT state FROM counterfoil.operations WHERE stream_id = ANY(%(ids)s)
UNION ALL
SELECT state FROM counterfoil.deliveries WHERE stream_id = ANY(%(ids)s)
 ORDER BY 1
"""


@dataclass(frozen=True, slots=True)
class Dead:
    """What a person may see to, and what is none of it."""

    job: UUID
    operation: UUID
    its_job: UUID
    review: UUID
    others: tuple[UUID, ...]
    """A job that waits, and one that never was."""

    @property
    def named(self) -> list[UUID]:
        return [self.job, self.its_job, self.review, *self.others]

    @property
    def letters(self) -> list[UUID]:
        return [self.job, self.operation, self.review]


@pytest.fixture
def dead(stage: Stage, world: World) -> Dead:
    (job,) = stage.dead(1)
    its_job, operation = bring(world, "discarded", SERVED)
    assert operation is not None
    waiting = enqueue(stage.connection, "report", args={"n": 7})
    review = Shop(world).review()
    return Dead(job, operation, its_job, review, (waiting, new_id()))


def ran(stage: Stage, action: str, ids: list[UUID]) -> dict[str, Any]:
    """Return the head of a bulk operation that was started and has finished."""
    bulk = stage.previewed(ids, action=action)
    assert stage.head(bulk)["state"] == "ready"
    stage.steer(START, bulk, person())
    stage.work()
    assert stage.head(bulk)["state"] == "finished"
    return stage.head(bulk)


def results(stage: Stage, head: dict[str, Any]) -> list[str]:
    return [result for _, _, result in stage.items(head["stream_id"])]


def states(stage: Stage, dead: Dead) -> list[str]:
    rows = stage.connection.execute(STATES, {"ids": dead.letters})
    return [state for (state,) in rows]


def test_letters_are_seen_to_and_dismissed_and_stay_as_dead_as_they_were(
    stage: Stage, dead: Dead
) -> None:
    before = states(stage, dead)

    seen = ran(stage, "acknowledge", dead.named)
    gone = ran(stage, "dismiss", dead.named)

    none = {"already_waiting": 1, "not_found": 1}
    assert seen["verdicts"] == {"would_acknowledge": 3, **none}
    assert gone["verdicts"] == {"would_dismiss": 2, "needs_review": 1, **none}
    done, refused = ["done"] * 3, ["job_mutation_rejected", "not_found"]
    assert results(stage, seen) == [*done, *refused]
    assert results(stage, gone) == [*done[:2], "state_conflict", *refused]
    assert states(stage, dead) == before == ["discarded", "failed", "needs_review"]
    stage.follow()
    open_letters = stage.connection.execute(
        """
        SELECT stream_id, acknowledged_by FROM counterfoil.read_dead_letters_a
         WHERE state = 'open'
        """
    ).fetchall()
    assert open_letters == [(dead.review, "olga")]


def test_each_word_is_on_record_with_who_asked_for_all_of_them(
    stage: Stage, dead: Dead
) -> None:
    head = ran(stage, "dismiss", dead.named)

    bulk, reason = head["stream_id"], "the panel is back"
    assert stage.connection.execute(SAID.encode()).fetchall() == [
        (
            *("dead_letter.dismissed", str(letter)),
            *("dead_letter.dismissed", str(letter)),
            *("olga", "administrator", reason, f"bulk:{bulk}:{n}"),
        )
        for n, letter in enumerate((dead.job, dead.operation), 1)
    ]
    refused = [row for row in stage.refused() if row[0] == "dismiss"]
    assert [(target, code) for _, target, code in refused] == [
        (str(dead.review), "state_conflict"),
        (str(dead.others[0]), "job_mutation_rejected"),
        (str(dead.others[1]), "not_found"),
    ]
