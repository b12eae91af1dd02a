"""Trying again what a projection had set aside, stream by stream.

The rows of a stream are deleted and folded anew from the log up to the checkpoint, in
one transaction under the checkpoint's lock.  Where a row is no fold of one stream, the
events that were set aside are folded on top of what there is.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final
from uuid import UUID

import psycopg
from psycopg.errors import LockNotAvailable

from domain.recorded import RecordedEvent
from infrastructure.log.follower import Batch, Found, decoded
from infrastructure.log.rows import read_stream
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.database import Connection, transaction
from infrastructure.projecting.advanced import Resumed, State
from infrastructure.projecting.folding import Folded, concerned
from infrastructure.projecting.refusal import in_our_words, is_race, refusal
from infrastructure.projecting.standing import look
from infrastructure.projecting.table import UnwritableError
from infrastructure.projecting.target import Target
from projections.read_models.projection import Key
from projections.read_models.slots import table_name

_REPEATS: Final = 100
_PAUSE_SECONDS: Final = 0.05
"""Five seconds in all for whoever is writing a batch to let go of the checkpoint."""


class _Trial(Exception):  # noqa: N818 - no error: rolls a trial back
    """Ends a trial that went well."""


def _undo(*, is_trial: bool) -> None:
    if is_trial:
        raise _Trial


class _Stop(Exception):  # noqa: N818 - no error: carries a state out of a transaction
    """This code may not write there now."""

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self.state = state


class Resuming:
    """Tries again what one slot of one projection has set aside."""

    def __init__(
        self, connections: Connections, target: Target, *, is_build: bool
    ) -> None:
        """Take connections, the slot, and whether a build is being made there."""
        self._connections = connections
        self._target = target
        self._is_build = is_build

    def __call__(self) -> Resumed:
        """Return what came of it; streams that were tried before an error stand.

        Raises:
            DatabaseUnavailableError: see `Projector.resume`.
        """
        tried = 0
        state = State.ADVANCED
        with self._connections.connection() as connection:
            streams = self._target.aside.streams(connection)
        try:
            for stream_id in streams:
                tried += self._stream(stream_id)
        except _Stop as stop:
            state = stop.state
        with self._connections.connection() as connection:
            left = self._target.aside.left(connection)
        return Resumed(
            state=state if streams else State.UP_TO_DATE, tried=tried, left=left
        )

    def _stream(self, stream_id: UUID) -> int:
        """Return how many events of a stream were tried, whatever came of them."""
        refused: dict[int, str] = {}
        while True:
            error, events, tried = self._try(stream_id, refused)
            if error is None:
                return tried
            guilty, reason = self._guilty(stream_id, refused, events, error)
            refused[guilty] = reason

    def _guilty(
        self,
        stream_id: UUID,
        refused: dict[int, str],
        events: Sequence[Found],
        error: Exception,
    ) -> tuple[int, str]:
        """Return the first event with which the fold cannot be written, and why."""
        whole, refusing = 0, len(events)
        while refusing - whole > 1:
            middle = (whole + refusing) // 2
            found, _, _ = self._try(stream_id, refused, events[:middle])
            if found is None:
                whole = middle
            else:
                refusing, error = middle, found
        reason = refusal(error) or ""
        position = events[refusing - 1].position
        if position in refused:
            raise self._in_our_words(error) from error
        return position, reason

    def _try(
        self,
        stream_id: UUID,
        refused: dict[int, str],
        only: Sequence[Found] | None = None,
    ) -> tuple[Exception | None, Sequence[Found], int]:
        """Fold a stream: what refused it, its events, how many were set aside.

        With `only` some of its events it is a trial, and nothing stays.
        """
        repeats = 0
        events: list[Found] = []
        while True:
            try:
                with (
                    self._connections.connection() as connection,
                    transaction(connection, keyed=True),
                ):
                    position = self._hold(connection)
                    again = self._target.aside.forget(connection, stream_id)
                    events = self._events(connection, stream_id, position, again)
                    self._fold(connection, events, only or events, refused)
                    _undo(is_trial=only is not None)
            except _Trial:
                return None, events, 0
            except UnwritableError as error:
                return error, events, 0
            except _Stop as stop:
                if stop.state is not State.OVERTAKEN or repeats >= _REPEATS:
                    raise
            except psycopg.Error as error:
                if refusal(error) is not None:
                    return error, events, 0
                is_repeated = is_race(error) or isinstance(error, LockNotAvailable)
                if not is_repeated or repeats >= _REPEATS:
                    raise self._in_our_words(error) from error
            else:
                return None, events, len(again)
            repeats += 1
            time.sleep(_PAUSE_SECONDS)

    def _in_our_words(self, error: Exception) -> Exception:
        name = self._target.projection.name
        if isinstance(error, psycopg.Error):
            return in_our_words(error, name, table_name(name, self._target.slot))
        return error

    def _hold(self, connection: Connection) -> int:
        """Return the checkpoint, locked; a projection that is paused may resume."""
        projection, slot = self._target.projection, self._target.slot
        standing = look(connection, projection, hold=True)
        if standing is None:
            raise _Stop(State.ABSENT)
        hindrance = standing.hindrance(projection, slot, is_build=self._is_build)
        if hindrance not in (None, State.PAUSED):
            raise _Stop(hindrance)
        position = self._target.lock(connection)
        if position is None:
            raise _Stop(State.OVERTAKEN)
        return position

    def _events(
        self,
        connection: Connection,
        stream_id: UUID,
        until: int,
        again: frozenset[int],
    ) -> list[Found]:
        projection = self._target.projection
        rows = read_stream(connection, stream_id)
        events = [decoded(row) for row in rows if row.position <= until]
        return [
            found
            for found in concerned(projection, events)
            if projection.is_by_stream or found.position in again
        ]

    def _keys(self, found: Found) -> tuple[Key, ...]:
        """Return the keys of the rows that an event may have made."""
        if isinstance(found, RecordedEvent):
            with suppress(Exception):  # it made none, then
                return self._target.projection.keys(found)
        return ()

    def _fold(
        self,
        connection: Connection,
        whole: Sequence[Found],
        events: Sequence[Found],
        refused: dict[int, str],
    ) -> Folded:
        if self._target.projection.is_by_stream:
            keys = {key for found in whole for key in self._keys(found)}
            self._target.table.delete(connection, keys)
        batch = Batch(after=0, until=0, events=list(events))
        folded = self._target.fold(connection, batch, refused, may_be_stuck=False)
        self._target.store(connection, folded)
        return folded
