"""What one process does: a worker for jobs, a runner for projections, or both.

start: jobs, projections
stop: projections are told to end ─► jobs stop politely ─► projections have ended
"""

from dataclasses import dataclass

from infrastructure.processor.worker import Worker
from infrastructure.projecting.runner.runner import ProjectionRunner


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """Starts and stops what this process does."""

    worker: Worker | None
    runner: ProjectionRunner | None

    def start(self) -> None:
        """Begin."""
        if self.worker is not None:
            self.worker.start()
        if self.runner is not None:
            self.runner.start()

    def stop(self) -> None:
        """Return when all has stopped.

        Projections are given back at once, while handlers still have their grace: the
        next process leads them within seconds.
        """
        if self.runner is not None:
            self.runner.ask_to_stop()
        if self.worker is not None:
            self.worker.stop()
        if self.runner is not None:
            self.runner.stop()
