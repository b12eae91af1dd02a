"""The lane of suspects: a few at once, each into a slot of its queue."""

from datetime import timedelta

import pytest

from domain.jobs.outcome import Completed
from infrastructure.processor.claimed import ClaimedJob
from infrastructure.processor.leases import Held
from infrastructure.processor.slots import Slots
from infrastructure.processor.suspects import lane
from infrastructure.processor.suspects.lane import SuspectLane
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import enqueue
from tests.processor.rig import Rig
from tests.processor.test_slots import held as plain


@pytest.fixture(autouse=True)
def _old_server(database: TestDatabase) -> None:
    database.advance(timedelta(hours=1))


class Taking:
    """What the claim loop does with suspects."""

    def __init__(self, parts: Rig, slots: Slots, most: int) -> None:
        self.parts = parts
        self.slots = slots
        self.lane = SuspectLane(parts.claimer, slots, parts.kinds, most)
        self.held: list[Held] = []

    def __call__(self, jobs: list[ClaimedJob]) -> list[Held]:
        pairs = [(job, self.parts.kinds[job.kind]) for job in jobs]
        held = self.parts.leases.take(pairs, self.parts.leases.now(), alone=True)
        self.slots.put(held)
        self.held += held
        return held

    def claim(self) -> int:
        return self.lane.claim(self.parts.connection, self)


def suspects(parts: Rig, n: int) -> None:
    for _ in range(n):
        enqueue(parts.connection, "noop")
    parts.claim()
    assert parts.die() == n


def test_suspects_are_claimed_up_to_the_most_and_go_on_when_one_ends(
    parts: Rig,
) -> None:
    suspects(parts, 4)
    taking = Taking(parts, Slots({"default": 8}, None), most=2)
    assert [taking.claim() for _ in range(4)] == [1, 1, 0, 0]

    parts.settle(taking.held[0], Completed())
    taking.held[0].end()

    assert [taking.claim() for _ in range(2)] == [1, 0]
    assert len(taking.held) == 3


def test_a_process_without_suspects_looks_now_and_then(
    parts: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane, "LOOK_SECONDS", 3600.0)
    taking = Taking(parts, Slots({"default": 8}, None), most=2)
    assert taking.claim() == 0
    suspects(parts, 1)

    assert taking.claim() == 0
    monkeypatch.setattr(lane, "LOOK_SECONDS", 0.0)
    assert taking.claim() == 1


def test_i13_a_suspect_that_finds_no_slot_is_given_the_next(parts: Rig) -> None:
    """Though the buffer is full of others."""
    suspects(parts, 1)
    slots = Slots({"default": 1}, None)
    slots.put([plain(queue="default") for _ in range(2)])
    running = slots.take("default")
    assert running is not None
    taking = Taking(parts, slots, most=1)
    assert taking.claim() == 0
    assert taking.lane.in_vain == {"default"}

    slots.give_back("default", running)

    assert taking.claim() == 1
    assert taking.lane.in_vain == set()
    assert slots.take("default") is taking.held[0]


def test_a_slot_that_was_kept_in_vain_is_let_go(parts: Rig) -> None:
    suspects(parts, 1)
    slots = Slots({"default": 1}, None)
    slots.put([plain(queue="default")])
    running = slots.take("default")
    assert running is not None
    taking = Taking(parts, slots, most=1)
    assert taking.claim() == 0

    (elsewhere,) = parts.claim_suspect()

    assert taking.claim() == 0
    assert taking.lane.in_vain == set()
    slots.give_back("default", running)
    assert slots.free() == ["default"]
    parts.settle(elsewhere, Completed())
