"""The real processes of a demo: a panel, a gateway, several workers, and commands."""

import base64
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
GOODS_BACKOFF_SECONDS: Final = 1
"""Instead of a minute, or nobody would watch a purchase that is tried again."""
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
        """The panel's book."""
        return self.folder / "panel.sqlite"

    @property
    def ledger(self) -> Path:
        """The gateway's ledger."""
        return self.folder / "gateway.sqlite"


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
        self._simulators: list[subprocess.Popen[bytes]] = []
        self.panel_url = ""
        self.gateway_url = ""
        key = base64.b64encode(secrets.token_bytes(32)).decode()
        self._keys = f"demo:{key}"
        self.workers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        """Return itself; `__exit__` ends every child."""
        return self

    def __exit__(self, *_: object) -> None:
        """Kill what still lives."""
        for process in [*self.workers, *self._simulators]:
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
        self.panel_url = self._simulator(
            "panel", "--book", str(self.place.book),
            "--fault-rate", str(fault_rate), "--seed", str(seed),
            *(f"--squad={squad}" for squad in squads),
        )  # fmt: skip

    def start_gateway(
        self, *, fault_rate: float, seed: int, faults: Sequence[str]
    ) -> None:
        """Start the simulator of a seller of goods and wait until it answers.

        Raises:
            DemoProcessError: it did not answer in time.
        """
        self.gateway_url = self._simulator(
            "gateway", "--ledger", str(self.place.ledger),
            "--fault-rate", str(fault_rate), "--seed", str(seed),
            *(f"--fault={fault}" for fault in faults),
        )  # fmt: skip

    def _simulator(self, name: str, *arguments: str) -> str:
        """Start one and return where it answers."""
        port_file = self.place.folder / f"{name}.port"
        port_file.unlink(missing_ok=True)
        command = ["simulate", name, "--port", "0", "--port-file", str(port_file)]
        process = self._spawn([*command, *arguments], f"{name}.log")
        self._simulators.append(process)
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline and process.poll() is None:
            if port_file.exists() and (port := port_file.read_text().strip()):
                url = f"http://127.0.0.1:{int(port)}"
                if _answers(url + "/_simulator/health"):
                    return url
            time.sleep(0.05)
        raise DemoProcessError(self._failed(f"the {name} simulator", f"{name}.log"))

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

    def done(self, operator: str, arguments: Sequence[str]) -> None:
        """Give a command and wait for its end.

        Raises:
            DemoProcessError: it was refused.
        """
        process = self.command(operator, arguments).process
        out, err = process.communicate(timeout=_STOP_SECONDS)
        if process.returncode:
            msg = f"`counterfoil {' '.join(arguments)}` was refused: {out}{err}"
            raise DemoProcessError(msg)

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

    def stop_simulators(self) -> None:
        """Let the simulators close their books."""
        for process in self._simulators:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(_STOP_SECONDS)

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
        ours = {
            "COUNTERFOIL_DATABASE_URL": self.place.database_url,
            "COUNTERFOIL_REMNAWAVE_URL": self.panel_url,
            "COUNTERFOIL_REMNAWAVE_TOKEN": self.token,
            "COUNTERFOIL_SIMULATOR_TOKEN": self.token,
            "COUNTERFOIL_DATA_DIR": str(self.place.folder),
            "COUNTERFOIL_DATA_ENCRYPTION_KEYS": self._keys,
            "COUNTERFOIL_GOODS_BACKOFF_BASE_SECONDS": str(GOODS_BACKOFF_SECONDS),
        }
        # What would be read from a file as well is refused: it says two things.
        files = {f"{name}_FILE" for name in ours}
        return {k: v for k, v in os.environ.items() if k not in files} | ours

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
