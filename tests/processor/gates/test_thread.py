"""Rescue and unparking share a thread, and nothing else."""

from typing import NoReturn

import pytest

from domain.jobs.outcome import Gated
from infrastructure.errors import DatabaseUnavailableError
from infrastructure.processor.gates.unparking import Unparker
from infrastructure.processor.rescue import Rescuer
from tests.fixtures.workers import enqueue, history, is_over, until, worker_here
from tests.processor.rig import NOOP, Rig

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]


def fails(_self: object) -> NoReturn:
    raise LookupError


def finds_no_database(_self: object) -> NoReturn:
    what = "gone"
    raise DatabaseUnavailableError(what)


def test_a_worker_unparks_by_itself_also_when_its_rescue_fails(
    parts: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = enqueue(parts.connection, "noop")
    (held,) = parts.claim()
    parts.settle(held, Gated(gate="panel", cause="maintenance_active"))
    monkeypatch.setattr(Rescuer, "round", fails)

    with worker_here(parts.database, NOOP, rescue_seconds=0.02) as (_, events):
        until(lambda: is_over(parts.connection))
        events.wait_for("rescue failed", error="LookupError")

    assert history(parts.connection, job)[3:] == ["unparked", "claimed", "succeeded"]


@pytest.mark.parametrize(
    ("trouble", "told"),
    [
        (fails, "unparking failed"),
        (finds_no_database, "unparking waits for the database"),
    ],
)
def test_an_unparking_that_fails_is_told_and_tried_again(
    parts: Rig,
    monkeypatch: pytest.MonkeyPatch,
    trouble: object,
    told: str,
) -> None:
    monkeypatch.setattr(Unparker, "round", trouble)

    with worker_here(parts.database, NOOP, rescue_seconds=0.02) as (_, events):
        events.wait_for(told, n=2)
