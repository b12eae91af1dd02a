"""Our own system through every outage, so shortly that the figures say nothing."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.outages.account import fate
from bench.outages.measures import Outage, counted
from bench.outages.run import run
from bench.outages.scenarios import SCENARIOS
from bench.outages.server import Server, serve
from bench.outages.settings import LEASE_SECONDS, Spans
from bench.outages.subjects import COUNTERFOIL, PG_BOSS, SUBJECTS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TINY = Spans(
    before=0.5,
    after_restart=1.5,
    after_kill=1.5,
    idle=0.5,
    after_idle=0.5,
    patience=30.0,
)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="counterfoil-test-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        with serve(folder) as own:
            yield own


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_committed_job_ends_whatever_happens(
    server: Server, scenario: str
) -> None:
    done = run(server, COUNTERFOIL, SCENARIOS[scenario], TINY)

    what = fate(done.journal)
    assert (what.lost, what.open, what.forgotten_commits) == (0, 0, 0)
    assert what.never_committed == 0
    assert done.died == 0
    assert counted(done)["before"] > 0
    if scenario == "restart":
        assert counted(done)["caught_up"] >= 0
        assert counted(done)["away"] > 0
    if scenario == "kill":
        assert done.killed is not None
        assert counted(done)["held_up"] >= counted(done)["in_flight"]
    else:
        assert what.begun_twice == 0


def test_a_measure_tells_of_its_subjects_once_and_draws_them(server: Server) -> None:
    measure = Outage("idle snapshot", [COUNTERFOIL], server, TINY)

    first, second = measure.round(0), measure.round(1)

    figures = {line.title: line.of({measure.name: first}) for line in measure.lines}
    assert figures["Counterfoil: lost: committed, never ended, forgotten"] == 0
    assert figures["Counterfoil: before"] > 0
    assert second == {}
    assert [at for at, _ in measure.series()["Counterfoil"]] == [0.0]


def test_every_subject_says_how_it_was_set() -> None:
    assert all(subject.settings for subject in SUBJECTS)
    assert len({subject.title for subject in SUBJECTS}) == len(SUBJECTS)


def test_an_expiry_written_into_a_statement_is_the_lease_of_the_others() -> None:
    assert f"interval '{LEASE_SECONDS} seconds'" in PG_BOSS.enqueue
