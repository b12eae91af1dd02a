"""The spare table is brought up to a position, batch by batch, and that is told."""

import threading
import time
from collections import deque
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Final

from infrastructure.postgres.database import Connection, Database, transaction
from infrastructure.postgres.heads.table import number
from infrastructure.projecting.advanced import Advanced, State
from infrastructure.projecting.builds.claim import Claim
from infrastructure.projecting.builds.errors import BuildLostError, FeedHeldError
from infrastructure.projecting.projector import Projector
from projections.builds import Phase, Progress, Tell, Work
from projections.read_models.all import AnyProjection
from projections.read_models.slots import checkpoint_name

BATCH: Final = 20_000
"""Positions in one transaction."""

_LOOK_SECONDS: Final = 0.05
PATIENCE_SECONDS: Final = 30.0
"""How long a log that is held back below the live rows is waited for."""
_WINDOW_SECONDS: Final = 20.0

_HOLD: Final = """
SELECT position FROM counterfoil.checkpoints WHERE name = %(name)s FOR UPDATE
"""


@dataclass(slots=True)
class Pace:
    """Tells how far a build is, and how fast it has been of late."""

    projection: str
    work: Work
    tell: Tell
    done: int = 0
    total: int = 0
    _seen: deque[tuple[float, int]] = field(default_factory=deque[tuple[float, int]])

    def at(self, phase: Phase) -> None:
        """Tell where it is."""
        self.tell(
            Progress(
                projection=self.projection,
                work=self.work,
                phase=phase,
                done=self.done,
                total=max(self.total, self.done),
                per_second=self._per_second(),
            )
        )

    def _per_second(self) -> float:
        now = time.monotonic()
        self._seen.append((now, self.done))
        while now - self._seen[0][0] > _WINDOW_SECONDS and len(self._seen) > 2:  # noqa: PLR2004 - a pace needs two
            self._seen.popleft()
        began_at, began = self._seen[0]
        return (self.done - began) / (now - began_at) if now > began_at else 0.0


@dataclass(slots=True)
class Folding:
    """One build: its projection, its slot, and what it has done so far."""

    projector: Projector
    projection: AnyProjection
    slot: str
    claim: Claim
    pace: Pace
    position: int
    events: int = 0
    """Folded since it was made."""
    batch: int = BATCH

    def __post_init__(self) -> None:
        """Let the pace count from where it begins."""
        self.pace.done = self.position

    def to_horizon(self) -> None:
        """Fold everything that is final now."""
        self.to(self.projector.horizon.current())

    def to(self, until: int) -> None:
        """Fold up to `until`, or as far as the log is final.

        Raises:
            BuildLostError: it is not this build's slot any more.
            DatabaseUnavailableError: what is committed stays.
        """
        self.pace.total = max(self.pace.total, until)
        while self.position < until:
            self.claim.require()
            advanced = self.projector.advance(
                self.projection, slot=self.slot, until=until, most=self.batch
            )
            if not self._take(advanced):
                return

    def _take(self, advanced: Advanced) -> bool:
        """Count one batch; return whether there may be another one."""
        if advanced.state is State.BUSY:
            return True
        if advanced.state in {State.ADVANCED, State.OVERTAKEN, State.UP_TO_DATE}:
            self.position = self.pace.done = advanced.position
            self.events += advanced.events
            self.pace.at("folding")
            return advanced.state is not State.UP_TO_DATE
        raise BuildLostError(self.projection.name)

    def up_to(self, least: int) -> None:
        """Fold at least to `least`, which the live rows have reached.

        Raises:
            FeedHeldError: an open transaction holds the log back before it.
        """
        give_up_at = time.monotonic() + PATIENCE_SECONDS
        pause = threading.Event()
        while True:
            self.to_horizon()
            if self.position >= least:
                return
            if time.monotonic() >= give_up_at:
                raise FeedHeldError(self.projection.name, self.position)
            pause.wait(_LOOK_SECONDS)


@contextmanager
def held(database: Database, name: str, live: str) -> Generator[int]:
    """Keep the live rows where they are; give their position.

    Only for moments: who follows the log waits for it.  Nothing is held that was
    never followed: its position is 0.
    """
    with closing(database.connect()) as connection, transaction(connection):
        yield _held(connection, checkpoint_name(name, live))


def _held(connection: Connection, checkpoint: str) -> int:
    row = connection.execute(_HOLD, {"name": checkpoint}).fetchone()
    return 0 if row is None else number(row[0])
