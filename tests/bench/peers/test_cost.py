"""What a process has used is read from /proc, whatever it calls itself."""

import os
from pathlib import Path

from bench.peers import cost

TICKS = os.sysconf("SC_CLK_TCK")


def stat(pid: int, name: str, parent: int, own: tuple[int, int], ended: int = 0) -> str:
    return (
        f"{pid} ({name}) S {parent} 1 1 0 -1 0 0 0 0 0 {own[0]} {own[1]} {ended} 0 20"
    )


def given_processes(proc: Path, *stats: str) -> None:
    for line in stats:
        folder = proc / line.split()[0]
        folder.mkdir()
        (folder / "stat").write_text(line)


def test_a_name_with_blanks_and_parentheses_moves_no_field() -> None:
    found = cost.parse(stat(7, "postgres: a) b (c", 3, (2 * TICKS, TICKS), TICKS))

    assert found == cost.Process(parent=3, seconds=3.0, childrens_seconds=1.0)


def test_a_server_is_the_postmaster_its_children_and_those_that_have_ended(
    tmp_path: Path,
) -> None:
    given_processes(
        tmp_path,
        stat(1, "postgres", 0, (TICKS, 0), ended=4 * TICKS),
        stat(2, "postgres: checkpointer", 1, (0, TICKS)),
        stat(3, "somebody else", 9, (100 * TICKS, 0)),
    )

    assert cost.family_seconds(1, tmp_path) == 6.0


def test_the_peak_of_memory_is_told_in_bytes(tmp_path: Path) -> None:
    (tmp_path / "5").mkdir()
    (tmp_path / "5" / "status").write_text("Name:\tx\nVmPeak:\t9 kB\nVmHWM:\t 12 kB\n")

    assert cost.peak_bytes(5, tmp_path) == 12 * 1024


def test_what_was_used_before_the_clock_is_no_jobs_cost() -> None:
    before = cost.Look(1.0, 2.0, 1_000, 5_000)
    after = cost.Look(1.5, 4.0, 9_000, 5_000)

    assert cost.per_job(before, after, 1_000) == {
        "worker CPU": 500.0,
        "server CPU": 2_000.0,
        "WAL": 8.0,
        "disk": 0.0,
    }
