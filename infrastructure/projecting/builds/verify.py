"""A read model is compared with a fold of the log up to exactly where it is.

claim ─► begin ─► fold to the live position ─► hold it ─► fold the rest ─► one snapshot
                                                                 compare ◄──┘ let go
"""

import threading
import time
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from typing import Final

from psycopg.errors import LockNotAvailable

from infrastructure.errors import DatabaseUnavailableError
from infrastructure.postgres.database import Database, transaction
from infrastructure.projecting.builds.claim import claimed
from infrastructure.projecting.builds.comparison import Compared, compare
from infrastructure.projecting.builds.errors import BuildLostError, FeedHeldError
from infrastructure.projecting.builds.folding import (
    BATCH,
    PATIENCE_SECONDS,
    Folding,
    Pace,
    held,
)
from infrastructure.projecting.builds.spare import (
    begin,
    end,
    positions,
    require_in_log,
)
from infrastructure.projecting.projector import Projector
from projections.builds import Tell, Verified
from projections.read_models.all import AnyProjection
from projections.read_models.slots import other_slot

_LOOK_SECONDS: Final = 0.05

_SNAPSHOT: Final = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"


@dataclass(frozen=True, slots=True)
class Verify:
    """Compares read models with folds, over one database."""

    database: Database
    batch: int = BATCH
    close: int = 2_000
    """So few positions are folded while whoever follows the log has to wait."""

    def __call__(self, projection: AnyProjection, tell: Tell) -> Verified:
        """Return how the read model differs from a fold; nothing that is read changes.

        Raises:
            BuildError: see there; run it again.
            DatabaseUnavailableError: the same.
        """
        name = projection.name
        pace = Pace(name, "verify", tell)
        began_at = time.monotonic()
        with claimed(self.database, name, lambda: pace.at("waiting")) as claim:
            projector = Projector(self.database)
            begun = begin(self.database, name, projection.schema, "verify")
            folding = Folding(
                projector=projector,
                projection=projection,
                slot=begun.slot,
                claim=claim,
                pace=pace,
                position=begun.position,
                batch=self.batch,
            )
            try:
                compared = self._compared(folding)
            finally:
                # What is left of it hinders nobody: the next build begins anew.
                with suppress(
                    BuildLostError, DatabaseUnavailableError, LockNotAvailable
                ):
                    end(self.database, name, begun)
        return _verified(folding, compared, time.monotonic() - began_at)

    def _compared(self, folding: Folding) -> Compared:
        name, live = folding.projection.name, other_slot(folding.slot)
        with self.database.connection() as connection:
            require_in_log(connection, name, live)
        pause = threading.Event()
        give_up_at = time.monotonic() + PATIENCE_SECONDS
        while True:
            before = folding.position
            self._come_close(folding, live)
            compared = self._compared_exactly(folding, live)
            if compared is not None:
                return compared
            if folding.position > before:
                give_up_at = time.monotonic() + PATIENCE_SECONDS
            elif time.monotonic() >= give_up_at:
                raise FeedHeldError(name, folding.position)
            pause.wait(_LOOK_SECONDS)

    def _come_close(self, folding: Folding, live: str) -> None:
        """Fold until little is left, while the live rows go on."""
        while True:
            with self.database.connection() as connection:
                until, _ = positions(connection, folding.projection.name, live)
            if until - folding.position <= self.close:
                return
            before = folding.position
            folding.to(until)
            if folding.position == before:
                return  # the log is held back

    def _compared_exactly(self, folding: Folding, live: str) -> Compared | None:
        """Return the comparison; None when the two are not at one position."""
        name = folding.projection.name
        with ExitStack() as stack:
            connection = stack.enter_context(closing(self.database.connect()))
            try:
                with held(self.database, name, live) as position:
                    folding.to(position)
                    stack.enter_context(transaction(connection))
                    connection.execute(_SNAPSHOT)
                    found = positions(connection, name, live)
            except LockNotAvailable:
                return None  # a batch of whoever follows the log is under way
            if found != (position, position):
                return None
            folding.pace.at("comparing")
            return compare(connection, folding.projection, live)


def _verified(folding: Folding, compared: Compared, seconds: float) -> Verified:
    return Verified(
        projection=folding.projection.name,
        position=folding.position,
        rows=compared.rows,
        missing=compared.missing,
        extra=compared.extra,
        differing=compared.differing,
        samples=compared.samples,
        set_aside=compared.set_aside,
        set_aside_anew=compared.set_aside_anew,
        seconds=seconds,
    )
