"""F21: maintenance toggled at random, over real operations: budgets stay exact."""

import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from application.operators.instruction import instruct
from application.operators.maintenance import Planned
from domain.maintenance.gates import SCOPES
from infrastructure.client import Client
from infrastructure.processor.running import run
from tests.fixtures.database import TestDatabase
from tests.performance.shop import fulfil, maintenance_of, order, processor
from tests.processor.rig import Rig

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]

ORDERS = 4
BY = instruct("olga", "toggled")

PARKED = """
SELECT count(*) FILTER (WHERE type = 'job.parked'),
       count(*) FILTER (WHERE type = 'job.unparked'),
       count(*) FILTER (WHERE type = 'fulfillment.parked'),
       count(*) FILTER (WHERE type IN ('job.attempt_failed', 'job.discarded'))
  FROM counterfoil.events
"""
ATTEMPTS = """
SELECT o.attempts, o.state,
       (SELECT count(*) FROM counterfoil.events e
         WHERE e.stream_id = o.stream_id AND e.type = 'fulfillment.attempt_started')
  FROM counterfoil.operations o
"""


class Toggled:
    """Operators who cannot decide, and a worker beside them, step by step."""

    def __init__(self, parts: Rig, dice: random.Random) -> None:
        self.parts = parts
        self._dice = dice
        self._maintenance = maintenance_of(parts)
        self.settled = 0
        self.toggles = 0
        self.steps = (
            self.open,
            self.close,
            self.settle,
            self.work,
            self.parts.unparker.round,
            self.wait,
        )

    def open(self) -> None:
        planned = Planned(
            notice_ru="Идут работы",
            notice_en="We are at work",
            scope=self._dice.choice(SCOPES),
        )
        self.toggles += len(self._maintenance.open(planned, BY).events)

    def close(self) -> None:
        scope = self._dice.choice(SCOPES)
        self.toggles += len(self._maintenance.close(scope, BY).events)

    def settle(self) -> None:
        if self.settled < ORDERS:
            Client(self.parts.connection).settle_order(order(self.settled))
            self.settled += 1

    def work(self) -> None:
        for held in self.parts.claim(1, queue="critical"):
            self.parts.settle(held, run(held, self.parts.leases))

    def wait(self) -> None:
        self.parts.database.advance(timedelta(seconds=self._dice.choice((1, 90))))

    def end(self) -> None:
        """Close every window, and let everything be done."""
        for scope in SCOPES:
            self._maintenance.close(scope, BY)
        while self.settled < ORDERS:
            self.settle()
        fulfil(self.parts)
        while self.parts.unparker.round():
            self.parts.database.advance(timedelta(seconds=90))
            fulfil(self.parts)
        self.parts.database.advance(timedelta(seconds=90))
        fulfil(self.parts)


def ask(parts: Rig, statement: str) -> list[tuple[Any, ...]]:
    return parts.connection.execute(statement.encode()).fetchall()


@pytest.mark.parametrize(
    ("seed", "toggles"),
    [(1, 20), pytest.param(2, 5_000, marks=pytest.mark.campaign)],
)
def test_f21_however_often_it_is_toggled_each_operation_has_one_attempt(
    database: TestDatabase, tmp_path: Path, seed: int, toggles: int
) -> None:
    dice = random.Random(seed)  # noqa: S311 - the same steps each time
    with processor(database, tmp_path) as parts:
        toggled = Toggled(parts, dice)
        while toggled.toggles < toggles:
            dice.choice(toggled.steps)()
        toggled.end()

        assert ask(parts, ATTEMPTS) == [(1, "succeeded", 1)] * ORDERS
        ((parked, unparked, told, failed),) = ask(parts, PARKED)
        assert parked == unparked == told
        assert failed == 0
        assert ask(parts, "SELECT count(*) FROM counterfoil.jobs") == [(0,)]
        assert ask(parts, "SELECT count(*) FROM counterfoil.jobs_dead") == [(0,)]
