"""The container engine of this machine, and its compose, if they answer."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from deploy.trial.world import ROOT, TrialError

_SHOWN: Final = 3_000  # characters of a failure's end


@dataclass(frozen=True, slots=True)
class Engine:
    """Runs commands of the engine."""

    program: str
    compose: tuple[str, ...]

    def run(
        self,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        given: str | None = None,
    ) -> str:
        """Return what one command of the engine prints.

        Raises:
            TrialError: it failed.
        """
        return _run((self.program, *arguments), environment, given)

    def composed(
        self,
        *arguments: str,
        environment: Mapping[str, str],
        given: str | None = None,
    ) -> str:
        """Return what one command of compose prints; see `run`."""
        return _run((*self.compose, *arguments), environment, given)


def find_engine() -> Engine | str:
    """Return the engine, or a sentence on why there is none."""
    program = shutil.which("docker")
    if program is None:
        return "there is no docker on this machine"
    if not _answers(program, "version"):
        return "docker is installed, but no engine answers it"
    composes = ((program, "compose"), (shutil.which("docker-compose") or "",))
    for compose in composes:
        if compose[0] and _answers(*compose, "version"):
            return Engine(program, compose)
    return "docker answers, but there is no compose beside it"


def _answers(*command: str) -> bool:
    ended = subprocess.run(  # noqa: S603 - a program that `which` has found
        command, capture_output=True, check=False
    )
    return ended.returncode == 0


def _run(
    command: Sequence[str], environment: Mapping[str, str] | None, given: str | None
) -> str:
    ended = subprocess.run(  # noqa: S603 - our own command lines
        command,
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        input=given,
        stdin=subprocess.DEVNULL if given is None else None,
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode != 0:
        told = (ended.stdout + ended.stderr)[-_SHOWN:]
        msg = f"{' '.join(command)}: exit code {ended.returncode}\n{told}"
        raise TrialError(msg)
    return ended.stdout
