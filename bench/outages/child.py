"""A process of a run: it writes its journal into a file, which outlives it."""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from bench.child import ROOT, BenchError

_READY_SECONDS: Final = 30.0
_STOP_SECONDS: Final = 20.0
_LOOK_SECONDS: Final = 0.01


class Child:
    """One process; it never outlives the block it is used in."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], journal: Path
    ) -> None:
        """Start it; it works once `go` was called."""
        self._journal = journal
        self._log = journal.with_suffix(".log")
        with journal.open("ab") as told, self._log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - a driver of ours
                command,
                stdin=subprocess.PIPE,
                stdout=told,
                stderr=log,
                cwd=ROOT,
                env=os.environ | environment,
            )

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Kill what was not stopped."""
        self.kill()
        self._process.communicate()

    def wait_ready(self) -> None:
        """Return when it says that it is ready.

        Raises:
            BenchError: it ended instead, or said nothing for long.
        """
        give_up_at = time.monotonic() + _READY_SECONDS
        while "ready" not in self.lines():
            if self._process.poll() is not None or time.monotonic() > give_up_at:
                msg = f"a process did not start; see {self._log}"
                raise BenchError(msg)
            time.sleep(_LOOK_SECONDS)

    def go(self) -> None:
        """Let it work from now on."""
        if self._process.stdin is not None:
            self._process.stdin.write(b"go\n")
            self._process.stdin.flush()

    def kill(self) -> None:
        """Send SIGKILL, and return when it is gone."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Stop it politely, or by force when it does not end in time."""
        if self._process.stdin is not None:
            self._process.stdin.close()
            self._process.stdin = None
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    @property
    def is_alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def lines(self) -> list[str]:
        """Return the whole lines that it has written so far."""
        text = self._journal.read_text("utf-8", "replace")
        return text[: text.rfind("\n") + 1].splitlines()

    def in_flight(self) -> int:
        """Return how many jobs it has begun and not ended."""
        told = [line[:2] for line in self.lines()]
        return told.count("b ") - told.count("e ")
