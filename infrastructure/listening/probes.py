"""Liveness, readiness and start of a process, from what its parts let be checked."""

import threading
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from infrastructure.listening.check import Check, Flaw
from infrastructure.telemetry.pulse import Pulse

_STARTING: Final = "start"
_DRAINING: Final = "draining"
_CHECKS: Final = "checks"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a probe says: of each check, what is wrong with it or None."""

    checks: Mapping[str, Flaw | None]

    @property
    def is_good(self) -> bool:
        """Whether nothing is wrong."""
        return not any(self.checks.values())


class Probes:
    """The probes of one process; safe for its threads.

    Nothing is checked before `watch`: then the process is alive, and not ready.
    """

    def __init__(self) -> None:
        """Begin with a process that is about to start."""
        self._pulses: list[Pulse] = []
        self._ready: list[Check] = []
        self._started: list[Check] = []
        self._has_started = False
        self._is_draining = threading.Event()

    def watch(
        self,
        *,
        pulses: Sequence[Pulse],
        ready: Sequence[Check],
        started: Sequence[Check],
    ) -> None:
        """Say what is to be checked from now on: the process is started."""
        self._pulses = list(pulses)
        self._ready = list(ready)
        self._started = list(started)
        self._has_started = True

    def drain(self) -> None:
        """Say that the process was asked to stop: at once it is not ready any more."""
        self._is_draining.set()

    def alive(self) -> Verdict:
        """Return whether its loops come round; whatever the database does."""
        flaws = {
            pulse.name: Flaw.STUCK if pulse.is_stuck else None for pulse in self._pulses
        }
        return Verdict(checks=flaws)

    def ready(self) -> Verdict:
        """Return whether it can work now."""
        if self._is_draining.is_set():
            return Verdict(checks={_DRAINING: Flaw.DRAINING})
        if not self._has_started:
            return Verdict(checks={_STARTING: Flaw.STARTING})
        return _of(self._ready)

    def started(self) -> Verdict:
        """Return whether it has started, on a schema that is its own."""
        if not self._has_started:
            return Verdict(checks={_STARTING: Flaw.STARTING})
        return _of(self._started)


def _of(checks: Sequence[Check]) -> Verdict:
    if not checks:
        return Verdict(checks={_CHECKS: Flaw.ABSENT})
    return Verdict(checks={check.name: check() for check in checks})
