"""The real processes of a demo: one panel simulator and several workers."""

import os
import secrets
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlsplit

from infrastructure.errors import InfrastructureError

_START_SECONDS: Final = 20.0
_STOP_SECONDS: Final = 45.0
_ROOT: Final = Path(__file__).resolve().parents[2]
_CHILD: Final = (sys.executable, "-m", "infrastructure.demo.child")


class DemoProcessError(InfrastructureError):
    """A process of the demo did not start or did not live as long as it should."""

    code = "demo_process"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a demo's processes find the database and keep their files."""

    folder: Path
    database_url: str

    @property
    def book(self) -> Path:
        """The simulator's book."""
        return self.folder / "panel.sqlite"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command has ended, and what it wrote."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the product that a person has given."""

    process: "subprocess.Popen[str]"

    def ended(self) -> Ended | None:
        """Return how it ended, or None while it runs."""
        if self.process.poll() is None:
            return None
        # What it writes fits into a pipe, so it never waits for a reader.
        out, err = self.process.communicate()
        return Ended(self.process.returncode, out, err)

    def stop(self) -> None:
        """End it, whether it runs or not."""
        with self.process:
            self.process.kill()


class Processes:
    """Starts, freezes, kills and stops the children; none outlives the demo."""

    def __init__(self, place: Place) -> None:
        """Prepare; nothing is started yet."""
        self.place = place
        self._stack = ExitStack()
        self.token = secrets.token_urlsafe(24)
        self._commands: list[Command] = []
        self._panel: subprocess.Popen[bytes] | None = None
        self.panel_url = ""
        self.workers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        """Return itself; `__exit__` ends every child."""
        return self

    def __exit__(self, *_: object) -> None:
        """Kill what still lives."""
        for process in [*self.workers, *([self._panel] if self._panel else [])]:
            if process.poll() is None:
                process.kill()
                process.wait()
        for command in self._commands:
            command.stop()
        self._stack.close()

    def start_panel(
        self, *, fault_rate: float, seed: int, squads: Sequence[str] = ()
    ) -> None:
        """Start the simulator and wait until it answers.

        Raises:
            DemoProcessError: it did not answer in time.
        """
        port_file = self.place.folder / "panel.port"
        port_file.unlink(missing_ok=True)
        self._panel = self._spawn(
            ["simulate", "panel", "--port", "0", "--book", str(self.place.book),
             "--port-file", str(port_file),
             "--fault-rate", str(fault_rate), "--seed", str(seed),
             *(f"--squad={squad}" for squad in squads)],
            "panel.log",
        )  # fmt: skip
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline and self._panel.poll() is None:
            if port_file.exists() and (port := port_file.read_text().strip()):
                self.panel_url = f"http://127.0.0.1:{int(port)}"
                if _answers(self.panel_url + "/_simulator/health"):
                    return
            time.sleep(0.05)
        raise DemoProcessError(self._failed("the panel simulator", "panel.log"))

    def start_worker(self) -> None:
        """Start one more worker; it takes part as soon as it is ready."""
        name = f"worker-{len(self.workers) + 1}.log"
        self.workers.append(self._spawn(["worker"], name))

    def command(self, operator: str, arguments: Sequence[str]) -> Command:
        """Start a command of the product as an operator of that name gives it."""
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and command
            [*_CHILD, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env=self._environment() | {"COUNTERFOIL_OPERATOR": operator},
            cwd=_ROOT,
        )
        command = Command(process)
        self._commands.append(command)
        return command

    def require_alive(self, expected_dead: Sequence[int]) -> None:
        """Refuse to go on when a child that should live has ended.

        Raises:
            DemoProcessError: naming the log of the child that ended.
        """
        for number, process in enumerate(self.workers):
            if number not in expected_dead and process.poll() is not None:
                log = f"worker-{number + 1}.log"
                raise DemoProcessError(self._failed(f"worker {number + 1}", log))

    def signal(self, number: int, what: signal.Signals) -> None:
        """Send a signal to one worker, counted from 0."""
        self.workers[number].send_signal(what)

    def stop_workers(self) -> list[int]:
        """Stop the workers politely and return their exit codes."""
        for process in self.workers:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        return [_ended(process) for process in self.workers]

    def stop_panel(self) -> None:
        """Let the simulator close its book."""
        if self._panel is not None and self._panel.poll() is None:
            self._panel.send_signal(signal.SIGTERM)
            self._panel.wait(_STOP_SECONDS)

    def _spawn(self, arguments: list[str], log: str) -> "subprocess.Popen[bytes]":
        output = self._stack.enter_context((self.place.folder / log).open("wb"))
        return subprocess.Popen(  # noqa: S603 - our own interpreter and command
            [*_CHILD, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=self._environment(),
            cwd=_ROOT,
        )

    def _environment(self) -> dict[str, str]:
        return os.environ | {
            "COUNTERFOIL_DATABASE_URL": self.place.database_url,
            "COUNTERFOIL_REMNAWAVE_URL": self.panel_url,
            "COUNTERFOIL_REMNAWAVE_TOKEN": self.token,
            "COUNTERFOIL_SIMULATOR_TOKEN": self.token,
        }

    def _failed(self, what: str, log: str) -> str:
        return f"{what} ended or did not start; see {self.place.folder / log}"


def _ended(process: "subprocess.Popen[bytes]") -> int:
    """Return the exit code; a process that does not end is killed, and shows it."""
    try:
        return process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return NEVER_ENDED


NEVER_ENDED: Final = 255
"""Stands for the exit code of a worker that did not stop when it was asked to."""


def _answers(url: str) -> bool:
    if urlsplit(url).scheme != "http":
        return False
    try:
        with urllib.request.urlopen(url, timeout=2):  # noqa: S310 - http only, see above
            return True
    except (urllib.error.URLError, OSError):
        return False
