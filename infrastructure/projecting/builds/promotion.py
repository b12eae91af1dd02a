"""The swap: the spare table is live, in one transaction with all that depends on it."""

from typing import Final, NamedTuple

import psycopg

from application.operators.taken import Deed, taken
from domain.event import Meta
from domain.operators.actions import PROJECTION_REBUILT
from domain.operators.events import ProjectionPromoted
from infrastructure.errors import CommitUnknownError
from infrastructure.ids import new_id
from infrastructure.postgres.database import Connection, Database
from infrastructure.postgres.heads.table import number
from infrastructure.projecting.builds.errors import BuildLostError
from infrastructure.projecting.builds.spare import (
    State,
    forget,
    positions,
    read_state,
)
from infrastructure.recording.remarks import position_of, remark
from projections.read_models.slots import other_slot

_SWAP: Final = """
UPDATE counterfoil.projections
   SET live = %(slot)s, schema = %(schema)s
 WHERE name = %(name)s
"""

_COUNT: Final = """
SELECT count(*)
  FROM counterfoil.projection_set_aside
 WHERE projection = %(name)s
   AND slot = %(slot)s
"""


class Promoted(NamedTuple):
    """What the swap has found and done."""

    position: int
    live_before: int
    event: int
    """The position of the event that tells it."""
    set_aside: int
    """Events that wait in the promoted slot, whenever they were set aside."""
    is_paused: bool


class Promotion:
    """One swap on its way to be committed, over however many tries."""

    def __init__(self, name: str, slot: str, schema: int, meta: Meta) -> None:
        """Promote what the code of `schema` has made in `slot`, as `meta` says."""
        self._name = name
        self._slot = slot
        self._schema = schema
        self._meta = meta
        self._stream = new_id()
        self.is_unknown = False
        """Whether the last try may have happened: nothing is folded before the next."""
        self._sent: Promoted | None = None
        """What was sent before, and may have been committed."""

    def __call__(self, database: Database) -> Promoted | None:
        """Return what was promoted; None when it has to be tried again.

        Because the live rows are further, so that readers would go back; because
        somebody held a lock; or because the answer to a COMMIT was lost.

        Raises:
            BuildLostError: it is not a rebuild's slot any more.
        """
        self.is_unknown = False
        try:
            with database.transaction() as connection:
                return self._promoted(connection)
        except CommitUnknownError:
            self.is_unknown = True
            return None
        except psycopg.errors.LockNotAvailable:
            return None

    def _promoted(self, connection: Connection) -> Promoted | None:
        state = read_state(connection, self._name, lock=True)
        if self._sent is not None and (event := position_of(connection, self._stream)):
            return self._sent._replace(event=event)
        self._require_mine(state)
        live_before, position = positions(connection, self._name, state.live)
        if position < live_before:
            return None
        # The row's lock keeps both positions: every batch shares it until its end.
        asked = {"name": self._name, "slot": self._slot, "schema": self._schema}
        connection.execute(_SWAP, asked)
        aside = number(connection.execute(_COUNT, asked).fetchall()[0][0])
        forget(connection, self._name, other_slot(self._slot))
        promoted = ProjectionPromoted(
            projection=self._name,
            schema_number=self._schema,
            slot=self._slot,
            position=position,
        )
        record = taken(
            Deed(
                action=PROJECTION_REBUILT,
                target_kind="projection",
                target=f"projection:{self._name}",
            ),
            {"slot": state.live, "position": live_before},
            {"slot": self._slot, "position": position, "schema": self._schema},
        )
        event = remark(connection, (record, promoted), self._meta, self._stream)
        paused = state.paused_at is not None
        self._sent = Promoted(position, live_before, event, aside, paused)
        return self._sent

    def _require_mine(self, state: State) -> None:
        mine = ("rebuild", self._schema, self._slot)
        if (state.work, state.work_schema, state.spare) != mine:
            raise BuildLostError(self._name)
