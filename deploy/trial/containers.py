"""The deployment as containers: built, booted, asked and taken down again."""

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from deploy.trial.engine import Engine
from deploy.trial.judging import ToldBook, ToldLog
from deploy.trial.secrets import make_secrets
from deploy.trial.world import COMPOSE, HERE, wait_until

_PROGRAM: Final = "/opt/counterfoil/bin/counterfoil"
_PYTHON: Final = "/opt/counterfoil/bin/python"
_BOOK: Final = "/var/lib/counterfoil/panel.sqlite"
_BOOT_SECONDS: Final = 180.0
_OURS: Final = ("api", "panel", "worker")
_PROJECT: Final = "counterfoil-trial"


@dataclass(frozen=True, slots=True)
class Containers:
    """See `World`."""

    engine: Engine
    environment: dict[str, str]

    def settle(self, lines: str) -> str:
        """See `World.settle`."""
        return self._exec("worker", _PROGRAM, "settle", "/dev/stdin", given=lines)

    def log(self) -> ToldLog:
        """See `World.log`."""
        script = (HERE / "read_log.py").read_text("utf-8")
        told: ToldLog = json.loads(self._exec("worker", _PYTHON, "-", given=script))
        return told

    def book(self) -> ToldBook:
        """See `World.book`."""
        script = (HERE / "read_book.py").read_text("utf-8")
        told: ToldBook = json.loads(
            self._exec("panel", _PYTHON, "-", _BOOK, given=script)
        )
        return told

    def confined(self) -> Sequence[str]:
        """See `World.confined`."""
        script = (HERE / "read_confinement.py").read_text("utf-8")
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
    environment = {**images, "COUNTERFOIL_SECRETS": str(folder / "secrets")}
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
