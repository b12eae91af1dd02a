"""Random SIGKILLs while others write: no event is skipped, and none is seen twice (I7).

Judged by the ledger of all moves, by folds from zero, and by the books.
"""

import random
from dataclasses import dataclass
from functools import partial

import pytest

from tests.crash.projections.conftest import Projecting, Scene
from tests.crash.projections.ledger import n_moves
from tests.fixtures.workers import QUEUES, until, worker_here
from tests.limits.room import limit
from tests.processor.rig import NOOP
from tests.projecting.runner.here import runner_here

pytestmark = [pytest.mark.crash, pytest.mark.usefixtures("heads_equal_folds")]


@dataclass
class Killer:
    """Two that project, of which whoever leads is killed at any moment."""

    scene: Scene
    dice: random.Random

    def bring(self, kills: int) -> None:
        """Let so many be killed, each under way; then let everything end."""
        limit(self.scene.connection)
        with worker_here(self.scene.database, NOOP, queues=QUEUES):
            self.crew = [self.begin(0), self.begin(1)]
            for n in range(kills):
                self.scene.enqueue(self.dice.randrange(20, 60))
                self.scene.pass_their_time()
                enough = n_moves(self.scene.connection) + self.dice.randrange(1, 12)
                until(partial(self.has_moved, enough))
                self.kill_the_leader(n)
            until(self.is_drained)
        for each in self.crew:
            each.kill()
        self.scene.pass_their_time()
        with runner_here(self.scene.database):
            self.scene.assert_all_is_well()

    def begin(self, n: int) -> Projecting:
        return self.scene.start(f"runner {n}", batch=self.dice.choice([3, 10, 40]))

    def has_moved(self, n: int) -> bool:
        """Return whether so many batches have been committed; more is asked for."""
        self.scene.enqueue(1)
        return n_moves(self.scene.connection) >= n

    def kill_the_leader(self, n: int) -> None:
        pids = {pid for pid, _ in self.scene.leaders()}
        victim = next(
            (k for k, each in enumerate(self.crew) if each.pid in pids),
            self.dice.randrange(2),
        )
        self.crew[victim].kill()
        self.crew[victim] = self.begin(n + 2)

    def is_drained(self) -> bool:
        left = self.scene.connection.execute("SELECT 1 FROM counterfoil.jobs LIMIT 1")
        return left.fetchone() is None


def test_a_few_random_kills(scene: Scene) -> None:
    dice = random.Random(5)  # noqa: S311 - repeatable by its seed
    Killer(scene, dice).bring(kills=3)


@pytest.mark.campaign
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(100, 110))
def test_two_hundred_random_kills(seed: int, scene: Scene) -> None:
    dice = random.Random(seed)  # noqa: S311 - repeatable by its seed
    Killer(scene, dice).bring(kills=20)
