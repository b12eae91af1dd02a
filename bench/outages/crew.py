"""The workers of a run, and the supervisor that starts each of them again."""

import time
from pathlib import Path
from typing import Final, Self

from bench.child import BenchError
from bench.outages.account import Mark
from bench.outages.child import Child
from bench.outages.settings import SUPERVISOR_SECONDS
from bench.outages.subject import Subject

WORKERS: Final = 2
_LOOK_SECONDS: Final = 0.02
_WARM_SECONDS: Final = 20.0


class Crew:
    """Two workers of one subject; a place in it outlives the process that has it."""

    def __init__(self, subject: Subject, conninfo: str, folder: Path) -> None:
        """Start both; they work once `go` was called."""
        self._subject = subject
        self._conninfo = conninfo
        self._folder = folder
        self._processes: list[Child] = []
        """All that ever were; a worker is told by its number here."""
        self._places = [self._start(place) for place in range(WORKERS)]
        self._gone_since: dict[int, float] = {}
        self.died = 0
        """How many ended without being killed."""

    def _start(self, place: int) -> int:
        number = len(self._processes)
        environment = {
            **self._subject.environment(self._conninfo),
            "BENCH_PLACE": str(place),
        }
        journal = self._folder / f"worker-{number}"
        self._processes.append(Child(self._subject.worker, environment, journal))
        return number

    def __enter__(self) -> Self:
        """Return itself when both are ready."""
        try:
            for process in self._processes:
                process.wait_ready()
        except BenchError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Kill what was not stopped."""
        for process in self._processes:
            process.__exit__()

    def go(self) -> None:
        """Let both work from now on."""
        for process in self._processes:
            process.go()

    def wait_warm(self) -> None:
        """Return when each has ended a job.

        Raises:
            BenchError: one has not for long.
        """
        give_up_at = time.monotonic() + _WARM_SECONDS
        while not all(self._ended(number) for number in self._places):
            if time.monotonic() > give_up_at:
                msg = (
                    f"{self._subject.title}: a worker ends nothing; see {self._folder}"
                )
                raise BenchError(msg)
            self.watch(_LOOK_SECONDS)

    def _ended(self, number: int) -> bool:
        return any(line[0] == "e" for line in self._processes[number].lines())

    def watch(self, seconds: float) -> None:
        """Let `seconds` pass as a supervisor would."""
        until = time.monotonic() + seconds
        while (now := time.monotonic()) < until:
            for place, number in enumerate(self._places):
                if not self._processes[number].is_alive:
                    self._replace(place, now)
            time.sleep(min(_LOOK_SECONDS, until - now))

    def _replace(self, place: int, now: float) -> None:
        if place not in self._gone_since:
            self._gone_since[place] = now
            self.died += 1
        elif now - self._gone_since[place] >= SUPERVISOR_SECONDS:
            del self._gone_since[place]
            self._places[place] = self._start(place)
            self._processes[self._places[place]].go()

    def kill_busiest(self) -> int:
        """Kill the worker with the most jobs in flight; return its number.

        Raises:
            BenchError: no worker has any for long.
        """
        give_up_at = time.monotonic() + _WARM_SECONDS
        victim = self._places[0]
        while not self._processes[victim].in_flight():
            if time.monotonic() > give_up_at:
                msg = f"{self._subject.title}: no worker has a job in flight"
                raise BenchError(msg)
            victim = max(self._places, key=lambda it: self._processes[it].in_flight())
        self._processes[victim].kill()
        self._gone_since[self._places.index(victim)] = time.monotonic()
        return victim

    def stop(self) -> None:
        """Stop all politely."""
        for number in self._places:
            self._processes[number].stop()

    def marks(self, what: str) -> list[Mark]:
        """Return everything that handlers told: `b` for begun, `e` for ended."""
        return [
            Mark(int(job), int(at) / 1e9, number)
            for number, process in enumerate(self._processes)
            for line in process.lines()
            if line.startswith(what + " ")
            for _, job, at in (line.split(),)
        ]
