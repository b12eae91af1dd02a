"""Whether a projection may write into a slot now, and where its checkpoints are."""

from typing import Any, Final

import msgspec
import psycopg
from psycopg.rows import class_row

from infrastructure.projecting.advanced import State
from projections.read_models.all import AnyProjection
from projections.read_models.slots import checkpoint_name

type Connection = psycopg.Connection[Any]

_LOOK: Final = """
SELECT p.live, p.schema, p.paused_at IS NOT NULL AS is_paused, p.build_schema,
       coalesce(a.position, 0) AS position_a, coalesce(b.position, 0) AS position_b,
       EXISTS (SELECT
                 FROM counterfoil.projection_set_aside s
                WHERE s.projection = p.name
                  AND s.slot = 'a') AS has_aside_a,
       EXISTS (SELECT
                 FROM counterfoil.projection_set_aside s
                WHERE s.projection = p.name
                  AND s.slot = 'b') AS has_aside_b
  FROM counterfoil.projections p
  LEFT JOIN counterfoil.checkpoints a ON a.name = %(a)s
  LEFT JOIN counterfoil.checkpoints b ON b.name = %(b)s
 WHERE p.name = %(name)s
"""

# Shared: batches of one projection do not hinder each other here, a swap or a pause
# waits for them, and they for it.  The commit need not wait for the disk: a crash of
# the server loses rows and checkpoint together, and they are folded again.  (Told here
# because it costs no round trip.)
_HOLD: Final = (
    _LOOK + " AND set_config('synchronous_commit', 'off', true) = 'off' FOR SHARE OF p"
)


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """One projection as the database knows it."""

    live: str
    schema: int
    is_paused: bool
    build_schema: int | None
    """Of what is being made in the spare slot; None: nothing is."""
    position_a: int
    position_b: int
    has_aside_a: bool
    has_aside_b: bool

    def position(self, slot: str) -> int:
        """Return the checkpoint of a slot; at first it is 0."""
        return self.position_a if slot == "a" else self.position_b

    def has_aside(self, slot: str) -> bool:
        """Return whether anything was set aside in a slot."""
        return self.has_aside_a if slot == "a" else self.has_aside_b

    def hindrance(
        self, projection: AnyProjection, slot: str, *, is_build: bool
    ) -> State | None:
        """Return why this code may not write into `slot`; None: it may."""
        if is_build:
            may = slot != self.live and self.build_schema == projection.schema
            return None if may else State.MOVED
        if slot != self.live:
            return State.MOVED
        if self.is_paused:
            return State.PAUSED
        return None if self.schema == projection.schema else State.OUTDATED


def look(
    connection: Connection, projection: AnyProjection, *, hold: bool = False
) -> Standing | None:
    """Return where a projection stands, kept so when it is to be held.

    None: the database does not know it.
    """
    name = projection.name
    asked = {
        "name": name,
        "a": checkpoint_name(name, "a"),
        "b": checkpoint_name(name, "b"),
    }
    with connection.cursor(row_factory=class_row(Standing)) as cursor:
        return cursor.execute(_HOLD if hold else _LOOK, asked, prepare=True).fetchone()
