"""Workers that are killed and frozen while the demo runs."""

import signal
import time
from dataclasses import dataclass, field
from typing import Final

from infrastructure.demo.figures import Progress, progress
from infrastructure.demo.processes import Processes
from infrastructure.demo.stage import DemoOptions, Stage
from infrastructure.postgres.database import Connection

KILL_AT: Final = 0.15
FREEZE_AT: Final = 0.20

_ENOUGH_ORDERS: Final = 1000
_KILLED: Final = 0
_FROZEN: Final = 1
_KILLED_IN_WINDOW: Final = 2


@dataclass(slots=True)
class Mishaps:
    """Kills and freezes workers when enough is fulfilled."""

    connection: Connection
    processes: Processes
    stage: Stage
    options: DemoOptions
    dead: list[int] = field(default_factory=list[int])
    thaw_at: float | None = None
    """When the frozen worker goes on; 0 once it has."""

    def look(self) -> Progress:
        """Return how far everything is, after breaking what is due to break."""
        now = progress(self.connection)
        self.stage.show(now)
        self.processes.require_alive(self.dead)
        # A share of the first few orders says nothing yet.
        share = now.fulfilled / max(now.settled, _ENOUGH_ORDERS)
        if not self.dead and share >= KILL_AT:
            self._kill(_KILLED)
        if self.thaw_at is None and share >= FREEZE_AT:
            self._freeze()
        if self.thaw_at is not None and 0 < self.thaw_at <= time.monotonic():
            self._thaw()
        return now

    @property
    def have_begun(self) -> bool:
        """Whether one worker is dead and another one has been frozen."""
        return bool(self.dead) and self.thaw_at is not None

    @property
    def is_over(self) -> bool:
        """Whether nobody is frozen (any more)."""
        return self.thaw_at == 0

    def kill_in_window(self) -> None:
        """Kill one more worker, if that was not done."""
        if _KILLED_IN_WINDOW not in self.dead:
            self._kill(_KILLED_IN_WINDOW)

    def _kill(self, number: int) -> None:
        self.processes.signal(number, signal.SIGKILL)
        self.dead.append(number)
        self.processes.start_worker()
        self.stage.tell(f"worker {number + 1} killed with SIGKILL; another one started")

    def _freeze(self) -> None:
        self.processes.signal(_FROZEN, signal.SIGSTOP)
        self.thaw_at = time.monotonic() + self.options.freeze_seconds
        self.stage.tell("worker 2 frozen with SIGSTOP, for longer than its leases last")

    def _thaw(self) -> None:
        self.processes.signal(_FROZEN, signal.SIGCONT)
        self.thaw_at = 0.0
        self.stage.tell("worker 2 goes on; its leases are others' by now")
