"""Queues and workers as a person reads them."""

from rich.text import Text

from api.cli.output import say, show_rows
from api.cli.times import at, distance
from domain.queues.worker import ALIVE, GONE
from projections.queries.processing.queues import QueueLine, QueuePage
from projections.queries.processing.workers import WorkerLine, WorkerPage


def show_queues(page: QueuePage) -> None:
    """Write one row for each queue."""
    names = ("queue", "running", "limit", "due", "oldest", "paused")
    show_rows(
        names,
        [
            [
                Text(line.name),
                Text(str(line.running)),
                Text(_limit(line)),
                Text(f"{line.due}+" if line.is_due_capped else str(line.due)),
                Text(
                    "" if line.due_since is None else distance(line.due_since, page.now)
                ),
                Text(_pause(line), "bold yellow"),
            ]
            for line in page.queues
        ],
    )
    if not page.live_workers:
        say("no worker is alive")


def tell_queue(line: QueueLine) -> None:
    """Say how one queue stands after a change."""
    paused = f"paused {_pause(line)}" if line.paused else "not paused"
    limit = "without a limit" if line.concurrency is None else f"limit {_limit(line)}"
    say(f"queue {line.name}: {paused}, {limit}; {line.running} running, {line.due} due")


def _limit(line: QueueLine) -> str:
    return "" if line.concurrency is None else str(line.concurrency)


def _pause(line: QueueLine) -> str:
    pause = line.paused
    return (
        ""
        if pause is None
        else f"until {at(pause.until)} by {pause.by}: {pause.reason}"
    )


def show_workers(page: WorkerPage) -> None:
    """Write one row for each process."""
    names = ("id", "host", "pid", "state", "heard of", "running", "roles")
    show_rows(
        names,
        [
            [
                Text(str(line.boot_id)),
                Text(line.host),
                Text(str(line.pid)),
                Text(line.state, _style(line)),
                Text(distance(line.beat_at, page.now)),
                Text(str(line.running)),
                Text(", ".join(line.roles)),
            ]
            for line in page.workers
        ],
    )


def tell_drained(line: WorkerLine) -> None:
    """Say what a process that was asked to drain is."""
    left = f"{line.running} running" if line.running else "nothing is left"
    say(f"worker {line.boot_id} on {line.host} is {line.state}: {left}")


def _style(line: WorkerLine) -> str:
    if line.state in GONE:
        return "dim"
    return "" if line.state == ALIVE else "bold yellow"
