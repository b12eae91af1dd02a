"""The deployment as plain processes, where no container engine answers.

Each service of the compose files is started with its own command and environment; only
places differ, since there are no mounts: folders, and ports of 127.0.0.1.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from deploy.trial.composed import Service, composed, in_place_of
from deploy.trial.judging import ToldBook, ToldLog
from deploy.trial.secrets import make_secrets, operator_token
from deploy.trial.world import (
    INSIDE,
    ROLES,
    ROOT,
    Listened,
    TrialError,
    free_port,
    wait_until,
)
from infrastructure import embedded

_PROGRAM: Final = Path(sys.executable).with_name("counterfoil")
_BOOT_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 120.0
_RUNS: Final = ("panel", "api", "worker")
_SHOWN: Final = 3_000


@dataclass(slots=True)
class Processes:
    """See `World`."""

    folder: Path
    services: dict[str, Service]
    places: dict[str, str]
    running: dict[str, subprocess.Popen[bytes]] = field(
        default_factory=dict[str, subprocess.Popen[bytes]]
    )

    @property
    def address(self) -> str:
        """See `World.address`."""
        return f"http://127.0.0.1:{self.places['8080']}"

    @property
    def operator_token(self) -> str:
        """See `World.operator_token`."""
        return operator_token(self.folder / "secrets")

    def run(self, service: str, *words: str) -> str:
        """See `World.run`."""
        return self._run(service, str(_PROGRAM), *words)

    def listened(self, role: str) -> Listened:
        """See `World.listened`."""
        script = str(INSIDE / "listener.py")
        told: Listened = json.loads(self._run(role, sys.executable, script))
        return told

    def kill(self, service: str) -> None:
        """See `World.kill`; here nobody else starts it again."""
        self.running[service].kill()
        self.running[service].wait()
        self.start(service)

    def log(self) -> ToldLog:
        """See `World.log`."""
        script = str(INSIDE / "log.py")
        told: ToldLog = json.loads(self._run("worker", sys.executable, script))
        return told

    def book(self) -> ToldBook:
        """See `World.book`."""
        script, book = str(INSIDE / "book.py"), self._of("panel") / "panel.sqlite"
        told: ToldBook = json.loads(
            self._run("panel", sys.executable, script, str(book))
        )
        return told

    def confined(self) -> Sequence[str]:
        """See `World.confined`; a plain process can do what its user can."""
        return ()

    def stop(self) -> Sequence[str]:
        """See `World.stop`."""
        ended: dict[str, int] = {}
        for name, process in reversed(self.running.items()):
            process.send_signal(signal.SIGTERM)
            ended[name] = process.wait(_STOP_SECONDS)
        return [f"{name} ended with {code}" for name, code in ended.items() if code]

    def migrate(self) -> None:
        """Run the service that runs once."""
        self._run("migrate", str(_PROGRAM), *self._command("migrate"))

    def start(self, service: str) -> None:
        """Start a service; its words go into a file."""
        with (self.folder / f"{service}.log").open("ab") as log:
            self.running[service] = subprocess.Popen(  # noqa: S603 - our own program
                [_PROGRAM, *self._command(service)],
                cwd=ROOT,
                env=self._environment(service),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def is_healthy(self, service: str) -> bool:
        """Whether the command that the image asks for its health says so.

        Raises:
            TrialError: the service has ended.
        """
        if self.running[service].poll() is not None:
            msg = f"{service} has ended\n{self.last_words()}"
            raise TrialError(msg)
        asked = subprocess.run(  # noqa: S603 - our own program
            [_PROGRAM, "healthcheck"],
            cwd=ROOT,
            env=self._environment(service),
            capture_output=True,
            check=False,
        )
        return asked.returncode == 0

    def last_words(self) -> str:
        """Return the end of what the services have written."""
        logs = sorted(self.folder.glob("*.log"))
        return "\n".join(f"{log.stem}: {log.read_text()[-_SHOWN:]}" for log in logs)

    def end(self) -> None:
        """End what still runs."""
        for process in self.running.values():
            process.kill()
            process.wait()

    def _of(self, service: str) -> Path:
        """Return the folder that stands for the service's volume."""
        folder = self.folder / ("book" if service == "panel" else "data")
        folder.mkdir(exist_ok=True)
        return folder

    def _command(self, service: str) -> list[str]:
        return [self._here(service, word) for word in self.services[service].command]

    def _environment(self, service: str) -> dict[str, str]:
        said = self.services[service].environment
        ours = {k: v for k, v in os.environ.items() if not k.startswith("COUNTERFOIL_")}
        return ours | {name: self._here(service, value) for name, value in said.items()}

    def _here(self, service: str, text: str) -> str:
        places = {"/var/lib/counterfoil": str(self._of(service)), **self.places}
        return in_place_of(text, places)

    def _run(self, service: str, *command: str) -> str:
        ended = subprocess.run(  # noqa: S603 - our own programs
            command,
            cwd=ROOT,
            env=self._environment(service),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if ended.returncode != 0:
            told = (ended.stdout + ended.stderr)[-_SHOWN:]
            msg = f"{' '.join(command)}: exit code {ended.returncode}\n{told}"
            raise TrialError(msg)
        return ended.stdout


@contextmanager
def processes(folder: Path) -> Generator[Processes]:
    """Give the deployment as plain processes; afterwards none of them is left."""
    with ExitStack() as stack:
        # Stands for the service `postgres`: a server of the product's own binaries.
        server = stack.enter_context(embedded.serve(folder / "db", ephemeral=True))
        make_secrets(folder / "secrets", server.uri)
        places = {"/run/secrets": str(folder / "secrets")}
        places |= {port: str(free_port()) for port in ("3000", "8080", "8081", "9464")}
        world = Processes(folder, composed({}), places)
        stack.callback(world.end)
        try:
            world.migrate()
            for service in _RUNS:
                world.start(service)
            for service in ROLES:
                wait_until(
                    partial(world.is_healthy, service),
                    f"{service} is healthy",
                    _BOOT_SECONDS,
                )
            yield world
        except BaseException:
            print(world.last_words())
            raise
