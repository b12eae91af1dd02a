"""A worker process with the tests' job kinds, told everything on its command line.

    python -m tests.crash.worker_process CONNINFO '{"gate": PORT, "book": FILE, …}'

Its telemetry goes to standard output, one JSON object a line; `ready` is told once
the first heartbeat was answered.  SIGTERM stops it politely, with exit code 0.
"""

import faulthandler
import json
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from application.context import Context
from application.job_kinds import AnyKind, JobKind, Kinds, by_name
from domain.jobs.backoff import Backoff
from domain.jobs.outcome import (
    Completed,
    Fail,
    Gated,
    Outcome,
    Park,
    Retry,
    Snooze,
)
from domain.jobs.verdict import Budget
from domain.maintenance.gates import MAINTENANCE_ACTIVE, PANEL
from infrastructure.postgres.database import Database
from infrastructure.processor.suspects.wire import Recipe
from infrastructure.processor.worker import Worker, WorkerOptions
from infrastructure.telemetry import listen
from tests.crash.http.witness import note as witnessed
from tests.crash.http.witness import noted
from tests.crash.lawless import WAYS, Lawless
from tests.fixtures.overlaps import note
from tests.fixtures.workers import QUEUES, Args, kind

AT_ONCE = Budget(max_attempts=3, backoff=Backoff(base_seconds=0.001, cap_exponent=0))

OUTCOMES: dict[str, Outcome] = {
    "complete": Completed(),
    "retry": Retry(code="told_to"),
    "snooze": Snooze(until=datetime(2000, 1, 1, tzinfo=UTC)),
    "park": Park(cause="told_to"),
    "fail": Fail(code="told_to"),
}

_speaking = threading.Lock()


def tell(event: str, values: Mapping[str, object]) -> None:
    with _speaking:
        sys.stdout.write(json.dumps({"event": event} | dict(values)) + "\n")
        sys.stdout.flush()


