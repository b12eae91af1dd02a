"""What both ways to boot the deployment offer to the trial."""

import socket
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

from deploy.trial.judging import ToldBook, ToldLog

HERE: Final = Path(__file__).resolve().parent
INSIDE: Final = HERE / "inside"
ROOT: Final = HERE.parents[1]
COMPOSE: Final = (ROOT / "deploy" / "compose.yaml", HERE / "compose.yaml")
PANEL_TOKEN: Final = "trial"  # noqa: S105 - of the simulated panel, see compose.yaml
ROLES: Final = ("api", "worker")
"""The services that have a listener inside."""

_LOOK_SECONDS: Final = 0.2

type Listened = Mapping[str, tuple[int, str]]
"""Status and text by path; see `inside/listener.py`."""


class TrialError(Exception):
    """The trial cannot go on, or something is not as it should be."""


class World(Protocol):
    """A deployment that is up."""

    @property
    def address(self) -> str:
        """Where its API is reached: `http://127.0.0.1:8080`."""
        ...

    @property
    def operator_token(self) -> str:
        """What the first owner is made by."""
        ...

    def run(self, service: str, *words: str) -> str:
        """Return what `counterfoil` prints, run inside a service."""
        ...

    def listened(self, role: str) -> Listened:
        """Return what the listener inside a role answers."""
        ...

    def kill(self, service: str) -> None:
        """End a service without a word; return when it runs again, as it came."""
        ...

    def is_healthy(self, service: str) -> bool:
        """Whether the service's own health check says so."""
        ...

    def log(self) -> ToldLog:
        """Return what the log says."""
        ...

    def book(self) -> ToldBook:
        """Return what the panel's book says."""
        ...

    def confined(self) -> Sequence[str]:
        """Return a sentence for each service that can do more than it should."""
        ...

    def stop(self) -> Sequence[str]:
        """Stop politely; return a sentence for each service that did not end well."""
        ...


def wait_until(is_so: Callable[[], bool], what: str, patience_seconds: float) -> None:
    """Return when it is so.

    Raises:
        TrialError: it is not in time.
    """
    give_up_at = time.monotonic() + patience_seconds
    while not is_so():
        if time.monotonic() > give_up_at:
            msg = f"{what}: not within {patience_seconds:.0f} s"
            raise TrialError(msg)
        time.sleep(_LOOK_SECONDS)


def free_port() -> int:
    """Return a port of 127.0.0.1 at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
