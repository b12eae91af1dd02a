"""Our own queue through the contract that every peer is driven by."""

from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from bench.child import BenchError
from bench.peers.__main__ import Run
from bench.peers.field import count
from bench.peers.processes import WorkerProcess, call, wait_until_handled
from bench.peers.systems import COUNTERFOIL
from bench.sizes import Sizes
from infrastructure.postgres.database import connect
from tests.fixtures.database import TestDatabase

TINY = Sizes(
    rounds=2,
    drained_jobs=40,
    singles=3,
    bulks=1,
    bulk_jobs=20,
    pickups=3,
    idle_workers=1,
    idle_pickups=1,
    orders=3,
)


def test_what_is_enqueued_by_every_word_is_handled_and_ends(
    database: TestDatabase, tmp_path: Path
) -> None:
    database.connect().execute(
        "CREATE SCHEMA shop; CREATE TABLE shop.payments"
        " (id uuid, customer_id text, amount_minor bigint)"
    )
    connection = connect(database.conninfo)

    made = [
        call(COUNTERFOIL, database.conninfo, tmp_path, *words)["jobs"]
        for words in (
            ("single", "2"),
            ("bulk", "7", "3"),
            ("transaction", "1"),
            ("pickup", "2", "0.001"),
        )
    ]

    assert made == [22, 7, 21, 2]
    assert count(connection, COUNTERFOIL.made, sum(made)) == sum(made)
    with WorkerProcess(COUNTERFOIL, database.conninfo, tmp_path, "pickup") as worker:
        worker.go()
        wait_until_handled([worker], sum(made), patience_seconds=60)
        worker.stop()
    assert count(connection, COUNTERFOIL.ended, sum(made)) == sum(made)
    assert sorted(worker.began) == list(range(22))
    connection.close()


def test_a_worker_that_cannot_start_is_told_with_its_last_words(tmp_path: Path) -> None:
    worker = WorkerProcess(COUNTERFOIL, f"host={tmp_path} dbname=none", tmp_path)

    with (
        pytest.raises(
            BenchError, match=r"(?s)counterfoil did not start.*not available"
        ),
        worker,
    ):
        pass


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_run_measures_ours_and_tells_of_a_peer_that_is_not_there(
    tmp_path: Path,
) -> None:
    missing = replace(COUNTERFOIL, name="missing", needs=tmp_path / "nowhere")
    run = Run(
        sizes=TINY,
        families=["peers"],
        systems=[COUNTERFOIL, missing],
        out=tmp_path / "out",
        console=Console(record=True, width=120),
    )

    report = run.measure(tmp_path)

    assert [it.system for it in report.failures] == ["missing"]
    assert len(report.rounds) == TINY.rounds
    titles = {it.title for it in report.figures if it.value > 0}
    assert {
        "counterfoil",
        "counterfoil / the faster SQL floor",
        "counterfoil / SQL floor, one statement for a batch",
        "counterfoil.enqueue / the same rows by plain SQL",
        "counterfoil, p99",
        "counterfoil without LISTEN, p99",
    } <= titles
    assert (
        "missing is NOT INSTALLED" in next((tmp_path / "out").glob("*.md")).read_text()
    )