class Handlers:
    """What the kinds do; `options` says where the gate and the book are."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = options
        self._deadline = options.get("deadline_seconds", 600)

    def noop(self, _args: Args, _ctx: Context) -> Outcome:
        return Completed()

    def failing(self, _args: Args, _ctx: Context) -> Outcome:
        return Retry(code="told_to", error="this kind always fails")

    def exiting(self, _args: Args, _ctx: Context) -> Outcome:
        os._exit(7)

    def slow(self, _args: Args, ctx: Context) -> Outcome:
        """Wait for the test's word."""
        with self._called_in(ctx) as gate:
            return _said(gate)

    def _called_in(self, ctx: Context) -> socket.socket:
        told = {
            "job": str(ctx.job_id),
            "attempt": ctx.attempt,
            "token": ctx.token,
            "pid": self._options.get("worker", os.getpid()),
        }
        gate = socket.create_connection(("127.0.0.1", self._options["gate"]))
        gate.sendall(json.dumps(told).encode() + b"\n")
        return gate

    def parking(self, _args: Args, _ctx: Context) -> Outcome:
        return Park(cause="told_to")

    def heeding(self, _args: Args, ctx: Context) -> Outcome:
        """Work until somebody wants it to stop."""
        ctx.log("heeding")
        while not ctx.cancel_requested:
            time.sleep(0.01)
        return Retry(code="stopped")

    def lawless(self, args: Lawless, ctx: Context) -> Outcome:
        """Tell the test that it has begun, then do it."""
        self.slow(Args(), ctx)
        if args.calls and not ctx.may_begin():
            return Retry(code="no_time")
        return WAYS[args.way]()

    def calling(self, args: Args, ctx: Context) -> Outcome:
        """Ask a provider, which waits for the test's word."""
        if not ctx.may_begin():
            return Retry(code="no_time")
        return self.slow(args, ctx)

    def booked(self, args: Args, ctx: Context) -> Outcome:
        """Write the effect into a book that shares nothing with us."""
        effect = {
            "n": args.n,
            "job": str(ctx.job_id),
            "attempt": ctx.attempt,
            "token": ctx.token,
        }
        with (Path(self._options["book"]) / str(os.getpid())).open("a") as book:
            book.write(json.dumps(effect) + "\n")
        return Completed(result={"n": args.n})

    def spanning(self, args: Args, ctx: Context) -> Outcome:
        """Write down when it begins and ends; below zero, wait for the test between."""
        folder, run = Path(self._options["spans"]), f"{ctx.job_id} {ctx.token}"
        note(folder, os.getpid(), run, begins=True)
        if args.n < 0:
            self.slow(args, ctx)
        else:
            over_at = time.monotonic() + 0.002
            while time.monotonic() < over_at:
                time.sleep(0.001)
        note(folder, os.getpid(), run, begins=False)
        return Completed()

    def witnessed(self, args: Args, ctx: Context) -> Outcome:
        """Wait for the test's word; with `n`, until somebody wants it to stop."""
        folder, run = Path(self._options["witnesses"]), f"{ctx.job_id} {ctx.token}"
        with noted(folder, os.getpid(), run), self._called_in(ctx) as gate:
            has_heard = False
            while not select.select([gate], [], [], 0.005)[0]:
                if ctx.cancel_requested and not has_heard:
                    witnessed(folder, os.getpid(), "hears", run)
                    has_heard = True
                    if args.n:
                        return Retry(code="stopped")
            return _said(gate)

    def gated(self, _args: Args, ctx: Context) -> Outcome:
        """Come to a closed gate."""
        run = f"{ctx.job_id} {ctx.token}"
        with noted(Path(self._options["witnesses"]), os.getpid(), run):
            return Gated(gate=PANEL, cause=MAINTENANCE_ACTIVE)

    def kinds(self) -> list[AnyKind]:
        return [
            kind("noop", self.noop),
            kind("failing", self.failing, budget=AT_ONCE),
            kind("faltering", self.failing),
            kind("exiting", self.exiting),
            kind("slow", self.slow, budget=AT_ONCE, deadline_seconds=self._deadline),
            kind("heeding", self.heeding),
            kind("parking", self.parking),
            kind("gated", self.gated),
            kind(
                "witnessed",
                self.witnessed,
                budget=AT_ONCE,
                deadline_seconds=self._deadline,
            ),
            kind(
                "calling",
                self.calling,
                budget=AT_ONCE,
                asks_provider=True,
                deadline_seconds=600,
            ),
            kind("booked", self.booked),
            kind("spanning", self.spanning, deadline_seconds=600),
            JobKind(
                name="lawless",
                args=Lawless,
                handler=self.lawless,
                budget=AT_ONCE,
                deadline_seconds=self._deadline,
            ),
        ]


def _said(gate: socket.socket) -> Outcome:
    """Return the outcome of the test's word."""
    word = gate.makefile().readline().strip()
    return OUTCOMES.get(word, Retry(code="gate_closed"))


@contextmanager
def kinds_alone(options: str) -> Iterator[Kinds]:
    """The same kinds in a process of their own; told the pid of their worker."""
    yield by_name(*Handlers(json.loads(options)).kinds())


def recipe_of(options: Mapping[str, Any]) -> Recipe | None:
    """How suspects run: in processes of their own, or here if the test says so."""
    if not options.get("cells", True):
        return None
    told = json.dumps({**options, "worker": os.getpid()})
    return Recipe("tests.crash.worker_process", "kinds_alone", told)


def main() -> None:
    conninfo, options = sys.argv[1], json.loads(sys.argv[2])
    faulthandler.register(signal.SIGUSR1)  # for whoever asks why nothing happens
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    settings = WorkerOptions(
        queues=options.get("queues", QUEUES),
        grace_seconds=options.get("grace_seconds", 3.0),
        rescue_seconds=options.get("rescue_seconds", 0.1),
        heartbeat_seconds=options.get("heartbeat_seconds", 15.0),
        listen_url=conninfo if options.get("listens") else None,
        suspects=recipe_of(options),
    )
    kinds = by_name(*Handlers(options).kinds())
    with listen(tell), Database(conninfo, pool_size=8) as database:
        worker = Worker(database, kinds, settings)
        worker.start()
        while not worker.is_ready() and not stop.wait(0.01):
            pass
        tell("ready", {"pid": os.getpid(), "boot": str(worker.owner.boot)})
        stop.wait()
        worker.stop()


if __name__ == "__main__":
    main()
