"""What one process does: a worker for jobs, a runner for projections, a server, or all.

start: jobs, projections, server
stop: the server takes nothing new, projections are told to end ─► jobs stop politely
      ─► requests and projections have ended
"""

from dataclasses import dataclass
from typing import Protocol

from infrastructure.processor.worker import Worker
from infrastructure.projecting.runner.runner import ProjectionRunner


class Server(Protocol):
    """Answers requests in threads of its own."""

    @property
    def address(self) -> str:
        """Where it is reached."""
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

    def start(self) -> None:
        """Begin."""
        if self.worker is not None:
            self.worker.start()
        if self.runner is not None:
            self.runner.start()
        if self.server is not None:
            self.server.start()

    def stop(self) -> None:
        """Return when all has stopped.

        Projections are given back at once, while handlers still have their grace: the
        next process leads them within seconds.
        """
        if self.server is not None:
            self.server.ask_to_stop()
        if self.runner is not None:
            self.runner.ask_to_stop()
        if self.worker is not None:
            self.worker.stop()
        if self.server is not None:
            self.server.stop()
        if self.runner is not None:
            self.runner.stop()
