"""A read model is made anew beside the live one, which is read and followed meanwhile.

claim ─► begin, resume ─► fold to the horizon ─► tidy ─► fold the rest ─► swap ─► empty
                            ▲ a batch is a transaction: whoever dies here is resumed
                              behind the last one
"""

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from psycopg.errors import LockNotAvailable
from psycopg.sql import SQL, Identifier

from application.operators.instruction import Instruction
from infrastructure.errors import DatabaseUnavailableError
from infrastructure.postgres.database import Database
from infrastructure.projecting.builds.claim import claimed
from infrastructure.projecting.builds.emptying import QUIET_SECONDS, empty
from infrastructure.projecting.builds.errors import BuildLostError, FeedHeldError
from infrastructure.projecting.builds.folding import BATCH, Folding, Pace, held
from infrastructure.projecting.builds.promotion import Promoted, Promotion
from infrastructure.projecting.builds.spare import Begun, begin, drop, positions
from infrastructure.projecting.projector import Projector
from projections.builds import Abandoned, Rebuilt, Tell
from projections.read_models.all import AnyProjection
from projections.read_models.slots import other_slot, table_name

_EASY_ROUNDS: Final = 5
_ROUNDS: Final = 50

# Statistics, or the first plans would be those of an empty table; and dead versions
# of rows, which readers would have to step over.
_TIDY: Final = SQL("VACUUM (ANALYZE) {table}")


@dataclass(frozen=True, slots=True)
class Rebuild:
    """Makes read models anew over one database."""

    database: Database
    batch: int = BATCH
    quiet_s: float = QUIET_SECONDS
    """How long old snapshots are waited for, before a table is emptied row by row (or,
    after the swap, left for the next build)."""

    def __call__(
        self, projection: AnyProjection, instruction: Instruction, tell: Tell
    ) -> Rebuilt:
        """Return what was made and promoted.

        Repeated after it was interrupted or killed, it goes on where it was.

        Raises:
            BuildError: see there; what is done can be resumed unless it says otherwise.
            DatabaseUnavailableError: the same.
        """
        name = projection.name
        pace = Pace(name, "rebuild", tell)
        with claimed(self.database, name, lambda: pace.at("waiting")) as claim:
            projector = Projector(self.database)
            began_at = time.monotonic()
            begun = begin(
                self.database, name, projection.schema, "rebuild", seconds=self.quiet_s
            )
            folding = Folding(
                projector=projector,
                projection=projection,
                slot=begun.slot,
                claim=claim,
                pace=pace,
                position=begun.position,
                batch=self.batch,
            )
            folding.to_horizon()
            pace.at("tidying")
            self._tidy(projection, begun.slot)
            pace.at("promoting")
            promoted = self._promote(folding, instruction)
            seconds = time.monotonic() - began_at
            is_emptied = self._empty_old(name, begun.slot)
        return _rebuilt(folding, begun, promoted, seconds, is_emptied=is_emptied)

    def abandon(self, projection: AnyProjection) -> Abandoned:
        """Return what was dropped; the live rows are not touched.

        Raises:
            BuildHeldError: another process is at it.
            DatabaseUnavailableError: it may have to be repeated.
        """
        name = projection.name
        with claimed(self.database, name, lambda: None):
            work, position = drop(self.database, name)
        return Abandoned(projection=name, work=work, position=position)

    def _tidy(self, projection: AnyProjection, slot: str) -> None:
        table = Identifier("counterfoil", table_name(projection.name, slot))
        with self.database.connection() as connection:
            connection.execute(_TIDY.format(table=table))

    def _promote(self, folding: Folding, instruction: Instruction) -> Promoted:
        """Swap as soon as the live rows are not further than the new ones.

        Who follows the log may be quicker a few times; then it has to wait for the
        last batch of ours.
        """
        name, schema = folding.projection.name, folding.projection.schema
        meta = instruction.meta(f"projection:{name}")
        promotion = Promotion(name, folding.slot, schema, meta)
        for turn in range(_ROUNDS):
            if not promotion.is_unknown:
                folding.claim.require()
                with suppress(LockNotAvailable):  # then the next turn may have it
                    self._catch_up(folding, is_held=turn >= _EASY_ROUNDS)
            if promoted := promotion(self.database):
                return promoted
        raise FeedHeldError(name, folding.position)

    def _catch_up(self, folding: Folding, *, is_held: bool) -> None:
        name, live = folding.projection.name, other_slot(folding.slot)
        if is_held:
            with held(self.database, name, live):
                folding.to_horizon()
                with self.database.connection() as connection:
                    least, _ = positions(connection, name, live)
        else:
            with self.database.connection() as connection:
                least, _ = positions(connection, name, live)
        folding.up_to(least)

    def _empty_old(self, name: str, slot: str) -> bool:
        """Return whether the old rows are gone; else they wait for the next build."""
        with suppress(BuildLostError, DatabaseUnavailableError):
            return empty(
                self.database, name, other_slot(slot), seconds=self.quiet_s, rows=False
            )
        return False


def _rebuilt(
    folding: Folding,
    begun: Begun,
    promoted: Promoted,
    seconds: float,
    *,
    is_emptied: bool,
) -> Rebuilt:
    return Rebuilt(
        projection=folding.projection.name,
        schema=folding.projection.schema,
        began="resumed" if begun.is_resumed else "anew",
        began_because=begun.because,
        from_position=begun.position,
        position=promoted.position,
        live_before=promoted.live_before,
        events=folding.events,
        set_aside=promoted.set_aside,
        seconds=seconds,
        per_second=(promoted.position - begun.position) / seconds,
        promoted_at=promoted.event,
        is_paused=promoted.is_paused,
        is_emptied=is_emptied,
    )
