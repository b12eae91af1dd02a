"""What both ways to boot the deployment offer to the trial."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Protocol

from deploy.trial.judging import ToldBook, ToldLog

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parents[1]
COMPOSE: Final = (ROOT / "deploy" / "compose.yaml", HERE / "compose.yaml")
PANEL_TOKEN: Final = "trial"  # noqa: S105 - of the simulated panel, see compose.yaml

_LOOK_SECONDS: Final = 0.2


class TrialError(Exception):
    """The trial cannot go on, or something is not as it should be."""


class World(Protocol):
    """A deployment that is up."""

    def settle(self, lines: str) -> str:
        """Settle a file of orders, and return what the command says."""
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
