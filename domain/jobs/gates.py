"""What a closed gate does to a job: it is parked once, and due again when it opens.

               Gated                          Unpark
 running ────────────────► waiting at a gate ────────► waiting
          (attempt given back)

While the gate is closed nothing is written and nothing is claimed: the job is due at
the end of time.  Its deadline is looked at when it runs again.  Opening spreads those
that waited, by their serial keys, so that the jobs of one key are due together and go
in their order.
"""

from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Final

import msgspec

from domain.errors import IllegalTransitionError
from domain.event import Instant
from domain.jobs.aggregate import Job, Stage
from domain.jobs.events import Unparked

WHEN_OPENED: Final = datetime(9999, 12, 31, tzinfo=UTC)
"""Until when a job is parked that waits at a gate: nobody knows yet."""

LONGEST_SPREAD: Final = timedelta(seconds=55)
"""The rest of the minute, in which all that waited is due, is for noticing."""

APART: Final = timedelta(milliseconds=50)
"""Between two jobs that waited, on average, as long as they are few."""

_FRACTIONS: Final = 2**32


class Unpark(msgspec.Struct, frozen=True, kw_only=True):
    """Make a job due that waits at a gate."""

    run_at: Instant


def unpark(job: Job, command: Unpark) -> tuple[Unparked, ...]:
    """Return the fact that the job is due again; none when it waits at no gate.

    Raises:
        IllegalTransitionError: the job does not wait.
    """
    if job.stage is not Stage.WAITING:
        raise IllegalTransitionError(job.stage, "unpark", stream="job")
    return () if job.gate is None else (Unparked(run_at=command.run_at),)


def spread(key: str, waiting: int) -> timedelta:
    """Return how long after the opening the jobs of `key` are due.

    `waiting` is the number of jobs that wait; the last of them is due after as many
    times `APART`, and never later than `LONGEST_SPREAD`.
    """
    digest = blake2b(key.encode(), digest_size=4).digest()
    share = int.from_bytes(digest) / _FRACTIONS
    return share * min(max(waiting, 0) * APART, LONGEST_SPREAD)
