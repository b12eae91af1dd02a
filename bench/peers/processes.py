"""The processes of a queue: workers, and those that do one thing and end."""

import json
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self

from bench.child import ROOT, BenchError
from bench.peers.system import System

_READY_SECONDS: Final = 30.0
_STOP_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 0.005
_PATIENCE_SECONDS: Final = 180.0
_TOLD_BYTES: Final = 600


def call(system: System, conninfo: str, folder: Path, *words: str) -> dict[str, Any]:
    """Run one of the contract's words to its end; return what it printed.

    Raises:
        BenchError: it failed, or did not end.
    """
    log = folder / f"{system.name}.log"
    with log.open("ab") as errors:
        try:
            done = subprocess.run(  # noqa: S603 - our own drivers
                system.command(*words),
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=ROOT,
                env=system.environment(conninfo),
                timeout=_PATIENCE_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            msg = f"{system.name} {words[0]} did not end"
            raise BenchError(msg) from error
    if done.returncode != 0:
        msg = f"{system.name} {words[0]} ended with {done.returncode}: {_tail(log)}"
        raise BenchError(msg)
    told: dict[str, Any] = json.loads(done.stdout) if done.stdout.strip() else {}
    return told


class WorkerProcess:
    """One worker of a queue; it never outlives the block it is used in."""

    def __init__(
        self, system: System, conninfo: str, folder: Path, mode: str = "noop"
    ) -> None:
        """Start it; it handles jobs once `go` was called."""
        self.system = system
        self.handled: list[tuple[int, int]] = []
        """(monotonic nanoseconds, handlers begun until then), as it told them."""
        self.began: dict[int, int] = {}
        """When each handler began, by the job's number; only in mode `pickup`."""
        self._log = folder / f"{system.name}.log"
        self._ready = threading.Event()
        with self._log.open("ab") as errors:
            self._process = subprocess.Popen(  # noqa: S603 - our own drivers
                system.command("worker", mode),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=ROOT,
                env=system.environment(conninfo),
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    @property
    def count(self) -> int:
        """How many handlers it has begun, as it told last."""
        return self.handled[-1][1] if self.handled else 0

    def __enter__(self) -> Self:
        """Return itself when the process is ready to work.

        Raises:
            BenchError: it ended instead, or is not ready in time.
        """
        give_up_at = time.monotonic() + _READY_SECONDS
        while not self._ready.wait(0.05):
            if self._process.poll() is not None or time.monotonic() > give_up_at:
                self.__exit__()
                msg = f"a worker of {self.system.name} did not start: {self.last_words}"
                raise BenchError(msg)
        return self

    def __exit__(self, *_: object) -> None:
        """Kill what was not stopped."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()

    @property
    def last_words(self) -> str:
        """The end of what it and its likes wrote to standard error."""
        return _tail(self._log)

    def go(self) -> None:
        """Let it work from now on."""
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):  # it has ended: `require_alive` tells why
                self._process.stdin.write("go\n")
                self._process.stdin.flush()

    def require_alive(self) -> None:
        """Refuse to go on without it.

        Raises:
            BenchError: it has ended by itself.
        """
        if (code := self._process.poll()) is not None:
            msg = f"a worker of {self.system.name} ended with {code}: {self.last_words}"
            raise BenchError(msg)

    def kill(self) -> None:
        """End it as a crash would: SIGKILL."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Stop it politely; afterwards `began` is whole.

        Raises:
            BenchError: it did not stop, or not with code 0.
        """
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            code = self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired as error:
            msg = f"a worker of {self.system.name} did not stop"
            raise BenchError(msg) from error
        self._reader.join()
        if code != 0:
            msg = f"a worker of {self.system.name} ended with {code}: {self.last_words}"
            raise BenchError(msg)

    def _read(self) -> None:
        for line in self._process.stdout or ():
            match line.split():
                case ["ready"]:
                    self._ready.set()
                case ["handled", count]:
                    self.handled.append((time.monotonic_ns(), int(count)))
                case ["began", n, at]:
                    self.began[int(n)] = int(at)
                case _:
                    pass  # a library's own words


def wait_until_handled(
    workers: Sequence[WorkerProcess], jobs: int, patience_seconds: float
) -> None:
    """Return when `workers` have told of `jobs` handlers between them.

    Raises:
        BenchError: one has ended, or they are not in time.
    """
    give_up_at = time.monotonic() + patience_seconds
    while (handled := sum(each.count for each in workers)) < jobs:
        for each in workers:
            each.require_alive()
        if time.monotonic() >= give_up_at:
            name = workers[0].system.name
            msg = f"{name} handled {handled} of {jobs} jobs in {patience_seconds:.0f} s"
            raise BenchError(msg)
        time.sleep(_LOOK_SECONDS)


def _tail(log: Path) -> str:
    said = log.read_bytes()[-_TOLD_BYTES:].decode(errors="replace").strip()
    return said or f"nothing was said in {log.name}"
