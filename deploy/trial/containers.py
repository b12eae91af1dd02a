"""The deployment as containers: built, booted, asked and taken down again."""

import json
import signal
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from deploy.trial.engine import Engine
from deploy.trial.judging import ToldBook, ToldLog
from deploy.trial.secrets import make_secrets, operator_token
from deploy.trial.world import COMPOSE, INSIDE, Listened, free_port, wait_until

_PROGRAM: Final = "/opt/counterfoil/bin/counterfoil"
_PYTHON: Final = "/opt/counterfoil/bin/python"
_BOOK: Final = "/var/lib/counterfoil/panel.sqlite"
_BOOT_SECONDS: Final = 180.0
_HOST_OF_THE_PANEL: Final = "worker"
_PID: Final = "{{.State.Pid}}"
_OURS: Final = ("api", "panel", "worker")
_PROJECT: Final = "counterfoil-trial"


@dataclass(frozen=True, slots=True)
class Containers:
    """See `World`."""

    engine: Engine
    environment: dict[str, str]

    @property
    def address(self) -> str:
        """See `World.address`."""
        return f"http://127.0.0.1:{self.environment['COUNTERFOIL_PORT']}"

    @property
    def operator_token(self) -> str:
        """See `World.operator_token`."""
        return operator_token(Path(self.environment["COUNTERFOIL_SECRETS"]))

    def run(self, service: str, *words: str) -> str:
        """See `World.run`."""
        return self._exec(service, _PROGRAM, *words, given="")

    def listened(self, role: str) -> Listened:
        """See `World.listened`."""
        script = (INSIDE / "listener.py").read_text("utf-8")
        told: Listened = json.loads(self._exec(role, _PYTHON, "-", given=script))
        return told

    def kill(self, service: str) -> None:
        """See `World.kill`; the engine starts it again, as after any crash."""
        before = self._inspect(service, _PID)
        # Whom `docker kill` ends stays down, and nobody inside can end the first
        # process: so somebody does who sees the processes of the engine's machine.
        self.engine.run(
            *("run", "--rm", "--pid", "host", "--network", "none"),
            *("--user", "65532:65532", "--entrypoint", _PYTHON),
            *(self.environment["COUNTERFOIL_IMAGE"], "-c"),
            f"import os; os.kill({before}, {signal.SIGKILL:d})",
        )
        wait_until(
            lambda: self._inspect(service, _PID) not in {before, "0"},
            f"{service} runs again",
            _BOOT_SECONDS,
        )
        if service == _HOST_OF_THE_PANEL:
            # The network that the panel shared with it went with it.
            self._compose("restart", "--timeout", "0", "panel")

    def log(self) -> ToldLog:
        """See `World.log`."""
        script = (INSIDE / "log.py").read_text("utf-8")
        told: ToldLog = json.loads(self._exec("worker", _PYTHON, "-", given=script))
        return told

    def book(self) -> ToldBook:
        """See `World.book`."""
        script = (INSIDE / "book.py").read_text("utf-8")
        told: ToldBook = json.loads(
            self._exec("panel", _PYTHON, "-", _BOOK, given=script)
        )
        return told

    def confined(self) -> Sequence[str]:
        """See `World.confined`."""
        script = (INSIDE / "confinement.py").read_text("utf-8")
        return [
            f"{service} {what}"
            for service in _OURS
            for what in self._exec(service, _PYTHON, "-", given=script).splitlines()
        ]

    def stop(self) -> Sequence[str]:
        """See `World.stop`."""
        self._compose("stop")
        ended = {
            service: self._inspect(service, "{{.State.ExitCode}}")
            for service in (*_OURS, "postgres")
        }
        return [
            f"{service} ended with {code}"
            for service, code in ended.items()
            if code != "0"
        ]

    def _exec(self, service: str, *command: str, given: str) -> str:
        return self._compose("exec", "-T", service, *command, given=given)

    def is_healthy(self, service: str) -> bool:
        """Whether the engine says that a service is healthy."""
        return self._inspect(service, "{{.State.Health.Status}}") == "healthy"

    def _inspect(self, service: str, form: str) -> str:
        found = self._compose("ps", "--quiet", *self._all, service).strip()
        return self.engine.run("inspect", "--format", form, found).strip()

    @property
    def _all(self) -> tuple[str, ...]:
        """Return what makes `ps` of newer compose name containers that have ended."""
        return ("--all",) if len(self.engine.compose) > 1 else ()

    def _compose(self, *arguments: str, given: str | None = None) -> str:
        files = [word for file in COMPOSE for word in ("--file", str(file))]
        return self.engine.composed(
            *("--project-name", _PROJECT, *files, *arguments),
            environment=self.environment,
            given=given,
        )

    def up(self) -> None:
        """Boot everything, and wait until it is healthy."""
        self._compose("up", "--detach")
        for service in ("postgres", "api", "worker"):
            wait_until(
                partial(self.is_healthy, service),
                f"{service} is healthy",
                _BOOT_SECONDS,
            )

    def down(self) -> None:
        """Remove everything, data too."""
        self._compose("down", "--volumes", "--remove-orphans")

    def last_words(self) -> str:
        """Return the end of what the services have written."""
        return self._compose("logs", "--no-color", "--tail", "20")


@contextmanager
def containers(
    engine: Engine, folder: Path, images: dict[str, str]
) -> Generator[Containers]:
    """Give the deployment in containers; afterwards nothing of it is left."""
    make_secrets(folder / "secrets")
    environment = {
        **images,
        "COUNTERFOIL_SECRETS": str(folder / "secrets"),
        "COUNTERFOIL_PORT": str(free_port()),
    }
    world = Containers(engine, environment)
    world.down()
    try:
        world.up()
        yield world
    except BaseException:
        print(world.last_words())
        raise
    finally:
        world.down()
