"""What one process does: a worker for jobs, a runner for projections, a server, or all.

start: jobs, projections, server
stop: not ready ─► the server takes nothing new, projections are told to end ─► jobs
      stop politely ─► requests and projections have ended
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from infrastructure.listening.check import Check
from infrastructure.listening.checks import part
from infrastructure.processor.worker import Worker
from infrastructure.projecting.runner.runner import ProjectionRunner
from infrastructure.telemetry.pulse import Pulse


class Server(Protocol):
    """Answers requests in threads of its own."""

    @property
    def address(self) -> str:
        """Where it is reached."""
        ...

    def tell_ticks(self, tick: Callable[[], None]) -> None:
        """Call `tick` whenever its loop comes round: several times a second."""
        ...

    def start(self) -> None:
        """Begin."""
        ...

    def ask_to_stop(self) -> None:
        """Take nothing new."""
        ...

    def stop(self) -> None:
        """Return when every request has ended."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """Starts and stops what this process does."""

    worker: Worker | None
    runner: ProjectionRunner | None
    server: Server | None = None
    stopping: Callable[[], None] = lambda: None
    """Told before anything stops."""

    answering: Pulse = field(default_factory=lambda: Pulse("http"))
    """Of the server's loop."""

    @property
    def pulses(self) -> Sequence[Pulse]:
        """The loops that have to come round as long as it runs."""
        return (
            *(() if self.worker is None else self.worker.pulses),
            *(() if self.runner is None else (self.runner.pulse,)),
            *(() if self.server is None else (self.answering,)),
        )

    @property
    def checks(self) -> Sequence[Check]:
        """What says of itself whether it is ready."""
        return (
            *(() if self.worker is None else (part("jobs", self.worker.is_ready),)),
            *(
                ()
                if self.runner is None
                else (part("projections", self.runner.is_ready),)
            ),
        )

    def start(self) -> None:
        """Begin."""
        if self.worker is not None:
            self.worker.start()
        if self.runner is not None:
            self.runner.start()
        if self.server is not None:
            self.server.tell_ticks(self.answering.beat)
            self.server.start()

    def stop(self) -> None:
        """Return when all has stopped.

        Projections are given back at once, while handlers still have their grace: the
        next process leads them within seconds.
        """
        self.stopping()
        if self.server is not None:
            self.server.ask_to_stop()
            self.answering.end()
        if self.runner is not None:
            self.runner.ask_to_stop()
        if self.worker is not None:
            self.worker.stop()
        if self.server is not None:
            self.server.stop()
        if self.runner is not None:
            self.runner.stop()
