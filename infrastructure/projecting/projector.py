"""One batch of one projection: read, folded, and written with its checkpoint.

Exactly once, whoever else does the same: the checkpoint is locked, and moves only from
where the batch began.  A batch that PostgreSQL refuses is halved until one event
stands alone; that one is set aside.
"""

import threading
import time
from typing import TYPE_CHECKING, Final, NamedTuple

import psycopg
from eventsourcing.persistence import IntegrityError
from psycopg.errors import LockNotAvailable

from infrastructure.log.datastore import PooledDatastore
from infrastructure.log.follower import Batch, Follower
from infrastructure.log.horizon import Horizon
from infrastructure.postgres.batch_store import REPEATS, Connections
from infrastructure.postgres.database import transaction
from infrastructure.projecting.advanced import Advanced, Resumed, State
from infrastructure.projecting.batches import Batches
from infrastructure.projecting.folding import Folded, concerned
from infrastructure.projecting.refusal import in_our_words, is_race, refusal
from infrastructure.projecting.resuming import Resuming
from infrastructure.projecting.standing import look
from infrastructure.projecting.table import UnwritableError, read_table
from infrastructure.projecting.target import Target
from projections.read_models.all import AnyProjection
from projections.read_models.slots import table_name

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST: Final = 1000
"""Positions of a batch, when nothing else is asked for."""

_REMEMBERED_SECONDS: Final = 1.0
"""How long a place that was looked up is relied on when there is nothing to do."""


class _Place(NamedTuple):
    """Where a projection is to go on."""

    slot: str
    position: int
    seen_at: float


