"""A projection that no event goes through twice, or past, unnoticed: it counts."""

from collections.abc import Collection
from typing import Any, ClassVar, override

import msgspec
import psycopg

from domain.event import Event
from domain.recorded import RecordedEvent
from projections.read_models.jobs import Jobs
from projections.read_models.projection import Key, Projection
from tests.fixtures.read_models import position_of

CREATE = """
CREATE TABLE counterfoil.read_tally_a (
    tag   text   NOT NULL PRIMARY KEY,
    seen  bigint NOT NULL,
    total bigint NOT NULL
);
CREATE TABLE counterfoil.read_tally_b (LIKE counterfoil.read_tally_a INCLUDING ALL);
INSERT INTO counterfoil.projections (name, schema) VALUES ('tally', 1);
"""

BOOK = """
SELECT type, count(*), sum(position)
  FROM counterfoil.events
 WHERE position <= %(until)s
   AND type LIKE 'job.%%'
 GROUP BY type
 ORDER BY type
"""


class TallyRow(msgspec.Struct, frozen=True, kw_only=True):
    tag: str
    seen: int
    total: int
    """The sum of their positions."""


class Tally(Projection[TallyRow]):
    """How many events of jobs there are of each tag, and where."""

    name = "tally"
    row = TallyRow
    key = ("tag",)
    events: ClassVar[Collection[type[Event]]] = Jobs.events
    is_by_stream = False

    @override
    def keys(self, recorded: RecordedEvent) -> tuple[Key, ...]:
        return ((recorded.tag,),)

    @override
    def is_birth(self, recorded: RecordedEvent) -> bool:
        return False

    @override
    def fold(
        self, key: Key, row: TallyRow | None, recorded: RecordedEvent
    ) -> TallyRow | None:
        before = row or TallyRow(tag=recorded.tag, seen=0, total=0)
        return TallyRow(
            tag=before.tag, seen=before.seen + 1, total=before.total + recorded.position
        )


def create(connection: psycopg.Connection[Any]) -> None:
    """Make the projection known, with its tables."""
    for statement in CREATE.split(";\n"):
        if statement.strip():
            connection.execute(statement.encode())


def assert_tally_holds(connection: psycopg.Connection[Any]) -> None:
    """Fail unless every event up to the checkpoint was counted once."""
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        until = position_of(connection, Tally(), "a")
        rows = connection.execute(
            "SELECT tag, seen, total FROM counterfoil.read_tally_a ORDER BY tag"
        ).fetchall()
        assert rows == connection.execute(BOOK, {"until": until}).fetchall()
