"""What a handler is given beside its arguments."""

from typing import Protocol
from uuid import UUID

from domain.event import JsonObject


class Context(Protocol):
    """One claim of one job, as its handler sees it; never a connection."""

    @property
    def job_id(self) -> UUID:
        """The job's id, also its stream's."""
        ...

    @property
    def tenant_id(self) -> str:
        """The job's tenant."""
        ...

    @property
    def correlation_id(self) -> str:
        """Ties this job to the order or request that led to it."""
        ...

    @property
    def attempt(self) -> int:
        """The attempt that this run spends, from 1."""
        ...

    @property
    def token(self) -> int:
        """The fencing token of this claim; every write carries it."""
        ...

    @property
    def cancel_requested(self) -> bool:
        """Whether an operator wants the job to stop; known within a heartbeat."""
        ...

    @property
    def seconds_left(self) -> float:
        """Seconds until the hard deadline or the end of the confirmed lease."""
        ...

    def may_begin(self) -> bool:
        """Whether the lease and the deadline outlast one more provider call."""
        ...

    def progress(self, value: JsonObject) -> None:
        """Show how far the work is; saved with the next heartbeat."""
        ...

    def log(self, event: str, /, **values: str | float | bool | None) -> None:
        """Write one structured log line that names the job.

        What every line says itself stays: `at`, `pid`, `event`, `job`, `kind` and
        `attempt` cannot be given other values.
        """
        ...