class Projector:
    """Projects batches; one for each process, whose threads may share it."""

    def __init__(
        self, connections: Connections, horizon: Horizon | None = None
    ) -> None:
        """Take the connections to borrow, and the process's horizon if it has one."""
        self._connections = connections
        self.horizon = horizon or Horizon(connections.connection)
        self._batches = Batches(Follower(connections.connection, self.horizon))
        self._datastore = PooledDatastore(connections)
        self._turn = threading.Lock()
        self._places: dict[tuple[str, str | None], _Place] = {}
        self._bounds: dict[tuple[str, str | None], int] = {}
        """Where the last batch ended that was refused: the guilty one is before it."""
        self._targets: dict[tuple[type[AnyProjection], str], Target] = {}

    def advance(
        self,
        projection: AnyProjection,
        *,
        slot: str | None = None,
        until: int | None = None,
        most: int = MOST,
    ) -> Advanced:
        """Project the next `most` positions, as far as `until` and the horizon allow.

        Without a slot, what is live is followed; with one, a build in the spare slot
        goes on.  An `until` that a horizon had reached already costs no new look.

        Raises:
            DatabaseUnavailableError: nobody knows whether it was written; ask again.
            ProjectingError, ReadModelMismatchError: the database does not fit.
        """
        key = (projection.name, slot)
        place = self._places.pop(key, None)
        if place is None or time.monotonic() - place.seen_at > _REMEMBERED_SECONDS:
            found = self._look(projection, slot)
            if isinstance(found, Advanced):
                return found
            place = found
        until = self._bounded(key, place, until)
        batch = (
            self._batches.live(place.position, until, most)
            if slot is None
            else self._batches.build(projection, place.position, until, most)
        )
        if batch.until == place.position:
            self._places[key] = place
            return self._told(State.UP_TO_DATE, place)
        told = self._written(projection, place, batch, is_build=slot is not None)
        if told.state is State.ADVANCED:
            self._places[key] = _Place(place.slot, told.position, time.monotonic())
        return told

    def _bounded(
        self, key: tuple[str, str | None], place: _Place, until: int | None
    ) -> int | None:
        """Return how far to go at most: not beyond what was refused as a whole."""
        bound = self._bounds.get(key)
        if bound is None or bound <= place.position:
            self._bounds.pop(key, None)
            return until
        return bound if until is None else min(until, bound)

    def _look(self, projection: AnyProjection, slot: str | None) -> _Place | Advanced:
        seen_at = time.monotonic()
        with self._connections.connection() as connection:
            standing = look(connection, projection)
        if standing is None:
            return self._told(State.ABSENT, _Place(slot or "", 0, seen_at))
        at = slot or standing.live
        place = _Place(at, standing.position(at), seen_at)
        hindrance = standing.hindrance(projection, at, is_build=slot is not None)
        return place if hindrance is None else self._told(hindrance, place)

    def _told(self, state: State, place: _Place) -> Advanced:
        return Advanced(
            state=state,
            slot=place.slot,
            before=place.position,
            position=place.position,
            horizon=self.horizon.highest,
        )

    def batch(
        self,
        projection: AnyProjection,
        after: int,
        *,
        until: int | None = None,
        most: int = MOST,
    ) -> Batch:
        """Return what follows `after`, of the families that the projection reads."""
        return self._batches.apart(projection, after, until, most)

    def _written(
        self, projection: AnyProjection, place: _Place, batch: Batch, *, is_build: bool
    ) -> Advanced:
        target = self.target(projection, place.slot)
        refused: dict[int, str] = {}
        races = 0
        while True:
            try:
                told = self._write(target, batch, refused, is_build=is_build)
            except IntegrityError:
                told = State.OVERTAKEN
            except (UnwritableError, psycopg.Error) as error:
                if isinstance(error, LockNotAvailable):
                    return self._told(State.BUSY, place)
                if isinstance(error, psycopg.Error) and is_race(error):
                    races += 1
                    if races <= REPEATS:
                        continue
                name = projection.name
                self._bounds[name, place.slot if is_build else None] = batch.until
                batch = self._halved(target, batch, error, refused)
                continue
            if isinstance(told, State):
                return self._told(told, place)
            return Advanced(
                state=State.ADVANCED,
                slot=place.slot,
                before=batch.after,
                position=batch.until,
                horizon=self.horizon.highest,
                events=told.events,
                rows=len(told.changed) + len(told.born) + len(told.gone),
                set_aside=len(told.aside),
            )

    def _write(
        self,
        target: Target,
        batch: Batch,
        refused: "Mapping[int, str]",
        *,
        is_build: bool,
    ) -> Folded | State:
        with (
            self._connections.connection() as connection,
            transaction(connection, keyed=True),
        ):
            standing = look(connection, target.projection, hold=True)
            if standing is None:
                return State.ABSENT
            hindrance = standing.hindrance(
                target.projection, target.slot, is_build=is_build
            )
            if hindrance is not None:
                return hindrance
            folded = target.write(
                connection,
                batch,
                refused=refused,
                may_be_stuck=standing.has_aside(target.slot),
            )
        return folded or State.OVERTAKEN

    def _halved(
        self, target: Target, batch: Batch, error: Exception, refused: dict[int, str]
    ) -> Batch:
        """Return what to try instead of a batch that was refused.

        Its first half; or, when one event of it stands alone, itself, with that event
        among the `refused`.

        Raises:
            InfrastructureError: no event is to blame.
        """
        reason = refusal(error)
        events = concerned(target.projection, batch.events)
        is_guilty = [found for found in events if found.position not in refused]
        if reason is None or not is_guilty:
            self._targets.clear()  # the tables may have changed under them
            if isinstance(error, psycopg.Error):
                name = target.projection.name
                raise in_our_words(
                    error, name, table_name(name, target.slot)
                ) from error
            raise error
        if len(events) == 1:
            refused[events[0].position] = reason
            return batch
        until = events[len(events) // 2 - 1].position
        return Batch(
            after=batch.after,
            until=until,
            events=[found for found in batch.events if found.position <= until],
        )

    def target(self, projection: AnyProjection, slot: str) -> Target:
        """Return where batches of a projection are written in a slot.

        Raises:
            ReadModelMismatchError: the table does not fit the projection's rows.
        """
        with self._turn:
            found = self._targets.get((type(projection), slot))
        if found is None:
            with self._connections.connection() as connection:
                table = read_table(connection, projection, slot)
            found = Target(projection, slot, table, self._datastore)
            with self._turn:
                self._targets[type(projection), slot] = found
        return found

    def resume(self, projection: AnyProjection, *, slot: str | None = None) -> Resumed:
        """Try again what was set aside in a slot, the live one when none is named.

        Raises:
            DatabaseUnavailableError: what was tried before stands; ask again.
            ProjectingError, ReadModelMismatchError: the database does not fit.
        """
        with self._connections.connection() as connection:
            standing = look(connection, projection)
        if standing is None:
            return Resumed(state=State.ABSENT)
        at = slot or standing.live
        target = self.target(projection, at)
        return Resuming(self._connections, target, is_build=slot is not None)()
